#include "net/assembly.h"

#include <gtest/gtest.h>

#include <random>

#include "net/scattered_walk_for_tests.h"

namespace lapwing::net {
namespace {

struct Part {
  std::uint64_t at, bytes;
};

// In which memory a frame lands.
enum class Into { kBuffer, kWalk, kNowhere };

class AssemblyTest : public testing::TestWithParam<Into> {
 protected:
  void begin(std::uint64_t payload, std::uint64_t accepted) {
    content_ = make_bytes(payload, payload + 7);
    accepted_ = accepted;
    buffer_.assign(accepted + 1, std::byte{0xaa});
    walk_.emplace(accepted + 10, false);
    walk_->advance(5);  // the frame is not the first of its message
    Landing landing;
    if (GetParam() == Into::kBuffer) landing.base = buffer_.data();
    if (GetParam() == Into::kWalk) landing.walk = &*walk_;
    landing.accepted = accepted;
    assembly_.begin(landing, payload);
  }
  bool place(const Part& part) { return assembly_.place(part.at, content_.data() + part.at, part.bytes); }
  void expect_landed() {
    EXPECT_TRUE(assembly_.complete());
    const Bytes kept(content_.begin(), content_.begin() + static_cast<std::ptrdiff_t>(accepted_));
    if (GetParam() == Into::kBuffer) {
      EXPECT_TRUE(Bytes(buffer_.begin(), buffer_.end() - 1) == kept);
      EXPECT_EQ(buffer_.back(), std::byte{0xaa});
    }
    if (GetParam() == Into::kWalk) {
      const Bytes all = walk_->content();
      EXPECT_TRUE(Bytes(all.begin() + 5, all.end() - 5) == kept);
      EXPECT_EQ(walk_->remaining(), 5u) << "the walk goes on behind the frame";
    }
    assembly_.end();
    EXPECT_FALSE(assembly_.under_way());
  }

  Bytes content_, buffer_;
  std::uint64_t accepted_ = 0;
  std::optional<ScatteredWalk> walk_;
  Assembly assembly_;
};

TEST_P(AssemblyTest, AStreamAppends) {
  for (const std::uint64_t accepted : {0u, 1u, 999u, 1000u}) {
    begin(1000, accepted);
    for (std::uint64_t at = 0; at < 1000; at += 100) {
      EXPECT_EQ(assembly_.missing(), 1000 - at);
      assembly_.append(content_.data() + at, 100);
    }
    expect_landed();
  }
}

TEST_P(AssemblyTest, AFrameWithoutPayloadIsComplete) {
  begin(0, 0);
  EXPECT_TRUE(assembly_.under_way());
  expect_landed();
}

TEST_P(AssemblyTest, ALongRestIsReadStraightIntoItsPlace) {
  begin(5000, 4000);
  assembly_.append(content_.data(), 100);
  iovec segments[64];
  std::uint64_t bytes = 0;
  EXPECT_EQ(assembly_.segments(segments, 64, 4000, bytes), 0u) << "less than that is accepted yet";
  const std::size_t count = assembly_.segments(segments, 64, 3900, bytes);
  EXPECT_EQ(count != 0, GetParam() != Into::kNowhere);
  std::uint64_t at = 100;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(segments[i].iov_base, content_.data() + at, segments[i].iov_len);
    at += segments[i].iov_len;
  }
  EXPECT_EQ(at - 100, bytes);
  EXPECT_LE(at, 4000u);
  if (count != 0) assembly_.filled(bytes);
  assembly_.append(content_.data() + at, 5000 - at);
  expect_landed();
}

TEST_P(AssemblyTest, AFrameThatComesAgainLandsWhereItBegan) {
  begin(1000, 900);
  assembly_.append(make_bytes(400, 3).data(), 400);
  assembly_.interrupt();
  EXPECT_FALSE(assembly_.under_way());
  walk_->seek(905);  // another frame of the message has landed behind it meanwhile
  assembly_.resume();
  EXPECT_EQ(assembly_.missing(), 1000u);
  for (std::uint64_t at = 0; at < 1000; at += 100) assembly_.append(content_.data() + at, 100);
  expect_landed();
}

TEST_P(AssemblyTest, PartsLandInAnyOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t payload = 1 + random() % 3000,
                        accepted = random() % 3 == 0 ? random() % (payload + 1) : payload;
    begin(payload, accepted);
    std::vector<Part> parts;
    for (std::uint64_t at = 0; at < payload;) {
      const std::uint64_t bytes = std::min<std::uint64_t>(1 + random() % 200, payload - at);
      parts.push_back({at, bytes});
      at += bytes;
    }
    for (int again = 0; again < 5; ++again) {  // sent twice, and cut differently
      const std::uint64_t at = random() % payload;
      parts.push_back({at, random() % (payload - at + 1)});
    }
    std::shuffle(parts.begin(), parts.end(), random);
    for (const Part& part : parts) ASSERT_TRUE(place(part));
    expect_landed();
  }
}

TEST_P(AssemblyTest, WhatHasLandedIsNotWrittenAgain) {
  begin(100, 100);
  ASSERT_TRUE(place({40, 20}));
  ASSERT_TRUE(place({0, 10}));
  const Bytes other(100, std::byte{0x11});
  const Bytes right = content_;
  for (std::uint64_t i = 10; i < 40; ++i) content_[i] = other[i];
  for (std::uint64_t i = 60; i < 100; ++i) content_[i] = other[i];
  ASSERT_TRUE(assembly_.place(0, other.data(), 100));  // fills the gaps alone
  expect_landed();
}

TEST_P(AssemblyTest, PartsOutsideThePayloadAndTooManyGapsAreRefused) {
  begin(4 * Assembly::kMostParts, 0);
  content_.resize(content_.size() + 10);
  EXPECT_FALSE(place({4 * Assembly::kMostParts, 1}));
  EXPECT_FALSE(place({4 * Assembly::kMostParts - 1, 2}));
  EXPECT_FALSE(assembly_.place(~std::uint64_t{0}, content_.data(), 2));
  for (std::uint64_t i = 0; i < Assembly::kMostParts; ++i) EXPECT_TRUE(place({4 * i + 2, 1}));
  EXPECT_FALSE(place({4 * Assembly::kMostParts - 1, 1}));
  EXPECT_TRUE(place({0, 4 * Assembly::kMostParts}));
  EXPECT_TRUE(assembly_.complete());
}

INSTANTIATE_TEST_SUITE_P(Landings, AssemblyTest, testing::Values(Into::kBuffer, Into::kWalk, Into::kNowhere));

}  // namespace
}  // namespace lapwing::net
