// That a user's wish is met: each algorithm is chosen when LAPWING_ALGORITHM names it and can be used, and what is compiled is it.
#include "coll/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/tuning.h"
#include "coll/algorithms.h"
#include "coll/compile.h"

namespace lapwing::coll {
namespace {

constexpr int kRanks = 4;
constexpr std::uint64_t kCount = 64;

AlgorithmChoices wish(const std::string& text) {
  AlgorithmChoices choices;
  EXPECT_TRUE(AlgorithmChoices::parse(text, choices)) << text;
  return choices;
}

// What the steps are, but for addresses.
std::string shape(const Schedule& schedule) {
  std::ostringstream text;
  for (const Step& step : schedule.steps()) {
    text << static_cast<int>(step.kind()) << "/" << step.waits_for;
    if (step.is<SendStep>() || step.is<ReceiveStep>())
      text << " " << message_of(step).peer << " " << message_of(step).data.bytes();
    if (step.is<FoldStep>()) text << " " << step.as<FoldStep>().offset << " " << step.as<FoldStep>().target.bytes();
    if (step.is<PostStep>()) text << " " << step.as<PostStep>().round << " " << step.as<PostStep>().source.bytes();
    text << "; ";
  }
  return text.str();
}

// One rank's call on buffers of ints, and the same by an algorithm that is named.
struct Buffers {
  std::vector<int> in = std::vector<int>(kRanks * kCount), out = in;
  Block sent(std::uint64_t count = kCount) { return block(in.data(), count, datatype::resolve(MPI_INT)); }
  Block received(std::uint64_t count = kCount) { return block(out.data(), count, datatype::resolve(MPI_INT)); }
  Blocks all_sent() { return uniform_blocks(in.data(), kCount, *datatype::resolve(MPI_INT), kRanks); }
  Blocks all_received() { return uniform_blocks(out.data(), kCount, *datatype::resolve(MPI_INT), kRanks); }

