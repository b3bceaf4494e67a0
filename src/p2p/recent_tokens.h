// Synchronous messages that a carrier has acknowledged in this process's name (net/kernel/area.h): the sends that its acknowledgements name, for as long
// as they may be lost with the connection that they leave by. It keeps their order, so that with one all later ones are lost; and a sender has at most
// kMost such sends without an answer at a time. So those that are lost are among the last kMost.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace lapwing::p2p {

class RecentTokens {
 public:
  static constexpr std::size_t kMost = 8;

  void add(std::uint64_t token) noexcept { tokens_[count_++ % kMost] = token; }
  // From the oldest on.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::uint64_t i = count_ - std::min<std::uint64_t>(count_, kMost); i != count_; ++i) visit(tokens_[i % kMost]);
  }

 private:
  std::array<std::uint64_t, kMost> tokens_{};
  std::uint64_t count_ = 0;
};

}  // namespace lapwing::p2p
