// The loader of a process that may load no program: it asks the service `lapwing accelerator` (launch/accelerator/, wire/accelerator.h) over a local
// socket, and gets descriptors of what it maps. The service sees none of its memory, and it keeps none of the sockets that it is given.
//
// One connection for the life of this object (accelerator_client.h). Where the service dies, or answers too late, sockets that have joined go on as
// they are (OwnLoader::make_keeper), and no other joins.
#pragma once

#include <cstdint>
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
  Joining join(std::uint32_t index, int socket) override;
  // The service lets no socket in for that.
  bool answers() const noexcept override { return false; }
  Status answer_by(std::uint32_t, int) override { return service_.refused("it lets no socket in by which to answer"); }
  void forget(std::uint32_t index) noexcept override;
  std::string by() const override { return service_.by(); }

 private:
  AcceleratorClient service_;
  Descriptor zone_, areas_, keeper_;
  std::vector<bool> joined_;
};

}  // namespace lapwing::net::kernel
