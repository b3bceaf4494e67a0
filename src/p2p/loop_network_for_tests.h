// A job inside one test, or two that meet: processes whose frames travel through memory, in an order that a fixed seed decides. Each
// has a process table of its own; here they are numbered across jobs.
//
// Every ordered pair of ranks has a wire, and with two_ways another one, for data. step() moves one randomly chosen wire on by one stage, so whatever
// a real network could interleave comes up: a payload taken late, a header long before its payload, answers overtaking the news that a frame has
// left. Headers go through the real codec. With way.matches, each wire ends at a carrier that is lent receives (net/lent_queue.h): what it does not
// match goes on in a socket, and the messenger is told of the rest at some later step. With carrier_answers it answers requests, too, until the
// answers are lost: those that are on their way, and all that would follow. One thread; nothing waits for time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "comm/communicator.h"
#include "engine/engine.h"
#include "net/network.h"
#include "net/refusals.h"
#include "p2p/messenger.h"
#include "runtime/process_table.h"
#include "wire/message_header.h"

namespace lapwing::net {

struct NetworkForTests {
  // `data`: another transport for what is left of long messages; null: the same.
  static void put(Network& network, std::unique_ptr<Transport> transport, const Capabilities& capabilities, std::unique_ptr<Transport> data) {
    const std::size_t size = network.size();
    wire::Card card;
    card.set("name", "testhost");
    network.cards_ = std::vector<wire::Card>(size, card);
    Transport* const data_way = data != nullptr ? data.get() : transport.get();
    network.routes_.reset(size, [way = transport.get(), capabilities, data_way](std::size_t, Network::Route& route) {
      route = {way, capabilities, data_way};
    });
    network.transports_.clear();
    network.transports_.push_back(std::move(transport));
    if (data != nullptr) network.transports_.push_back(std::move(data));
  }
};

}  // namespace lapwing::net

namespace lapwing::p2p {

class LoopJob {
 public:
  struct Options {
    std::uint32_t ranks = 2;       // processes
    std::uint32_t second_job = 0;  // of which the last are another job
    unsigned seed = 1;
    net::Capabilities way = {1024, 4096};
    bool pull = false;
    bool two_ways = false;  // data goes by wires of its own
    std::uint64_t unexpected_limit = 16 << 20;
    std::int64_t watch_after = 0;
    bool met = false;  // ways stand between all
    bool carrier_answers = false;
    bool oversubscribed = false;
  };

  struct Rank;

