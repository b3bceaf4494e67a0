// Two ranks joined by a simulated link, with a clock that is moved by hand: packets take time, wait in a switch's queue, and are lost, doubled and
// reordered, as a seed says or as a test says for each.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "net/reliable/packet_link.h"
#include "net/scattered_walk_for_tests.h"

namespace lapwing::net::reliable {

struct LinkKind {
  double loss = 0, doubling = 0, reordering = 0;
  std::int64_t way = 20'000;         // ns
  std::int64_t per_packet = 12'000;  // of 1 Gbit/s
  std::size_t queue = 1000;          // packets of the switch; more are lost
};

// What becomes of a packet.
struct Fate {
  int copies = 1;
  std::int64_t late = 0;  // ns more
};

class SimulatedNetwork {
 public:
  explicit SimulatedNetwork(const LinkKind& kind, std::uint64_t seed = 1) : kind_(kind), random_(seed) {}
  // Instead of the kind's chances; `count` counts all packets of both directions.
  std::function<Fate(std::uint64_t count)> decide;

  std::int64_t now() const { return now_; }
  std::uint64_t sent() const { return count_; }
  bool idle() const { return events_.empty(); }
  std::int64_t next_event() const { return events_.empty() ? PacketLink::kNever : events_.begin()->first; }
  void move_to(std::int64_t time) { now_ = std::max(now_, time); }

  void send(int to, const std::byte* bytes, std::size_t count) {
    const Fate fate = decide ? decide(count_) : by_chance();
    ++count_;
    std::int64_t& free_at = free_at_[to];
    for (int copy = 0; copy < fate.copies; ++copy) {
      const std::int64_t begins = std::max(free_at, now_);
      if (begins - now_ > kind_.per_packet * static_cast<std::int64_t>(kind_.queue)) continue;
      free_at = begins + kind_.per_packet;
      events_.emplace(free_at + kind_.way + fate.late, Event{to, std::vector<std::byte>(bytes, bytes + count)});
    }
  }

  struct Event {
    int to;
    std::vector<std::byte> bytes;
  };
  Event take() {
    auto node = events_.extract(events_.begin());
    move_to(node.key());
    return std::move(node.mapped());
  }

 private:
  Fate by_chance() {
    const auto chance = [&](double of) { return std::uniform_real_distribution<>(0, 1)(random_) < of; };
    Fate fate;
    if (chance(kind_.loss)) fate.copies = 0;
    if (chance(kind_.doubling)) fate.copies = 2;
    if (chance(kind_.reordering)) fate.late = 5 * kind_.per_packet;
    return fate;
  }

  LinkKind kind_;
  std::mt19937_64 random_;
  std::int64_t now_ = 1'000'000'000;
  std::uint64_t count_ = 0;
  std::int64_t free_at_[2] = {};
  std::multimap<std::int64_t, Event> events_;
};

// Of a SimulatedRank.
class SimulatedCarrier final : public PacketCarrier {
 public:
  static constexpr std::size_t kMostBytes = 400;  // small, so that few bytes are many packets

  SimulatedCarrier(SimulatedNetwork& network, int peer, std::size_t slots) : network_(network), peer_(peer), memory_(slots * kMostBytes) {
    for (std::size_t slot = slots; slot-- > 0;) free_.push_back(static_cast<Slot>(slot));
  }
  std::size_t most_bytes() const noexcept override { return kMostBytes; }
  bool take(Room& room) noexcept override {
    if (free_.empty()) return false;
    room = {free_.back(), bytes(free_.back())};
    free_.pop_back();
    return true;
  }
  void give_back(Slot slot) noexcept override { free_.push_back(slot); }
  std::byte* bytes(Slot slot) noexcept override { return memory_.data() + slot * kMostBytes; }
  bool can_send(Slot) noexcept override { return true; }
  bool send(ProcessId, Slot slot, std::size_t count) noexcept override {
    if (detour_ != nullptr && random_() % 4 == 0) return false;  // as a connection that is full
    (detour_ != nullptr ? *detour_ : network_).send(peer_, bytes(slot), count);
    return true;
  }
  // Null: none.
  void divert(SimulatedNetwork* by) { detour_ = by; }
  std::size_t free_slots() const { return free_.size(); }

 private:
  SimulatedNetwork& network_;
  const int peer_;
  Bytes memory_;
  std::vector<Slot> free_;
  SimulatedNetwork* detour_ = nullptr;
  std::mt19937_64 random_{5};
};

// What has come at a rank, in the order in which it came.
class RecordingSink final : public FrameSink {
 public:
  std::vector<Bytes> frames;
  int lost = 0;
  bool in_walks = false;  // scattered landings
  Landing on_header(PeerId, const wire::FrameHeader& header) noexcept override {
    Landing landing;
    landing.accepted = header.payload_bytes();
    bytes_.assign(header.payload_bytes(), std::byte{0});
    walk_ = in_walks ? std::make_unique<ScatteredWalk>(header.payload_bytes(), true) : nullptr;
    if (walk_)
      landing.walk = walk_.get();
    else
      landing.base = bytes_.data();
    return landing;
  }
  void on_frame(PeerId, const wire::FrameHeader&) noexcept override { frames.push_back(walk_ ? walk_->content() : std::move(bytes_)); }
  void on_peer_lost(PeerId, const Status&, const Landing*) noexcept override { ++lost; }

