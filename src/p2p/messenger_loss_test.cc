// A peer that is lost, and a peer that breaks the rules.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "p2p/messages_for_tests.h"

namespace lapwing::p2p {
namespace {

TEST(Messenger, LossOfAPeerEndsWhatNeedsIt) {
  for (unsigned seed = 0; seed < 80; ++seed) {
    LoopJob::Options options;
    options.ranks = 3;
    options.seed = seed;
    options.unexpected_limit = 1 << 16;
    options.pull = seed % 2 == 0;
    options.two_ways = seed % 3 == 0;
    LoopJob job(options);
    std::deque<Bytes> buffers;
    std::deque<Send> sends, theirs;
    std::deque<Receive> receives;
    for (int i = 0; i < 60; ++i) {
      const std::size_t size = i % 3 == 0 ? 20000 : 400;
      sends.emplace_back(
          to(job[0], 1, i, buffers.emplace_back(size), i % 2 ? SendMode::kStandard : SendMode::kSynchronous));
      job[0].messenger.start(sends.back());
      theirs.emplace_back(to(job[1], 0, i % 50, buffers.emplace_back(size)));
      job[1].messenger.start(theirs.back());
      receives.emplace_back(from(job[0], 1, i, buffers.emplace_back(size)));
      if (i % 4 != 0) job[0].messenger.start(receives.back());
      for (unsigned steps = 0; steps < seed % 9 && job.step(); ++steps) {
      }
    }
    Bytes room(400);
    ReceiveRequest anyone(from(job[0], MPI_ANY_SOURCE, 777, room));
    job[0].messenger.start(anyone);
    for (unsigned steps = 0; steps < seed && job.step(); ++steps) {
    }
    job.lose(1);
    job.run();
    for (auto& send : sends) ASSERT_TRUE(send.done()) << seed;
    for (auto& receive : receives) {
      ASSERT_TRUE(receive.done()) << seed;
    }
    if (options.two_ways) {
      EXPECT_EQ(job.abandoned[LoopJob::Loop::kData], (std::vector<std::uint32_t>{1, 1}));  // by both others
    }
    ASSERT_TRUE(anyone.done()) << seed;  // rank 1 is a member
    EXPECT_NE(std::string(anyone.result().status.text()).find("rank 1"), std::string::npos);
    ReceiveRequest anyone_later(from(job[0], MPI_ANY_SOURCE, 777, room));
    job[0].messenger.start(anyone_later);
    ASSERT_TRUE(anyone_later.done());
    EXPECT_FALSE(anyone_later.result().status.ok());
    Result result;
    EXPECT_FALSE(job[0].messenger.probe(*job[0].world, MPI_ANY_SOURCE, 777, result));
    EXPECT_FALSE(job[0].messenger.reachable(*job[0].world, MPI_ANY_SOURCE).ok());
    SendRequest late(to(job[0], 1, 1, room));
    job[0].messenger.start(late);
    ASSERT_TRUE(late.done());
    EXPECT_NE(std::string(late.result().status.text()).find("rank 1"), std::string::npos);
    ReceiveRequest later(from(job[0], 1, 4711, room));
    job[0].messenger.start(later);
    ASSERT_TRUE(later.done());
    EXPECT_FALSE(later.result().status.ok());
    SendRequest other(to(job[2], 0, 777, room));
    job[2].messenger.start(other);
    job.run();
    ReceiveRequest from_other(from(job[0], MPI_ANY_SOURCE, 777, room));  // its message is here
    job[0].messenger.start(from_other);
    EXPECT_TRUE(from_other.done() && from_other.result().status.ok());
    EXPECT_TRUE(job[0].messenger.quiet());
  }
}

// A communicator of the others goes on, and a peer that has finalized had nothing more to send.
TEST(Messenger, ALossDoesNotConcernReceivesFromOthers) {
  for (const bool finalized : {false, true}) {
    LoopJob::Options options;
    options.ranks = 3;
    LoopJob job(options);
    Bytes room(10);
    comm::Communicator* others =
        new comm::Communicator(comm::ContextIds::kWorld + 64, comm::Group::make({{0}, {2}}, {0}), nullptr);
    ReceiveArguments arguments = from(job[0], MPI_ANY_SOURCE, 1, room);
    arguments.communicator = others;
    ReceiveRequest among_others(arguments), among_all(from(job[0], MPI_ANY_SOURCE, 1, room));
    engine::Waiter waiter(1);
    ProbeWatch watch(*job[0].world, MPI_ANY_SOURCE, 2, waiter);
    job[0].messenger.start(among_others);
    job[0].messenger.start(among_all);
    job[0].messenger.watch(watch);
    const Status why = Status::error(MPI_ERR_PROC_ABORTED, "rank 1 is gone");
    finalized ? job[0].messenger.on_peer_left({1}, why) : job[0].messenger.on_peer_lost({1}, why, nullptr);
    EXPECT_FALSE(among_others.done());
    EXPECT_EQ(among_all.done(), !finalized);
    EXPECT_EQ(waiter.ready(), !finalized);
    EXPECT_TRUE(job[0].messenger.reachable(*others, MPI_ANY_SOURCE).ok());
    job[0].messenger.cancel(among_others);
    job[0].messenger.cancel(among_all);
    job[0].messenger.unwatch(watch);
    comm::Communicator::drop(others);
  }
}

Status gone() {
  return Status::error(MPI_ERR_PROC_ABORTED, "rank 1 is gone");
}

TEST(Messenger, OneThatFindsALossTellsTheOthers) {
  LoopJob::Options options;
  options.ranks = 4;
  options.met = true;
  LoopJob job(options);
  Bytes room(10);
  ReceiveRequest named(from(job[2], 1, 1, room)), anyone(from(job[3], MPI_ANY_SOURCE, 1, room));
  job[2].messenger.start(named);
  job[3].messenger.start(anyone);
  job[0].messenger.on_peer_lost({1}, gone(), nullptr);
  job.run();
  for (ReceiveRequest* receive : {&named, &anyone}) {
    ASSERT_TRUE(receive->done());
    EXPECT_EQ(receive->result().status.error_class(), MPI_ERR_PROC_ABORTED);
    EXPECT_NE(std::string(receive->result().status.text()).find("rank 1 on host testhost is lost, as rank "), std::string::npos)
        << receive->result().status.text();
  }
  EXPECT_EQ(job[0].messenger.source_of_loss({1}), (ProcessId{1})) << "found";
  EXPECT_NE(job[2].messenger.source_of_loss({1}), (ProcessId{1})) << "heard";
  const std::uint64_t posted = job.frames_posted;
  job[2].messenger.on_end_told({1}, gone());  // it knows
  job.run();
  EXPECT_EQ(job.frames_posted, posted);
}

TEST(Messenger, OneThatIsMetLaterIsToldOfEarlierLosses) {
  LoopJob::Options options;
  options.ranks = 3;
  LoopJob job(options);
  Bytes room(10);
  job[0].messenger.on_end_told({1}, gone());
  ReceiveRequest anyone(from(job[2], MPI_ANY_SOURCE, 1, room));
  job[2].messenger.start(anyone);
  job.run();
  EXPECT_FALSE(anyone.done());
  job[0].messenger.on_peer_met({2});
  job.run();
  EXPECT_TRUE(anyone.done());
  EXPECT_EQ(anyone.result().status.error_class(), MPI_ERR_PROC_ABORTED);
}

// One that cannot reach a rank gives it up for all. That rank lives, and loses its connections to them: none of them is lost by its word.
TEST(Messenger, OneThatIsGivenUpTellsOfNoLoss) {
  LoopJob::Options options;
  options.ranks = 4;
  options.met = true;
  LoopJob job(options);
  job[0].messenger.on_peer_lost({1}, gone(), nullptr);
  job.run();
  EXPECT_TRUE(job[1].messenger.is_given_up());
  EXPECT_FALSE(job[2].messenger.is_given_up());
  const std::uint64_t posted = job.frames_posted;
  for (const std::uint32_t other : {0u, 2u, 3u}) job[1].messenger.on_peer_lost({other}, gone(), nullptr);
  job.run();
  EXPECT_EQ(job.frames_posted, posted);
}

// It was cut off, and hears it when it is back.
TEST(Messenger, OneThatHearsThatItIsGivenUpFromItsTransportTellsOfItself) {
  LoopJob::Options options;
  options.ranks = 3;
  options.met = true;
  LoopJob job(options);
  Bytes room(10);
  ReceiveRequest named(from(job[2], 1, 1, room)), other(from(job[2], 0, 1, room));
  job[2].messenger.start(named);
  job[2].messenger.start(other);
  job[1].messenger.on_given_up({0});
  job[1].messenger.on_peer_lost({0}, gone(), nullptr);
  job.run();
  EXPECT_TRUE(job[1].messenger.is_given_up());
  EXPECT_TRUE(named.done());
  EXPECT_FALSE(other.done()) << "by the word of a rank that is given up";
  job[2].messenger.on_peer_lost({0}, gone(), nullptr);
  EXPECT_TRUE(other.done());
}

TEST(Messenger, OneThatIsGivenUpTellsOfItself) {
  LoopJob::Options options;
  options.ranks = 3;
  options.met = true;
  LoopJob job(options);
  Bytes room(10);
  ReceiveRequest named(from(job[2], 1, 1, room));
  job[2].messenger.start(named);
  wire::MessageHeader lost;
  lost.kind = wire::MessageKind::kLost;
  lost.context = wire::as_context({LoopJob::kFirstJob, 1});
  job.inject(0, 1, lost);
  job.inject(0, 1, lost);  // said again, it changes nothing
  job.run();
  ASSERT_TRUE(named.done());
  EXPECT_NE(std::string(named.result().status.text()).find("as rank 1"), std::string::npos) << named.result().status.text();
}

// Names that this rank does not know, and its own.
TEST(Messenger, ALossThatIsNoneChangesNothing) {
  LoopJob job(LoopJob::Options{});
  Bytes room(10);
  ReceiveRequest anyone(from(job[0], MPI_ANY_SOURCE, 1, room));
  job[0].messenger.start(anyone);
  wire::MessageHeader lost;
  lost.kind = wire::MessageKind::kLost;
  for (const wire::JobRank name : {wire::JobRank{LoopJob::kFirstJob, 0}, wire::JobRank{LoopJob::kFirstJob, 7}, wire::JobRank{99, 1}}) {
    lost.context = wire::as_context(name);
    job.inject(1, 0, lost);
  }
  job.run();
  EXPECT_FALSE(anyone.done());
  EXPECT_TRUE(job.violations.empty());
  job[0].messenger.cancel(anyone);
}

// Each of these frames has to be answered; a peer that reads no answers must not fill this rank's memory with them.
TEST(Messenger, APeerThatFloodsAndDoesNotReadIsLost) {
  LoopJob::Options options;
  options.unexpected_limit = 1 << 16;
  LoopJob job(options);
  job.stalled = 1;  // from 0 to 1
  wire::MessageHeader cancel;
  cancel.kind = wire::MessageKind::kCancel;
  cancel.context = comm::ContextIds::kWorld;
  cancel.sender_token = 1;
  for (int i = 0; i < 10'000; ++i) job.inject(1, 0, cancel);
  job.run();
  ASSERT_EQ(job.violations.size(), 1u);
  EXPECT_NE(job.violations[0].find("reads none"), std::string::npos) << job.violations[0];
  EXPECT_LT(job.frames_posted, 9'000u);
  EXPECT_TRUE(job[0].messenger.quiet());
}

TEST(Messenger, HostileFramesCloseTheConnection) {
  using wire::MessageKind;
  const auto frame = [](MessageKind kind) {
    wire::MessageHeader header;
    header.kind = kind;
    header.context = comm::ContextIds::kWorld;
    return header;
  };
  std::vector<std::pair<wire::MessageHeader, std::size_t>> lies;
  for (const MessageKind kind :
       {MessageKind::kCts, MessageKind::kAck, MessageKind::kFin, MessageKind::kCancelAck, MessageKind::kData}) {
    for (const std::uint64_t token :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32 | 1, ~std::uint64_t{0}}) {
      wire::MessageHeader header = frame(kind);
      header.sender_token = header.receiver_token = token;
      header.message_bytes = 10;
      lies.emplace_back(header, kind == MessageKind::kData ? 10 : 0);
    }
  }
  wire::MessageHeader negative = frame(MessageKind::kEager);
  negative.tag = -5;
  lies.emplace_back(negative, 0);
  wire::MessageHeader nameless = frame(MessageKind::kRts);
  nameless.message_bytes = 100;
  lies.emplace_back(nameless, 0);
  wire::MessageHeader pullable = frame(MessageKind::kRts);
  pullable.sender_token = 5;
  pullable.message_bytes = 100;
  pullable.flags = wire::kFlagPullable;
  lies.emplace_back(pullable, 12);
  wire::MessageHeader huge = frame(MessageKind::kEager);  // more than the first credit
  lies.emplace_back(huge, 100000);
  wire::MessageHeader other = frame(MessageKind::kEager);
  other.source = 0;  // rank 1 says that it is rank 0, to a receive from anyone
  lies.emplace_back(other, 0);

  for (const auto& [header, payload] : lies) {
    LoopJob job({});
    Bytes room(20000), answer(20000);
    ReceiveRequest posted(from(job[0], MPI_ANY_SOURCE, MPI_ANY_TAG, room)), named(from(job[0], 1, 3, room));
    SendRequest eager(to(job[0], 1, 2, answer));
    job[0].messenger.start(posted);
    job[0].messenger.start(named);
    job.inject(1, 0, header, std::vector<std::byte>(payload));
    job.run();
    EXPECT_EQ(job.violations.size(), 1u) << "kind " << static_cast<int>(header.kind);
    EXPECT_TRUE(named.done());
    EXPECT_FALSE(named.result().status.ok());
    EXPECT_TRUE(posted.done() && !posted.result().status.ok());
  }
}

std::vector<std::byte> as_bytes(const Bytes& content) {
  const auto* begin = reinterpret_cast<const std::byte*>(content.data());
  return {begin, begin + content.size()};
}

// As from several links: the frames of one transfer in any order.
TEST(Messenger, DataLandsWhereItsOffsetSays) {
  LoopJob job({});
  job.deaf = 1;
  const Bytes content = pattern(1000, 7);
  Bytes room(1000);
  ReceiveRequest receive(from(job[0], 1, 3, room));
  job[0].messenger.start(receive);
  const auto piece = [&](std::size_t at, std::size_t bytes) {
    const auto begin = content.begin() + static_cast<std::ptrdiff_t>(at);
    return Bytes(begin, begin + static_cast<std::ptrdiff_t>(bytes));
  };
  wire::MessageHeader rts, data;
  rts.kind = wire::MessageKind::kRts;
  rts.context = comm::ContextIds::kWorld;
  rts.source = 1;
  rts.tag = 3;
  rts.message_bytes = 1000;
  rts.sender_token = 5;
  job.inject(1, 0, rts, as_bytes(piece(0, 100)));
  job.run();
  data.kind = wire::MessageKind::kData;
  data.receiver_token = std::uint64_t{1} << 32 | 1;
  for (const auto& [at, bytes] : {std::pair(700, 300), {100, 200}, {300, 400}}) {
    EXPECT_FALSE(receive.done());
    data.offset = static_cast<std::uint64_t>(at);
    job.inject(1, 0, data, as_bytes(piece(static_cast<std::size_t>(at), static_cast<std::size_t>(bytes))));
    job.run();
  }
  EXPECT_TRUE(receive.done() && receive.result().status.ok());
  EXPECT_EQ(room, content);
  EXPECT_TRUE(job.violations.empty());
}

TEST(Messenger, DataOutsideItsTransferClosesTheConnection) {
  for (const std::uint64_t offset : {std::uint64_t{901}, std::uint64_t{1001}, ~std::uint64_t{0}}) {
    LoopJob job({});
    job.deaf = 1;
    Bytes room(1000);
    ReceiveRequest receive(from(job[0], 1, 3, room));
    job[0].messenger.start(receive);
    wire::MessageHeader rts, data;
    rts.kind = wire::MessageKind::kRts;
    rts.context = comm::ContextIds::kWorld;
    rts.source = 1;
    rts.tag = 3;
    rts.message_bytes = 1000;
    rts.sender_token = 5;
    job.inject(1, 0, rts);
    job.run();
    data.kind = wire::MessageKind::kData;
    data.receiver_token = std::uint64_t{1} << 32 | 1;
    data.offset = offset;
    job.inject(1, 0, data, std::vector<std::byte>(100));
    job.run();
    ASSERT_EQ(job.violations.size(), 1u);
    EXPECT_EQ(job.violations[0], "it sends more data than was asked for");
  }
}

// A peer that answers what was asked, but wrongly.
TEST(Messenger, WrongAnswersCloseTheConnection) {
  using wire::MessageKind;
  for (int lie = 0; lie < 6; ++lie) {
    LoopJob job({});
    const Bytes data = pattern(20000, 1), small(10);
    SendRequest rendezvous(to(job[0], 1, 2, data)), eager(to(job[0], 1, 2, small, SendMode::kSynchronous));
    job[0].messenger.start(rendezvous);
    job[0].messenger.start(eager);
    job.run();
    const std::uint64_t generation = std::uint64_t{1} << 32;
    wire::MessageHeader header;
    constexpr MessageKind kKinds[] = {MessageKind::kCts,       MessageKind::kCts, MessageKind::kCts,
                                      MessageKind::kCancelAck, MessageKind::kAck, MessageKind::kFin};
    header.kind = kKinds[lie];
    header.receiver_token = 1;
    header.sender_token = generation | (lie == 2 || lie == 5 ? 2 : 1);
    header.message_bytes = lie == 0 ? 20001 : lie == 1 ? 0 : 10;
    job.inject(1, 0, header);
    job.run();
    EXPECT_EQ(job.violations.size(), 1u) << lie;
    EXPECT_TRUE(rendezvous.done() && eager.done());
    EXPECT_FALSE(rendezvous.result().status.ok());
  }
}

}  // namespace
}  // namespace lapwing::p2p
