#include "coll/partial.h"

namespace lapwing::coll {

Partial::Partial(Schedule& schedule, const Block& input, const Block* output) : schedule_(schedule), value_(input) {
  owned_ = output != nullptr && output->address == input.address;
  if (output != nullptr && !owned_) {
    output_ = *output;
    output_unused_ = true;
  }
}

Block Partial::take_spare() {
  if (has_spare_) return spare_;
  if (output_unused_) {
    output_unused_ = false;
    return output_;
  }
  return schedule_.scratch_like(value_);
}

void Partial::send(int peer) {
  const StepId sent = schedule_.send(value_, peer, {ready_});
  last_read_ = last_read_ == kNoStep ? sent : schedule_.join({last_read_, sent});
}

// Before the value is written over for the first time: a copy of the user's input.
void Partial::own_value() {
  if (owned_) return;
  const Block own = take_spare();
  ready_ = schedule_.copy(value_, own, {ready_, has_spare_ ? spare_free_ : kNoStep});
  value_ = own;
  has_spare_ = false;
  last_read_ = kNoStep;  // readers of the input disturb no step
  owned_ = true;
}

void Partial::combine(int peer, bool lower) {
  if (lower) own_value();
  const Block arrived = take_spare();
  const StepId received = schedule_.receive(arrived, peer, {has_spare_ ? spare_free_ : kNoStep});
  if (lower) {
    ready_ = schedule_.reduce(arrived, value_, {received, ready_, last_read_});
    spare_ = arrived;
    has_spare_ = true;
    spare_free_ = ready_;
    last_read_ = kNoStep;
    return;
  }
  const Block old = value_;
  const StepId reduced = schedule_.reduce(old, arrived, {received, ready_});
  has_spare_ = owned_;
  spare_ = old;
  spare_free_ = schedule_.join({reduced, last_read_});
  value_ = arrived;
  owned_ = true;
  ready_ = reduced;
  last_read_ = kNoStep;
}

StepId Partial::deliver(const Block& output) {
  if (value_.address == output.address) return ready_;
  // The output may be the spare buffer, which an earlier step still reads.
  ready_ = schedule_.copy(value_, output, {ready_, has_spare_ ? spare_free_ : kNoStep});
  return ready_;
}

}  // namespace lapwing::coll
