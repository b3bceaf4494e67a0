// The schedules of all ranks, run against each other in one thread and in random order.
//
// Everything that a real run may do comes up: a send may read its buffer early (eager) or as late as its receive is
// there (rendezvous), messages overtake each other except where they must not, local work is done late. A buffer that
// is being received into is spoiled first. An area keeps no more rounds than a real one, and a rank that may post does so at any
// time after. A buffer that others copy from, or to, is its rank's own again when that one has done all. So a dependency that an algorithm forgot
// shows up as a wrong result for some seed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

#include "coll/area_parts.h"
#include "coll/schedule.h"
#include "datatype/construct.h"
#include "datatype/pack.h"

namespace lapwing::coll {

// In how many orders of arrival a test carries a schedule out. A sanitizer sees the same code in each.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr unsigned kSeeds = 1;
#else
inline constexpr unsigned kSeeds = 3;
#endif

class Simulation {
 public:
  // `remote` > 0: an inter-communicator; schedules 0 to ranks - 1 are one group, the `remote` ones after them the
  // other.
  explicit Simulation(int ranks, int remote = 0) : group_(ranks) {
    for (int i = 0; i < ranks + remote; ++i) {
      schedules_.push_back(std::make_unique<Schedule>());
      if (remote == 0) schedules_.back()->set_team(comm::Plane::kCollective, i, ranks);
    }
    std::vector<std::size_t> all(schedules_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    neighbors_.assign(schedules_.size(), all);
    inter_ = remote > 0;
  }

  // Which ranks share an area: a host for each rank. Without it all do. A host's ranks use theirs or, as on a real one, not.
  void set_hosts(const std::vector<std::uint32_t>& host_of) {
    std::map<std::uint32_t, std::vector<std::size_t>> hosts;
    for (std::size_t rank = 0; rank < host_of.size(); ++rank) hosts[host_of[rank]].push_back(rank);
    for (std::size_t rank = 0; rank < host_of.size(); ++rank) neighbors_[rank] = hosts[host_of[rank]];
  }

  Schedule& operator[](int rank) { return *schedules_[static_cast<std::size_t>(rank)]; }

  // The kernel refuses this rank direct copies.
  void refuse_copies_of(int rank) { may_not_copy_.push_back(static_cast<std::size_t>(rank)); }

  // Seals and runs all. False when steps are left that nothing can move, or messages that no rank received.
  [[nodiscard]] bool run(unsigned seed) { return run_without(-1, seed); }

  // The same, but one rank never begins.
  [[nodiscard]] bool run_without(int absent, unsigned seed) {
    random_.seed(seed);
    ranks_.assign(schedules_.size(), {});
    actions_.clear();
    channels_.clear();
    blocked_.clear();
    std::size_t left = 0;
    for (std::size_t rank = 0; rank < schedules_.size(); ++rank) {
      if (!sealed_) schedules_[rank]->seal();
      for (const Step& step : schedules_[rank]->steps()) ranks_[rank].waits_for.push_back(step.waits_for);
      for (StepId id = 0; id < schedules_[rank]->steps().size(); ++id) {
        if (ranks_[rank].waits_for[id] == 0 && static_cast<int>(rank) != absent) ranks_[rank].ready.push_back(id);
      }
      left += schedules_[rank]->steps().size();
      EXPECT_EQ(schedules_[rank]->rounds(), schedules_[neighbors_[rank][0]]->rounds())
          << "rank " << rank << " counts other rounds";
    }
    buffers_.resize(schedules_.size());
    rings_.resize(schedules_.size());
    first_round_.resize(schedules_.size());
    posted_ = first_round_;
    acknowledged_ = first_round_;
    owes_.assign(schedules_.size(), false);
    was_refused_ = owes_;
    sealed_ = true;
    done_ = 0;
    finished_in_order_.clear();
    while (act()) {
    }
    for (std::size_t rank = 0; rank < schedules_.size(); ++rank) first_round_[rank] += schedules_[rank]->rounds();
    for (auto& [key, channel] : channels_) {
      if (!channel.sends.empty() || !channel.receives.empty()) return false;
    }
    return done_ == left;
  }

  // Of the last run: which ranks were done, the first of them first; and whether one was.
  const std::vector<int>& finished() const noexcept { return finished_in_order_; }
  bool finished(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return ranks_[r].done == schedules_[r]->steps().size();
  }

 private:
  struct Rank {
    std::vector<std::uint32_t> waits_for;
    std::deque<StepId> ready;
    std::size_t done = 0;
  };
  struct Send {
    std::size_t rank;
    StepId step;
    bool eager;
    std::vector<std::byte> payload;
  };
  struct Receive {
    std::size_t rank;
    StepId step;
  };
  using ChannelKey = std::tuple<std::size_t, std::size_t, comm::Plane, int>;
  struct Channel {
    std::deque<Send> sends;
    std::deque<Receive> receives;
  };
  // Something that may happen now: local work of a step, or the transfer of a matched message.
  struct Action {
    std::size_t rank;
    StepId step;
    bool transfer = false;
    Send send{};
    Receive receive{};
  };

  const Step& step(std::size_t rank, StepId id) const { return schedules_[rank]->steps()[id]; }

  bool act() {
    std::vector<std::size_t> starters;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (!ranks_[rank].ready.empty()) starters.push_back(rank);
    }
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < blocked_.size(); ++i) {
      if (may_go_on(blocked_[i])) free.push_back(i);
    }
    if (starters.empty() && actions_.empty() && free.empty()) return false;
    const std::size_t choice = random_() % (starters.size() + actions_.size() + free.size());
    if (choice >= starters.size() + actions_.size()) {
      const std::size_t index = free[choice - starters.size() - actions_.size()];
      const Action action = blocked_[index];
      blocked_.erase(blocked_.begin() + static_cast<std::ptrdiff_t>(index));
      if (step(action.rank, action.step).is<PostStep>()) post(action);
      finish(action.rank, action.step);
    } else if (choice < starters.size()) {
      const std::size_t rank = starters[choice];
      const StepId id = ranks_[rank].ready.front();
      ranks_[rank].ready.pop_front();
      start(rank, id);
    } else {
      const std::size_t index = choice - starters.size();
      std::swap(actions_[index], actions_.back());
      Action action = std::move(actions_.back());
      actions_.pop_back();
      perform(action);
    }
    return true;
  }

