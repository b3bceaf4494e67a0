// Collectives between two groups of 1 to 5 ranks, both ways, against what the standard says.
#include <gtest/gtest.h>

#include <vector>

#include "coll/compile.h"
#include "coll/simulation_for_tests.h"

namespace lapwing::coll {
namespace {

// Ranks 0 to a - 1 are one group, a to a + b - 1 the other.
class Between {
 public:
  Between(int a, int b) : simulation(a, b), a(a), b(b) {
    for (int i = 0; i < a + b; ++i) {
      const bool second = i >= a;
      comm::Group* first = comm::Group::make_range({}, a, second ? MPI_UNDEFINED : i);
      comm::Group* last = comm::Group::make_range({static_cast<std::uint32_t>(a)}, b, second ? i - a : MPI_UNDEFINED);
      communicators.push_back(new comm::Communicator(64, second ? last : first, second ? first : last));
      communicators.back()->leads = !second;
    }
  }
  ~Between() {
    for (comm::Communicator* each : communicators) comm::Communicator::drop(each);
  }
  bool second(int i) const { return i >= a; }
  int rank(int i) const { return second(i) ? i - a : i; }
  int own_size(int i) const { return second(i) ? b : a; }
  int other_size(int i) const { return second(i) ? a : b; }
  // The index of rank `peer` of the other group.
  int other(int i, int peer) const { return second(i) ? peer : a + peer; }
  int all() const { return a + b; }
  void add(int i, const Call& call) {
    Schedule& schedule = simulation[i];
    if (call.op != nullptr) schedule.set_op(*call.op);
    compile_inter(call, *communicators[static_cast<std::size_t>(i)], schedule);
  }