  class Loop final : public net::Transport {
   public:
    enum Way : std::uint32_t { kFirst, kData };
    Loop(LoopJob& job, std::uint32_t rank, Way way) : job_(job), rank_(rank), way_(way) {}
    const char* name() const noexcept override { return "loop"; }
    Status publish(wire::Card&) override { return {}; }
    Status attach(const wire::CardBook&) override { return {}; }
    bool reaches(net::PeerId) const noexcept override { return true; }
    net::Capabilities capabilities(net::PeerId) const noexcept override { return job_.options.way; }
    bool post(net::PeerId peer, net::SendOp& op) noexcept override {
      return job_.post(rank_, job_.number_of(rank_, peer), op, way_);
    }
    net::LentQueue* lent_queue(net::PeerId peer, net::LentQueue::Key key) noexcept override {
      return &job_.queue_of(job_.number_of(rank_, peer) * job_.options.ranks + rank_, key.tag);
    }
    net::Asking asking(net::PeerId, std::uint64_t) noexcept override {
      return job_.options.carrier_answers ? net::Asking::kKernel : net::Asking::kNever;
    }
    void asking_took(net::PeerId, std::uint64_t, net::Asking, std::int64_t) noexcept override { ++job_.askings_timed; }
    bool offers_pull(net::PeerId, std::uint64_t) noexcept override { return job_.options.pull; }
    net::PullOp::End pull(net::PeerId, net::PullOp& op) noexcept override {
      const auto* from = reinterpret_cast<const std::byte*>(op.address);
      if (job_.pulls_until_failure == 0) return net::PullOp::End::kRefused;
      --job_.pulls_until_failure;
      if (op.walk != nullptr) op.walk->scatter(from, op.bytes);
      if (op.walk == nullptr) std::copy_n(from, op.bytes, op.data);
      return net::PullOp::End::kWhole;
    }
    void came_in_frames(net::PeerId, std::uint64_t bytes, std::uint64_t, std::int64_t) noexcept override {
      job_.timed.push_back(bytes);
    }
    void came_unexpected(net::PeerId, std::uint64_t bytes, std::int64_t) noexcept override { job_.weighed.push_back(bytes); }
    bool watch_over(net::PeerId peer) noexcept override {
      job_.watched.push_back(job_.number_of(rank_, peer));
      return true;
    }
    bool watch_over_host(net::PeerId peer) noexcept override {
      job_.hosts_watched.push_back(job_.number_of(rank_, peer));
      return true;
    }
    std::int64_t watch_after() const noexcept override { return job_.options.watch_after; }
    bool is_met(net::PeerId peer) const noexcept override { return job_.options.met && job_.number_of(rank_, peer) != rank_; }
    void abandon(net::PeerId peer, const Status&) noexcept override { job_.abandoned[way_].push_back(job_.number_of(rank_, peer)); }
    bool flushed() const noexcept override { return true; }
    void expect_goodbye() noexcept override {}
    void close() noexcept override {}
    bool poll() noexcept override { return false; }
    bool arm() noexcept override { return true; }
    void disarm() noexcept override {}

   private:
    LoopJob& job_;
    std::uint32_t rank_;
    Way way_;
  };

  struct Rank {
    Rank(LoopJob& job, std::uint32_t rank)
        : name(job.name_of(rank)),
          processes(job.table_of_one(name.job)),
          engine(clock),
          messenger(engine, job.options.unexpected_limit),
          network(engine, messenger, config()) {
      engine::EngineOptions options;
      options.event_thread = false;
      options.ranks_per_core = job.options.oversubscribed ? 2 : 1;
      EXPECT_TRUE(engine.start(options).ok());
      net::NetworkForTests::put(network, std::make_unique<Loop>(job, rank, Loop::kFirst), job.options.way,
                                job.options.two_ways ? std::make_unique<Loop>(job, rank, Loop::kData) : nullptr);
      messenger.set_network(network);
      comm::Group* all = comm::Group::make_range({}, static_cast<int>(processes.size()), static_cast<int>(name.rank));
      world = new comm::Communicator(comm::ContextIds::kWorld, all, nullptr);
    }
    ~Rank() { comm::Communicator::drop(world); }
    net::NetworkConfig config() const {
      net::NetworkConfig config;
      config.self = {name.rank};
      config.size = processes.size();
      config.processes = &processes;
      config.transports.clear();
      return config;
    }

    // The other job is known from now on.
    void meet(std::uint32_t job, std::uint32_t its_ranks) {
      EXPECT_TRUE(processes.add_job(job, its_ranks).ok());
      network.on_processes_added();
      messenger.on_processes_added();
    }

    wire::JobRank name;
    runtime::ProcessTable processes;
    ManualClock clock;
    engine::Engine engine;
    Messenger messenger;
    net::Network network;
    net::Refusals refusals{engine};
    comm::Communicator* world;
  };

  explicit LoopJob(const Options& options) : options(options), random(options.seed) {
    wires.resize(options.ranks * options.ranks * (options.two_ways ? 2 : 1));
    lost.resize(options.ranks);
    sockets.resize(wires.size());
    landed.resize(wires.size());
    answers.resize(wires.size());
    for (std::size_t i = 0; i < 2 * wires.size() && options.way.matches; ++i) queues.push_back(std::make_unique<net::LentQueue>());
    for (std::uint32_t i = 0; i < options.ranks; ++i) ranks.push_back(std::make_unique<Rank>(*this, i));
  }