  Call call(Collective what) {
    Call made;
    made.what = what;
    made.send = {in.data(), kCount, MPI_INT, {}, {}, nullptr};
    made.receive = {out.data(), kCount, MPI_INT, {}, {}, nullptr};
    made.op = datatype::resolve_op(MPI_SUM);
    return made;
  }
};

struct Offer {
  CollectiveKind kind;
  Collective what;
  const char* algorithm;
  std::function<void(Schedule&, Buffers&)> build;
};

std::vector<std::uint64_t> even() {
  std::vector<std::uint64_t> starts;
  for (std::uint64_t rank = 0; rank <= kRanks; ++rank) starts.push_back(rank * kCount);
  return starts;
}

Blocks runs_of(const Blocks& blocks) {
  Blocks runs;
  for (const Block& each : blocks) runs.push_back(bytes_block(each.address, each.bytes()));
  return runs;
}

const std::vector<Offer>& offers() {
  using K = CollectiveKind;
  using C = Collective;
  static const std::vector<Offer> kOffers = {
      {K::kBarrier, C::kBarrier, "area", [](Schedule& s, Buffers&) { barrier_on_area(s); }},
      {K::kBarrier, C::kBarrier, "two_levels", [](Schedule& s, Buffers&) { barrier_on_two_levels(s); }},
      {K::kBarrier, C::kBarrier, "linear", [](Schedule& s, Buffers&) { barrier_linear(s); }},
      {K::kBarrier, C::kBarrier, "dissemination", [](Schedule& s, Buffers&) { barrier_dissemination(s, 2); }},
      {K::kBcast, C::kBcast, "area", [](Schedule& s, Buffers& b) { bcast_on_area(s, b.received(), 0); }},
      {K::kBcast, C::kBcast, "two_levels", [](Schedule& s, Buffers& b) { bcast_on_two_levels(s, b.received(), 0); }},
      {K::kBcast, C::kBcast, "linear", [](Schedule& s, Buffers& b) { bcast_linear(s, b.received(), 0); }},
      {K::kBcast, C::kBcast, "binomial", [](Schedule& s, Buffers& b) { bcast_knomial(s, b.received(), 0); }},
      {K::kBcast, C::kBcast, "knomial",
       [](Schedule& s, Buffers& b) { bcast_knomial(s, b.received(), 0, static_cast<int>(tuning().coll_tree_radix)); }},
      {K::kBcast, C::kBcast, "scatter_allgather",
       [](Schedule& s, Buffers& b) { bcast_scatter_allgather(s, bytes_block(b.out.data(), kCount * 4), 0); }},
      {K::kBcast, C::kBcast, "chain",
       [](Schedule& s, Buffers& b) {
         bcast_chain(s, bytes_block(b.out.data(), kCount * 4), 0, tuning().coll_bcast_segment);
       }},
      {K::kAllgather, C::kAllgather, "area",
       [](Schedule& s, Buffers& b) { allgather_on_area(s, b.sent(), b.all_received()); }},
      {K::kAllgather, C::kAllgather, "area_direct",
       [](Schedule& s, Buffers& b) { allgather_directly(s, runs_of({b.sent()})[0], runs_of(b.all_received())); }},
      {K::kAllgather, C::kAllgather, "two_levels",
       [](Schedule& s, Buffers& b) { allgather_on_two_levels(s, b.sent(), b.all_received()); }},
      {K::kAllgather, C::kAllgather, "bruck",
       [](Schedule& s, Buffers& b) { allgather_bruck(s, b.sent(), b.all_received()); }},
      {K::kAllgather, C::kAllgather, "doubling",
       [](Schedule& s, Buffers& b) { allgather_doubling(s, b.sent(), b.all_received()); }},
      {K::kAllgather, C::kAllgather, "neighbors",
       [](Schedule& s, Buffers& b) { allgather_neighbors(s, b.sent(), b.all_received()); }},
      {K::kAllgather, C::kAllgather, "ring",
       [](Schedule& s, Buffers& b) { allgather_ring(s, b.sent(), b.all_received()); }},
      {K::kAllreduce, C::kAllreduce, "area",
       [](Schedule& s, Buffers& b) { allreduce_on_area(s, b.sent(), b.received()); }},
      {K::kAllreduce, C::kAllreduce, "two_levels",
       [](Schedule& s, Buffers& b) { allreduce_on_two_levels(s, b.sent(), b.received()); }},
      {K::kAllreduce, C::kAllreduce, "area_shares",
       [](Schedule& s, Buffers& b) { allreduce_in_shares_on_area(s, b.sent(), b.received()); }},
      {K::kAllreduce, C::kAllreduce, "linear",
       [](Schedule& s, Buffers& b) { allreduce_linear(s, b.sent(), b.received()); }},
      {K::kAllreduce, C::kAllreduce, "doubling",
       [](Schedule& s, Buffers& b) { allreduce_recursive_doubling(s, b.sent(), b.received()); }},
      {K::kAllreduce, C::kAllreduce, "halving",
       [](Schedule& s, Buffers& b) { allreduce_halving(s, b.sent(), b.received()); }},
      {K::kAllreduce, C::kAllreduce, "pipelined_ring",
       [](Schedule& s, Buffers& b) { allreduce_ring(s, b.sent(), b.received(), tuning().coll_bcast_segment); }},
      {K::kAllreduce, C::kAllreduce, "ring",
       [](Schedule& s, Buffers& b) { allreduce_ring(s, b.sent(), b.received(), kWholeChunks); }},
      {K::kAlltoall, C::kAlltoall, "area",
       [](Schedule& s, Buffers& b) { alltoall_on_area(s, b.sent(kCount * kRanks), b.all_received()); }},
      {K::kAlltoall, C::kAlltoall, "area_direct",
       [](Schedule& s, Buffers& b) { alltoall_directly(s, runs_of(b.all_sent()), runs_of(b.all_received())); }},
      {K::kAlltoall, C::kAlltoall, "two_levels",
       [](Schedule& s, Buffers& b) { alltoall_on_two_levels(s, b.sent(kCount * kRanks), b.all_received()); }},
      {K::kAlltoall, C::kAlltoall, "bruck",
       [](Schedule& s, Buffers& b) { alltoall_bruck(s, b.all_sent(), b.all_received()); }},
      {K::kAlltoall, C::kAlltoall, "pairwise",
       [](Schedule& s, Buffers& b) { alltoall_pairwise(s, b.all_sent(), b.all_received()); }},
      {K::kGather, C::kGather, "area",
       [](Schedule& s, Buffers& b) { gather_on_area(s, b.sent(), b.all_received(), 0); }},
      {K::kGather, C::kGather, "area_direct",
       [](Schedule& s, Buffers& b) { gather_directly(s, runs_of({b.sent()})[0], runs_of(b.all_received()), 0); }},
      {K::kGather, C::kGather, "two_levels",
       [](Schedule& s, Buffers& b) { gather_on_two_levels(s, b.sent(), b.all_received(), 0, kCount * 4); }},
      {K::kGather, C::kGather, "binomial",
       [](Schedule& s, Buffers& b) { gather_knomial(s, b.sent(), b.all_received(), 0); }},
      {K::kGather, C::kGather, "knomial",
       [](Schedule& s, Buffers& b) { gather_knomial(s, b.sent(), b.all_received(), 0, static_cast<int>(tuning().coll_tree_radix)); }},
      {K::kGather, C::kGather, "linear",
       [](Schedule& s, Buffers& b) { gather_linear(s, b.sent(), b.all_received(), 0); }},
      {K::kScatter, C::kScatter, "area",
       [](Schedule& s, Buffers& b) {
         scatter_on_area(s, s.rank() == 0 ? b.sent(kCount * kRanks) : Block{}, b.all_sent(), b.received(), 0);
       }},
      {K::kScatter, C::kScatter, "area_direct",
       [](Schedule& s, Buffers& b) { scatter_directly(s, runs_of(b.all_sent()), runs_of({b.received()})[0], 0); }},
      {K::kScatter, C::kScatter, "two_levels",
       [](Schedule& s, Buffers& b) { scatter_on_two_levels(s, b.all_sent(), b.received(), 0, kCount * 4); }},
      {K::kScatter, C::kScatter, "binomial",
       [](Schedule& s, Buffers& b) { scatter_knomial(s, b.all_sent(), b.received(), 0); }},
      {K::kScatter, C::kScatter, "knomial",
       [](Schedule& s, Buffers& b) { scatter_knomial(s, b.all_sent(), b.received(), 0, static_cast<int>(tuning().coll_tree_radix)); }},
      {K::kScatter, C::kScatter, "linear",
       [](Schedule& s, Buffers& b) { scatter_linear(s, b.all_sent(), b.received(), 0); }},
      {K::kReduce, C::kReduce, "area", [](Schedule& s, Buffers& b) { reduce_on_area(s, b.sent(), b.received(), 0); }},
      {K::kReduce, C::kReduce, "two_levels",
       [](Schedule& s, Buffers& b) { reduce_on_two_levels(s, b.sent(), b.received(), 0); }},
      {K::kReduce, C::kReduce, "area_shares",
       [](Schedule& s, Buffers& b) { reduce_in_shares_on_area(s, b.sent(), b.received(), 0); }},
      {K::kReduce, C::kReduce, "linear", [](Schedule& s, Buffers& b) { reduce_linear(s, b.sent(), b.received(), 0); }},
      {K::kReduce, C::kReduce, "binomial",
       [](Schedule& s, Buffers& b) { reduce_knomial(s, b.sent(), b.received(), 0); }},
      {K::kReduce, C::kReduce, "knomial",
       [](Schedule& s, Buffers& b) { reduce_knomial(s, b.sent(), b.received(), 0, static_cast<int>(tuning().coll_tree_radix)); }},
      {K::kReduce, C::kReduce, "chain",
       [](Schedule& s, Buffers& b) { reduce_chain(s, b.sent(), b.received(), 0, tuning().coll_bcast_segment); }},
      {K::kReduce, C::kReduce, "scatter_gather",
       [](Schedule& s, Buffers& b) { reduce_scatter_gather(s, b.sent(), b.received(), 0); }},
      {K::kReduceScatter, C::kReduceScatterBlock, "area",
       [](Schedule& s, Buffers& b) { reduce_scatter_on_area(s, b.sent(kCount * kRanks), b.received(), even()); }},
      {K::kReduceScatter, C::kReduceScatterBlock, "doubling",
       [](Schedule& s, Buffers& b) { reduce_scatter_doubling(s, b.sent(kCount * kRanks), b.received(), even()); }},
      {K::kReduceScatter, C::kReduceScatterBlock, "halving",
       [](Schedule& s, Buffers& b) { reduce_scatter_halving(s, b.sent(kCount * kRanks), b.received(), even()); }},
      {K::kReduceScatter, C::kReduceScatterBlock, "pairwise",
       [](Schedule& s, Buffers& b) { reduce_scatter_pairwise(s, b.sent(kCount * kRanks), b.received(), even()); }},
      {K::kScan, C::kScan, "area", [](Schedule& s, Buffers& b) { scan_on_area(s, b.sent(), b.received(), true); }},
      {K::kScan, C::kScan, "doubling", [](Schedule& s, Buffers& b) { scan_doubling(s, b.sent(), b.received()); }},
      {K::kScan, C::kScan, "chain",
       [](Schedule& s, Buffers& b) { scan_chain(s, b.sent(), b.received(), true, tuning().coll_bcast_segment); }},
  };
  return kOffers;
}

// Two hosts of two ranks each, which have areas.
const Levels* levels_of(int rank) {
  static const std::vector<std::unique_ptr<const Levels>> kLevels = [] {
    std::vector<std::unique_ptr<const Levels>> made;
    for (int each = 0; each < kRanks; ++each) made.push_back(Levels::make({0, 0, 1, 1}, each));
    return made;
  }();
  return kLevels[static_cast<std::size_t>(rank)].get();
}

void prepare(Schedule& schedule, int rank, const Offer& offer) {
  const bool two_levels = std::string("two_levels") == offer.algorithm;
  schedule.set_levels(two_levels ? levels_of(rank) : nullptr);
  schedule.set_area(two_levels);
  schedule.set_op(*datatype::resolve_op(MPI_SUM));
  schedule.set_team(comm::Plane::kCollective, rank, kRanks);
}

// A ring's chunk of the operands here has two; and the messages of a k-nomial tree have another order than those of one rank to all.
class ShortSegments {
 public:
  ShortSegments() {
    Tuning values;
    values.coll_bcast_segment = kCount * 4 / kRanks / 2;
    values.coll_tree_radix = 3;
    put_in_force(values);
  }
  ~ShortSegments() { put_in_force(Tuning()); }
};

TEST(Selection, WhatIsWantedIsCompiled) {
  const ShortSegments segments;
  for (const Offer& offer : offers()) {
    for (int rank = 0; rank < kRanks; ++rank) {
      SCOPED_TRACE(std::string(name(offer.kind)) + "=" + offer.algorithm + ", rank " + std::to_string(rank));
      Buffers buffers;
      Schedule wanted, named;
      prepare(wanted, rank, offer);
      prepare(named, rank, offer);
      wanted.set_area(true);
      wanted.set_direct(true);
      wanted.set_wanted(wish(std::string(name(offer.kind)) + "=" + offer.algorithm));
      compile_intra(buffers.call(offer.what), wanted);
      offer.build(named, buffers);
      wanted.seal();
      named.seal();
      EXPECT_EQ(shape(wanted), shape(named));
    }
  }
}

// Otherwise the test above would not tell them apart.
TEST(Selection, AlgorithmsOfOneCollectiveHaveDifferentSteps) {
  const ShortSegments segments;
  for (const Offer& one : offers()) {
    for (const Offer& other : offers()) {
      if (one.kind != other.kind || &one == &other) continue;
      Buffers buffers;
      std::string shapes[2];
      for (int rank = 0; rank < kRanks; ++rank) {
        Schedule first, second;
        prepare(first, rank, one);
        prepare(second, rank, other);
        one.build(first, buffers);
        other.build(second, buffers);
        first.seal();
        second.seal();
        shapes[0] += shape(first);
        shapes[1] += shape(second);
      }
      EXPECT_NE(shapes[0], shapes[1]) << name(one.kind) << ": " << one.algorithm << " and " << other.algorithm;
    }
  }
}

// Of what a rank begins at the same time: the RTS of its own long message must not come after the answer to the peer's (schedule.h).
TEST(Selection, ExchangesSendFirst) {
  for (const Offer& offer : offers()) {
    for (int rank = 0; rank < kRanks; ++rank) {
      SCOPED_TRACE(std::string(name(offer.kind)) + "=" + offer.algorithm + ", rank " + std::to_string(rank));
      Buffers buffers;
      Schedule schedule;
      prepare(schedule, rank, offer);
      offer.build(schedule, buffers);
      schedule.seal();
      std::vector<int> received_from;
      for (const Step& step : schedule.steps()) {
        if (step.waits_for != 0) continue;
        if (step.is<ReceiveStep>()) received_from.push_back(message_of(step).peer);
        if (!step.is<SendStep>()) continue;
        EXPECT_EQ(std::count(received_from.begin(), received_from.end(), message_of(step).peer), 0);
      }
    }
  }
}

TEST(Selection, TheTableOffersWhatIsTestedHere) {
  for (int kind = 0; kind < static_cast<int>(CollectiveKind::kCount); ++kind) {
    std::string tested;
    for (const Offer& offer : offers()) {
      if (offer.kind != static_cast<CollectiveKind>(kind)) continue;
      tested += (tested.empty() ? "" : "|") + std::string(offer.algorithm);
    }
    EXPECT_EQ(tested, algorithms_for(static_cast<CollectiveKind>(kind)));
  }
}

TEST(Selection, WhatCannotBeUsedGivesWay) {
  Situation team;
  team.ranks = kRanks;
  const Reduced little{64, 16, true}, in_order{64, 16, false}, much{1 << 24, 1 << 22, true}, wide{1 << 20, 2, true};
  team.wanted = wish("allreduce=area,bcast=area,barrier=area");
  EXPECT_EQ(choose_allreduce(team, little), Algorithm::kDoubling) << "there is no area";
  EXPECT_EQ(choose_bcast(team, 64), Algorithm::kBinomial);
  EXPECT_EQ(choose_barrier(team), Algorithm::kDissemination);
  team.area = true;
  EXPECT_EQ(choose_allreduce(team, little), Algorithm::kArea);
  EXPECT_EQ(choose_allreduce(team, much), Algorithm::kArea) << "piece by piece";
  EXPECT_EQ(choose_allreduce(team, wide), Algorithm::kDoubling) << "an element is longer than a piece";
  team.wanted = wish("allreduce=ring");
  EXPECT_EQ(choose_allreduce(team, little), Algorithm::kRing);
  EXPECT_NE(choose_allreduce(team, in_order), Algorithm::kRing) << "it does not keep to the order of ranks";
  team.wanted = wish("scatter=area");
  EXPECT_EQ(choose_tree(CollectiveKind::kScatter, team, 1 << 20, 1 << 21, true), Algorithm::kArea) << "in pieces";
  team.wanted = wish("reduce_scatter=area");
  EXPECT_EQ(choose_reduce_scatter(team, much), Algorithm::kArea) << "in pieces";
  EXPECT_NE(choose_reduce_scatter(team, wide), Algorithm::kArea) << "no piece has an element for each rank";
  team.wanted = wish("gather=binomial,alltoall=bruck");
  EXPECT_EQ(choose_tree(CollectiveKind::kGather, team, 64, 64, false), Algorithm::kLinear)
      << "blocks of several lengths";
  EXPECT_EQ(choose_alltoall(team, 64, false), Algorithm::kPairwise);
}

TEST(Selection, RanksOfHostsCombineFirst) {
  Situation team;
  team.ranks = kRanks;
  team.levels = levels_of(0);
  EXPECT_EQ(choose_barrier(team), Algorithm::kTwoLevels);
  EXPECT_EQ(choose_bcast(team, 1 << 24), Algorithm::kTwoLevels);
  EXPECT_EQ(choose_allreduce(team, {1 << 24, 1 << 22, true}), Algorithm::kTwoLevels);
  EXPECT_EQ(choose_tree(CollectiveKind::kGather, team, 64, 64, true), Algorithm::kTwoLevels);
  EXPECT_EQ(choose_tree(CollectiveKind::kGather, team, 1 << 20, 1 << 20, true), Algorithm::kLinear) << "copied once";
  EXPECT_EQ(choose_tree(CollectiveKind::kScatter, team, 64, 64, false), Algorithm::kLinear) << "not known to all";
  EXPECT_EQ(choose_alltoall(team, 64, true), Algorithm::kTwoLevels);
  EXPECT_EQ(choose_alltoall(team, 1 << 20, true), Algorithm::kPairwise);
  EXPECT_EQ(choose_scan(team, {64, 16, true}), Algorithm::kDoubling) << "it has one level";
  team.wanted = wish("bcast=chain,allgather=two_levels");
  EXPECT_EQ(choose_bcast(team, 64), Algorithm::kChain);
  EXPECT_EQ(choose_allgather(team, 1 << 20, 1 << 18), Algorithm::kTwoLevels);
  team.levels = nullptr;
  EXPECT_NE(choose_allgather(team, 1 << 20, 1 << 18), Algorithm::kTwoLevels) << "they are on one host, or each on its own";
}

// Costs that make one thing count.
model::Parameters parameters(double latency, double overhead, double per_byte) {
  model::Parameters made = model::Parameters::defaults();
  made.link(model::LinkKind::kHosts) = {latency, overhead, overhead, per_byte, 0};
  return made;
}

TEST(Selection, WithoutAWishTheModelDecides) {
  Situation team;
  team.ranks = 8;
  const model::Parameters slow_wire = parameters(1000, 100, 100), far = parameters(1e6, 100, 1e-6);
  team.parameters = &far;
  EXPECT_EQ(choose_bcast(team, 1 << 20), Algorithm::kKnomial) << "two ways are the shortest";
  team.ranks = 4;
  EXPECT_EQ(choose_bcast(team, 1 << 20), Algorithm::kBinomial) << "one rank would serve all others";
  team.ranks = 8;
  EXPECT_EQ(choose_allreduce(team, {1 << 16, 1 << 14, true}), Algorithm::kDoubling);
  EXPECT_EQ(choose_allgather(team, 1 << 16, 1 << 13), Algorithm::kDoubling) << "three rounds, and nothing to unpack";
  EXPECT_EQ(choose_tree(CollectiveKind::kGather, team, 64, 64, true), Algorithm::kLinear) << "one way";
  team.parameters = &slow_wire;
  EXPECT_EQ(choose_bcast(team, 1 << 24), Algorithm::kChain) << "each byte leaves each rank once";
  EXPECT_EQ(choose_allreduce(team, {1 << 20, 1 << 18, true}), Algorithm::kHalving);
  EXPECT_EQ(choose_allgather(team, 1 << 22, 1 << 19), Algorithm::kRing) << "and nothing to copy";
  EXPECT_EQ(choose_alltoall(team, 1 << 16, true), Algorithm::kPairwise);
  EXPECT_EQ(choose_reduce(team, {1 << 20, 1 << 18, true}), Algorithm::kScatterGather);
  EXPECT_EQ(choose_reduce(team, {1 << 24, 1 << 22, true}), Algorithm::kChain) << "each byte leaves each rank once";
  EXPECT_EQ(choose_reduce(team, {1 << 20, 4, true}), Algorithm::kBinomial) << "fewer elements than ranks or segments";
  team.ranks = 6;
  const model::Parameters both = parameters(1e6, 100, 100);
  team.parameters = &both;
  EXPECT_EQ(choose_allgather(team, 6 << 17, 1 << 17), Algorithm::kNeighbors) << "three rounds, and nothing to unpack";
  team.ranks = 7;
  EXPECT_EQ(choose_allgather(team, 7 << 17, 1 << 17), Algorithm::kBruck) << "an odd number has no pairs";
  team.parameters = &slow_wire;
  EXPECT_EQ(choose_allreduce(team, {1 << 19, 1 << 17, true}), Algorithm::kRing);
  EXPECT_NE(choose_allreduce(team, {1 << 19, 1 << 17, false}), Algorithm::kRing) << "it does not keep to the order";
  EXPECT_EQ(choose_allreduce(team, {1 << 23, 1 << 21, true}), Algorithm::kPipelinedRing) << "it combines on the way";
  EXPECT_EQ(choose_reduce_scatter(team, {1 << 20, 1 << 17, false}), Algorithm::kPairwise) << "each byte leaves each rank once";
  team.ranks = 8;
  const model::Parameters slow_and_far = parameters(1e7, 100, 10);
  team.parameters = &slow_and_far;
  EXPECT_EQ(choose_reduce_scatter(team, {1 << 24, 1 << 21, true}), Algorithm::kPairwise) << "all at once";
}

TEST(Selection, DirectCopiesAreLikelyFasterWhereARootWouldCopyForManyCores) {
  Situation team;
  team.ranks = 16;
  team.area = team.direct = true;
  team.link = model::LinkKind::kShared;
  EXPECT_TRUE(likely_direct(CollectiveKind::kScatter, team, 1 << 20));
  EXPECT_TRUE(likely_direct(CollectiveKind::kGather, team, 1 << 20));
  EXPECT_FALSE(likely_direct(CollectiveKind::kGather, team, 1 << 16)) << "few may copy at a time";
  EXPECT_FALSE(likely_direct(CollectiveKind::kAlltoall, team, 1 << 20)) << "each rank copies as much either way";
  team.oversubscribed = true;
  EXPECT_FALSE(likely_direct(CollectiveKind::kScatter, team, 1 << 20));
  team.oversubscribed = false;
  team.direct = false;
  EXPECT_FALSE(likely_direct(CollectiveKind::kScatter, team, 1 << 20));
  team.direct = true;
  team.ranks = 2;
  EXPECT_FALSE(likely_direct(CollectiveKind::kScatter, team, 1 << 20)) << "two cores copy either way";
}

TEST(Selection, LongBlocksStayInPlaceWhereRanksShareCores) {
  Situation team;
  team.ranks = 8;
  team.area = team.direct = team.oversubscribed = true;
  const auto likely = [&](CollectiveKind collective, std::uint64_t bytes, bool even) { return likely_in_place(collective, team, bytes, even); };
  for (const bool even : {false, true}) {
    EXPECT_EQ(likely(CollectiveKind::kGather, 1 << 20, even), !even) << "those that go in pieces need not wait";
    EXPECT_FALSE(likely(CollectiveKind::kGather, 1 << 19, even)) << "a post has room for it";
    EXPECT_TRUE(likely(CollectiveKind::kScatter, 1 << 16, even));
    EXPECT_FALSE(likely(CollectiveKind::kScatter, 1 << 15, even)) << "a post has room for two for each rank";
    EXPECT_TRUE(likely(CollectiveKind::kAlltoall, 1 << 17, even));
    EXPECT_FALSE(likely(CollectiveKind::kAlltoall, 1 << 16, even)) << "a post has room for one for each rank";
    EXPECT_FALSE(likely(CollectiveKind::kAllgather, 1 << 20, even)) << "all read it";
  }
  team.direct = false;
  EXPECT_FALSE(likely(CollectiveKind::kScatter, 1 << 20, false));
  team.direct = true;
  team.oversubscribed = false;
  EXPECT_FALSE(likely(CollectiveKind::kScatter, 1 << 20, false));
}

TEST(Selection, AnAreaTakesWhatItHasRoomFor) {
  Situation team;
  team.ranks = 8;
  team.area = true;
  team.link = model::LinkKind::kShared;
  model::Parameters quick = model::Parameters::defaults();
  quick.memory.copy = quick.memory.reduce = 1e-6;  // or messages would be better now and then
  quick.memory.post = 1;
  team.parameters = &quick;
  EXPECT_EQ(choose_barrier(team), Algorithm::kArea);
  EXPECT_EQ(choose_bcast(team, 1 << 20), Algorithm::kArea) << "piece by piece";
  EXPECT_EQ(choose_alltoall(team, 1000, true), Algorithm::kArea);
  EXPECT_EQ(choose_alltoall(team, 1 << 20, false), Algorithm::kArea) << "each block goes its own way";
  EXPECT_EQ(choose_tree(CollectiveKind::kScatter, team, 64, 64, false), Algorithm::kArea);
  EXPECT_EQ(choose_scan(team, {1 << 18, 1 << 16, true}), Algorithm::kArea);
  EXPECT_EQ(choose_reduce(team, {1 << 16, 1 << 14, true}), Algorithm::kArea);
  EXPECT_EQ(choose_reduce(team, {1 << 20, 1 << 18, true}), Algorithm::kAreaShares);
  EXPECT_EQ(choose_reduce(team, {1 << 18, 2, true}), Algorithm::kBinomial) << "an element is longer than a piece";
  EXPECT_EQ(choose_tree(CollectiveKind::kGather, team, 1 << 18, 1 << 18, true), Algorithm::kArea);
  EXPECT_EQ(choose_tree(CollectiveKind::kScatter, team, 1 << 16, 1 << 19, true), Algorithm::kArea) << "in pieces";
  EXPECT_EQ(choose_alltoall(team, 1 << 16, true), Algorithm::kArea);
  EXPECT_EQ(choose_reduce_scatter(team, {1 << 20, 1 << 18, true}), Algorithm::kArea);
  team.ranks = 2;
  EXPECT_EQ(choose_bcast(team, 1 << 22), Algorithm::kArea) << "piece by piece";
  EXPECT_NE(choose_bcast(team, (1 << 22) + 1), Algorithm::kArea) << "one message is copied once";
  EXPECT_NE(choose_scan(team, {1 << 18, 1 << 16, true}), Algorithm::kArea) << "one message";
  EXPECT_EQ(choose_bcast(team, 1 << 14), Algorithm::kArea) << "a short one";
  const auto on_area = [](Algorithm chosen) { return chosen == Algorithm::kArea || chosen == Algorithm::kAreaShares; };
  EXPECT_TRUE(on_area(choose_allreduce(team, {1 << 22, 1 << 20, true}))) << "by halves";
  EXPECT_FALSE(on_area(choose_allreduce(team, {(1 << 22) + 4, (1 << 20) + 1, true})));
  EXPECT_FALSE(on_area(choose_allreduce(team, {1 << 20, 1 << 18, true, false}))) << "a user's operation";
  EXPECT_TRUE(on_area(choose_reduce(team, {1 << 22, 1 << 20, true}))) << "cut";
  EXPECT_FALSE(on_area(choose_reduce(team, {(1 << 22) + 4, (1 << 20) + 1, true})));
  EXPECT_FALSE(on_area(choose_reduce(team, {1 << 20, 1 << 18, true, false}))) << "a user's operation";
}

// With the defaults: what counts where ranks wait for cores is how often.
TEST(Selection, OversubscribedRanksWaitRarely) {
  Situation team;
  team.ranks = 16;
  team.link = model::LinkKind::kLocalTcp;
  EXPECT_EQ(choose_bcast(team, 1 << 10), Algorithm::kKnomial);
  team.oversubscribed = true;
  EXPECT_EQ(choose_bcast(team, 1 << 10), Algorithm::kLinear);
  EXPECT_EQ(choose_alltoall(team, 64, true), Algorithm::kBruck);
}

// By memory that changes hands, but neither what is soon posted nor what would have to be asked for.
TEST(Selection, AllToAllsOfRanksThatShareCoresGoAsMessages) {
  Situation team;
  team.ranks = 4;
  team.cores = 2;
  team.area = true;
  team.link = model::LinkKind::kShared;
  for (const std::uint64_t bytes : {4096u, 524288u}) EXPECT_EQ(choose_alltoall(team, bytes, true), Algorithm::kArea);
  team.oversubscribed = true;
  for (const std::uint64_t bytes : {4095u, 524289u}) EXPECT_EQ(choose_alltoall(team, bytes, true), Algorithm::kArea) << bytes;
  for (const std::uint64_t bytes : {4096u, 524288u}) EXPECT_EQ(choose_alltoall(team, bytes, true), Algorithm::kPairwise) << bytes;
  EXPECT_EQ(choose_alltoall(team, 65536, false), Algorithm::kArea) << "only two ranks know how long a block is";
  team.uneven_by_messages = true;
  EXPECT_EQ(choose_alltoall(team, 65536, false), Algorithm::kPairwise) << "but in the call before all told";
  team.uneven_by_messages = false;
  EXPECT_TRUE(choose_allgather(team, 4 * 65536, 65536) == Algorithm::kArea);
  team.directly = team.direct = true;
  EXPECT_EQ(choose_alltoall(team, 65536, true), Algorithm::kAreaDirect);
  team.directly = false;
  team.ranks = 8;
  EXPECT_EQ(choose_alltoall(team, 131071, true), Algorithm::kArea);
  EXPECT_EQ(choose_alltoall(team, 131072, true), Algorithm::kPairwise);
  team.ranks = 2;
  EXPECT_EQ(choose_alltoall(team, 65536, true), Algorithm::kArea);
}

TEST(Selection, TwoRanksWithMuchToMoveDoSoByMessages) {
  Situation team;
  team.ranks = 2;
  team.area = true;
  team.link = model::LinkKind::kShared;
  constexpr std::uint64_t kMiB = 1 << 20;
  EXPECT_EQ(choose_alltoall(team, kMiB / 4 - 1, true), Algorithm::kArea);
  EXPECT_EQ(choose_alltoall(team, kMiB / 4, true), Algorithm::kPairwise);
  EXPECT_EQ(choose_alltoall(team, kMiB, true), Algorithm::kPairwise);
  EXPECT_EQ(choose_alltoall(team, kMiB + 1, true), Algorithm::kArea);
  const auto gather = [&](std::uint64_t bytes) { return choose_tree(CollectiveKind::kGather, team, bytes, bytes, true); };
  EXPECT_EQ(gather(kMiB / 32 - 1), Algorithm::kArea);
  EXPECT_NE(gather(kMiB / 32), Algorithm::kArea);
  EXPECT_EQ(choose_tree(CollectiveKind::kScatter, team, kMiB / 32, kMiB / 32, true), Algorithm::kArea);
}

// Where many wait for a core the root has more to do than they have time for.
TEST(Selection, BlocksOfFewRanksThatShareCoresGoToARootAsMessages) {
  Situation team;
  team.ranks = 4;
  team.cores = 2;
  team.area = true;
  team.link = model::LinkKind::kShared;
  for (const auto collective : {CollectiveKind::kGather, CollectiveKind::kScatter}) {
    const auto chosen = [&](std::uint64_t bytes) { return choose_tree(collective, team, bytes, bytes, true); };
    team.oversubscribed = false;
    EXPECT_EQ(chosen(16384), Algorithm::kArea);
    team.oversubscribed = true;
    for (const std::uint64_t bytes : {4095u, 131073u}) EXPECT_EQ(chosen(bytes), Algorithm::kArea) << bytes;
    for (const std::uint64_t bytes : {4096u, 131072u}) EXPECT_EQ(chosen(bytes), Algorithm::kLinear) << bytes;
    team.ranks = 5;
    EXPECT_EQ(chosen(16384), Algorithm::kArea);
    team.ranks = 4;
  }
}

TEST(Selection, AWaitThatIsHiddenMayBeLonger) {
  Situation team;
  team.ranks = 8;
  model::Parameters machine = model::Parameters::defaults();
  machine.link(model::LinkKind::kHosts) = {32768, 0, 0, 1, 0.01};
  team.parameters = &machine;
  Tuning values;
  values.coll_hidden_slack = 50;
  put_in_force(values);
  constexpr std::uint64_t kBytes = 3 * 131072;
  EXPECT_EQ(choose_bcast(team, kBytes), Algorithm::kScatterAllgather);
  team.blocking = false;
  EXPECT_EQ(choose_bcast(team, kBytes), Algorithm::kChain) << "four tenths more time, and each rank copies less";
  put_in_force(Tuning());
  EXPECT_EQ(choose_bcast(team, kBytes), Algorithm::kScatterAllgather) << "that is too much";
}

TEST(Selection, AWishMayBeForSomeSizesAndRanks) {
  Situation team;
  team.ranks = 8;
  team.wanted = wish("bcast:1k-64k:8=chain,bcast=scatter_allgather");
  EXPECT_EQ(choose_bcast(team, 1 << 10), Algorithm::kChain);
  EXPECT_EQ(choose_bcast(team, (1 << 16) + 1), Algorithm::kScatterAllgather);
  EXPECT_TRUE(is_forced(CollectiveKind::kBcast, team, plain_amount(CollectiveKind::kBcast, 8, 8, 1)));
  team.wanted = wish("bcast:1k-64k:9=chain");
  EXPECT_EQ(choose_bcast(team, 1 << 10), Algorithm::kKnomial) << "for another number of ranks";
  EXPECT_FALSE(is_forced(CollectiveKind::kBcast, team, plain_amount(CollectiveKind::kBcast, 8, 1 << 10, 1)));
}

TEST(Selection, EveryAlgorithmHasAFormula) {
  for (const Offer& offer : offers()) {
    Algorithm algorithm = Algorithm::kAutomatic;
    ASSERT_TRUE(find_algorithm(offer.algorithm, algorithm));
    if (algorithm == Algorithm::kTwoLevels) continue;  // wherever it can be used
    EXPECT_NE(model::find_entry(offer.kind, algorithm), nullptr) << name(offer.kind) << "=" << offer.algorithm;
  }
}

}  // namespace
}  // namespace lapwing::coll
