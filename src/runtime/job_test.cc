// A job over a launcher of the test's own: what it asks of a launcher, and what it does without one.
#include "runtime/job.h"
#include "runtime/process_table.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/process_table.h"

namespace lapwing::runtime {
namespace {

// What the ranks of one job share. They take their turns in one thread, so a fence only counts.
struct FakeJob {
  std::map<std::string, std::string, std::less<>> values;
  int fences = 0;
  int goodbyes = 0;
  bool shows_last_words = false;
  bool has_gone = false;
};

class FakeLauncher final : public Launcher {
 public:
  FakeLauncher(FakeJob& job, Place place) : job_(job), place_(std::move(place)) {}
  Status join(Place& place) override {
    place = place_;
    return {};
  }
  Status put(std::string_view key, std::string_view value) override {
    job_.values[std::string(key)] = value;
    return {};
  }
  Status fence() override {
    ++job_.fences;
    return {};
  }
  Status get(std::string_view key, std::string& value) override {
    const auto found = job_.values.find(key);
    if (found == job_.values.end()) return Status::error(MPI_ERR_OTHER, "nothing under this key");
    value = found->second;
    return {};
  }
  Status leave() override {
    ++job_.goodbyes;
    return {};
  }
  bool shows_last_words() const noexcept override { return job_.shows_last_words; }
  bool abort(const LastWords& words) noexcept override {
    std::fprintf(stderr, "told: %d %s;", words.code, words.reason.c_str());
    return !job_.has_gone;
  }

 private:
  FakeJob& job_;
  Place place_;
};

Place place(int rank, int size) {
  Place place;
  place.rank = rank;
  place.size = size;
  place.started_by = "a test";
  return place;
}

Status join(Job& job, FakeJob& shared, Place place) {
  return job.join(std::make_unique<FakeLauncher>(shared, std::move(place)));
}

TEST(Job, RankZeroMakesTheSecretThatTheLauncherDoesNot) {
  FakeJob shared;
  Job first, second;
  ASSERT_TRUE(join(first, shared, place(0, 2)).ok());
  ASSERT_TRUE(join(second, shared, place(1, 2)).ok());
  EXPECT_EQ(first.secret().size(), 32u);
  EXPECT_EQ(first.secret(), second.secret());
  EXPECT_NE(first.secret(), std::string(32, '\0'));
  EXPECT_EQ(shared.fences, 2);  // one of each rank
}

TEST(Job, AnotherLengthOfSecretIsAnErrorThatNamesTheRank) {
  FakeJob shared;
  shared.values["lapwing-secret"] = "short";
  Job job;
  const Status status = join(job, shared, place(1, 2));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(std::string(status.text()).find("rank 1"), std::string::npos);
}

TEST(Job, TakesTheLaunchersSecretWithoutAWordToTheOthers) {
  FakeJob shared;
  Place mine = place(1, 2);
  mine.secret = std::string(32, 's');
  Job job;
  ASSERT_TRUE(join(job, shared, mine).ok());
  EXPECT_EQ(job.secret(), mine.secret);
  EXPECT_EQ(shared.fences, 0);
  EXPECT_TRUE(shared.values.empty());
}

TEST(Job, AllRanksHaveTheSameNumberOfIt) {
  FakeJob shared, other;
  Job first, second, stranger;
  ASSERT_TRUE(join(first, shared, place(0, 2)).ok());
  ASSERT_TRUE(join(second, shared, place(1, 2)).ok());
  ASSERT_TRUE(join(stranger, other, place(0, 2)).ok());
  EXPECT_EQ(first.number(), second.number());
  EXPECT_NE(first.number(), stranger.number());  // but for one time in four thousand million
}

TEST(Job, MoreRanksThanItTakesAreAnErrorThatSaysHowMany) {
  FakeJob shared;
  Job most, one_more;
  EXPECT_TRUE(join(most, shared, place(0, ProcessTable::kMostRanks)).ok());
  const Status status = join(one_more, shared, place(0, ProcessTable::kMostRanks + 1));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(std::string(status.text()).find("4194305 ranks"), std::string::npos);
  EXPECT_NE(std::string(status.text()).find("at most 4194304"), std::string::npos);
}

TEST(Job, EveryRankGetsTheCardsOfAll) {
  FakeJob shared;
  Job ranks[2];
  wire::Card cards[2];
  for (int rank : {0, 1}) {
    ASSERT_TRUE(join(ranks[rank], shared, place(rank, 2)).ok());
    cards[rank].set("host", "h" + std::to_string(rank));
    shared.values["lapwing-card-" + std::to_string(rank)] = cards[rank].encode();
  }
  wire::CardBook all;
  ASSERT_TRUE(ranks[1].exchange(cards[1], all).ok());
  ASSERT_EQ(all.size(), 2u);
  wire::Card other;
  ASSERT_TRUE(all.read(0, other).ok());
  EXPECT_EQ(other.get("host"), "h0");
}

TEST(Job, OnlyRankZeroReadsWhatTheOthersTell) {
  FakeJob shared;
  Job ranks[2];
  for (int rank : {0, 1}) ASSERT_TRUE(join(ranks[rank], shared, place(rank, 2)).ok());
  wire::CardBook texts;
  ASSERT_TRUE(ranks[1].fence_and_tell("one", texts).ok());
  EXPECT_EQ(texts.size(), 0u);
  ASSERT_TRUE(ranks[0].fence_and_tell("zero", texts).ok());
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts.text(1), "one");
}

TEST(Job, OfARankThatOnlyFencesNothingIsToldAndRankZeroLearnsIt) {
  FakeJob shared;
  Job ranks[2];
  for (int rank : {0, 1}) ASSERT_TRUE(join(ranks[rank], shared, place(rank, 2)).ok());
  ASSERT_TRUE(ranks[1].fence().ok());
  wire::CardBook texts;
  EXPECT_FALSE(ranks[0].fence_and_tell("zero", texts).ok());
}

TEST(Job, WithoutALauncherItIsItsOwnOnlyRank) {
  Job job;
  char* nothing[] = {nullptr};
  ASSERT_TRUE(job.join(nothing, true).ok());
  EXPECT_TRUE(job.singleton());
  EXPECT_EQ(job.rank(), 0);
  EXPECT_EQ(job.size(), 1);
  EXPECT_TRUE(job.single_host());
  wire::Card card;
  card.set("host", "here");
  wire::CardBook all;
  ASSERT_TRUE(job.exchange(card, all).ok());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all.text(0), card.encode());
  EXPECT_TRUE(job.fence().ok());
  EXPECT_TRUE(job.leave().ok());
}

