#include "accelerator/remains.h"

#include <sys/epoll.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/read_file.h"

namespace lapwing::launch {

Status Remains::open() {
  port_ = net::bpf::Descriptor(epoll_create1(EPOLL_CLOEXEC));
  if (port_.open()) return {};
  return Status::error(MPI_ERR_OTHER, "the kernel gives no event port: %s", std::strerror(errno));
}

void Remains::watch(std::uint64_t id, std::span<const int> files) {
  std::size_t& watched = files_[id];
  for (const int file : files) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = id;
    if (file >= 0 && epoll_ctl(port_.fd(), EPOLL_CTL_ADD, file, &event) == 0) ++watched;
  }
}

// "tfd:        5 events:       19 data:                7  pos:0 ino:1f sdev:9", a line for each item.
std::set<std::uint64_t> Remains::living() const {
  constexpr std::string_view kData = "data:";
  std::set<std::uint64_t> alive;
  const std::string items = read_file("/proc/self/fdinfo/" + std::to_string(port_.fd()));
  // What cannot be read lives.
  if (items.empty()) for (const auto& [id, files] : files_) alive.insert(id);
  for (std::size_t at = items.find(kData); at != std::string::npos; at = items.find(kData, at + 1))
    alive.insert(std::strtoull(items.c_str() + at + kData.size(), nullptr, 16));
  return alive;
}

std::vector<std::uint64_t> Remains::gone() {
  const std::set<std::uint64_t> alive = living();
  std::vector<std::uint64_t> gone;
  for (auto entry = files_.begin(); entry != files_.end();) {
    if (alive.count(entry->first) != 0) {
      ++entry;
      continue;
    }
    gone.push_back(entry->first);
    entry = files_.erase(entry);
  }
  return gone;
}

}  // namespace lapwing::launch
