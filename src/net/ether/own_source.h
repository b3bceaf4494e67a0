// The socket of a rank that has the rights for it itself (rights.h).
#pragma once

#include "net/bpf/bpf.h"
#include "net/ether/interface.h"
#include "net/ether/nic_rules.h"
#include "net/ether/socket_source.h"
#include "net/ether/steering.h"

namespace lapwing::net::ether {

class OwnSource final : public SocketSource {
 public:
  OwnSource(Interface interface, Endpoint endpoint) : interface_(std::move(interface)), endpoint_(endpoint) {}

  Status make(MadeSocket& made) override;
  Status bind(const MadeSocket& made, std::uint32_t queue, bool in_pieces, bool& taken) override;
  Status join(std::span<const std::uint32_t> queues, JoinedQueue& joined) override;
  void end_offer() noexcept override { memory_ = {}; }
  void leave(std::uint32_t number) noexcept override {
    rule_.remove();
    steering_.remove(number);
  }
  std::string by() const override { return ""; }

 private:
  struct Offered;
  Status fetch(std::uint32_t queue, Offered& offered) const;
  Status find_emptiest(std::span<const std::uint32_t> queues, Offered& best) const;
  Status join(const Offered& offered, JoinedQueue& joined);
  void set_rule(std::uint32_t queue, std::uint32_t number);

  const Interface interface_;
  const Endpoint endpoint_;
  Steering steering_;
  NicRule rule_;
  bpf::Descriptor memory_;  // of the chunks, as a file, while others may join
};

}  // namespace lapwing::net::ether