  std::size_t peer_of(std::size_t rank, const MessageStep& step) const {
    const std::size_t group = static_cast<std::size_t>(group_);
    const bool second = rank >= group;
    const bool to_second = inter_ && step.plane != comm::Plane::kLocalCollective ? !second : second;
    return static_cast<std::size_t>(step.peer) + (inter_ && to_second ? group : 0);
  }

  void start(std::size_t rank, StepId id) {
    const Step& made = step(rank, id);
    switch (made.kind()) {
      case Step::Kind::kSend: {
        const auto& message = made.as<SendStep>();
        Send send{rank, id, random_() % 2 == 0, {}};
        if (send.eager) {
          send.payload = pack(message.data);
          finish(rank, id);
        }
        return start(rank, message, std::move(send));
      }
      case Step::Kind::kReceive:
        return start(rank, made.as<ReceiveStep>(), Receive{rank, id});
      case Step::Kind::kIfRefused: {
        const auto& message = made.as<IfRefusedStep>();
        if (!is_refused(rank, message)) return finish(rank, id);
        return message.sends ? start(rank, message, Send{rank, id, false, {}}) : start(rank, message, Receive{rank, id});
      }
      case Step::Kind::kPost:
      case Step::Kind::kAwait:
        blocked_.push_back({rank, id});
        return;
      default:
        actions_.push_back({rank, id});
        return;
    }
  }

