// 32 bytes that no other process may learn. They are wiped where they were when they are not needed any more.
#pragma once

#include <array>
#include <cstddef>

namespace lapwing::wire {

struct Secret {
  static constexpr std::size_t kBytes = 32;

  Secret() noexcept = default;
  Secret(const Secret&) noexcept = default;
  Secret& operator=(const Secret&) noexcept = default;
  ~Secret();
  static Secret random() noexcept;

  std::array<std::byte, kBytes> bytes{};
};

}  // namespace lapwing::wire
