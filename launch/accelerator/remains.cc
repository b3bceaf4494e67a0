#include "accelerator/remains.h"

#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <set>

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

std::vector<std::uint64_t> Remains::gone() {
  std::size_t most = 1;
  for (const auto& [id, files] : files_) most += files;
  std::vector<epoll_event> events(most);
  const int count = epoll_wait(port_.fd(), events.data(), static_cast<int>(most), 0);
  std::set<std::uint64_t> alive;
  for (int i = 0; i < count; ++i) alive.insert(events[static_cast<std::size_t>(i)].data.u64);
  std::vector<std::uint64_t> gone;
  if (count < 0) return gone;
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