  void start(std::size_t rank, const MessageStep& message, Send send) {
    Channel& channel = channels_[{rank, peer_of(rank, message), message.plane, message.lane}];
    channel.sends.push_back(std::move(send));
    match(channel);
  }
  void start(std::size_t rank, const MessageStep& message, const Receive& receive) {
    spoil(message.data);
    Channel& channel = channels_[{peer_of(rank, message), rank, message.plane, message.lane}];
    channel.receives.push_back(receive);
    match(channel);
  }

  // ---- the area

  struct Buffer {
    std::uint64_t round = ~std::uint64_t{0};
    std::vector<std::byte> bytes;
    std::uint32_t flags = 0;
    std::uint64_t place = 0;  // in the ring, where it is too long for a slot
    bool kept = false;
  };

  // The rank that is a member of the area of `rank`.
  std::size_t member(std::size_t rank, int number) const { return neighbors_[rank][static_cast<std::size_t>(number)]; }
  bool all_posted(std::size_t rank, std::uint64_t round) const {
    const std::vector<std::size_t>& members = neighbors_[rank];
    return std::all_of(members.begin(), members.end(), [&](std::size_t each) { return posted_[each] > round; });
  }
  // All have posted the rounds below.
  std::uint64_t rounds_of_all(std::size_t rank) const {
    std::uint64_t rounds = posted_[rank];
    for (const std::size_t each : neighbors_[rank]) rounds = std::min(rounds, posted_[each]);
    return rounds;
  }
  bool may_go_on(const Action& action) const {
    const Step& made = step(action.rank, action.step);
    if (made.is<PostStep>()) {
      const auto& own = made.as<PostStep>();
      const std::uint64_t round = first_round_[action.rank] + own.round;
      const std::int64_t slot = static_cast<std::int64_t>(round) + 1 - AreaMemory::kSlotRounds;
      const std::uint64_t complete = rounds_of_all(action.rank);
      return std::max(slot, rings_[action.rank].needed(own.bytes(), complete)) < static_cast<std::int64_t>(complete);
    }
    const auto& await = made.as<AwaitStep>();
    const std::uint64_t round = first_round_[action.rank] + await.round;
    if (await.what != AwaitStep::What::kPost)
      return !is_awaited(action.rank, await) || acknowledged_[member(action.rank, await.rank)] > round;
    return await.rank == AwaitStep::kAll ? all_posted(action.rank, round)
                                         : posted_[member(action.rank, await.rank)] > round;
  }
  void post(const Action& action) {
    const auto& made = step(action.rank, action.step).as<PostStep>();
    const std::uint64_t round = first_round_[action.rank] + made.round;
    EXPECT_EQ(posted_[action.rank], round) << "rank " << action.rank << " posts out of turn";
    EXPECT_LE(made.bytes(), SharedArea::kMostBytes);
    posted_[action.rank] = round + 1;
    std::vector<std::byte> bytes = packed(made);
    const bool in_slot = bytes.size() <= AreaSlot::kBytes;
    const std::uint64_t place = in_slot ? 0 : rings_[action.rank].take(round, bytes.size(), rounds_of_all(action.rank));
    write_over(buffers_[action.rank], round, in_slot, place, bytes.size());
    buffers_[action.rank].push_back({round, std::move(bytes), made.flags, place, made.kept});
  }
  static std::vector<std::byte> packed(const PostStep& made) {
    std::vector<std::byte> packed(made.bytes());
    const auto pack_block = [](const Block& part, std::byte* to) { datatype::pack(part.address, part.count, *part.type, to); };
    if (made.parts != nullptr) {
      write_parts(made.parts->blocks, made.parts->rules, packed.data(), pack_block);
    } else if (made.flags == AreaSlot::kInPlace) {
      const BufferPlace place = place_of(made.source);
      std::memcpy(packed.data(), &place, sizeof place);
    } else if (made.is_slice()) {
      datatype::pack(made.source.address, made.source.count, *made.source.type, made.slice_first, packed.data(), packed.size());
    } else if (!packed.empty()) {
      pack_block(made.source, packed.data());
    }
    return packed;
  }
  // What lay where a post of `round` is written.
  static void write_over(std::vector<Buffer>& all, std::uint64_t round, bool in_slot, std::uint64_t place, std::uint64_t bytes) {
    std::erase_if(all, [&](const Buffer& old) {
      const bool same_slot = old.round + AreaMemory::kSlotRounds <= round;
      const bool in_ring = !in_slot && old.bytes.size() > AreaSlot::kBytes;
      return same_slot || (in_ring && old.place < place + bytes && place < old.place + old.bytes.size());
    });
  }
  // What `made` wants of what a rank posted. Spoiled when that has been written over.
  template <typename Reading>
  std::vector<std::byte> posted(std::size_t reader, const Reading& made, std::size_t rank) {
    const std::uint64_t round = first_round_[rank] + made.round;
    const std::uint64_t wanted = made.target.bytes();
    for (const Buffer& buffer : buffers_[rank]) {
      if (buffer.round != round || buffer.bytes.size() < made.offset + wanted) continue;
      EXPECT_TRUE(reader != rank || buffer.kept) << "rank " << rank << " may have handed over what it reads";
      const auto begin = buffer.bytes.begin() + static_cast<std::ptrdiff_t>(made.offset);
      return {begin, begin + static_cast<std::ptrdiff_t>(wanted)};
    }
    ADD_FAILURE() << "rank " << rank << " has posted something else since";
    return std::vector<std::byte>(wanted, std::byte{0xee});
  }

