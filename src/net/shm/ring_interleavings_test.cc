// Every order in which a writer and a reader can take some steps on a small ring (ring.h): the very code, from state to state. Each record is read
// once, as it was written, and nothing is read that is none; whatever lies in the ring says it were one. The steps are whole: what happens between
// the stores of one is the model's (test/model/ring_test.cc).
#include "net/shm/ring.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>

namespace lapwing::net::shm {
namespace {

// 16 lines and laps of 4; a record of 6 lines may go by turns.
constexpr std::uint64_t kLine = kRecordAlignment, kBytes = 16 * kLine, kLap = 4 * kLine;
constexpr std::uint64_t kShapes[] = {1 * kLine, 2 * kLine, 6 * kLine};
static_assert(kShapes[2] >= kLeastByTurns);

struct State {
  alignas(64) std::array<std::byte, kBytes> bytes{};
  RingHeader header{};
  RingWriter writer;
  RingReader reader;
  std::array<std::uint8_t, kBytes / kLine> lengths{};  // lines of the records that have been written and not begun to be read
  unsigned unread = 0;
  std::uint64_t begun_reading = 0, begun_writing = 0;  // records
  std::uint64_t left = 0;                              // bytes of the one that is being read
};

// The steps work on one state in place, because its two sides know where the ring lies; what it was before is put back.
class Interleavings {
 public:
  // `answers`: how many of the first records find an answer. `claimed`: whether the reader claims them.
  Interleavings(unsigned answers, bool claimed) : answers_(answers), claimed_(claimed) {
    state_.writer.attach(state_.header, state_.bytes.data(), kBytes, kLap);
    state_.reader.attach(state_.header, state_.bytes.data(), kBytes, kLap);
  }
  // All that is reached by so many records; how many states that were.
  std::size_t explore(std::uint64_t records) {
    records_ = records;
    visit();
    return seen_.size();
  }

 private:
  static_assert(std::is_trivially_copyable_v<RingWriter> && std::is_trivially_copyable_v<RingReader>);
  using Image = std::array<char, sizeof(State)>;

  void visit() {
    if (testing::Test::HasFailure() || !seen_.insert(fingerprint()).second) return;
    const auto before = std::make_unique<Image>();
    std::memcpy(before->data(), &state_, sizeof state_);
    const auto then = [&](bool taken) {
      if (!taken) return;
      visit();
      std::memcpy(static_cast<void*>(&state_), before->data(), sizeof state_);
    };
    for (const std::uint64_t shape : kShapes) then(write(shape));
    then(begin_to_read());
    then(read_on());
  }
  std::uint64_t fingerprint() const {
    return std::hash<std::string_view>()(std::string_view(reinterpret_cast<const char*>(&state_), sizeof state_));
  }

  // What a record's line says of it beside its stamp, and each word of its payload: what a stamp of that line may be a lap later, or two.
  static std::uint64_t mark(std::uint64_t record, std::uint64_t bytes) { return record << 8 | bytes / kLine; }
  static std::uint64_t lure(std::uint64_t position, std::uint64_t record) {
    return position + (1 + record % 2) * kBytes + 1 + (record % 3 == 0 ? kTurns : record % 3 == 1 ? kSpace : 0);
  }

  bool write(std::uint64_t bytes) {
    RingWriter& writer = state_.writer;
    if (state_.begun_writing == records_ || writer.room_to_begin(bytes, bytes - kLine) < bytes) return false;
    if (state_.begun_writing < answers_) writer.answer();
    std::byte* const line = writer.begin(bytes, claimed_ ? kClaimed : 0);
    const std::uint64_t record = state_.begun_writing++, told = mark(record, bytes);
    std::memcpy(line, &told, sizeof told);
    for (std::uint64_t at = kLine; at < bytes; at += kLine) {
      const std::uint64_t word = lure(static_cast<std::uint64_t>(writer.next(kLine).data - state_.bytes.data()), record);
      for (unsigned i = 0; i < kLine / sizeof word; ++i) std::memcpy(writer.next(kLine).data + i * sizeof word, &word, sizeof word);
      writer.advance(kLine);
    }
    writer.wipe_next();
    writer.publish_head();
    state_.lengths[state_.unread++] = static_cast<std::uint8_t>(bytes / kLine);
    return true;
  }

  // Takes the line of the next record.
  bool begin_to_read() {
    RingReader& reader = state_.reader;
    if (state_.left != 0) return false;
    const bool there = reader.record_here();
    EXPECT_EQ(there, state_.unread != 0) << "record " << state_.begun_reading;
    if (!there || state_.unread == 0) return false;
    const std::uint64_t bytes = state_.lengths[0] * kLine;
    std::uint64_t told = 0;
    std::memcpy(&told, reader.next(kLine).data, sizeof told);
    EXPECT_EQ(told, mark(state_.begun_reading, bytes)) << "record " << state_.begun_reading;
    reader.trust(bytes);
    give_back(kLine);
    std::memmove(state_.lengths.data(), state_.lengths.data() + 1, state_.lengths.size() - 1);
    state_.lengths.back() = 0;
    --state_.unread;
    ++state_.begun_reading;
    state_.left = bytes - kLine;
    return true;
  }
  // And the next of its payload.
  bool read_on() {
    if (state_.left == 0) return false;
    std::uint64_t word = 0;
    const std::byte* const line = state_.reader.next(kLine).data;
    for (unsigned i = 0; i < kLine / sizeof word; ++i) {
      std::memcpy(&word, line + i * sizeof word, sizeof word);
      EXPECT_EQ(word, lure(static_cast<std::uint64_t>(line - state_.bytes.data()), state_.begun_reading - 1)) << "record " << state_.begun_reading - 1;
    }
    give_back(kLine);
    state_.left -= kLine;
    return true;
  }
  void give_back(std::uint64_t bytes) {
    if (claimed_) state_.reader.claim(bytes);
    (void)state_.reader.advance(bytes);
  }

  const unsigned answers_;
  const bool claimed_;
  std::uint64_t records_ = 0;
  State state_;
  std::unordered_set<std::uint64_t> seen_;
};

// Up to 42 lines, more than two laps of the ring. (9 records take 20 times as long, and find no more.)
TEST(RingInterleavings, EachRecordIsReadOnceAndNothingElseIs) {
  for (const bool claimed : {false, true}) {
    for (const unsigned answers : {0u, 6u, 99u}) {
      SCOPED_TRACE(std::string(claimed ? "claimed" : "not claimed") + ", " + std::to_string(answers) + " answers");
      const std::size_t states = Interleavings(answers, claimed).explore(7);
      EXPECT_GT(states, 10'000u);
      RecordProperty("states", static_cast<int>(states));
    }
  }
}

}  // namespace
}  // namespace lapwing::net::shm
