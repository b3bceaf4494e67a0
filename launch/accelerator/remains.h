// Files that were handed to other processes and closed here: which of them still live, because a process has them open or mapped. The kernel tells
// of a file's end only an event port that it is in: an item there lives as long as the file, whoever holds it, and the number that it was added by
// may be used again. Which items there are is read in /proc; whether they are ready plays no part, because that is for a rank to say. One thread at a
// time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "base/status.h"
#include "net/bpf/bpf.h"

namespace lapwing::launch {

class Remains {
 public:
  Status open();
  // Before they are closed here. `id` must be new.
  void watch(std::uint64_t id, std::span<const int> files);
  // Those of which no file is left, once.
  std::vector<std::uint64_t> gone();

 private:
  std::set<std::uint64_t> living() const;

  net::bpf::Descriptor port_;
  std::map<std::uint64_t, std::size_t> files_;  // by id
};

}  // namespace lapwing::launch
