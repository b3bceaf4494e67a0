// All-to-all on two levels: each host's ranks give all their blocks to the one that speaks for it, these exchange one message for each pair of
// hosts, and each broadcasts what came to its host, of which every rank takes its blocks.
//
// Cost, for h hosts of at most m ranks: (h - 1) max(g, 2o + m m n G) + L between hosts, n being one block, and two copies of m p n bytes, and of
// p n more at each rank, inside. For blocks so short that each of the m m messages between two hosts would cost as much as all of them.
#include "coll/algorithms.h"
#include "coll/compile.h"
#include "coll/two_levels.h"

namespace lapwing::coll {
namespace {

class Exchange {
 public:
  Exchange(Schedule& schedule, const TwoLevels& two, std::uint64_t bytes)
      : schedule_(schedule), two_(two), levels_(two.levels()), bytes_(bytes), near_(levels_.neighbors().size()) {}

  void gather(const Block& together);
  void between_hosts();
  void spread(const Blocks& in);

 private:
  static std::size_t index(int number) noexcept { return static_cast<std::size_t>(number); }
  std::size_t ranks() const noexcept { return index(ranks_); }
  Block run(std::byte* base, std::uint64_t first, std::uint64_t blocks) const noexcept {
    return bytes_block(base + first * bytes_, blocks * bytes_);
  }
  // Where the blocks that come from a host begin.
  std::uint64_t first_from(int host) const noexcept {
    std::uint64_t first = 0;
    for (int before = 0; before < host; ++before) first += levels_.members(before).size() * near_;
    return first;
  }
  void pick(int host, std::byte* target, std::uint64_t first);

  Schedule& schedule_;
  const TwoLevels& two_;
  const Levels& levels_;
  const std::uint64_t bytes_;
  const std::uint64_t near_;       // ranks of this host
  int ranks_ = schedule_.size();   // of all
  std::byte* gathered_ = nullptr;  // by rank of this host: its blocks for all ranks
  std::byte* received_ = nullptr;  // by rank of all, host by host: its blocks for the ranks of this host
};

void Exchange::gather(const Block& together) {
  Blocks all;
  if (two_.speaks()) {
    gathered_ = schedule_.scratch(near_ * ranks() * bytes_);
    for (std::uint64_t rank = 0; rank < near_; ++rank) all.push_back(run(gathered_, rank * ranks(), ranks()));
  }
  two_.inside();
  compile_gather(schedule_, together, all, two_.speaker(), together.bytes());
  schedule_.next_piece();
}

// What the ranks of this host have for those of `host`.
void Exchange::pick(int host, std::byte* target, std::uint64_t first) {
  const std::vector<int>& members = levels_.members(host);
  const bool neighbors = members.back() - members.front() + 1 == static_cast<int>(members.size());
  for (std::uint64_t from = 0; from < near_; ++from) {
    const std::uint64_t blocks = from * ranks();
    if (neighbors) {
      schedule_.copy(run(gathered_, blocks + index(members.front()), members.size()),
                     run(target, first, members.size()));
      first += members.size();
      continue;
    }
    for (const int to : members) schedule_.copy(run(gathered_, blocks + index(to), 1), run(target, first++, 1));
  }
}

void Exchange::between_hosts() {
  received_ = schedule_.scratch(ranks() * near_ * bytes_);
  if (!two_.speaks()) return;
  two_.across();
  const int hosts = levels_.hosts(), here = levels_.host();
  pick(here, received_, first_from(here));
  for (int distance = 1; distance < hosts; ++distance) {
    const int from = (here - distance + hosts) % hosts, to = (here + distance) % hosts;
    const std::uint64_t outgoing = levels_.members(to).size() * near_;
    std::byte* packed = schedule_.scratch(outgoing * bytes_);
    schedule_.send(run(packed, 0, outgoing), to, {schedule_.branch({}, [&] { pick(to, packed, 0); })});
    schedule_.receive(run(received_, first_from(from), levels_.members(from).size() * near_), from);
  }
}

void Exchange::spread(const Blocks& in) {
  two_.inside();
  schedule_.next_piece();
  compile_bcast(schedule_, run(received_, 0, ranks() * near_), two_.speaker());
  schedule_.fence();
  std::uint64_t next = index(levels_.place());
  for (int host = 0; host < levels_.hosts(); ++host) {
    for (const int from : levels_.members(host)) {
      schedule_.copy(run(received_, next, 1), in[index(from)]);
      next += near_;
    }
  }
}

}  // namespace

void alltoall_on_two_levels(Schedule& schedule, const Block& together, const Blocks& in) {
  if (in[0].bytes() == 0) return;
  const TwoLevels two(schedule, 0);
  Exchange exchange(schedule, two, in[0].bytes());
  exchange.gather(together);
  exchange.between_hosts();
  exchange.spread(in);
}

}  // namespace lapwing::coll
