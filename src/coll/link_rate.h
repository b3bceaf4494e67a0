// What a byte costs between the hosts of a communicator (G of the model), found out while the program runs where no file of `lapwing model`
// tells. The default is that of 10 Gbit/s, and by it a link of 1 Gbit/s is sent twice what need be.
//
//     Why not ask the kernel: the speed of an interface is what its driver says, and those of virtual machines and namespaces say what the
//     link does not carry. Why not watch the program's own messages (TCP_INFO): short ones never fill a link, and many links let some
//     hundred KiB pass faster than what follows, so that they look fast until they are used.
//
// So rank 0 sends some to the first rank on another host, before one of the communicator's blocking calls: once the calls before it have
// carried as much as that takes. So a program whose collectives carry little never pays for it, and another one no more than once the time
// of what it has carried by then. Three times a burst is sent and answered; the first one is not timed, because it goes by what the way lets
// pass at once. The rate is that of the faster of the two others, less the time of an empty message and its answer. All ranks then get G from
// rank 0, so they choose alike, and from the call before which that happens on.
//
// The parameters travel with the communicator: to what is made of it by duplicating and splitting. They never change again, because a
// schedule that is pending or persistent was made by them.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "coll/model/parameters.h"
#include "engine/engine.h"

namespace lapwing::comm {
class Communicator;
}

namespace lapwing::coll {

struct Call;
struct Services;

// A communicator's share in it: what it knows, and whether it is to measure. With the endpoint's lock held.
class LinkRate {
 public:
  static constexpr std::uint64_t kPiece = 32 * 1024;  // sent without being asked for, so that nothing but the bytes takes time
  static constexpr int kPieces = 4, kBursts = 3;
  static constexpr std::uint64_t kBurst = kPiece * kPieces, kWorth = kBurst * kBursts;

  // Nothing is to be measured, or it has been.
  bool settled() const noexcept { return settled_; }
  // The parameters in force; null: those of the job.
  const model::Parameters* parameters() const noexcept { return parameters_.get(); }
  void settle() noexcept { settled_ = true; }
  void settle(const model::Parameters& before, double per_byte);
  // As a communicator has it of which this one is a part.
  void inherit(const LinkRate& parent) noexcept {
    if (parent.parameters_ != nullptr) *this = parent;
  }

  // The next blocking call, of so many bytes as all ranks know alike: whether the ranks measure before it.
  bool is_due(std::uint64_t bytes) noexcept {
    const bool due = carried_ >= kWorth;
    carried_ += bytes;
    return due;
  }

 private:
  bool settled_ = false;
  std::uint64_t carried_ = 0;
  std::shared_ptr<const model::Parameters> parameters_;
};

// During a visit, before a blocking call on a communicator that has not settled it.
Status measure_if_due(const Services& services, engine::Visit& visit, comm::Communicator& communicator, const Call& call);

}  // namespace lapwing::coll
