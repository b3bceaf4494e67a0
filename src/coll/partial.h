// A partial result of a reduction, on its way through the rounds of an algorithm.
//
// What arrives from a lower rank is combined into the value; what arrives from a higher rank becomes the new value,
// since apply() writes over the operand of the higher rank. So the value moves between two buffers, and no data is
// copied for the sake of order. Both sides of an exchange thus compute the same expression, which gives the same bits
// on all ranks.
#pragma once

#include "coll/schedule.h"

namespace lapwing::coll {

class Partial {
 public:
  // Starts as `input`, which is only read unless `input` and `output` are the same. `output` (may be null: no output on
  // this rank) serves as one of the two buffers.
  Partial(Schedule& schedule, const Block& input, const Block* output);

  // Sends the value as it is now.
  void send(int peer);
  // Receives a partial result and combines it: `lower` tells whether it is of lower ranks. A send() to the same peer
  // comes first.
  void combine(int peer, bool lower);
  // The value must be in `output`; returns the step after which it is.
  StepId deliver(const Block& output);

  const Block& value() const noexcept { return value_; }
  StepId ready() const noexcept { return ready_; }

 private:
  Block take_spare();
  void own_value();

  Schedule& schedule_;
  Block value_;
  bool owned_;                  // value_ may be written over
  StepId ready_ = kNoStep;      // after it the value is complete
  StepId last_read_ = kNoStep;  // the last send of the value
  Block spare_{};
  bool has_spare_ = false;
  StepId spare_free_ = kNoStep;  // after it the spare buffer may be written
  Block output_{};
  bool output_unused_ = false;
};

}  // namespace lapwing::coll
