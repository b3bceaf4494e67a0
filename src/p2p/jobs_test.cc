// Two jobs that have met: each process numbers both in its own table, and messages, groups and contexts between them still mean the same
// processes everywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "comm/context_ids.h"
#include "comm/group.h"
#include "p2p/messages_for_tests.h"

namespace lapwing::p2p {
namespace {

constexpr std::uint32_t kFirst = 3, kSecond = 2, kAll = kFirst + kSecond;

LoopJob::Options two_jobs(unsigned seed = 1) {
  LoopJob::Options options;
  options.ranks = kAll;
  options.second_job = kSecond;
  options.seed = seed;
  return options;
}

comm::Group* group_of(LoopJob& jobs, std::uint32_t viewer, const std::vector<std::uint32_t>& processes) {
  std::vector<ProcessId> members;
  for (const std::uint32_t process : processes) members.push_back(jobs.id_of(viewer, process));
  return comm::Group::make(members, jobs.id_of(viewer, viewer));
}

// A communicator of the listed processes, as each of them sees it.
class Together {
 public:
  Together(LoopJob& jobs, std::uint64_t context, const std::vector<std::uint32_t>& processes) : views_(kAll, nullptr) {
    for (const std::uint32_t viewer : processes)
      views_[viewer] = new comm::Communicator(context, group_of(jobs, viewer, processes), nullptr);
  }
  ~Together() {
    for (comm::Communicator* view : views_) comm::Communicator::drop(view);
  }
  comm::Communicator& operator[](std::uint32_t viewer) { return *views_[viewer]; }

 private:
  std::vector<comm::Communicator*> views_;
};

// Made by rank 0 of the second job.
std::uint64_t joint_context() {
  return comm::ContextIds(runtime::ProcessTable::short_number(LoopJob::kSecondJob), 0).take();
}

template <typename Arguments>
Arguments on(comm::Communicator& communicator, Arguments arguments) {
  arguments.communicator = &communicator;
  return arguments;
}

TEST(TwoJobs, EachNumbersItsOwnProcessesFirst) {
  LoopJob jobs(two_jobs());
  jobs.meet();
  EXPECT_EQ(jobs.id_of(0, 2), ProcessId{2});
  EXPECT_EQ(jobs.id_of(0, 3), ProcessId{3});
  EXPECT_EQ(jobs.id_of(3, 3), ProcessId{0});
  EXPECT_EQ(jobs.id_of(3, 0), ProcessId{2});
  EXPECT_EQ(jobs[0].processes.describe(jobs.id_of(0, 4)), "rank 1 of job 71");
  EXPECT_EQ(jobs[4].processes.describe(jobs.id_of(4, 4)), "rank 1");
}

TEST(TwoJobs, AGroupHasTheSameProcessesAtTheSameRanksEverywhere) {
  LoopJob jobs(two_jobs());
  jobs.meet();
  const std::vector<std::uint32_t> processes = {4, 1, 3, 0};
  for (const std::uint32_t viewer : processes) {
    comm::Group* group = group_of(jobs, viewer, processes);
    for (int rank = 0; rank < group->size(); ++rank) {
      EXPECT_EQ(jobs.number_of(viewer, group->member(rank)), processes[static_cast<std::size_t>(rank)]);
      EXPECT_EQ(group->rank_of(group->member(rank)), rank);
      EXPECT_EQ(group->rank() == rank, processes[static_cast<std::size_t>(rank)] == viewer);
    }
    EXPECT_EQ(group->rank_of(jobs.id_of(viewer, 2)), MPI_UNDEFINED);
    comm::Group::drop(group);
  }
}

// Each sends to each, by name and from any source, with payloads for every protocol, while both jobs use their own MPI_COMM_WORLD, whose
// context is the same in both.
TEST(TwoJobs, MessagesBetweenThemAndWithinEachDoNotMix) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    LoopJob jobs(two_jobs(seed));
    jobs.meet();
    Together all(jobs, joint_context(), {0, 1, 2, 3, 4});
    struct Expected {
      Expected(const ReceiveArguments& arguments, const Bytes& data, int source)
          : receive(arguments), data(data), source(source) {}
      Receive receive;
      const Bytes& data;
      int source;
    };
    std::deque<Bytes> buffers;
    std::deque<Send> sends;
    std::deque<Expected> receives;
    std::deque<Bytes> rooms;
    const auto exchange = [&](std::uint32_t from_process, std::uint32_t to_process, comm::Communicator& sender,
                              comm::Communicator& receiver, int source, int destination, int kind) {
      const std::size_t bytes = from_process % 2 == 0 ? 300 : 20000;
      buffers.push_back(pattern(bytes, from_process * 100 + to_process * 10 + static_cast<unsigned>(kind)));
      sends.emplace_back(on(sender, to(jobs[from_process], destination, 7 + source, buffers.back())));
      rooms.emplace_back(bytes);
      const int named = (from_process + to_process) % 2 == 0 ? source : MPI_ANY_SOURCE;
      receives.emplace_back(on(receiver, from(jobs[to_process], named, 7 + source, rooms.back())), buffers.back(),
                            source);
      jobs[to_process].messenger.start(receives.back().receive);
      jobs[from_process].messenger.start(sends.back());
    };
    for (std::uint32_t a = 0; a < kAll; ++a) {
      for (std::uint32_t b = 0; b < kAll; ++b) {
        if (a == b) continue;
        exchange(a, b, all[a], all[b], static_cast<int>(a), static_cast<int>(b), 0);
        if (jobs[a].name.job != jobs[b].name.job) continue;
        exchange(a, b, *jobs[a].world, *jobs[b].world, static_cast<int>(jobs[a].name.rank),
                 static_cast<int>(jobs[b].name.rank), 1);
      }
    }
    jobs.run();
    for (auto& send : sends) EXPECT_TRUE(send.done() && send.result().status.ok());
    for (std::size_t i = 0; i < receives.size(); ++i) {
      ASSERT_TRUE(receives[i].receive.done()) << seed << " " << i;
      EXPECT_TRUE(receives[i].receive.result().status.ok()) << receives[i].receive.result().status.text();
      EXPECT_EQ(receives[i].receive.result().source, receives[i].source);
      EXPECT_EQ(rooms[i], receives[i].data);
    }
    EXPECT_TRUE(jobs.violations.empty());
  }
}

