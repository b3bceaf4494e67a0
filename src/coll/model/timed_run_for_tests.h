// The schedules of all ranks, run against each other on a machine of which every cost is known: what the formulas predict is held against it.
//
// Each rank has a processor, which does one thing at a time, and a wire in either direction, which carries one message at a time. Of a message
// of n bytes the sender's processor has o + n O of work; after o its bytes begin to leave, n G long, and L later they begin to arrive. The
// receiver's processor has o + n O of work from then on, and ends at least o after the last byte. Data is not moved (simulation_for_tests.h
// does that); nothing is random.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <tuple>
#include <vector>

#include "coll/area_parts.h"
#include "coll/model/cost.h"
#include "coll/schedule.h"

namespace lapwing::coll::model {

class TimedRun {
 public:
  TimedRun(const Machine& machine, int ranks) : machine_(machine), ranks_(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      schedules_.push_back(std::make_unique<Schedule>());
      schedules_.back()->set_team(comm::Plane::kCollective, rank, ranks);
    }
  }
  Schedule& operator[](int rank) { return *schedules_[static_cast<std::size_t>(rank)]; }

  // Of all ranks, after run().
  double work_of_all() const {
    double sum = 0;
    for (const Rank& rank : ranks_) sum += rank.worked;
    return sum;
  }
  // Until the last step of the last rank, and the work of the rank that had most. `waits` stays 0.
  Cost run() {
    for (std::size_t rank = 0; rank < schedules_.size(); ++rank) prepare(rank);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      event.act();
    }
    Cost cost;
    for (const Rank& rank : ranks_) {
      EXPECT_EQ(rank.done, rank.waits_for.size()) << "a schedule does not end";
      cost.time = std::max(cost.time, rank.end);
      cost.processor = std::max(cost.processor, rank.worked);
    }
    return cost;
  }

 private:
  struct Rank {
    std::vector<std::uint32_t> waits_for;
    std::size_t done = 0;
    double end = 0, worked = 0;
    double processor_free = 0, out_free = 0, in_free = 0;
    std::vector<double> posted;                 // by round: when
    std::vector<std::uint64_t> posted_bytes;    // and how much
    PostRing ring;
    std::deque<std::pair<StepId, double>> blocked;  // posts and awaits, and since when
  };
  struct Event {
    double time;
    std::uint64_t number;  // of events at one time, the one that was caused first comes first
    std::function<void()> act;
    bool operator<(const Event& other) const {
      return std::tie(time, number) > std::tie(other.time, other.number);
    }
  };
  struct Arrival {
    double first, last;
    double bytes;
  };
  struct Channel {
    std::deque<Arrival> arrivals;
    std::deque<std::pair<StepId, double>> receives;  // and since when
  };
  using ChannelKey = std::tuple<std::size_t, std::size_t, int>;

  void at(double time, std::function<void()> act) { events_.push({time, next_number_++, std::move(act)}); }

  void prepare(std::size_t rank) {
    Schedule& schedule = *schedules_[rank];
    schedule.seal();
    for (const Step& step : schedule.steps()) ranks_[rank].waits_for.push_back(step.waits_for);
    for (StepId id = 0; id < schedule.steps().size(); ++id)
      if (ranks_[rank].waits_for[id] == 0) at(0, [this, rank, id] { start(rank, id, 0); });
  }

  const Step& step(std::size_t rank, StepId id) const { return schedules_[rank]->steps()[id]; }

  // The processor is busy for `work`, from `from` on or later; when it ends.
  double work(std::size_t rank, double from, double work) {
    Rank& own = ranks_[rank];
    own.processor_free = std::max(from, own.processor_free) + work;
    own.worked += work;
    return own.processor_free;
  }
  void work_and_finish(std::size_t rank, StepId id, double from, double time) {
    finish_at(rank, id, work(rank, from, time));
  }
  void finish_at(std::size_t rank, StepId id, double time) {
    at(time, [this, rank, id, time] { finish(rank, id, time); });
  }

  void start(std::size_t rank, StepId id, double now) {
    const Step& made = step(rank, id);
    switch (made.kind()) {
      case Step::Kind::kSend:
        return send(rank, id, now);
      case Step::Kind::kReceive: {
        Channel& channel = channels_[{static_cast<std::size_t>(message_of(made).peer), rank, message_of(made).lane}];
        channel.receives.push_back({id, now});
        return match(rank, channel);
      }
      case Step::Kind::kPost:
      case Step::Kind::kAwait:
        ranks_[rank].blocked.push_back({id, now});
        return look(rank, now);
      case Step::Kind::kJoin:
      case Step::Kind::kIfRefused:
        return finish_at(rank, id, now);
      default:
        return work_and_finish(rank, id, now, local_work(made));
    }
  }

  double local_work(const Step& made) const {
    const Memory& memory = machine_.memory;
    if (made.is<ReduceStep>()) return memory.reduce * static_cast<double>(made.as<ReduceStep>().target.bytes());
    if (made.is<CopyStep>()) return memory.copy * static_cast<double>(made.as<CopyStep>().target.bytes());
    if (made.is<TakeStep>()) return memory.copy * static_cast<double>(taken_bytes(made.as<TakeStep>()));
    if (made.is<DirectStep>()) return memory.call + memory.direct * static_cast<double>(made.as<DirectStep>().bytes);
    const FoldStep& fold = made.as<FoldStep>();
    const double bytes = static_cast<double>(fold.target.bytes());
    const double operands = fold.last_rank == FoldStep::kAround ? static_cast<double>(ranks_.size()) : fold.last_rank - fold.first_rank + 1;
    if (fold.onto != nullptr) return bytes * operands * memory.reduce;
    return bytes * (memory.copy + (operands - 1) * memory.reduce);  // written anew, by the first combination: as much work as a copy besides
  }

  std::uint64_t taken_bytes(const TakeStep& made) const {
    return made.what == TakeStep::What::kSlice ? ranks_[static_cast<std::size_t>(made.rank)].posted_bytes[made.round] : made.target.bytes();
  }

  void send(std::size_t rank, StepId id, double now) {
    const MessageStep& message = message_of(step(rank, id));
    const double bytes = static_cast<double>(message.data.bytes());
    const double end = work(rank, now, machine_.work(bytes));
    Rank& own = ranks_[rank];
    const double leaves = std::max(end - machine_.work(bytes) + machine_.link.overhead, own.out_free);
    own.out_free = leaves + std::max(machine_.link.gap, machine_.wire(bytes));
    finish_at(rank, id, end);
    const ChannelKey key{rank, static_cast<std::size_t>(message.peer), message.lane};
    const double there = leaves + machine_.link.latency;
    at(there, [this, key, there, bytes] { arrive(key, there, bytes); });
  }

  // The first byte is at the receiver's end of the wire, which may carry another message still.
  void arrive(const ChannelKey& key, double there, double bytes) {
    const std::size_t receiver = std::get<1>(key);
    double& free = ranks_[receiver].in_free;
    const double first = std::max(there, free);
    free = first + machine_.wire(bytes);
    at(first, [this, key, receiver, first, bytes] {
      channels_[key].arrivals.push_back({first, first + machine_.wire(bytes), bytes});
      match(receiver, channels_[key]);
    });
  }

  void match(std::size_t rank, Channel& channel) {
    while (!channel.arrivals.empty() && !channel.receives.empty()) {
      const Arrival arrival = channel.arrivals.front();
      const auto [id, since] = channel.receives.front();
      channel.arrivals.pop_front();
      channel.receives.pop_front();
      const double end = work(rank, std::max(arrival.first, since), machine_.work(arrival.bytes));
      finish_at(rank, id, std::max(end, arrival.last + machine_.link.overhead));
    }
  }

  // ---- the area

  // When all, or one, have posted in a round; negative: they have not.
  double posted(std::int32_t rank, std::uint64_t round) const {
    double last = 0;
    for (std::size_t each = 0; each < ranks_.size(); ++each) {
      if (rank != AwaitStep::kAll && each != static_cast<std::size_t>(rank)) continue;
      if (ranks_[each].posted.size() <= round) return -1;
      last = std::max(last, ranks_[each].posted[round]);
    }
    return last;
  }

  // Goes on with what waits at a rank.
  void look(std::size_t rank, double now) {
    Rank& own = ranks_[rank];
    while (!own.blocked.empty()) {
      const auto [id, since] = own.blocked.front();
      const Step& made = step(rank, id);
      if (made.is<PostStep>() ? !post(rank, id, now) : !await(rank, id, std::max(since, now))) return;
      own.blocked.pop_front();
    }
  }
  bool post(std::size_t rank, StepId id, double now) {
    const PostStep& made = step(rank, id).as<PostStep>();
    std::uint64_t complete = ranks_[0].posted.size();
    for (const Rank& each : ranks_) complete = std::min<std::uint64_t>(complete, each.posted.size());
    const std::uint64_t bytes = made.bytes();
    const std::int64_t slot = std::int64_t{made.round} + 1 - AreaMemory::kSlotRounds;
    const std::int64_t needed = std::max(slot, ranks_[rank].ring.needed(bytes, complete));
    if (needed >= static_cast<std::int64_t>(complete)) return false;
    if (bytes > AreaSlot::kBytes) ranks_[rank].ring.take(made.round, bytes, complete);
    const double end = work(rank, now, machine_.memory.post + machine_.memory.copy * static_cast<double>(bytes));
    at(end, [this, rank, id, end, bytes] {
      ranks_[rank].posted.push_back(end);
      ranks_[rank].posted_bytes.push_back(bytes);
      finish(rank, id, end);
      for (std::size_t each = 0; each < ranks_.size(); ++each) look(each, end);
    });
    return true;
  }
  bool await(std::size_t rank, StepId id, double now) {
    const AwaitStep& made = step(rank, id).as<AwaitStep>();
    const double there = posted(made.rank, made.round);
    if (there < 0) return false;
    const double lines = made.rank == AwaitStep::kAll ? static_cast<double>(ranks_.size()) - 1 : 1;
    work_and_finish(rank, id, std::max(there, now), lines * machine_.memory.post);
    return true;
  }

  void finish(std::size_t rank, StepId id, double now) {
    ++ranks_[rank].done;
    ranks_[rank].end = std::max(ranks_[rank].end, now);
    const Step& made = step(rank, id);
    const StepId* followers = schedules_[rank]->followers(made);
    for (std::uint32_t i = 0; i < made.followers; ++i) {
      const StepId next = followers[i];
      if (--ranks_[rank].waits_for[next] == 0) start(rank, next, now);
    }
  }

  const Machine machine_;
  std::vector<std::unique_ptr<Schedule>> schedules_;
  std::vector<Rank> ranks_;
  std::map<ChannelKey, Channel> channels_;
  std::priority_queue<Event> events_;
  std::uint64_t next_number_ = 0;
};

}  // namespace lapwing::coll::model
