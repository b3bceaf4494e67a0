// Calls that only test (MPI_Test, MPI_Iprobe), one right after the other, are a wait by another name: a thread that tests in a loop gives its
// core away as one that waits does (wait_policy.h), or ranks that outnumber the cores test for a time slice each before the one is run that
// they test for. A program that computes between its tests for longer than engine.test_pause keeps its core.
//
// The clock is looked at once in engine.tests_per_clock tests; where others are known to want the core, in each.
#pragma once

#include <cstdint>

#include "base/tuning.h"

namespace lapwing::engine {

class TestLoop {
 public:
  // One more test that finds nothing. True: the clock is to be looked at (lasts()).
  bool counts(bool contended) noexcept {
    ++tests_;
    return contended || tests_ >= tuning().engine_tests_per_clock;
  }
  // Nanoseconds for which the thread has done nothing but test; 0 where the loop begins, or the program computes in between.
  std::int64_t lasts(std::int64_t now) noexcept {
    if (!lasts_ || now - last_look_ > static_cast<std::int64_t>(tests_) * tuning().engine_test_pause) since_ = now;
    lasts_ = true;
    last_look_ = now;
    tests_ = 0;
    return now - since_;
  }
  // Something has moved: what is tested for from now on is a wait of its own.
  void ends() noexcept { lasts_ = false; }

 private:
  std::int64_t since_ = 0, last_look_ = 0;
  unsigned tests_ = 0;  // since the last look at the clock
  bool lasts_ = false;
};

}  // namespace lapwing::engine