TEST(TwoJobs, MessagesOfBeforeTheyMetAreWhereTheyWere) {
  LoopJob jobs(two_jobs());
  const Bytes data = pattern(100, 5);
  Bytes room(100), other_room(100);
  Send early(to(jobs[3], 1, 9, data));
  jobs[3].messenger.start(early);
  jobs.run();
  jobs.meet();
  Together all(jobs, joint_context(), {0, 4});
  Send across(on(all[0], to(jobs[0], 1, 9, data)));
  jobs[0].messenger.start(across);
  jobs.run();
  Receive own(from(jobs[4], MPI_ANY_SOURCE, 9, room)), joint(on(all[4], from(jobs[4], MPI_ANY_SOURCE, 9, other_room)));
  jobs[4].messenger.start(own);
  jobs[4].messenger.start(joint);
  jobs.run();
  ASSERT_TRUE(own.done() && joint.done());
  EXPECT_EQ(own.result().source, 0) << "rank 0 of the second job";
  EXPECT_EQ(joint.result().source, 0) << "rank 0 of the first, which is rank 0 of the communicator";
  EXPECT_EQ(room, data);
  EXPECT_EQ(other_room, data);
}

TEST(TwoJobs, ALossNamesTheProcessAndItsJob) {
  LoopJob jobs(two_jobs());
  jobs.meet();
  Together all(jobs, joint_context(), {1, 4});
  Bytes room(10), own_room(10);
  Receive across(on(all[1], from(jobs[1], 1, 3, room))), own(from(jobs[1], MPI_ANY_SOURCE, 3, own_room));
  jobs[1].messenger.start(across);
  jobs[1].messenger.start(own);
  jobs.lose(4);
  EXPECT_TRUE(across.done());
  EXPECT_FALSE(across.result().status.ok());
  EXPECT_FALSE(own.done()) << "the lost process is no member of the first job's MPI_COMM_WORLD";
  jobs[1].messenger.cancel(own);
  EXPECT_EQ(jobs[1].network.describe(jobs.id_of(1, 4)).rfind("rank 1 of job 71", 0), 0u);
}

// Two jobs of which one made a context id in each process cannot have made the same.
TEST(TwoJobs, ContextIdsOfEveryProcessDiffer) {
  LoopJob jobs(two_jobs());
  std::vector<std::uint64_t> ids;
  for (std::uint32_t process = 0; process < kAll; ++process) {
    const wire::JobRank name = jobs[process].name;
    comm::ContextIds maker(runtime::ProcessTable::short_number(name.job), name.rank);
    for (int i = 0; i < 3; ++i) ids.push_back(maker.take());
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace
}  // namespace lapwing::p2p