  // What is posted for the one rank that takes it, whichever way it goes.
  struct Given {
    std::vector<std::byte> bytes;
    bool by_message = false, in_place = false;
  };
  Given given(std::size_t rank, const TakeStep& made) {
    const Buffer* buffer = buffer_of(rank, made.rank, made.round);
    if (buffer == nullptr) return {};
    if (made.what == TakeStep::What::kGathered)
      return {buffer->bytes, buffer->flags == AreaSlot::kByMessage, buffer->flags == AreaSlot::kInPlace};
    const PartPlace part = find_part(buffer->bytes.data(), buffer->bytes.size(), schedules_.size(), rank);
    const auto begin = buffer->bytes.begin() + static_cast<std::ptrdiff_t>(part.offset);
    return {{begin, begin + static_cast<std::ptrdiff_t>(part.bytes)}, part.by_message(), part.in_place()};
  }
  const Buffer* buffer_of(std::size_t rank, int poster, std::uint32_t round) const {
    const Buffer* buffer = find_buffer(rank, poster, round);
    if (buffer == nullptr) ADD_FAILURE() << "rank " << poster << " has posted something else since";
    EXPECT_TRUE(buffer == nullptr || member(rank, poster) != rank || buffer->kept) << "rank " << rank << " may have handed over what it reads";
    return buffer;
  }
  const Buffer* find_buffer(std::size_t rank, int poster, std::uint32_t round) const {
    for (const Buffer& buffer : buffers_[member(rank, poster)])
      if (buffer.round == first_round_[rank] + round) return &buffer;
    return nullptr;
  }
  static BufferPlace place_at(const Buffer& buffer, std::uint64_t index) {
    const std::uint64_t offset = index * sizeof(BufferPlace);
    return buffer.bytes.size() > offset ? read_place(buffer.bytes.data() + offset, buffer.bytes.size() - offset) : BufferPlace{};
  }
  bool is_awaited(std::size_t rank, const AwaitStep& made) const {
    const Buffer* buffer = find_buffer(rank, made.rank, made.round);
    if (made.what == AwaitStep::What::kIfInPlace) return buffer != nullptr && buffer->flags == AreaSlot::kInPlace;
    return made.what != AwaitStep::What::kUnlessPlaced || buffer == nullptr || place_at(*buffer, rank).bytes == 0;
  }