  Simulation simulation;
  int a;
  int b;
  std::vector<comm::Communicator*> communicators;
};

template <typename Check>
void for_all_groups(Check check) {
  for (int a = 1; a <= 5; ++a) {
    for (int b = 1; b <= 5; ++b) {
      for (unsigned seed = 1; seed <= kSeeds; ++seed) {
        SCOPED_TRACE(std::to_string(a) + " and " + std::to_string(b) + " ranks, seed " + std::to_string(seed));
        check(a, b, seed);
      }
    }
  }
}

Side ints(void* buffer, std::uint64_t count) {
  Side side;
  side.buffer = buffer;
  side.count = count;
  side.type = MPI_INT;
  return side;
}

using Memory = std::vector<std::vector<int>>;
Memory memory(const Between& job, std::size_t count) {
  return Memory(static_cast<std::size_t>(job.all()), std::vector<int>(count, -1));
}
int* at(Memory& memory, int i) {
  return memory[static_cast<std::size_t>(i)].data();
}

TEST(Inter, Barrier) {
  for_all_groups([](int a, int b, unsigned seed) {
    Between job(a, b);
    for (int i = 0; i < job.all(); ++i) job.add(i, {});
    EXPECT_TRUE(job.simulation.run(seed));
  });
}

TEST(Inter, BcastGatherScatterReduceWithTheRootInEitherGroup) {
  for (const Collective what : {Collective::kBcast, Collective::kGather, Collective::kScatter, Collective::kReduce}) {
    for_all_groups([what](int a, int b, unsigned seed) {
      for (const int root : {0, a + b - 1}) {  // an index
        Between job(a, b);
        constexpr std::uint64_t kCount = 3;
        Memory out = memory(job, 64), in = memory(job, 64);
        for (int i = 0; i < job.all(); ++i) {
          for (int k = 0; k < 64; ++k) at(out, i)[k] = 1000 * i + k;
          Call call;
          call.what = what;
          call.root = i == root ? MPI_ROOT : job.second(i) == job.second(root) ? MPI_PROC_NULL : job.rank(root);
          call.send = ints(at(out, i), kCount);
          call.receive = ints(what == Collective::kBcast && i == root ? at(out, i) : at(in, i), kCount);
          if (what == Collective::kReduce) call.op = datatype::resolve_op(MPI_SUM);
          job.add(i, call);
        }
        ASSERT_TRUE(job.simulation.run(seed));
        const int others = job.other_size(root);
        for (int peer = 0; peer < others; ++peer) {
          const int i = job.other(root, peer);
          for (int k = 0; k < static_cast<int>(kCount); ++k) {
            if (what == Collective::kBcast) {
              EXPECT_EQ(at(in, i)[k], 1000 * root + k);
            }
            if (what == Collective::kScatter) {
              EXPECT_EQ(at(in, i)[k], 1000 * root + peer * 3 + k);
            }
            if (what == Collective::kGather) {
              EXPECT_EQ(at(in, root)[peer * 3 + k], 1000 * i + k);
            }
          }
        }
        if (what != Collective::kReduce) continue;
        for (int k = 0; k < static_cast<int>(kCount); ++k) {
          int sum = 0;
          for (int peer = 0; peer < others; ++peer) sum += 1000 * job.other(root, peer) + k;
          EXPECT_EQ(at(in, root)[k], sum);
        }
      }
    });
  }
}

TEST(Inter, AllgatherAlltoallAllreduce) {
  for (const Collective what : {Collective::kAllgather, Collective::kAlltoall, Collective::kAllreduce}) {
    for_all_groups([what](int a, int b, unsigned seed) {
      Between job(a, b);
      constexpr std::uint64_t kCount = 3;
      Memory out = memory(job, 64), in = memory(job, 64);
      for (int i = 0; i < job.all(); ++i) {
        for (int k = 0; k < 64; ++k) at(out, i)[k] = 1000 * i + k;
        Call call;
        call.what = what;
        call.send = ints(at(out, i), kCount);
        call.receive = ints(at(in, i), kCount);
        if (what == Collective::kAllreduce) call.op = datatype::resolve_op(MPI_SUM);
        job.add(i, call);
      }
      ASSERT_TRUE(job.simulation.run(seed));
      for (int i = 0; i < job.all(); ++i) {
        for (int k = 0; k < static_cast<int>(kCount); ++k) {
          int sum = 0;
          for (int peer = 0; peer < job.other_size(i); ++peer) {
            const int from = job.other(i, peer);
            sum += 1000 * from + k;
            if (what == Collective::kAllgather) {
              EXPECT_EQ(at(in, i)[peer * 3 + k], 1000 * from + k);
            }
            if (what == Collective::kAlltoall) {
              EXPECT_EQ(at(in, i)[peer * 3 + k], 1000 * from + job.rank(i) * 3 + k);
            }
          }
          if (what == Collective::kAllreduce) {
            EXPECT_EQ(at(in, i)[k], sum);
          }
        }
      }
    });
  }
}

// Both groups together have a * b elements: b for each of the a ranks, and the reverse.
TEST(Inter, ReduceScatterBlock) {
  for_all_groups([](int a, int b, unsigned seed) {
    Between job(a, b);
    Memory out = memory(job, 64), in = memory(job, 64);
    for (int i = 0; i < job.all(); ++i) {
      for (int k = 0; k < 64; ++k) at(out, i)[k] = 1000 * i + k;
      Call call;
      call.what = Collective::kReduceScatterBlock;
      call.send.buffer = at(out, i);
      call.receive = ints(at(in, i), static_cast<std::uint64_t>(job.other_size(i)));
      call.op = datatype::resolve_op(MPI_SUM);
      job.add(i, call);
    }
    ASSERT_TRUE(job.simulation.run(seed));
    for (int i = 0; i < job.all(); ++i) {
      for (int k = 0; k < job.other_size(i); ++k) {
        int sum = 0;
        for (int peer = 0; peer < job.other_size(i); ++peer)
          sum += 1000 * job.other(i, peer) + job.rank(i) * job.other_size(i) + k;
        EXPECT_EQ(at(in, i)[k], sum);
      }
    }
  });
}

}  // namespace
}  // namespace lapwing::coll
