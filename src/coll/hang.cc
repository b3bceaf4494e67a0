// What a collective operation says in a report on a hang (docs/debugging.md).
#include "coll/collective_request.h"
#include "coll/communicator_state.h"
#include "coll/tag.h"
#include "wire/hang_report.h"

namespace lapwing::coll {
namespace {

// Those whose count and type, of the one side or of both, count on every rank.
bool has_one_size(Collective what) noexcept {
  switch (what) {
    case Collective::kAllreduce:
    case Collective::kBcast:
    case Collective::kExscan:
    case Collective::kReduce:
    case Collective::kScan:
      return true;
    default:
      return false;
  }
}

std::uint64_t bytes_of(const Call& call) {
  const datatype::Datatype* type = datatype::resolve(call.receive.type);
  return type != nullptr ? call.receive.count * static_cast<std::uint64_t>(type->size()) : 0;
}

}  // namespace

void CollectiveRequest::describe(wire::HangItem& item) const {
  item.kind = wire::HangItem::Kind::kCollective;
  item.what = name_;
  item.communicator = communicator_->name;
  item.context = communicator_->context();
  item.number = tag_;
  if (is_rooted(call.what) && !communicator_->is_inter()) item.root = call.root;  // of whose groups each names another
  if (has_one_size(call.what)) item.bytes = bytes_of(call);
  const CollectiveRequest* first = schedule_.rounds() != 0 ? place().first() : nullptr;
  if (schedule_.rounds() == 0) {
    describe_messages(item);
  } else if (first == this) {
    describe_area(item);
    describe_messages(item);
  } else if (first != nullptr) {
    item.state = std::string("its turn comes after an earlier ") + first->name_;
    first->describe_area(item);
  }
}

void CollectiveRequest::describe_area(wire::HangItem& item) const {
  const comm::Group& group = communicator_->local_group();
  for (const int member : area_->missing(*this))
    item.awaited.push_back(static_cast<int>(group.member(area_->rank_of(member)).index));
}

void CollectiveRequest::describe_messages(wire::HangItem& item) const {
  const auto await_peer_of = [&](StepId id) {
    const Partner peer = partner_of(schedule_.steps()[id]);
    item.awaited.push_back(static_cast<int>(communicator_->peers(peer.plane).member(peer.rank).index));
  };
  for (const auto& receiving : receivings_)
    if (receiving->under_way && !receiving->done()) await_peer_of(receiving->step);
  for (const auto& sending : sendings_)
    if (sending->under_way && !sending->done()) await_peer_of(sending->step);
}

}  // namespace lapwing::coll
