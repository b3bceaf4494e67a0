#include "net/shm/lookout.h"

#include <sys/epoll.h>

#include <utility>

namespace lapwing::net::shm {

void Lookout::start(std::vector<ProcessName> processes, std::uint32_t own) {
  processes_ = std::move(processes);
  own_ = watched_ = own;
  watch_next();
}

void Lookout::stop() noexcept {
  segment_.control(own_).presence.store(kLeft, std::memory_order_release);
  look_away();
}

void Lookout::look_away() noexcept {
  if (end_) engine_.port().remove(end_.get());
  end_.reset();
}

// A process that has left MPI may end as it likes; the one behind it is watched from then on.
void Lookout::on_ready(std::uint32_t) noexcept {
  look_away();
  const bool ended = note_end(watched_);
  watch_next();
  if (ended) user_.on_end_noticed();
}

void Lookout::watch_next() noexcept {
  const auto count = static_cast<std::uint32_t>(processes_.size());
  bool ended = false;
  for (std::uint32_t step = 1; step < count; ++step) {
    watched_ = (watched_ + 1) % count;
    if (watched_ == own_) break;
    if (segment_.control(watched_).presence.load(std::memory_order_relaxed) != kHere) continue;
    const Watched how = watch_process(processes_[watched_], end_);
    if (how == Watched::kEnded) ended |= note_end(watched_);
    if (how == Watched::kYes && engine_.port().add(end_.get(), EPOLLIN | EPOLLET, *this).ok()) break;
    end_.reset();
  }
  if (ended) user_.on_end_noticed();
}

// False when it is known, or no end without a word.
bool Lookout::note_end(std::uint32_t local) noexcept {
  std::uint32_t here = kHere;
  if (!segment_.control(local).presence.compare_exchange_strong(here, kEnded, std::memory_order_acquire)) return false;
  segment_.ends().fetch_add(1, std::memory_order_release);  // pairs with news()
  return true;
}

}  // namespace lapwing::net::shm