  void match(Channel& channel) {
    if (channel.sends.empty() || channel.receives.empty()) return;
    Action action{};
    action.transfer = true;
    action.send = std::move(channel.sends.front());
    action.receive = channel.receives.front();
    channel.sends.pop_front();
    channel.receives.pop_front();
    actions_.push_back(std::move(action));
  }

  void perform(Action& action) {
    if (action.transfer) {
      const Block& from = message_of(step(action.send.rank, action.send.step)).data;
      const Step& receive = step(action.receive.rank, action.receive.step);
      const Block& to = receive.is<TakeStep>() ? receive.as<TakeStep>().target : message_of(receive).data;
      if (!action.send.eager) action.send.payload = pack(from);
      EXPECT_LE(action.send.payload.size(), to.bytes()) << "truncated";
      if (action.send.payload.size() > to.bytes()) return;
      datatype::unpack(action.send.payload.data(), action.send.payload.size(), to.address, to.count, *to.type, 0);
      if (!action.send.eager) finish(action.send.rank, action.send.step);
      finish(action.receive.rank, action.receive.step);
      return;
    }
    const Step& local = step(action.rank, action.step);
    if (local.is<ReduceStep>()) {
      reduce(action.rank, local.as<ReduceStep>());
    } else if (local.is<CopyStep>()) {
      copy(local.as<CopyStep>());
    } else if (local.is<TakeStep>()) {
      if (!take(action.rank, action.step, local.as<TakeStep>())) return;
    } else if (local.is<AcknowledgeStep>()) {
      acknowledge(action.rank, local.as<AcknowledgeStep>());
    } else if (local.is<FoldStep>()) {
      fold(action.rank, local.as<FoldStep>());
    } else if (local.is<DirectStep>()) {
      copy_directly(action.rank, local.as<DirectStep>());
    }
    finish(action.rank, action.step);
  }

