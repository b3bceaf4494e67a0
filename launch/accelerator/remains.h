// Files that were handed to other processes and closed here: which of them still live, because a process has them open or mapped. The kernel tells
// of a file's end only an event port that it is in: an item there lives as long as the file, whoever holds it, and the number that it was added by
// may be used again. What is watched must be a file that is always ready, as maps of bpf(2) are. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
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
  net::bpf::Descriptor port_;
  std::map<std::uint64_t, std::size_t> files_;  // by id
};

}  // namespace lapwing::launch
