// A ring of records (src/net/shm/ring.h): a record is seen by the stamp in its first line, and what lies in the
// ring from earlier laps must never pass for one. Of a long record the stamp shows the head, and the tail what follows it. Here a ring
// has four lines, of which the writer keeps one in hand; records have one line, or two, or are long: two lines, of which the first is
// the head. The payload in the second line is what the line's next stamps will be, if it likes. Memory is weak.
#include <gtest/gtest.h>

#include "checker.h"
#include "weak_memory.h"

namespace lapwing::model {
namespace {

enum class Without {
  kNothing,
  kWipe,         // the line behind a record keeps what it had
  kLapAgo,       // the writer forgets too early which lines held payload
  kLineInHand,   // the writer fills the whole ring
  kRelease,      // the stamp may become visible before the payload and the wiped line behind it
  kWipeBefore,   // the line behind is wiped after the stamp
  kWaitForRoom,  // the writer does not look at the reader's position
  kTailRelease,  // the tail may become visible before the payload and the wiped line behind it
  kTailWipe,     // the line behind a long record keeps what it had
  kTail,         // the reader takes the whole of a long record by its stamp
};

class Ring {
 public:
  static constexpr int kLines = 4, kRecords = 5;
  enum Core { kWriter, kReader, kCores };
  enum Word { kHead = kLines, kTailWord, kWords };  // after the lines' stamps

  struct State {
    WeakMemory<kCores, kWords> memory;
    std::uint8_t at, begun, written, records, payload_until;           // the writer's
    std::uint8_t start[kRecords], lines[kRecords], payload[kRecords];  // what it meant to write
    bool is_long[kRecords];
    std::uint8_t reader_at, read, taken, deceived;
  };

  explicit Ring(Without without) : without_(without) {}
  int threads() const { return 2 * kCores; }
  void begin(State&) const {}
  const char* broken(const State& s) const {
    return s.deceived ? "the reader takes for a record what is none" : nullptr;
  }
  const char* unfinished(const State& s) const { return s.taken != kRecords ? "a record is not seen" : nullptr; }

  bool step(State& s, int thread, Step& step) const {
    if (thread >= kCores) return s.memory.empty_one(thread - kCores, step);
    return thread == kWriter ? write(s, step) : read(s, step);
  }

 private:
  enum At { kBegin, kPayload, kWipe, kStamp, kLateWipe, kBody, kBodyWipe, kPublish };

  bool write(State& s, Step& step) const {
    const auto next = [&](At at) { return s.at = at, true; };
    if (!s.memory.takes_store(kWriter)) return false;
    switch (s.at) {
      case kBegin: {
        if (s.records == kRecords) return false;
        const int shape = step.choose(3), lines = shape == 0 ? 1 : 2, usable = kLines - (without_ == Without::kLineInHand ? 0 : 1);
        const int unread = s.written - s.memory.load(kWriter, kHead);
        if (unread + lines > usable && without_ != Without::kWaitForRoom) return false;
        step.name(shape == 0   ? "writer: begins a record"
                  : shape == 1 ? "writer: begins a record with payload"
                               : "writer: begins a long record");
        s.is_long[s.records] = shape == 2;
        s.begun = s.start[s.records] = s.written;
        s.lines[s.records] = static_cast<std::uint8_t>(lines);
        ++s.written;
        return next(shape == 1 ? kPayload : kWipe);
      }
      case kPayload:
      case kBody: {
        const bool body = s.at == kBody;
        step.name(body ? "writer: the rest of a long record" : "writer: payload");
        const int record = s.records - (body ? 1 : 0);
        const int values[] = {0x7f, s.written + kLines + 1, s.written + 2 * kLines + 1};
        s.payload[record] = static_cast<std::uint8_t>(values[step.choose(3)]);
        s.memory.store(kWriter, s.written % kLines, s.payload[record]);
        ++s.written;
        s.payload_until = static_cast<std::uint8_t>(s.written + kLines - (without_ == Without::kLapAgo ? 1 : 0));
        return next(body ? kBodyWipe : kWipe);
      }
      case kWipe:
        step.name("writer: wipes the line behind if it held payload a lap ago");
        if (s.written < s.payload_until && without_ != Without::kWipe && without_ != Without::kWipeBefore)
          s.memory.store(kWriter, s.written % kLines, 0);
        return next(kStamp);
      case kStamp:
        step.name("writer: stamps the record");
        ++s.records;
        if (without_ == Without::kRelease)
          s.memory.store(kWriter, s.begun % kLines, s.begun + 1);
        else
          s.memory.store_release(kWriter, s.begun % kLines, s.begun + 1);
        return next(without_ == Without::kWipeBefore ? kLateWipe : s.is_long[s.records - 1] ? kBody : kBegin);
      case kLateWipe:
        step.name("writer: wipes the line behind, late");
        s.memory.store(kWriter, s.written % kLines, 0);
        return next(s.is_long[s.records - 1] ? kBody : kBegin);
      case kBodyWipe:
        step.name("writer: wipes the line behind a long record, which may have held payload a lap ago");
        if (s.written < s.payload_until && without_ != Without::kTailWipe)
          s.memory.store(kWriter, s.written % kLines, 0);
        return next(kPublish);
      case kPublish:
        step.name("writer: moves the tail");
        if (without_ == Without::kTailRelease)
          s.memory.store(kWriter, kTailWord, s.written);
        else
          s.memory.store_release(kWriter, kTailWord, s.written);
        return next(kBegin);
    }
    return false;
  }

  bool read(State& s, Step& step) const {
    const auto line = [&](int position) { return s.memory.load(kReader, position % kLines); };
    if (s.reader_at == 0) {
      if (line(s.read) != s.read + 1 || s.taken == kRecords) return false;
      step.name("reader: sees a stamp");
      s.deceived = s.taken >= s.records || s.start[s.taken] != s.read;
      s.reader_at = 1;
      return true;
    }
    const bool waits = s.is_long[s.taken] && without_ != Without::kTail;
    if (waits && s.memory.load(kReader, kTailWord) < s.read + 2) return false;
    if (!s.memory.takes_store(kReader)) return false;
    step.name("reader: takes the record and gives its lines back");
    const int lines = s.lines[s.taken];
    s.deceived = lines == 2 && line(s.read + 1) != s.payload[s.taken];
    s.read = static_cast<std::uint8_t>(s.read + lines);
    ++s.taken;
    s.memory.store_release(kReader, kHead, s.read);
    s.reader_at = 0;
    return true;
  }

  Without without_;
};

TEST(RingModel, NothingOldPassesForARecord) {
  const Verdict verdict = check(Ring(Without::kNothing));
  EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
  RecordProperty("states", static_cast<int>(verdict.states));
}

class RingMutant : public ::testing::TestWithParam<Without> {};

TEST_P(RingMutant, IsFoundOut) {
  const Verdict verdict = check(Ring(GetParam()));
  EXPECT_NE(verdict.kind, Verdict::kHolds) << verdict.states;
}

INSTANTIATE_TEST_SUITE_P(Each, RingMutant,
                         ::testing::Values(Without::kWipe, Without::kLapAgo, Without::kLineInHand, Without::kRelease,
                                           Without::kWipeBefore, Without::kWaitForRoom, Without::kTailRelease,
                                           Without::kTailWipe, Without::kTail));

}  // namespace
}  // namespace lapwing::model
