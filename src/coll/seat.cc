#include "coll/seat.h"

#include "coll/collective_request.h"
#include "coll/description.h"

namespace lapwing::coll {

Seat::~Seat() {
  if (!board_ && claimed_ != net::Boards::kNone) boards_->give_back(claimed_);
}

net::Board* Seat::board(const Services& services, const comm::Communicator& communicator) {
  if (looked_) return board_.get();
  looked_ = true;
  const std::uint64_t context = communicator.context();
  if (services.boards == nullptr || communicator.is_inter() || communicator.size() < 2) return nullptr;
  const unsigned number = context == comm::ContextIds::kWorld ? net::Boards::kWorld : services.boards->find(context);
  if (number == net::Boards::kNone) return nullptr;
  board_ = services.boards->open_board(number, communicator.local_group().members(), communicator.rank());
  return board_.get();
}

Status Seat::compare_last_calls(const comm::Communicator& communicator) const {
  if (board_ == nullptr) return {};
  const net::Board::Difference difference = board_->compare_last();
  if (difference.rank == net::Board::kNone) return {};
  return mismatch(communicator, {board_->rank(), difference.ours}, {difference.rank, difference.what});
}

bool Seat::join(CollectiveRequest& request, std::uint32_t rounds, std::uint64_t* first_round) {
  *first_round = board_->take_rounds(rounds);
  queue_.push_back(&request);
  return queue_.size() == 1;
}

void Seat::leave() noexcept {
  queue_.pop_front();
  if (!queue_.empty()) queue_.front()->on_turn();
}

net::Board* board_of(const Services& services, comm::Communicator& communicator) {
  if (!communicator.seat) communicator.seat = std::make_unique<Seat>();
  return seat_of(communicator).board(services, communicator);
}

}  // namespace lapwing::coll