  Rank& operator[](std::size_t rank) { return *ranks[rank]; }

  // ---- two jobs

  static constexpr std::uint32_t kFirstJob = 70, kSecondJob = 71;
  std::uint32_t ranks_of(std::uint32_t job) const noexcept {
    return job == kFirstJob ? options.ranks - options.second_job : options.second_job;
  }
  wire::JobRank name_of(std::uint32_t process) const noexcept {
    const std::uint32_t first = ranks_of(kFirstJob);
    return process < first ? wire::JobRank{kFirstJob, process} : wire::JobRank{kSecondJob, process - first};
  }
  runtime::ProcessTable table_of_one(std::uint32_t job) const {
    runtime::ProcessTable table;
    EXPECT_TRUE(table.add_job(job, ranks_of(job)).ok());
    return table;
  }
  void meet() {
    for (auto& rank : ranks) {
      const std::uint32_t other = rank->name.job == kFirstJob ? kSecondJob : kFirstJob;
      rank->meet(other, ranks_of(other));
    }
  }
  // What a process calls another one, and the reverse.
  ProcessId id_of(std::uint32_t viewer, std::uint32_t process) const {
    ProcessId id;
    EXPECT_TRUE(ranks[viewer]->processes.find(name_of(process), id));
    return id;
  }
  std::uint32_t number_of(std::uint32_t viewer, ProcessId id) const noexcept {
    const wire::JobRank name = ranks[viewer]->processes.name(id);
    return name.job == kFirstJob ? name.rank : ranks_of(kFirstJob) + name.rank;
  }

  // Moves one wire by one stage. False when all are empty.
  bool step() {
    std::vector<std::size_t> busy;
    for (std::size_t i = 0; i < wires.size(); ++i) {
      if (!wires[i].empty() && i != stalled) busy.push_back(i);
      if (!sockets[i].empty()) busy.push_back(wires.size() + i);
      if (landed[i]) busy.push_back(2 * wires.size() + i);
      if (!answers[i].empty()) busy.push_back(3 * wires.size() + i);
    }
    if (busy.empty()) return false;
    move(busy[random() % busy.size()]);
    for (auto& rank : ranks) rank->engine.turn();
    return true;
  }

  void run() {
    do {
      while (step()) {
      }
    } while (turn_all());
  }
  bool turn_all() {
    bool moved = false;
    for (auto& rank : ranks) moved |= rank->engine.turn();
    return moved;
  }
  bool run_until_done(const engine::Operation& operation) {
    for (int idle = 0; !operation.done() && idle < 100;) idle = step() || turn_all() ? 0 : idle + 1;
    return operation.done();
  }

  bool post(std::uint32_t from, std::uint32_t to, net::SendOp& op, Loop::Way way) {
    if (lost[from] || lost[to]) {
      ranks[from]->refusals.add(op, Status::error(MPI_ERR_OTHER, "rank %u is lost", to));
      return false;
    }
    const std::size_t index = (way * options.ranks + from) * options.ranks + to;
    auto& wire = wires[index];
    wire.push_back({&op, op.header, {}, {}, Stage::kPosted});
    ++frames_posted;
    const bool at_once = wire.size() == 1 && index != stalled && random() % 2 == 0;
    if (at_once) take(wire.front());
    return at_once;
  }

  // A frame that no honest messenger would send.
  void inject(std::uint32_t from, std::uint32_t to, wire::MessageHeader header, std::vector<std::byte> payload = {}) {
    header.payload_bytes = payload.size();
    Frame frame{nullptr, wire::pack(header), std::move(payload), {}, Stage::kTaken};
    wires[from * options.ranks + to].push_back(std::move(frame));
  }

