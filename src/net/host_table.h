// Which processes share a host, as numbers: the same on every rank, because all ranks have the same cards. Hosts are numbered in the order
// of the lowest ranks that say that they are there.
//
// That is all it tells: machines that were cloned while they ran call themselves alike, so whether processes with one number can share
// memory only their transport knows (HostMemory::local_number). Used with the endpoint's lock held.
#pragma once

#include <cstdint>
#include <vector>

#include "base/process_id.h"
#include "wire/card_book.h"

namespace lapwing::net {

class HostTable {
 public:
  static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};

  // `one_host`: the launcher says that all are on one.
  void set(const wire::CardBook& cards, bool one_host) {
    cards_ = cards;
    one_host_ = one_host;
    numbers_.clear();
  }
  // kUnknown: the process is of another job. All cards are read at the first question.
  std::uint32_t number(ProcessId process) const;

 private:
  void read() const;

  wire::CardBook cards_;
  bool one_host_ = true;
  mutable std::vector<std::uint32_t> numbers_;  // by rank of the own job, once they have been asked for
};

}  // namespace lapwing::net
