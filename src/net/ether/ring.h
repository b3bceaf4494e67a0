// The four rings that an AF_XDP socket shares with the kernel (linux/if_xdp.h): one side produces entries, the other consumes them, and each counts
// in a word that the other reads.
//
//   fill        process -> kernel   memory to receive into       receive   kernel -> process   packets that have come
//   send        process -> kernel   packets to send              done      kernel -> process   memory of those that have left
#pragma once

#include <atomic>
#include <cstdint>

#include "base/memory_order.h"

namespace lapwing::net::ether {

struct RingPlace {
  std::byte* memory = nullptr;
  std::uint64_t producer = 0, consumer = 0, flags = 0, entries = 0;  // offsets
};

template <typename Entry>
class Ring {
 public:
  Ring() noexcept = default;
  Ring(const RingPlace& place, std::uint32_t size) noexcept
      : producer_(reinterpret_cast<std::atomic<std::uint32_t>*>(place.memory + place.producer)),
        consumer_(reinterpret_cast<std::atomic<std::uint32_t>*>(place.memory + place.consumer)),
        flags_(reinterpret_cast<std::atomic<std::uint32_t>*>(place.memory + place.flags)),
        entries_(reinterpret_cast<Entry*>(place.memory + place.entries)),
        mask_(size - 1) {}

  // ---- this process produces ----

  // For so many entries. Pairs with the kernel's release of the places it has consumed.
  bool has_room(std::uint32_t entries = 1) noexcept {
    if (own_ - other_ + entries <= mask_ + 1) return true;
    other_ = load_acquire(*consumer_);
    return own_ - other_ + entries <= mask_ + 1;
  }
  // After has_room(); the kernel sees it from publish() on.
  void put(const Entry& entry) noexcept { entries_[own_++ & mask_] = entry; }
  // Pairs with the kernel's acquire of the producer's word.
  void publish() noexcept { store_release(*producer_, own_); }
  std::uint32_t consumed() const noexcept { return load_acquire(*consumer_); }
  // The kernel has consumed all that was published.
  bool drained() const noexcept { return consumed() == own_; }
  // The driver asks for a system call when there is something new.
  bool wants_call() const noexcept { return (load_relaxed(*flags_) & 1u) != 0; }

  // Another process has produced meanwhile; they take turns.
  void take_over_producing() noexcept { own_ = load_relaxed(*producer_); }

  // ---- this process consumes ----

  // Another process has consumed meanwhile; they take turns.
  void take_over_consuming() noexcept { own_ = other_ = load_relaxed(*consumer_); }

  // Pairs with the kernel's release of what it has produced.
  bool has_entry() noexcept {
    if (own_ != other_) return true;
    other_ = load_acquire(*producer_);
    return own_ != other_;
  }
  const Entry& front() const noexcept { return entries_[own_ & mask_]; }
  // So many behind it; false: it has not come.
  bool behind(std::uint32_t entries, Entry& entry) noexcept {
    if (other_ - own_ <= entries) other_ = load_acquire(*producer_);
    if (other_ - own_ <= entries) return false;
    entry = entries_[(own_ + entries) & mask_];
    return true;
  }
  void pop() noexcept { ++own_; }
  // Pairs with the kernel's acquire of the consumer's word: the places may be used again.
  void release() noexcept { store_release(*consumer_, own_); }

 private:
  std::atomic<std::uint32_t>* producer_ = nullptr;
  std::atomic<std::uint32_t>* consumer_ = nullptr;
  std::atomic<std::uint32_t>* flags_ = nullptr;
  Entry* entries_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t own_ = 0;    // this process's count, of which publish() and release() tell the kernel
  std::uint32_t other_ = 0;  // the kernel's, as it was last seen
};

}  // namespace lapwing::net::ether
