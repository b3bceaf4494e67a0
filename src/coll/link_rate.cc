#include "coll/link_rate.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/log.h"
#include "coll/algorithms.h"
#include "coll/collective_request.h"
#include "coll/communicator_state.h"
#include "coll/description.h"
#include "coll/execute.h"
#include "coll/known_rates.h"
#include "coll/selection.h"
#include "coll/tag.h"
#include "net/host_table.h"

namespace lapwing::coll {
namespace {

// The first rank on another host than rank 0, as all ranks find it; none: -1.
int rank_elsewhere(const net::HostTable* hosts, const comm::Communicator& communicator) {
  if (hosts == nullptr || communicator.is_inter()) return -1;
  const std::uint32_t here = hosts->number(communicator.local_group().member(0));
  for (int rank = 1; rank < communicator.size(); ++rank) {
    const std::uint32_t there = hosts->number(communicator.local_group().member(rank));
    if (here == net::HostTable::kUnknown || there == net::HostTable::kUnknown) return -1;
    if (there != here) return rank;
  }
  return -1;
}

KnownRates::Hosts hosts_of(const net::HostTable& table, const comm::Communicator& communicator) {
  KnownRates::Hosts hosts;
  for (int rank = 0; rank < communicator.size(); ++rank) hosts.push_back(table.number(communicator.local_group().member(rank)));
  std::ranges::sort(hosts);
  const auto twice = std::ranges::unique(hosts);
  hosts.erase(twice.begin(), twice.end());
  return hosts;
}

// Ranks may share cores, and a time slice is longer than either.
constexpr int kEmpty = 12;

class Measurement {
 public:
  Measurement(const Services& services, engine::Visit& visit, comm::Communicator& communicator, const Call& call, int peer)
      : services_(services), visit_(visit), communicator_(communicator), call_(call), peer_(peer) {}

  // *per_byte: in nanoseconds, the same on all ranks; 0: others have the cores, and what is found is their doing.
  Status run(double* per_byte) {
    const KnownRates::Hosts hosts = hosts_of(*services_.hosts, communicator_);
    LAPWING_TRY(tell(remembered(hosts), per_byte));
    const bool measures = *per_byte < 0;
    if (measures) {
      double found = 0;
      LAPWING_TRY(measure(&found));
      LAPWING_TRY(tell(found, per_byte));
    }
    if (services_.known_rates != nullptr) services_.known_rates->add(hosts, *per_byte);
    log_info("a byte takes %.2f ns between the hosts of this communicator%s", *per_byte, measures ? "" : ", as rank 0 remembers");
    return {};
  }

 private:
  // Less than 0: nothing.
  double remembered(const KnownRates::Hosts& hosts) const noexcept {
    return services_.known_rates == nullptr ? -1 : services_.known_rates->of(hosts).value_or(-1);
  }

  // *found is rank 0's.
  Status measure(double* found) {
    std::array<double, kEmpty> empty{};
    std::array<double, LinkRate::kBursts> full{};
    for (double& time : empty) LAPWING_TRY(there_and_back(0, &time));
    for (double& time : full) LAPWING_TRY(there_and_back(LinkRate::kPieces, &time));
    const auto middle = full.begin() + 1 + (full.size() - 1) / 2;
    std::nth_element(full.begin() + 1, middle, full.end());
    const double latency = *std::min_element(empty.begin(), empty.end());
    *found = *middle < 2 * latency ? 0 : LinkRate::usual((*middle - latency) / static_cast<double>(LinkRate::kBurst));
    return {};
  }

  Status tell(double of_rank_0, double* on_all) {
    *on_all = of_rank_0;
    return run_part([&](Schedule& schedule) { bcast_knomial(schedule, bytes_block(on_all, sizeof *on_all), 0); });
  }

  // All ranks take every part, those too that have nothing to do in it, because their calls stay numbered alike.
  template <typename Build>
  Status run_part(Build build) {
    auto* request = new CollectiveRequest(services_, communicator_, name(call_.what), false);
    request->schedule().set_team(comm::Plane::kCollective, communicator_.rank(), communicator_.size());
    build(request->schedule());
    request->schedule().seal();
    request->set_description(describe(call_, communicator_));
    request->set_tag(collective_tag(state_of(communicator_).next_number(), false));
    return run_to_end(visit_, *request, request->name());
  }

  // *time is rank 0's.
  Status there_and_back(int pieces, double* time) {
    const std::int64_t began = services_.engine.clock().now();
    LAPWING_TRY(run_part([&](Schedule& schedule) { add_there_and_back(schedule, pieces); }));
    *time = static_cast<double>(services_.engine.clock().now() - began);
    return {};
  }

  void add_there_and_back(Schedule& schedule, int pieces) {
    const Block nothing = bytes_block(nullptr, 0);
    if (schedule.rank() == 0) {
      for (int i = 0; i < pieces; ++i) schedule.send(piece(schedule), peer_);
      if (pieces == 0) schedule.send(nothing, peer_);
      schedule.receive(nothing, peer_);
    } else if (schedule.rank() == peer_) {
      for (int i = 0; i < pieces; ++i) schedule.receive(piece(schedule), 0);
      if (pieces == 0) schedule.receive(nothing, 0);
      schedule.fence();
      schedule.send(nothing, 0);
    }
  }

  static Block piece(Schedule& schedule) {
    std::byte* memory = schedule.scratch(LinkRate::kPiece);
    std::memset(memory, 0, LinkRate::kPiece);
    return bytes_block(memory, LinkRate::kPiece);
  }

  const Services& services_;
  engine::Visit& visit_;
  comm::Communicator& communicator_;
  const Call& call_;
  const int peer_;
};

}  // namespace

double LinkRate::usual(double per_byte) noexcept {
  constexpr double kSlowest = 8e3, kFastest = 1e-3;  // a megabit a second, and some terabits
  double nearest = kSlowest;
  for (double decade = kSlowest; decade > kFastest; decade /= 10) {
    for (const double rate : {1.0, 2.5, 5.0}) {
      const double each = decade / rate;
      if (std::max(each, per_byte) * std::min(nearest, per_byte) < std::max(nearest, per_byte) * std::min(each, per_byte)) nearest = each;
    }
  }
  return nearest;
}

void LinkRate::settle(const model::Parameters& before, double per_byte) {
  auto found = std::make_shared<model::Parameters>(before);
  model::Link& link = found->link(model::LinkKind::kHosts);
  link.per_byte = per_byte;
  link.overhead_per_byte = std::min(link.overhead_per_byte, per_byte);  // of which the processor's part is one
  parameters_ = std::move(found);
  settled_ = true;
}

Status measure_if_due(const Services& services, engine::Visit& visit, comm::Communicator& communicator, const Call& call) {
  LinkRate& rate = state_of(communicator).link_rate;
  const int peer = services.rules != nullptr && services.rules->measures_link ? rank_elsewhere(services.hosts, communicator) : -1;
  if (peer < 0) {
    rate.settle();
    return {};
  }
  LAPWING_TRY(check(call, communicator));
  if (!rate.is_due(call.op != nullptr, described_bytes(describe(call, communicator)))) return {};
  double per_byte = 0;
  LAPWING_TRY(Measurement(services, visit, communicator, call, peer).run(&per_byte));
  if (per_byte > 0)
    rate.settle(services.rules->parameters, per_byte);
  else
    rate.settle();
  return {};
}

}  // namespace lapwing::coll