 private:
  Bytes bytes_;
  std::unique_ptr<ScatteredWalk> walk_;
};

struct SimulatedOp : SendOp {
  SimulatedOp(std::size_t size, std::uint64_t seed) : content(make_bytes(size, seed)) {
    header.describe(wire::Protocol::kMessages, size);
    data = content.data();
    on_taken = [](SendOp& op, const Status& status) noexcept {
      ++static_cast<SimulatedOp&>(op).taken;
      static_cast<SimulatedOp&>(op).failed = !status.ok();
    };
  }
  Bytes content;
  int taken = 0;
  bool failed = false;
};

struct SimulatedRank {
  SimulatedRank(SimulatedNetwork& network, int rank, std::size_t slots = 4096)
      : carrier(network, 1 - rank, slots),
        link(Sinks(sink), carrier, PeerId{static_cast<std::uint32_t>(1 - rank)}, {0, static_cast<std::uint32_t>(rank), 42}) {
    link.set_window(PacketReceiver::kWindow);
  }
  RecordingSink sink;
  SimulatedCarrier carrier;
  PacketLink link;
};

// Two of them, and time that passes.
struct SimulatedPair {
  explicit SimulatedPair(const LinkKind& kind, std::uint64_t seed = 1, std::size_t slots = 4096) : network(kind, seed) {
    for (int rank = 0; rank < 2; ++rank) ranks.push_back(std::make_unique<SimulatedRank>(network, rank, slots));
  }
  SimulatedOp& post(int rank, std::size_t size) {
    SimulatedOp& op = ops[rank].emplace_back(size, ops[rank].size() + 1000 * static_cast<std::size_t>(rank));
    if (ranks[static_cast<std::size_t>(rank)]->link.post(op, network.now())) ++op.taken;
    return op;
  }
  void divert(int rank, bool to_detour) {
    SimulatedRank& turning = *ranks[static_cast<std::size_t>(rank)];
    detour->move_to(network.now());
    turning.carrier.divert(to_detour ? detour : nullptr);
    turning.link.way_changed(network.now());
    turning.link.work(network.now());
  }
  // The next thing that happens; false: nothing ever will.
  bool step() {
    const std::int64_t first = ranks[0]->link.deadline(network.now()), second = ranks[1]->link.deadline(network.now());
    const std::int64_t due = std::min(first, second);
    if (detour != nullptr && detour->next_event() <= std::min(network.next_event(), due) && !detour->idle()) {
      const SimulatedNetwork::Event event = detour->take();
      network.move_to(detour->now());
      deliver(*ranks[static_cast<std::size_t>(event.to)], event.bytes);
      return true;
    }
    if (due == PacketLink::kNever && network.idle()) return false;
    if (network.next_event() <= due) {
      const SimulatedNetwork::Event event = network.take();
      if (detour != nullptr) detour->move_to(network.now());
      deliver(*ranks[static_cast<std::size_t>(event.to)], event.bytes);
    } else {
      network.move_to(due);
      if (detour != nullptr) detour->move_to(network.now());
      for (const auto& rank : ranks) rank->link.work(network.now());
    }
    return true;
  }
  void deliver(SimulatedRank& rank, const std::vector<std::byte>& bytes) {
    wire::PacketHeader header;
    ASSERT_TRUE(wire::decode(bytes.data(), bytes.size(), header).ok());
    const char* broken = rank.link.take(header, bytes.data(), network.now());
    ASSERT_EQ(broken, nullptr) << broken;
    rank.link.work(network.now());
  }
  // Until nothing more happens; `limit` of simulated time only ends a broken run.
  void run(std::int64_t limit = 600'000'000'000) {
    const std::int64_t end = network.now() + limit;
    while (step()) ASSERT_LT(network.now(), end) << "it does not come to an end";
  }
  void expect_all_arrived() {
    for (int rank = 0; rank < 2; ++rank) {
      const SimulatedRank& receiver = *ranks[static_cast<std::size_t>(1 - rank)];
      ASSERT_EQ(receiver.sink.frames.size(), ops[rank].size());
      for (std::size_t i = 0; i < ops[rank].size(); ++i) {
        ASSERT_EQ(receiver.sink.frames[i], ops[rank][i].content) << "frame " << i;
        ASSERT_EQ(ops[rank][i].taken, 1);
        ASSERT_FALSE(ops[rank][i].failed);
      }
      ASSERT_TRUE(receiver.link.flushed());
    }
  }

  SimulatedNetwork network;
  SimulatedNetwork* detour = nullptr;  // where a test has one
  std::vector<std::unique_ptr<SimulatedRank>> ranks;
  std::deque<SimulatedOp> ops[2];
};

}  // namespace lapwing::net::reliable