TEST(Job, SaysGoodbyeOnce) {
  FakeJob shared;
  Job job;
  ASSERT_TRUE(join(job, shared, place(0, 1)).ok());
  EXPECT_FALSE(job.singleton());
  EXPECT_TRUE(job.leave().ok());
  EXPECT_TRUE(job.leave().ok());
  EXPECT_EQ(shared.goodbyes, 1);
}

TEST(JobDeathTest, AnAbortTellsTheLauncherAndExits) {
  FakeJob shared;
  Job job;
  ASSERT_TRUE(join(job, shared, place(0, 1)).ok());
  EXPECT_EXIT(job.abort({7, "because", "why\n", true, {}}), ::testing::ExitedWithCode(7), "^why\ntold: 7 because;$");
}

TEST(JobDeathTest, AnAbortLeavesItsWordsToALauncherThatShowsThem) {
  FakeJob shared;
  shared.shows_last_words = true;
  Job job;
  ASSERT_TRUE(join(job, shared, place(0, 1)).ok());
  EXPECT_EXIT(job.abort({7, "because", "why\n", true, {}}), ::testing::ExitedWithCode(7), "^told: 7 because;$");
}

TEST(JobDeathTest, AnAbortWritesItsWordsWhenTheLauncherHasGone) {
  FakeJob shared;
  shared.shows_last_words = true;
  shared.has_gone = true;
  Job job;
  ASSERT_TRUE(join(job, shared, place(0, 1)).ok());
  EXPECT_EXIT(job.abort({7, "because", "why\n", true, {}}), ::testing::ExitedWithCode(7), "^told: 7 because;why\n$");
}

}  // namespace
}  // namespace lapwing::runtime
