// The socket of a rank that lacks the rights: the service `lapwing accelerator` makes it, of memory that the rank hands over as a memfd, binds it,
// and has its program bring packets there (wire/accelerator.h, launch/accelerator/ether_endpoint.h). The rank maps the rings in between, and works as
// with a socket of its own.
//
// The connection to the service is the rank's life there. When the service dies the rank goes on, because it holds the attachment of the program.
//
// What the service could do with the memory is to read the job's packets; so it must be trusted (net/kernel/accelerator_client.h).
#pragma once

#include <string>
#include <utility>

#include "net/bpf/bpf.h"
#include "net/ether/interface.h"
#include "net/ether/socket_source.h"
#include "net/kernel/accelerator_client.h"

namespace lapwing::net::ether {

class ServiceSource final : public SocketSource {
 public:
  ServiceSource(std::string path, Interface interface, Endpoint endpoint)
      : service_(std::move(path)), interface_(std::move(interface)), endpoint_(endpoint) {}

  Status make(MadeSocket& made) override;
  Status bind(const MadeSocket& made, std::uint32_t queue, bool in_pieces, bool& taken) override;
  void leave(std::uint32_t number) noexcept override;
  std::string by() const override { return service_.by(); }

 private:
  // What is granted with one descriptor.
  Status fetch(const wire::AcceleratorRequest& request, int descriptor, bpf::Descriptor& given);

  kernel::AcceleratorClient service_;
  const Interface interface_;
  const Endpoint endpoint_;
  bpf::Descriptor link_;
};

}  // namespace lapwing::net::ether
