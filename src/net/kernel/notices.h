// The notices by which the program in the kernel wakes a process whose event thread sleeps and watches no input of its sockets (area.h): a ring
// buffer of the kernel's (BPF_MAP_TYPE_RINGBUF), whose descriptor is readable while a notice is unheard. What a notice says, the connection, is not
// looked at: a process that has heard one looks for input wherever there may be some.
//
//   program   counts a packet as passed on; is notice wanted? then one, which wakes if all before it have been heard
//   process   hears; says that notice is wanted; barrier; is the program busy, or has something been passed on? then it does not sleep
//
// So a notice that cannot be written, because the ring is full, is none too few: others are unheard. test/model/kernel_receive_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace lapwing::net::kernel {

class Notices {
 public:
  static constexpr std::uint32_t kRingBytes = 4096;  // at least, and a multiple of, a page
  static constexpr std::uint64_t kPinnedBytes = kRingBytes + 3 * 4096;  // the kernel's own page, and those of the two places, with it

  Notices() noexcept = default;
  ~Notices();
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

  // The map that a loader has made, which stays open. The text of an error says what is missing.
  Status map(int fd);
  int fd() const noexcept { return fd_; }
  // All that have come. By one thread at a time; before map() there are none.
  void hear() noexcept;

 private:
  int fd_ = -1;
  std::byte* consumer_ = nullptr;  // a page whose first word this process writes: up to where it has heard
  const std::byte* producer_ = nullptr;  // and one whose first word the kernel writes
};

}  // namespace lapwing::net::kernel
