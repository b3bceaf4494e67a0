// The loader of a process that may load no program: it asks the service `lapwing accelerator` (launch/accelerator/, wire/accelerator.h) over a local
// socket, and gets descriptors of what it maps. The service sees none of its memory, and it keeps none of the sockets that it is given.
//
// One connection for the life of this object, one request at a time, each with a deadline. Where the service dies, or answers too late, sockets that
// have joined go on as they are (OwnLoader::make_keeper), and no other joins.
//
// The service is given connections of the job, so it must be trusted: it runs as root, as this user, or as the user whose folder its socket lies in,
// and only that one may write there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/kernel/loader.h"
#include "wire/accelerator.h"

namespace lapwing::net::kernel {

class ServiceLoader final : public Loader {
 public:
  explicit ServiceLoader(std::string path) : path_(std::move(path)) {}
  ~ServiceLoader() override;
  // For tests: a connection that stands.
  void adopt(Descriptor connection);

  Status prepare(std::uint32_t connections, std::uint32_t zone_blocks) override;
  Status load() override;
  const Descriptor& areas() const noexcept override { return areas_; }
  const Descriptor& zone() const noexcept override { return zone_; }
  Joining join(std::uint32_t index, int socket) override;
  // The service lets no socket in for that.
  bool answers() const noexcept override { return false; }
  Status answer_by(std::uint32_t, int) override { return refused("it lets no socket in by which to answer"); }
  void forget(std::uint32_t index) noexcept override;
  std::string by() const override { return "by the service at " + path_; }

 private:
  enum class Outcome { kGranted, kRefused, kNotAsked, kNoAnswer };
  struct Reply {
    Outcome outcome;
    std::string why;
    std::vector<Descriptor> descriptors;
  };

  Status connect();
  Status check_trust() const;
  Status fetch(const wire::AcceleratorRequest& request, int patience_ms, std::size_t count, std::vector<Descriptor>& descriptors);
  // Ends the connection unless there is an answer.
  Reply ask(const wire::AcceleratorRequest& request, int patience_ms, int socket = -1);
  Reply hear();
  Status refused(const std::string& why) const;

  std::string path_;
  int connection_ = -1;  // noted as this process's own: a child that it forks must not hold it
  Descriptor zone_, areas_, keeper_;
  std::vector<bool> joined_;
};

}  // namespace lapwing::net::kernel
