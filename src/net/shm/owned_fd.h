// A file descriptor with one owner, closed at the end of its life.
#pragma once

#include <utility>

#include "base/own_descriptors.h"

namespace lapwing::net::shm {

class OwnedFd {
 public:
  OwnedFd() noexcept = default;
  explicit OwnedFd(int fd) noexcept : fd_(fd) { own_descriptor(fd); }
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~OwnedFd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  void reset(int fd = -1) noexcept {
    close_own_descriptor(fd_);
    fd_ = fd;
    own_descriptor(fd);
  }

 private:
  int fd_ = -1;
};

}  // namespace lapwing::net::shm
