// Memory that changes hands (src/base/handed_cells.h, the very code): what shows the bytes hands the cell over, and nothing else is said of it. Three
// sides begin with a cell each; each sends some messages to the next one, and one without a cell takes a spare one or goes another way. What
// is read is kept or made spare (net/shm/cell_pool.h). Each stamp is a word of its own. Memory is weak.
#include <gtest/gtest.h>

#include <bit>

#include "base/handed_cells.h"
#include "checker.h"
#include "weak_memory.h"

namespace lapwing::model {
namespace {

enum class Without {
  kNothing,
  kRelease,   // the stamp may become visible before the bytes
  kReading,   // a side has the cell as soon as it has seen the stamp
  kGivingUp,  // a side still has the cell whose bytes it has shown
  kTaking,    // a spare cell is looked for and taken in two steps
};

class Cells {
 public:
  static constexpr int kMessages = 2, kSides = 3, kElsewhere = 0xff;
  static constexpr unsigned kEach = 1;

  struct Side {
    HandedCells cells;
    std::uint8_t at, cell, sent, taken, looked_at, padding[3];
  };
  struct State {
    WeakMemory<kSides, kSides * (static_cast<int>(kEach) + kMessages) + 1> memory;
    std::uint8_t deceived, padding[4];
    Side sides[kSides];
  };

  explicit Cells(Without without) : without_(without) {}
  int threads() const { return 2 * kSides; }
  void begin(State& s) const {
    for (unsigned side = 0; side < kSides; ++side) s.sides[side].cells = HandedCells(side, kSides, kEach);
  }
  const char* broken(const State& s) const { return s.deceived ? "what is read is not what was sent" : nullptr; }
  const char* unfinished(const State& s) const {
    for (const Side& side : s.sides)
      if (side.taken != kMessages) return "a message is not taken";
    return nullptr;
  }

  bool step(State& s, int thread, Step& step) const {
    if (thread >= kSides) return s.memory.empty_one(thread - kSides, step);
    Side& side = s.sides[thread];
    switch (side.at) {
      case kStamp:
        return stamp(s, thread, step);
      case kRead:
        return read(s, thread, step);
      case kTake:
        return take_spare(s, thread, step);
      default:
        return step.maybe() ? write(s, thread, step) : look(s, thread, step);
    }
  }

 private:
  enum At { kIdle, kStamp, kRead, kTake };
  static constexpr int kCells = kSides * static_cast<int>(kEach), kSpare = kCells + kSides * kMessages;  // words

  static int cell_word(int cell) { return cell; }
  static int stamp_word(int sender, int message) { return kCells + sender * kMessages + message; }
  static int bytes_of(int sender, int message) { return 1 + sender * kMessages + message; }
  static int before(int side) { return (side + kSides - 1) % kSides; }

  bool write(State& s, int me, Step& step) const {
    Side& side = s.sides[me];
    if (side.sent == kMessages || !s.memory.takes_store(me)) return false;
    if (!side.cells.has_one() && s.memory.words[kSpare] != 0) return find_spare(s, me, step);
    side.cell = kElsewhere;
    step.name("has no cell, and sends another way");
    if (side.cells.has_one()) {
      step.name("writes into a cell");
      side.cell = static_cast<std::uint8_t>(side.cells.take(1));
      s.memory.store(me, cell_word(side.cell), bytes_of(me, side.sent));
    }
    side.at = kStamp;
    return true;
  }
  bool find_spare(State& s, int me, Step& step) const {
    step.name("finds a spare cell");
    s.sides[me].cell = static_cast<std::uint8_t>(std::countr_zero(s.memory.words[kSpare]));
    s.sides[me].at = kTake;
    return true;
  }
  bool take_spare(State& s, int me, Step& step) const {
    Side& side = s.sides[me];
    const int bit = 1 << side.cell, there = s.memory.words[kSpare];
    step.name("takes it, if it is still there");
    s.memory.words[kSpare] = static_cast<std::uint8_t>(there & ~bit);
    if ((there & bit) != 0 || without_ == Without::kTaking) keep(side, side.cell);
    side.at = kIdle;
    return true;
  }
  bool stamp(State& s, int me, Step& step) const {
    Side& side = s.sides[me];
    if (!s.memory.takes_store(me)) return false;
    step.name("shows it");
    const int word = stamp_word(me, side.sent), value = side.cell == kElsewhere ? kElsewhere : 1 + side.cell;
    if (without_ == Without::kRelease)
      s.memory.store(me, word, value);
    else
      s.memory.store_release(me, word, value);
    if (without_ == Without::kGivingUp && side.cell != kElsewhere) keep(side, side.cell);
    ++side.sent;
    side.at = kIdle;
    return true;
  }
  bool look(State& s, int me, Step& step) const {
    Side& side = s.sides[me];
    if (side.taken == kMessages) return false;
    const int stamp = s.memory.load(me, stamp_word(before(me), side.taken));
    if (stamp == 0) return false;
    step.name("sees a message");
    if (stamp == kElsewhere) return ++side.taken, true;
    if (without_ == Without::kReading) {
      if (side.looked_at == 0) return keep(side, static_cast<unsigned>(stamp - 1)), side.looked_at = 1, true;  // may send before it reads
      side.looked_at = 0;
    }
    side.cell = static_cast<std::uint8_t>(stamp - 1);
    side.at = kRead;
    return true;
  }
  bool read(State& s, int me, Step& step) const {
    Side& side = s.sides[me];
    const bool gives = step.maybe();  // it has as many as it keeps
    step.name(gives ? "reads it, and makes the cell spare" : "reads it, and has the cell");
    s.deceived = s.memory.load(me, cell_word(side.cell)) != bytes_of(before(me), side.taken);
    if (gives)
      s.memory.words[kSpare] = static_cast<std::uint8_t>(s.memory.words[kSpare] | 1 << side.cell);
    else if (without_ != Without::kReading)
      keep(side, side.cell);
    ++side.taken;
    side.at = kIdle;
    return true;
  }
  static void keep(Side& side, unsigned cell) { (void)side.cells.keep(cell, 1); }

  Without without_;
};

TEST(CellsModel, WhatIsReadIsWhatWasSent) {
  const Verdict verdict = check(Cells(Without::kNothing));
  EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
  RecordProperty("states", static_cast<int>(verdict.states));
}

class CellsMutant : public ::testing::TestWithParam<Without> {};

TEST_P(CellsMutant, IsFoundOut) {
  const Verdict verdict = check(Cells(GetParam()));
  EXPECT_EQ(verdict.kind, Verdict::kBroken) << verdict.states;
}

INSTANTIATE_TEST_SUITE_P(Each, CellsMutant, ::testing::Values(Without::kRelease, Without::kReading, Without::kGivingUp, Without::kTaking));

}  // namespace
}  // namespace lapwing::model
