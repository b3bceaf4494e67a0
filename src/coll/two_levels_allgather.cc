// Allgather on two levels: the ranks of a host gather their blocks, the hosts exchange what they have, and what came from other hosts is
// broadcast inside. Long blocks go around the ring of hosts in segments: while one is copied inside a host, the next is on the wire.
//
// Cost, for h hosts and N bytes of all ranks together, with A and B for what an allgather and a broadcast inside a host cost: A + the allgather
// of h ranks + B(N) for short blocks, and A + (h - 1)(L + 2o) + N G (h - 1) / h + B(s) in segments of s bytes. However the ranks are placed,
// each host sends and receives each byte once.
#include "base/tuning.h"
#include "coll/algorithms.h"
#include "coll/block_run.h"
#include "coll/compile.h"
#include "coll/two_levels.h"

namespace lapwing::coll {
namespace {

// All blocks as one run, host by host.
class HostRuns {
 public:
  HostRuns(Schedule& schedule, const Levels& levels, const Blocks& all) : run_(schedule, all, order(levels)) {
    for (int host = 0; host < levels.hosts(); ++host)
      begins_.push_back(begins_.back() + static_cast<int>(levels.members(host).size()));
  }
  const BlockRun& run() const noexcept { return run_; }
  Block of_host(int host) const noexcept {
    const auto at = static_cast<std::size_t>(host);
    return run_.places(begins_[at], begins_[at + 1]);
  }

 private:
  static std::vector<int> order(const Levels& levels) {
    std::vector<int> ranks;
    for (int host = 0; host < levels.hosts(); ++host)
      ranks.insert(ranks.end(), levels.members(host).begin(), levels.members(host).end());
    return ranks;
  }

  const BlockRun run_;
  std::vector<int> begins_{0};  // places, and the end
};

void exchange_short(Schedule& schedule, const TwoLevels& two, const HostRuns& runs) {
  if (two.speaks()) {
    Blocks hosts;
    for (int host = 0; host < two.levels().hosts(); ++host) hosts.push_back(runs.of_host(host));
    two.across();
    compile_allgather(schedule, hosts);
    schedule.fence();
  }
  two.inside();
  schedule.next_piece();
  compile_bcast(schedule, runs.run().whole(), two.speaker());
}

// Around the ring, segment by segment: a host passes on what it received in the turn before.
class Ring {
 public:
  Ring(Schedule& schedule, const TwoLevels& two, const HostRuns& runs) noexcept
      : schedule_(schedule), two_(two), runs_(runs) {}
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
  const HostRuns& runs_;
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
    if (two_.speaks()) send(runs_.of_host(host(1 - turn)));
    receive(runs_.of_host(host(-turn)));
  }
}

}  // namespace

void allgather_on_two_levels(Schedule& schedule, const Block& mine, const Blocks& all) {
  const TwoLevels two(schedule, 0);
  const HostRuns runs(schedule, two.levels(), all);
  const BlockRun& run = runs.run();
  if (run.whole().count == 0) return;
  const Block own = run.of_rank(schedule.rank());
  if (run.put(schedule, mine) != kNoStep) schedule.fence();
  Blocks near;
  for (const int rank : two.levels().neighbors()) near.push_back(run.of_rank(rank));
  two.inside();
  compile_allgather(schedule, own, near);
  schedule.next_piece();
  const bool is_short = run.whole().count <= AreaMemory::kPieceBytes;
  is_short ? exchange_short(schedule, two, runs) : Ring(schedule, two, runs).go_around();
  run.deliver(schedule, all);
}

}  // namespace lapwing::coll