  void lose(std::uint32_t rank, const char* why = "the test killed it") {
    lost[rank] = true;
    for (std::uint32_t other = 0; other < options.ranks; ++other) {
      if (other == rank) continue;
      end_carrying(rank * options.ranks + other);
      sockets[rank * options.ranks + other].clear();
      const auto& in = wires[rank * options.ranks + other];
      const net::Landing* landing = !in.empty() && in.front().stage == Stage::kLanding ? &in.front().landing : nullptr;
      const Status status = Status::error(MPI_ERR_OTHER, "rank %u: %s", rank, why);
      ranks[other]->messenger.on_peer_lost(id_of(other, rank), status, landing);
      for (std::size_t way = 0; way < wires.size(); way += options.ranks * options.ranks) {
        give_back(wires[way + other * options.ranks + rank], status);
        give_back(wires[way + rank * options.ranks + other], status);
      }
    }
    turn_all();
  }

  // Of all pairs: those that are on their way go nowhere, or come late.
  void lose_answers(bool late = false) {
    options.carrier_answers = false;
    for (std::size_t index = 0; index < answers.size(); ++index) {
      if (!late) answers[index].clear();
      if (landed[index]) tell(index);
      const auto receiver = static_cast<std::uint32_t>(index % options.ranks), from = static_cast<std::uint32_t>(index / options.ranks % options.ranks);
      if (from != receiver) ranks[receiver]->messenger.on_answers_lost(id_of(receiver, from));
    }
  }

  Options options;
  std::mt19937 random;
  std::vector<std::unique_ptr<Rank>> ranks;
  std::size_t stalled = static_cast<std::size_t>(-1);  // a wire (from * ranks + to) on which nothing moves
  std::size_t deaf = static_cast<std::size_t>(-1);     // a rank that the test plays: what it is sent goes nowhere
  std::vector<std::string> violations;
  std::uint64_t frames_posted = 0;
  std::uint64_t matched_by_carrier = 0, answered_by_carrier = 0, askings_timed = 0;
  int pulls_until_failure = 1 << 30;
  std::vector<std::uint64_t> timed;  // bytes of messages whose frames were timed
  std::vector<std::uint64_t> weighed;  // that were stored first, where ranks share cores

  std::vector<std::uint32_t> abandoned[2];  // peers that the messenger has told each way to abandon

  // What transports have been asked to watch over.
  std::vector<std::uint32_t> watched, hosts_watched;

 private:
  enum class Stage { kPosted, kTaken, kClaimed, kLanding };
  struct Frame {
    net::SendOp* op;
    wire::FrameHeader header;
    std::vector<std::byte> payload;
    net::Landing landing;
    Stage stage;
    std::uint64_t origin = 0;    // of the landing, in its walk
    std::uint64_t position = 0;  // of the lent receive that is claimed for it
  };

  // The sender's memory may be reused from here on.
  static void take(Frame& frame) {
    net::SendOp& op = *frame.op;
    if (op.trailer) frame.header.set_flags(wire::kFlagTrailer);
    frame.payload.resize(frame.header.payload_bytes());
    if (op.walk != nullptr) {
      op.walk->gather(frame.payload.data(), frame.payload.size());
    } else if (!frame.payload.empty()) {
      std::memcpy(frame.payload.data(), op.data, frame.payload.size());
    }
    frame.stage = Stage::kTaken;
  }

  static void give_back(std::deque<Frame>& wire, const Status& status) {
    for (Frame& frame : wire) {
      if (frame.stage == Stage::kPosted) frame.op->on_taken(*frame.op, status);
    }
    wire.clear();
  }

  // Tags that are odd, and those that are even.
  net::LentQueue& queue_of(std::size_t index, std::uint64_t tag) { return *queues[2 * index + tag % 2]; }
  net::LentQueue& queue_of(std::size_t index, const Frame& frame) {
    return queue_of(index, static_cast<std::uint32_t>(wire::unpack(frame.header).tag));
  }
  static bool is_message(const Frame& frame) {
    const wire::MessageKind kind = wire::unpack(frame.header).kind;
    return kind == wire::MessageKind::kEager || kind == wire::MessageKind::kRts;
  }

