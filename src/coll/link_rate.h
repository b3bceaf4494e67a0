// What a byte costs between the hosts of a communicator (G of the model), found out while the program runs where no file of `lapwing model`
// tells. The default is that of 10 Gbit/s, and by it a link of 1 Gbit/s is sent twice what need be.
//
//     Why not ask the kernel: the speed of an interface is what its driver says, and those of virtual machines and namespaces say what the
//     link does not carry. Why not watch the program's own messages (TCP_INFO): short ones never fill a link, and many links let some
//     hundred KiB pass faster than what follows, so that they look fast until they are used.
//
// So rank 0 sends some to the first rank on another host, before one of the communicator's blocking calls (is_due()). Six times a burst is sent and
// answered; the first one is not timed, because it goes by what the way lets pass at once. The rate is that of the middle one of the others (after a
// pause, in which another process had the core, a burst may be too fast again), less the least time of an empty message and its answer. All ranks
// then get G from rank 0, so they choose alike, from that call on.
//
// What rounding a reduction gives depends on its algorithm, and MPI wants it the same each time (5.0, section 6.9.1). So a rate that differs a little
// from run to run is taken for the nearest that links have (usual()); the ranks measure before the first blocking reduction of which the rate has a
// say, and shorter ones go by the job's parameters for ever. (A non-blocking one that comes before may go another way than those that follow.)
// `lapwing model` decides it for good.
//
// The parameters travel with the communicator: to what is made of it by duplicating and splitting. They never change again. A communicator that is
// made of one that has none measures only if its rank 0 was in no other one that did, of the same hosts (known_rates.h): rank 0 says so to all
// before.
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
  static constexpr int kPieces = 4, kBursts = 6;
  static constexpr std::uint64_t kBurst = kPiece * kPieces, kWorth = kBurst * kBursts;

  static constexpr std::uint64_t kLeastReduced = 4 * 1024;  // shorter messages are latency, at 1 Gbit/s too

  // Nothing is to be measured, or it has been.
  bool settled() const noexcept { return settled_; }
  // Those that were found; null: none were.
  const model::Parameters* parameters() const noexcept { return parameters_.get(); }
  // For a call of so many bytes: those, or the job's.
  const model::Parameters& parameters(const model::Parameters& of_job, bool reduces, std::uint64_t bytes) const noexcept {
    return parameters_ == nullptr || (reduces && bytes < kLeastReduced) ? of_job : *parameters_;
  }
  void settle() noexcept { settled_ = true; }
  void settle(const model::Parameters& before, double per_byte);
  // As a communicator has it of which this one is a part.
  void inherit(const LinkRate& parent) noexcept {
    if (parent.parameters_ != nullptr) *this = parent;
  }

  // The next blocking call, of so many bytes as all ranks know alike: whether the ranks measure before it. Where nothing is reduced they do so
  // once the calls before have carried as much as measuring does: so it never takes longer than what was done without it.
  bool is_due(bool reduces, std::uint64_t bytes) noexcept {
    const bool due = carried_ >= kWorth || (reduces && bytes >= kLeastReduced);
    carried_ += bytes;
    return due;
  }
  // The nearest that links have: 1, 2.5 or 5 times a power of ten bits a second. In nanoseconds a byte.
  static double usual(double per_byte) noexcept;

 private:
  bool settled_ = false;
  std::uint64_t carried_ = 0;
  std::shared_ptr<const model::Parameters> parameters_;
};

// During a visit, before a blocking call on a communicator that has not settled it.
Status measure_if_due(const Services& services, engine::Visit& visit, comm::Communicator& communicator, const Call& call);

}  // namespace lapwing::coll
