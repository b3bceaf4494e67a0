// Whom a sender asks for answers.
#include "net/tcp/answer_choice.h"

#include <gtest/gtest.h>

#include <utility>

namespace lapwing::net::tcp {
namespace {

// Three turns of each way, of which the last needs two counted ones; and one turn of each.
constexpr std::uint32_t kWhole = 6 * AnswerChoice::kTurn - 1, kEarly = 2 * AnswerChoice::kTurn;

// What the messages of one trial and of the time after it did: how many of those after it asked the kernel, and how many there were.
struct Stay {
  unsigned kernel = 0, all = 0;
};

Stay try_and_stay(AnswerChoice& choice, std::int64_t kernel, std::int64_t process) {
  for (std::uint32_t i = 0; choice.on_trial(); ++i) {
    EXPECT_LT(i, kWhole);
    const Asking way = choice.asks();
    EXPECT_EQ(way, i / AnswerChoice::kTurn % 2 == 0 ? Asking::kKernel : Asking::kProcess);
    choice.took(way, way == Asking::kKernel ? kernel : process);
  }
  Stay stay;
  for (; !choice.on_trial(); ++stay.all) stay.kernel += choice.asks() == Asking::kKernel;
  return stay;
}

TEST(AnswerChoice, TheQuickerWayIsTaken) {
  AnswerChoice choice;
  const Stay stay = try_and_stay(choice, 20'000, 40'000);
  EXPECT_GT(stay.kernel, AnswerChoice::kFirstStay / 2);
}

TEST(AnswerChoice, TheKernelMustBeClearlyQuicker) {
  AnswerChoice choice;
  EXPECT_EQ(try_and_stay(choice, 39'000, 40'000).kernel, 0u);
}

TEST(AnswerChoice, AClearResultEndsATrialEarly) {
  for (const auto& [kernel, expected] : {std::pair(20'000, kEarly), {90'000, kEarly}, {39'000, kWhole}, {50'000, kWhole}}) {
    AnswerChoice choice;
    std::uint32_t messages = 0;
    for (; choice.on_trial(); ++messages) {
      const Asking way = choice.asks();
      choice.took(way, way == Asking::kKernel ? kernel : 40'000);
    }
    EXPECT_EQ(messages, expected) << kernel;
  }
}

TEST(AnswerChoice, WhereItIsSlowerTrialsGetRare) {
  AnswerChoice choice;
  unsigned messages = 0, before = 0;
  for (int trial = 0; trial < 6; ++trial) {
    const Stay stay = try_and_stay(choice, 3'000'000, 40'000);
    EXPECT_EQ(stay.kernel, 0u);
    EXPECT_GT(stay.all, before);
    before = stay.all;
    messages += stay.all;
  }
  EXPECT_GT(messages, 16'000u);
}

TEST(AnswerChoice, OneThatIsLateDecidesNothing) {
  AnswerChoice choice;
  for (std::uint32_t i = 0; i < kWhole; ++i) {
    const Asking way = choice.asks();
    choice.took(way, way == Asking::kProcess ? 40'000 : i == 5 ? 4'000'000 : 20'000);
  }
  EXPECT_EQ(choice.asks(), Asking::kKernel);
}

TEST(AnswerChoice, TheFirstOfATurnIsNotCounted) {
  AnswerChoice choice;
  for (std::uint32_t i = 0; i < kEarly; ++i) {
    const Asking way = choice.asks();
    const bool first = i % AnswerChoice::kTurn == 0;
    choice.took(way, (way == Asking::kKernel) != first ? 20'000 : 40'000);
  }
  EXPECT_FALSE(choice.on_trial());
  EXPECT_EQ(choice.asks(), Asking::kKernel);
}

// Times of messages that were under way when a trial ended belong to none.
TEST(AnswerChoice, WhatComesAfterATrialIsNotCounted) {
  AnswerChoice choice;
  for (const auto& [way, time] : {std::pair(Asking::kKernel, 50), {Asking::kProcess, 20}})
    for (std::size_t i = 0; i <= AnswerChoice::kSamples; ++i) choice.took(way, time);
  for (int i = 0; i < 100; ++i) choice.took(Asking::kKernel, 1);
  EXPECT_EQ(choice.asks(), Asking::kProcess);
}

}  // namespace
}  // namespace lapwing::net::tcp