  void move(std::size_t what) {
    const std::size_t index = what % wires.size();
    if (what >= 3 * wires.size()) return answer(index);
    if (what >= 2 * wires.size()) return tell(index);
    if (what >= wires.size()) return read(index);
    if (options.way.matches && wires[index].front().stage != Stage::kPosted && index % options.ranks != deaf)
      return carry(index);
    advance(wires[index], index);
  }

  // A frame is with the carrier.
  void carry(std::size_t index) {
    Frame& frame = wires[index].front();
    if (frame.stage == Stage::kClaimed) return land(index);
    if (is_message(frame)) {
      net::LentQueue& queue = queue_of(index, frame);
      const wire::MessageHeader header = wire::unpack(frame.header);
      const net::LentQueue::Key key{header.context, static_cast<std::uint32_t>(header.tag)};
      if (header.kind == wire::MessageKind::kEager && queue.claim(key, header.payload_bytes, frame.position)) {
        frame.stage = Stage::kClaimed;
        return;
      }
      if (options.carrier_answers && header.kind == wire::MessageKind::kRts && header.flags == wire::kFlagAtOnce && ask(index, header, queue, key)) return;
      queue.pass_on();
    }
    sockets[index].push_back(std::move(frame));
    wires[index].pop_front();
  }
  // False: the messenger answers.
  bool ask(std::size_t index, const wire::MessageHeader& request, net::LentQueue& queue, net::LentQueue::Key key) {
    if (!queue.claim(key, request.message_bytes, wires[index].front().position)) return false;
    const std::uint64_t position = wires[index].front().position;
    EXPECT_NE(queue.room(position).token, 0u);
    wire::MessageHeader cts;
    cts.kind = wire::MessageKind::kCts;
    cts.flags = wire::kFlagByCarrier;
    cts.message_bytes = request.message_bytes;
    cts.sender_token = request.sender_token;
    cts.receiver_token = queue.room(position).token;
    answers[index].push_back(wire::pack(cts));
    queue.land(position, wires[index].front().header);
    wires[index].pop_front();
    landed[index] = true;
    ++answered_by_carrier;
    return true;
  }
  // Of a message with a trailer. False: the messenger does, as where a thread of it waits.
  bool acknowledges(std::size_t index, const Frame& frame) {
    if (!options.carrier_answers || random() % 4 == 0) return false;
    wire::MessageHeader ack;
    ack.kind = wire::MessageKind::kAck;
    ack.flags = wire::kFlagByCarrier;
    ack.sender_token = wire::unpack(frame.header).sender_token;
    answers[index].push_back(wire::pack(ack));
    ++answered_by_carrier;
    return true;
  }
  // One reaches the sender.
  void answer(std::size_t index) {
    const auto sender = static_cast<std::uint32_t>(index / options.ranks % options.ranks), by = static_cast<std::uint32_t>(index % options.ranks);
    const wire::FrameHeader header = answers[index].front();
    answers[index].pop_front();
    if (lost[sender] || lost[by]) return;
    Messenger& messenger = ranks[sender]->messenger;
    EXPECT_TRUE(messenger.may_overtake(header));
    const net::Landing landing = messenger.on_header(id_of(sender, by), header);
    EXPECT_FALSE(landing.violation) << landing.reason;
    messenger.on_frame(id_of(sender, by), header);
  }
  void land(std::size_t index) {
    Frame& frame = wires[index].front();
    net::LentQueue& queue = queue_of(index, frame);
    if (!frame.payload.empty()) std::memcpy(queue.room(frame.position).base, frame.payload.data(), frame.payload.size());
    if (frame.header.trailer_bytes() != 0 && !acknowledges(index, frame)) frame.header.set_flags(0);
    queue.land(frame.position, frame.header);
    wires[index].pop_front();
    landed[index] = true;
    ++matched_by_carrier;
  }
  void tell(std::size_t index) {
    landed[index] = false;
    const auto from = static_cast<std::uint32_t>(index / options.ranks % options.ranks);
    const auto receiver = static_cast<std::uint32_t>(index % options.ranks);
    Rank& to = *ranks[receiver];
    for (std::uint64_t tag = 0; tag < 2; ++tag) {
      const char* breach = to.messenger.on_landed(id_of(receiver, from), queue_of(index, tag));
      if (breach == nullptr) continue;
      violations.push_back(breach);
      return lose(from, breach);
    }
  }
  void end_carrying(std::size_t index) {
    if (!wires[index].empty() && wires[index].front().stage == Stage::kClaimed) land(index);
    if (landed[index]) tell(index);
  }
  // A frame that the carrier has passed on. A message is taken in as soon as it is matched or kept.
  void read(std::size_t index) {
    Frame& frame = sockets[index].front();
    const bool fresh = frame.stage == Stage::kTaken, message = is_message(frame);
    net::LentQueue& queue = queue_of(index, frame);
    const auto from = static_cast<std::uint32_t>(index / options.ranks % options.ranks);
    const auto receiver = static_cast<std::uint32_t>(index % options.ranks);
    if (fresh && message && random() % 2 == 0 &&
        ranks[receiver]->messenger.receive_now(id_of(receiver, from), frame.header, frame.payload.data())) {
      sockets[index].pop_front();
      return queue.take_in();
    }
    advance(sockets[index], index);
    if (fresh && message && !lost[from]) queue.take_in();
  }

