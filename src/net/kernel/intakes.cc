#include "net/kernel/intakes.h"

#include <algorithm>

#include "net/kernel/trial.h"

namespace lapwing::net::kernel {

Status Intakes::prepare(std::uint32_t links, std::uint64_t memory, std::uint64_t zone, const std::string& service) {
  const std::uint64_t fit = memory / sizeof(ConnectionArea);
  if (fit == 0)
    return Status::error(MPI_ERR_ARG, "LAPWING_RECEIVE_MEMORY is too little for one peer, which takes %zu bytes", sizeof(ConnectionArea));
  LAPWING_TRY(program_.prepare(static_cast<std::uint32_t>(std::clamp<std::uint64_t>(links, 1, fit)), zone, service));
  return {};
}

Status Intakes::load() {
  LAPWING_TRY(program_.load());
  return try_out(program_);
}

void Intakes::open() {
  const std::uint32_t areas = program_.connections();
  free_.resize(areas);
  for (std::uint32_t i = 0; i < areas; ++i) free_[i] = areas - 1 - i;
  ready_ = true;
}

Intakes::Lease Intakes::make() {
  if (free_.empty()) return {};
  const std::uint32_t index = free_.back();
  free_.pop_back();
  return Lease(new Intake(program_.area(index)), Return(this, index));
}

void Intakes::Return::operator()(Intake* intake) noexcept {
  delete intake;
  owner_->program_.forget(index_);
  owner_->free_.push_back(index_);
}

Joining Intakes::join(Lease& intake, int socket, std::uint64_t read, bool checked) {
  intake->restart();
  Joining joining = program_.join(intake.get_deleter().index(), socket);
  intake->joined_after(read);
  if (checked) intake->come_in_records();
  return joining;
}

}  // namespace lapwing::net::kernel
