// The formulas against the schedules: what is compiled runs on a machine of which every cost is known.
#include "coll/model/costs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/tuning.h"
#include "coll/compile.h"
#include "coll/model/timed_run_for_tests.h"

namespace lapwing::coll::model {
namespace {

using A = Algorithm;
using C = CollectiveKind;

// One call on buffers that are never read: a run on a clock moves no data.
struct Example {
  C kind;
  Collective what;
};
constexpr Example kExamples[] = {
    {C::kAllgather, Collective::kAllgather}, {C::kAllreduce, Collective::kAllreduce},
    {C::kAlltoall, Collective::kAlltoall},   {C::kBarrier, Collective::kBarrier},
    {C::kBcast, Collective::kBcast},         {C::kGather, Collective::kGather},
    {C::kReduce, Collective::kReduce},       {C::kReduceScatter, Collective::kReduceScatterBlock},
    {C::kScan, Collective::kScan},           {C::kScatter, Collective::kScatter},
};

Call call_of(Collective what, std::uint64_t ints) {
  static int in[1 << 23], out[1 << 23];  // apart, as those of a call that is not in place
  Call made;
  made.what = what;
  made.send = {in, ints, MPI_INT, {}, {}, nullptr};
  made.receive = {out, ints, MPI_INT, {}, {}, nullptr};
  made.op = datatype::resolve_op(MPI_SUM);
  return made;
}

struct Run {
  Cost cost;
  double work_of_all;
};
// What the schedules of all ranks take, by the algorithm that is named.
Run run(const Machine& machine, const Example& example, const std::string& algorithm, int ranks, std::uint64_t bytes) {
  TimedRun timed(machine, ranks);
  AlgorithmChoices wanted;
  EXPECT_TRUE(AlgorithmChoices::parse(std::string(name(example.kind)) + "=" + algorithm, wanted));
  for (int rank = 0; rank < ranks; ++rank) {
    timed[rank].set_op(*datatype::resolve_op(MPI_SUM));
    timed[rank].set_area(algorithm.starts_with("area"));
    timed[rank].set_direct(algorithm == "area_direct");
    timed[rank].set_wanted(wanted);
    const bool of_all = example.kind == C::kReduceScatter;
    compile_intra(call_of(example.what, bytes / sizeof(int) / static_cast<unsigned>(of_all ? ranks : 1)), timed[rank]);
  }
  const Cost cost = timed.run();
  return {cost, timed.work_of_all()};
}

// Where latency, overhead, the wire or the processor is what counts.
std::vector<Machine> machines() {
  const Memory memory = Parameters::defaults().memory;
  std::vector<Machine> made;
  for (int kind = 0; kind < kLinkKinds; ++kind) made.push_back({Parameters::defaults().links[kind], memory});
  made.push_back({{20000, 500, 700, 8, 0}, memory});
  made.push_back({{1000, 10000, 10000, 0.4, 0.4}, {0.3, 0.5, 80, 0, 0, 3000, 0.4}});
  for (Machine& machine : made) {
    machine.segment = static_cast<double>(tuning().coll_bcast_segment);
    machine.barrier_radix = static_cast<int>(tuning().coll_barrier_radix);
    machine.tree_radix = static_cast<int>(tuning().coll_tree_radix);
  }
  return made;
}

std::vector<std::string> algorithms_of(C kind) {
  std::vector<std::string> names;
  std::string rest(algorithms_for(kind));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('|'), rest.size());
    names.push_back(rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  return names;
}

Algorithm algorithm_named(const std::string& text) {
  for (int each = 1;; ++each)
    if (name(static_cast<Algorithm>(each)) == text) return static_cast<Algorithm>(each);
}

// Calls act(collective, algorithm) for each pair that there is.
template <typename Act>
void for_each_algorithm(Act act) {
  for (const Example& example : kExamples)
    for (const std::string& algorithm : algorithms_of(example.kind))
      if (algorithm != "two_levels") act(example, algorithm);  // made of others, one inside each host and one between them
}

class Ratios {
 public:
  void add(double ratio) {
    sum_ += std::log(ratio);
    ++count_;
  }
  double mean() const { return std::exp(sum_ / count_); }

