// Whether peers that are waited for are watched over, in time and within bounds.
#include <gtest/gtest.h>

#include <vector>

#include "p2p/messages_for_tests.h"
#include "p2p/probes.h"

namespace lapwing::p2p {
namespace {

constexpr std::int64_t kRound = 1000;
using Watched = std::vector<std::uint32_t>;

LoopJob::Options with_vigil(std::uint32_t ranks) {
  LoopJob::Options options;
  options.ranks = ranks;
  options.watch_after = kRound;
  return options;
}

void pass_round(LoopJob& job, std::size_t rank) {
  job[rank].clock.advance(kRound);
  job[rank].engine.turn();
}

TEST(Vigil, APeerIsWatchedOverWhenAReceiveHasWaitedForAWholeRound) {
  LoopJob job(with_vigil(3));
  Bytes room(10);
  ReceiveRequest receive(from(job[0], 2, 1, room));
  job[0].messenger.start(receive);
  job[0].engine.turn();
  pass_round(job, 0);
  EXPECT_EQ(job.watched, Watched{});
  pass_round(job, 0);
  EXPECT_EQ(job.watched, Watched{2});
  job[0].messenger.cancel(receive);
}

TEST(Vigil, AProbeThatBlocksCountsAsWaiting) {
  LoopJob job(with_vigil(3));
  engine::Waiter waiter(1);
  ProbeWatch named(*job[0].world, 1, 1, waiter), any(*job[0].world, MPI_ANY_SOURCE, 1, waiter);
  job[0].messenger.watch(named);
  job[0].messenger.watch(any);
  pass_round(job, 0);
  pass_round(job, 0);
  EXPECT_EQ(job.watched, Watched{1});
  EXPECT_EQ(job.hosts_watched, (Watched{1, 2, 0}));
  job[0].messenger.unwatch(named);
  job[0].messenger.unwatch(any);
}

// The ranks of a job begin at different members, and each with a few.
TEST(Vigil, FromAnySourceAFewMembersBehindThisRankAreWatchedOver) {
  LoopJob job(with_vigil(40));
  Bytes room(10);
  ReceiveRequest first(from(job[35], MPI_ANY_SOURCE, 1, room)), second(from(job[35], MPI_ANY_SOURCE, 2, room));
  job[35].messenger.start(first);
  job[35].messenger.start(second);
  pass_round(job, 35);
  pass_round(job, 35);
  EXPECT_EQ(job.hosts_watched, (Watched{36, 37, 38, 39, 0, 1, 2, 3}));
  EXPECT_EQ(job.watched, Watched{});
  job[35].messenger.cancel(first);
  job[35].messenger.cancel(second);
}

TEST(Vigil, ManyReceivesBeginFewConnectionsInARound) {
  LoopJob job(with_vigil(40));
  Bytes room(10);
  std::deque<ReceiveRequest> receives;
  for (int source = 1; source < 40; ++source)
    job[0].messenger.start(receives.emplace_back(from(job[0], source, 1, room)));
  pass_round(job, 0);
  pass_round(job, 0);
  EXPECT_EQ(job.watched.size(), 8u);
  for (ReceiveRequest& receive : receives) job[0].messenger.cancel(receive);
}

// A program that receives now and then is not woken for ever, and one that receives all the time sets no timer for each.
TEST(Vigil, NothingTicksWhenNothingWaits) {
  LoopJob job(with_vigil(2));
  const auto timers = [&] { return job[0].engine.system_calls().timers; };
  Bytes room(10);
  for (int i = 0; i < 1000; ++i) {
    ReceiveRequest receive(from(job[0], 1, 1, room));
    job[0].messenger.start(receive);
    job[0].messenger.cancel(receive);
  }
  EXPECT_EQ(timers(), 1u);
  pass_round(job, 0);
  for (int i = 0; i < 100; ++i) pass_round(job, 0);
  EXPECT_EQ(timers(), 1u);
  EXPECT_EQ(job.watched, Watched{});
}

TEST(Vigil, WhereATransportNoticesByItselfThereIsNone) {
  LoopJob job({});
  Bytes room(10);
  ReceiveRequest receive(from(job[0], 1, 1, room));
  job[0].messenger.start(receive);
  EXPECT_EQ(job[0].engine.system_calls().timers, 0u);
  job[0].messenger.cancel(receive);
}

}  // namespace
}  // namespace lapwing::p2p