  void reduce(std::size_t rank, const ReduceStep& made) {
    datatype::apply(*schedules_[rank]->op(), made.source.address, made.target.address, made.target.count,
                    *made.target.type);
  }
  void copy(const CopyStep& made) {
    datatype::copy(made.source.address, made.source.count, *made.source.type, made.target.address, made.target.count,
                   *made.target.type);
  }
  // False when it goes on as the receive of a message.
  bool take(std::size_t rank, StepId id, const TakeStep& made) {
    if (made.what == TakeStep::What::kSlice) {
      const Buffer* buffer = buffer_of(rank, made.rank, made.round);
      if (buffer == nullptr) return true;
      EXPECT_LE(buffer->bytes.size(), made.wanted()) << "truncated";
      datatype::unpack(buffer->bytes.data(), buffer->bytes.size(), made.target.address, made.target.count, *made.target.type, made.skipped());
      return true;
    }
    if (!made.is_exact()) {
      const std::vector<std::byte> bytes = posted(rank, made, member(rank, made.rank));
      datatype::unpack(bytes.data(), made.target.address, made.target.count, *made.target.type);
      return true;
    }
    const Given from = given(rank, made);
    if (made.what == TakeStep::What::kPiece && (from.by_message || from.in_place)) return true;
    if (from.by_message) {
      Channel& channel = channels_[{member(rank, made.rank), rank, comm::Plane::kCollective, 0}];
      channel.receives.push_back({rank, id});
      match(channel);
      return false;
    }
    owes_[rank] = owes_[rank] || (from.in_place && !made.placed);
    const BufferPlace place = from.in_place ? read_place(from.bytes.data(), from.bytes.size()) : BufferPlace{};
    EXPECT_EQ(from.in_place ? place.bytes : from.bytes.size(), from.in_place ? made.target.bytes() : made.wanted());
    if (from.in_place && (made.placed || is_refused_a_copy(rank))) return true;
    EXPECT_FALSE(from.in_place && finished(made.rank)) << "rank " << made.rank << " has gone on with its buffer";
    const void* bytes = from.in_place ? reinterpret_cast<const void*>(place.address) : from.bytes.data();
    const std::uint64_t count = from.in_place ? place.bytes : from.bytes.size();
    if (count != 0) datatype::unpack(bytes, count, made.target.address, made.target.count, *made.target.type, made.skipped());
    return true;
  }
  // In which case it says so.
  bool is_refused_a_copy(std::size_t rank) {
    const bool refused = std::find(may_not_copy_.begin(), may_not_copy_.end(), rank) != may_not_copy_.end();
    was_refused_[rank] = was_refused_[rank] || refused;
    return refused;
  }
  bool is_refused(std::size_t rank, const IfRefusedStep& made) {
    if (!was_refused_[made.peer_copies ? peer_of(rank, made) : rank]) return false;
    if (made.if_step == kNoStep) return true;
    const Step& told_by = step(rank, made.if_step);
    return told_by.is<TakeStep>() ? given(rank, told_by.as<TakeStep>()).in_place : is_awaited(rank, told_by.as<AwaitStep>());
  }
  void acknowledge(std::size_t rank, const AcknowledgeStep& made) {
    if (owes_[rank] || made.always) acknowledged_[rank] = first_round_[rank] + made.round + 1;
    owes_[rank] = false;
  }
  void copy_directly(std::size_t rank, const DirectStep& made) {
    const Buffer* buffer = buffer_of(rank, made.rank, made.round);
    if (buffer == nullptr) return;
    const BufferPlace place = place_at(*buffer, made.index);
    EXPECT_TRUE(made.other_complains || place.bytes == made.whole);
    if (place.bytes != made.whole || is_refused_a_copy(rank)) return;
    EXPECT_FALSE(finished(made.rank)) << "rank " << made.rank << " has gone on with its buffer";
    void* there = reinterpret_cast<void*>(place.address + made.offset);
    if (made.writes)
      std::memcpy(there, made.own, made.bytes);
    else
      std::memcpy(made.own, there, made.bytes);
  }
  void fold(std::size_t rank, const FoldStep& made) {
    void* target = Block::at(made.target.address, made.target.type->true_lb());
    const bool around = made.last_rank == FoldStep::kAround;
    const int last = around ? static_cast<int>(neighbors_[rank].size()) - 1 : made.last_rank;
    int begin = last;
    while (around && member(rank, begin) != rank) --begin;
    if (made.onto != nullptr && made.onto != made.target.address) std::memcpy(target, made.onto, made.target.bytes());
    int from = begin;
    do {
      const std::vector<std::byte> bytes = posted(rank, made, member(rank, from));
      if (made.onto != nullptr && rank < member(rank, from))
        datatype::combine(*schedules_[rank]->op(), target, bytes.data(), target, made.target.count, *made.target.type);
      else if (from == begin && made.onto == nullptr)
        std::memcpy(target, bytes.data(), bytes.size());
      else
        datatype::apply(*schedules_[rank]->op(), bytes.data(), target, made.target.count, *made.target.type);
      from = from == made.first_rank ? last : from - 1;
    } while (from != begin);
  }

  void finish(std::size_t rank, StepId id) {
    ++done_;
    if (++ranks_[rank].done == schedules_[rank]->steps().size()) finished_in_order_.push_back(static_cast<int>(rank));
    const Step& made = step(rank, id);
    const StepId* followers = schedules_[rank]->followers(made);
    for (std::uint32_t i = 0; i < made.followers; ++i) {
      if (--ranks_[rank].waits_for[followers[i]] == 0) ranks_[rank].ready.push_back(followers[i]);
    }
  }