 private:
  double sum_ = 0;
  int count_ = 0;
};

// What the formula says over what the schedules take.
void compare(const Example& example, const std::string& algorithm, Ratios& times, Ratios& processors) {
  const Entry* entry = find_entry(example.kind, algorithm_named(algorithm));
  ASSERT_NE(entry, nullptr) << "no formula";
  for (const Machine& machine : machines()) {
    for (const int ranks : {2, 3, 4, 5, 8, 13, 16}) {
      for (const std::uint64_t bytes : {240u, 4160u, 62400u, 998400u}) {  // multiples of the ranks' numbers, times four
        SCOPED_TRACE("L " + std::to_string(machine.link.latency) + ", " + std::to_string(ranks) + " ranks, " +
                     std::to_string(bytes) + " bytes");
        const Run took = run(machine, example, algorithm, ranks, bytes);
        const Cost predicted = predict(*entry, machine, ranks, static_cast<double>(bytes));
        const double time = predicted.time / took.cost.time, processor = predicted.processor / took.cost.processor;
        const double all = work_of_all(*entry, predicted, ranks) / took.work_of_all;
        EXPECT_TRUE(time > 0.7 && time < 1.5) << time;
        EXPECT_TRUE(processor > 0.75 && processor < 1.5) << processor;
        if (entry->spread == Spread::kEven) {
          EXPECT_TRUE(all > 0.7 && all < 2.3) << all;  // ranks that exceed a power of two do little
        }
        times.add(time);
        processors.add(processor);
      }
    }
  }
}

TEST(Costs, FormulasDescribeTheSchedules) {
  for_each_algorithm([](const Example& example, const std::string& algorithm) {
    SCOPED_TRACE(std::string(name(example.kind)) + "=" + algorithm);
    Ratios times, processors;
    compare(example, algorithm, times, processors);
    EXPECT_NEAR(times.mean(), 1, 0.1);
    EXPECT_NEAR(processors.mean(), 1, 0.1);
  });
}

// What chains are for: many more segments than ranks, or than a rank has room for.
TEST(Costs, ChainsHaveManySegments) {
  Tuning values;
  values.coll_bcast_segment = 8192;
  put_in_force(values);
  for (const Example& example : {Example{C::kBcast, Collective::kBcast}, Example{C::kReduce, Collective::kReduce},
                                 Example{C::kScan, Collective::kScan}}) {
    SCOPED_TRACE(name(example.kind));
    Ratios times, processors;
    compare(example, "chain", times, processors);
    EXPECT_NEAR(times.mean(), 1, 0.1);
    EXPECT_NEAR(processors.mean(), 1, 0.1);
  }
  put_in_force(Tuning());
}

TEST(Costs, BarriersHaveAnyRadix) {
  for (const unsigned radix : {3, 4, 16}) {
    SCOPED_TRACE("radix " + std::to_string(radix));
    Tuning values;
    values.coll_barrier_radix = radix;
    put_in_force(values);
    Ratios times, processors;
    compare({C::kBarrier, Collective::kBarrier}, "dissemination", times, processors);
    EXPECT_NEAR(times.mean(), 1, 0.1);
    EXPECT_NEAR(processors.mean(), 1, 0.1);
  }
  put_in_force(Tuning());
}

TEST(Costs, TreesHaveAnyRadix) {
  for (const unsigned radix : {3, 5, 16}) {
    Tuning values;
    values.coll_tree_radix = radix;
    put_in_force(values);
    for (const Example& example : {Example{C::kBcast, Collective::kBcast}, Example{C::kReduce, Collective::kReduce},
                                   Example{C::kGather, Collective::kGather}, Example{C::kScatter, Collective::kScatter}}) {
      SCOPED_TRACE(std::string(name(example.kind)) + ", radix " + std::to_string(radix));
      Ratios times, processors;
      compare(example, "knomial", times, processors);
      EXPECT_NEAR(times.mean(), 1, 0.1);
      EXPECT_NEAR(processors.mean(), 1, 0.1);
    }
  }
  put_in_force(Tuning());
}

// Computed by hand from the formulas that the algorithms' files state, for L 100, o 10, g 5, G 2, O 1, C 0.5, y 0.25, l 20.
TEST(Costs, AreAsTheFilesSay) {
  Machine machine;
  machine.link = {100, 10, 5, 2, 1};
  machine.memory = {0.5, 0.25, 20, 0, 1000};
  const auto time = [&](C kind, A algorithm, int p, double n) {
    return predict(*find_entry(kind, algorithm), machine, p, n).time;
  };
  EXPECT_DOUBLE_EQ(time(C::kBarrier, A::kDissemination, 8, 0), 3 * 120);
  EXPECT_DOUBLE_EQ(time(C::kBcast, A::kBinomial, 8, 100), 3 * (120 + 200));
  EXPECT_DOUBLE_EQ(time(C::kBcast, A::kKnomial, 16, 100), 2 * (120 + 200 + 2 * 200));
  EXPECT_DOUBLE_EQ(time(C::kBcast, A::kLinear, 8, 100), 320 + 6 * 200);
  EXPECT_DOUBLE_EQ(time(C::kAllgather, A::kRing, 5, 100), 4 * (120 + 200));
  EXPECT_DOUBLE_EQ(time(C::kAllgather, A::kBruck, 8, 100), 3 * 120 + 700 * 2 + 900 * 0.5);
  EXPECT_DOUBLE_EQ(time(C::kAllgather, A::kDoubling, 8, 100), 3 * 120 + 700 * 2 + 50);
  EXPECT_DOUBLE_EQ(time(C::kAllgather, A::kNeighbors, 6, 100), 3 * 120 + 500 * 2 + 50);
  EXPECT_DOUBLE_EQ(time(C::kAllreduce, A::kDoubling, 8, 100), 3 * (120 + 200 + 25) + 50);
  EXPECT_DOUBLE_EQ(time(C::kAllreduce, A::kHalving, 4, 400), 4 * 120 + 2 * 300 * 2 + 300 * 0.25 + 200);
  EXPECT_DOUBLE_EQ(time(C::kAllreduce, A::kRing, 4, 400), 6 * 120 + 2 * 300 * 2 + 300 * 0.25 + 200);
  EXPECT_DOUBLE_EQ(time(C::kBarrier, A::kArea, 8, 0), 8 * 20);
  EXPECT_DOUBLE_EQ(time(C::kAllreduce, A::kArea, 4, 100), 4 * 20 + 2 * 50 + 3 * 25);
  EXPECT_DOUBLE_EQ(time(C::kAllreduce, A::kAreaShares, 4, 400), 8 * 20 + 9 * 100 * 0.5 + 300 * 0.25);
  machine.barrier_radix = 4;
  EXPECT_DOUBLE_EQ(time(C::kBarrier, A::kDissemination, 16, 0), 2 * (120 + 2 * 10));
  machine.barrier_radix = 2;
  machine.segment = 100;
  EXPECT_DOUBLE_EQ(time(C::kReduce, A::kChain, 4, 300), 3 * (120 + 225) + 2 * 245 + 2 * 45) << "the last: two ranks held up";
  machine.cores = 2;
  EXPECT_DOUBLE_EQ(time(C::kBarrier, A::kArea, 8, 0), 8 * 8 * 20 / 2 + 3 * 1000) << "two cores work for eight ranks";
  EXPECT_DOUBLE_EQ(time(C::kBarrier, A::kDissemination, 8, 0), 3 * 120 + 3 * 3 * 1000);
}

// Paper 5, equations 4 to 6: what a barrier and a bcast take from the processor.
TEST(Costs, TheProcessorHasTheOverheadsOnly) {
  Machine machine;
  machine.link = {100, 10, 5, 2, 0};
  EXPECT_DOUBLE_EQ(predict(*find_entry(C::kBarrier, A::kDissemination), machine, 16, 0).processor, 2 * 10 * 4);
  EXPECT_DOUBLE_EQ(predict(*find_entry(C::kBcast, A::kBinomial), machine, 16, 1000).processor, 10 * 4)
      << "a rank sends or receives in each round, so it is half of what the paper counts for both together";
}

}  // namespace
}  // namespace lapwing::coll::model
