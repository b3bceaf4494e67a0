// The socket of a rank that lacks the rights: the service `lapwing accelerator` makes it, of memory that the rank hands over as a memfd, binds it,
// and has its program bring packets there (wire/accelerator.h, launch/accelerator/ether_endpoint.h). The rank maps the rings in between, and works as
// with a socket of its own.
//
// The connection to the service is the rank's life there. When the service dies the rank goes on, because it holds the attachment of the program.
//
// What the service could do with the memory is to read the job's packets; so it must be trusted, as for receive in the kernel.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "net/bpf/bpf.h"
#include "net/ether/interface.h"
#include "net/ether/socket_source.h"
#include "wire/accelerator.h"

namespace lapwing::net::ether {

class ServiceSource final : public SocketSource {
 public:
  ServiceSource(std::string path, Interface interface, Endpoint endpoint)
      : path_(std::move(path)), interface_(std::move(interface)), endpoint_(endpoint) {}
  ~ServiceSource() override;

  Status make(std::byte*& memory, int& fd) override;
  Status bind(int fd, std::uint32_t queue, bool& taken) override;
  void leave(std::uint32_t queue) noexcept override;
  std::string by() const override { return "by the service at " + path_; }

 private:
  Status connect();
  Status check_trust() const;
  // `granted`: else the answer's text is why not.
  Status ask(const wire::AcceleratorRequest& request, int descriptor, wire::AcceleratorAnswer& answer, std::vector<bpf::Descriptor>& descriptors);
  Status fetch(const wire::AcceleratorRequest& request, int descriptor, bpf::Descriptor* given);
  Status refused(const std::string& why) const;

  const std::string path_;
  const Interface interface_;
  const Endpoint endpoint_;
  int connection_ = -1;  // noted as this process's own: a child that it forks must not hold it
  bpf::Descriptor link_;
};

}  // namespace lapwing::net::ether