  void advance(std::deque<Frame>& wire, std::size_t index) {
    Frame& frame = wire.front();
    const auto from = static_cast<std::uint32_t>(index / options.ranks % options.ranks);
    const auto receiver = static_cast<std::uint32_t>(index % options.ranks);
    Rank& to = *ranks[receiver];
    switch (frame.stage) {
      case Stage::kPosted:
        take(frame);
        return frame.op->on_taken(*frame.op, Status());
      case Stage::kTaken: {
        if (index % options.ranks == deaf) return wire.pop_front();
        const Status status = wire::check(frame.header);
        if (status.ok()) frame.landing = to.messenger.on_header(id_of(receiver, from), frame.header);
        if (!status.ok() || frame.landing.violation) {
          violations.push_back(status.ok() ? frame.landing.reason : status.text());
          return lose(from, violations.back().c_str());
        }
        if (frame.landing.walk != nullptr) frame.origin = frame.landing.walk->position();
        frame.stage = Stage::kLanding;
        return;
      }
      case Stage::kClaimed:
        return;
      case Stage::kLanding: {
        ASSERT_LE(frame.landing.accepted, frame.payload.size());
        if (frame.landing.walk != nullptr) {
          frame.landing.walk->seek(frame.origin);  // a frame of another wire may have landed there meanwhile
          frame.landing.walk->scatter(frame.payload.data(), frame.landing.accepted);
        }
        if (frame.landing.base != nullptr && frame.landing.accepted != 0)
          std::memcpy(frame.landing.base, frame.payload.data(), frame.landing.accepted);
        const wire::FrameHeader header = frame.header;
        wire.pop_front();
        to.messenger.on_frame(id_of(receiver, from), header);
        return;
      }
    }
  }

  std::vector<std::deque<Frame>> wires;
  std::vector<std::deque<Frame>> sockets;  // what carriers have passed on
  std::vector<std::deque<wire::FrameHeader>> answers;  // of carriers, to the senders on these wires
  std::vector<bool> landed;                // receives that the messenger has not been told of
  std::vector<std::unique_ptr<net::LentQueue>> queues;  // two for each wire
  std::vector<bool> lost;
};

}  // namespace lapwing::p2p