  static std::vector<std::byte> pack(const Block& block) {
    std::vector<std::byte> packed(block.bytes());
    if (!packed.empty()) datatype::pack(block.address, block.count, *block.type, packed.data());
    return packed;
  }
  static void spoil(const Block& block) {
    const std::vector<std::byte> rubbish(block.bytes(), std::byte{0xee});
    if (!rubbish.empty()) datatype::unpack(rubbish.data(), block.address, block.count, *block.type);
  }

  int group_;
  bool inter_ = false;
  bool sealed_ = false;
  std::vector<std::unique_ptr<Schedule>> schedules_;
  std::mt19937 random_;
  std::vector<Rank> ranks_;
  std::vector<Action> actions_;
  std::map<ChannelKey, Channel> channels_;
  std::vector<Action> blocked_;                              // on a post
  std::vector<std::vector<Buffer>> buffers_;  // by rank: what may be read
  std::vector<PostRing> rings_;
  std::vector<std::uint64_t> posted_;                        // by rank: rounds
  std::vector<std::uint64_t> acknowledged_;                  // likewise
  std::vector<bool> owes_;                                   // by rank: an acknowledgement
  std::vector<bool> was_refused_;                            // by rank: a copy
  std::vector<std::size_t> may_not_copy_;                    // ranks
  std::vector<std::uint64_t> first_round_;                   // by rank, of the run to come
  std::vector<std::vector<std::size_t>> neighbors_;          // by rank: those that share its area
  std::size_t done_ = 0;
  std::vector<int> finished_in_order_;
};

// ---- operands

// 2 x 2 matrices over the integers modulo 2^32: their product is associative and does not commute.
struct Matrix {
  std::uint32_t e[4];
  bool operator==(const Matrix& other) const { return std::memcmp(e, other.e, sizeof(e)) == 0; }
};

inline Matrix operator*(const Matrix& a, const Matrix& b) {
  return {{a.e[0] * b.e[0] + a.e[1] * b.e[2], a.e[0] * b.e[1] + a.e[1] * b.e[3], a.e[2] * b.e[0] + a.e[3] * b.e[2],
           a.e[2] * b.e[1] + a.e[3] * b.e[3]}};
}

inline Matrix matrix(int rank, std::uint64_t element) {
  std::uint32_t state = static_cast<std::uint32_t>(rank) * 10007 + static_cast<std::uint32_t>(element) + 1;
  Matrix made{};
  for (std::uint32_t& entry : made.e) {
    state = state * 1664525 + 1013904223;
    entry = state ^ (state >> 15);
  }
  return made;
}

// The type of a Matrix that lies in the first 16 of 24 bytes: reductions on types with gaps.
constexpr std::size_t kMatrixExtent = 24;

inline datatype::Datatype* matrix_type() {
  static datatype::Datatype* const kType = [] {
    datatype::Datatype* plain = nullptr;
    datatype::Datatype* wide = nullptr;
    EXPECT_TRUE(datatype::make_contiguous(4, *datatype::resolve(MPI_UINT32_T), &plain).ok());
    EXPECT_TRUE(datatype::make_resized(*plain, 0, kMatrixExtent, &wide).ok());
    wide->commit();
    datatype::free(plain);
    return wide;
  }();
  return kType;
}

inline void multiply(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) {
    Matrix a, b;
    std::memcpy(&a, static_cast<std::byte*>(in) + i * static_cast<int>(kMatrixExtent), sizeof(a));
    std::memcpy(&b, static_cast<std::byte*>(inout) + i * static_cast<int>(kMatrixExtent), sizeof(b));
    const Matrix product = a * b;
    std::memcpy(static_cast<std::byte*>(inout) + i * static_cast<int>(kMatrixExtent), &product, sizeof(product));
  }
}

inline datatype::Op* matrix_product() {
  static datatype::Op* const kOp = new datatype::Op(static_cast<MPI_User_function*>(&multiply), false);
  return kOp;
}

}  // namespace lapwing::coll
