// The loader of a process that may load no program: it asks the service `lapwing accelerator` (launch/accelerator/, wire/accelerator.h) over a local
// socket, and gets descriptors of what it maps. The service sees none of its memory, and it keeps none of the sockets that it is given.
//
// One connection for the life of this object (accelerator_client.h). Where the service dies, or answers too late, sockets that have joined go on as
// they are (OwnLoader::make_keeper), and no other joins.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "net/kernel/accelerator_client.h"
#include "net/kernel/loader.h"

namespace lapwing::net::kernel {

class ServiceLoader final : public Loader {
 public:
  explicit ServiceLoader(std::string path) : service_(std::move(path)) {}
  // For tests: a connection that stands.
  void adopt(Descriptor connection) { service_.adopt(std::move(connection)); }

  Status prepare(std::uint32_t connections, std::uint32_t zone_blocks) override;
  Status load() override;
  const Descriptor& areas() const noexcept override { return areas_; }
  const Descriptor& zone() const noexcept override { return zone_; }
  const Descriptor& notices() const noexcept override { return notices_; }
  Joining join(std::uint32_t index, int socket) override;
  void leave(std::uint32_t index) noexcept override;
  // The service is told, and its answer found by permission(): a thread that drives communication does not wait for it.
  Permission answer_by(std::uint32_t index, int socket) override;
  Permission permission(std::uint32_t index) override;
  void forget(std::uint32_t index) noexcept override;
  std::string by() const override { return service_.by(); }

 private:
  void hear();
  void ask_to_leave(std::uint32_t index, wire::AcceleratorRequest::Kind kind) noexcept;

  AcceleratorClient service_;
  Descriptor zone_, areas_, keeper_, notices_;
  std::vector<bool> joined_;
  std::vector<Permission> permissions_;
  std::deque<std::uint32_t> told_;  // of whose permissions the service has not been heard, in order
};

}  // namespace lapwing::net::kernel
