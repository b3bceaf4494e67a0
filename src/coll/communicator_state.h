// What the collectives keep with a communicator. With the endpoint's lock held.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "coll/area_place.h"
#include "coll/barrier_order.h"
#include "coll/direct_trials.h"
#include "coll/drain.h"
#include "coll/levels.h"
#include "coll/link_rate.h"
#include "coll/model/parameters.h"
#include "coll/uneven_rounds.h"
#include "comm/communicator.h"

namespace lapwing::net {
class HostTable;
}

namespace lapwing::coll {

class CollectiveRequest;

class CommunicatorState final : public comm::Extra {
 public:
  CommunicatorState();
  ~CommunicatorState() override;

  // Collectives are numbered in the order of their calls; the number is the tag of their messages.
  int next_number() noexcept { return static_cast<int>(calls_++ & 0x3fffffff); }

  // So are persistent ones, in the order in which they are made, from 1 on.
  std::uint32_t next_persistent() noexcept { return ++persistent_; }

  // A hash of eight bits of the collective calls before this one, which it adds: equal on all ranks of a correct program. 0 where this rank has been
  // told that its calls and another's differ (description.h).
  std::uint64_t add_to_history(std::uint64_t call) noexcept {
    if (told_of_difference_) [[unlikely]]
      return 0;
    const std::uint64_t before = history_ >> 56;
    history_ = (history_ ^ call) * 0x9e3779b97f4a7c15u + 1;
    return before;
  }

  void told_of_difference() noexcept { told_of_difference_ = true; }

  // Which ranks share a host; null: it makes no difference. Found out at the first call, as all ranks find it.
  const Levels* levels(const net::HostTable* hosts, const comm::Communicator& communicator);

  AreaPlace place;
  std::unique_ptr<DirectTrials> direct_trials;  // made when the first one begins
  std::optional<model::LinkKind> link;  // that carries its messages; found at the first call
  LinkRate link_rate;
  Drain drain;
  UnevenRounds uneven_rounds;
  BarrierOrder barrier_order;
  // Schedules for calls that come again (cache.h). The one used last is at the end.
  std::vector<std::unique_ptr<CollectiveRequest>> kept;

 private:
  bool told_of_difference_ = false;
  bool has_levels_ = false;  // or knows that there are none
  std::unique_ptr<const Levels> levels_;
  std::uint32_t calls_ = 0;
  std::uint32_t persistent_ = 0;
  std::uint64_t history_ = 0;
};

void make_state(comm::Communicator& communicator);
// A communicator whose members are some or all of the parent's, which make it in the order of their collective calls on it, has what the parent's
// have found out by such calls.
void inherit(comm::Communicator& made, comm::Communicator& parent);
// Made at the first use.
inline CommunicatorState& state_of(comm::Communicator& communicator) {
  if (!communicator.collectives) [[unlikely]]
    make_state(communicator);
  return static_cast<CommunicatorState&>(*communicator.collectives);
}

}  // namespace lapwing::coll
