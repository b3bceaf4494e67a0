// Allgather on two levels: the ranks of a host gather their blocks, the hosts exchange what they have, and what came from other hosts is
// broadcast inside. Long blocks go around the ring of hosts in segments: while one is copied inside a host, the next is on the wire.
//
// Cost, for h hosts and N bytes of all ranks together, with A and B for what an allgather and a broadcast inside a host cost: A + the allgather
// of h ranks + B(N) for short blocks, and A + (h - 1)(L + 2o) + N G (h - 1) / h + B(s) in segments of s bytes. However the ranks are placed,
// each host sends and receives each byte once.
#include "base/tuning.h"
#include "coll/algorithms.h"
#include "coll/compile.h"
#include "coll/two_levels.h"

namespace lapwing::coll {
namespace {

// All blocks as one run of bytes, host by host: where they lie so anyway, in place, else in scratch memory.
class Run {
 public:
  Run(Schedule& schedule, const Levels& levels, const Blocks& all) : levels_(levels), starts_(all.size()) {
    for (int host = 0; host < levels.hosts(); ++host) {
      begins_.push_back(total_);
      for (const int rank : levels.members(host)) {
        starts_[index(rank)] = total_;
        total_ += all[index(rank)].bytes();
      }
    }
    begins_.push_back(total_);
    in_place_ = lies_so(all);
    base_ = in_place_ ? address_of(all[index(levels.members(0)[0])]) : schedule.scratch(total_);
  }
  bool in_place() const noexcept { return in_place_; }
  Block whole() const noexcept { return bytes_block(base_, total_); }
  Block of_host(int host) const noexcept { return between(begins_[index(host)], begins_[index(host) + 1]); }
  Block of_rank(int rank, std::uint64_t bytes) const noexcept {
    return between(starts_[index(rank)], starts_[index(rank)] + bytes);
  }

 private:
  static std::size_t index(int number) noexcept { return static_cast<std::size_t>(number); }
  static void* address_of(const Block& block) noexcept {
    return block.bytes() == 0 ? block.address : Block::at(block.address, block.type->true_lb());
  }
  Block between(std::uint64_t begin, std::uint64_t end) const noexcept {
    return bytes_block(Block::at(base_, static_cast<std::int64_t>(begin)), end - begin);
  }
  // An empty block lies anywhere.
  bool lies_so(const Blocks& all) const noexcept {
    const Block& first = all[index(levels_.members(0)[0])];
    if (first.bytes() == 0) return false;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (all[rank].bytes() == 0) continue;
      if (!all[rank].type->contiguous()) return false;
      if (address_of(all[rank]) != Block::at(address_of(first), static_cast<std::int64_t>(starts_[rank]))) return false;
    }
    return true;
  }

  const Levels& levels_;
  std::vector<std::uint64_t> starts_, begins_;  // by rank; by host, and the end
  std::uint64_t total_ = 0;
  bool in_place_ = false;
  void* base_ = nullptr;
};

void exchange_short(Schedule& schedule, const TwoLevels& two, const Run& run) {
  if (two.speaks()) {
    Blocks hosts;
    for (int host = 0; host < two.levels().hosts(); ++host) hosts.push_back(run.of_host(host));
    two.across();
    compile_allgather(schedule, hosts);
    schedule.fence();
  }
  two.inside();
  schedule.next_piece();
  compile_bcast(schedule, run.whole(), two.speaker());
}

// Around the ring, segment by segment: a host passes on what it received in the turn before.
class Ring {
 public:
  Ring(Schedule& schedule, const TwoLevels& two, const Run& run) noexcept : schedule_(schedule), two_(two), run_(run) {}
  void go_around();

 private:
  void send(const Block& run);
  void receive(const Block& run);
  int host(int distance) const noexcept {
    const int hosts = two_.levels().hosts();
    return (two_.levels().host() + distance + hosts) % hosts;
  }
  // What a message waits for whose lane an earlier one has used.
  static StepId lane_free(const std::vector<StepId>& messages) noexcept {
    return messages.size() < kLanes ? kNoStep : messages[messages.size() - kLanes];
  }
  static int lane(const std::vector<StepId>& messages) noexcept { return static_cast<int>(messages.size() % kLanes); }

  Schedule& schedule_;
  const TwoLevels& two_;
  const Run& run_;
  std::vector<StepId> sent_, received_;  // by segments, in the order of turns
  std::size_t passed_on_ = 0;            // of those received
  StepId spread_ = kNoStep;
};

void Ring::send(const Block& run) {
  const bool is_own = sent_.empty() && received_.empty();
  two_.across();
  for_segments(
      run.count, 1, tuning().coll_two_levels_segment, [&](std::size_t, std::uint64_t first, std::uint64_t count) {
        if (count == 0) return;
        const StepId ready = is_own ? kNoStep : received_[passed_on_++];
        sent_.push_back(schedule_.send(run.part(first, count), host(1), {ready, lane_free(sent_)}, lane(sent_)));
      });
}

void Ring::receive(const Block& run) {
  for_segments(
      run.count, 1, tuning().coll_two_levels_segment, [&](std::size_t, std::uint64_t first, std::uint64_t count) {
        if (count == 0) return;
        const Block segment = run.part(first, count);
        StepId here = kNoStep;
        if (two_.speaks()) {
          two_.across();
          here = schedule_.receive(segment, host(-1), {lane_free(received_)}, lane(received_));
          received_.push_back(here);
        }
        two_.inside();
        spread_ = schedule_.branch({here, spread_}, [&] { compile_bcast(schedule_, segment, two_.speaker()); });
      });
}

void Ring::go_around() {
  for (int turn = 1; turn < two_.levels().hosts(); ++turn) {
    if (two_.speaks()) send(run_.of_host(host(1 - turn)));
    receive(run_.of_host(host(-turn)));
  }
}

}  // namespace

void allgather_on_two_levels(Schedule& schedule, const Block& mine, const Blocks& all) {
  const TwoLevels two(schedule, 0);
  const Run run(schedule, two.levels(), all);
  if (run.whole().count == 0) return;
  StepId packed = kNoStep;
  const Block own = schedule.packed(mine, &packed);
  if (packed != kNoStep) schedule.fence();
  Blocks near;
  for (const int rank : two.levels().neighbors())
    near.push_back(run.of_rank(rank, all[static_cast<std::size_t>(rank)].bytes()));
  two.inside();
  compile_allgather(schedule, own, near);
  schedule.next_piece();
  const bool is_short = run.whole().count <= SharedArea::kMostBytes;
  is_short ? exchange_short(schedule, two, run) : Ring(schedule, two, run).go_around();
  if (run.in_place()) return;
  schedule.fence();
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    schedule.copy(run.of_rank(static_cast<int>(rank), all[rank].bytes()), all[rank]);
}

}  // namespace lapwing::coll
