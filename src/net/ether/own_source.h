// The socket of a rank that has the rights for it itself (rights.h).
#pragma once

#include "net/ether/interface.h"
#include "net/ether/nic_rules.h"
#include "net/ether/socket_source.h"
#include "net/ether/steering.h"

namespace lapwing::net::ether {

class OwnSource final : public SocketSource {
 public:
  OwnSource(Interface interface, Endpoint endpoint) : interface_(std::move(interface)), endpoint_(endpoint) {}

  Status make(std::byte*& memory, int& fd) override;
  Status bind(int fd, std::uint32_t queue, bool in_pieces, bool& taken) override;
  void leave(std::uint32_t queue) noexcept override {
    rule_.remove();
    steering_.remove(queue);
  }
  std::string by() const override { return ""; }

 private:
  const Interface interface_;
  const Endpoint endpoint_;
  Steering steering_;
  NicRule rule_;
};

}  // namespace lapwing::net::ether
