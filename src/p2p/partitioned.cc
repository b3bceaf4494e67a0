#include "p2p/partitioned.h"

#include <algorithm>
#include <cinttypes>
#include <climits>

#include "datatype/pack.h"

namespace lapwing::p2p {
namespace {

// The setup message on its way; outlives the request that sent it.
struct SetupSend final : SendRequest {
  wire::PartitionSetup::Bytes content;

  static void post(Messenger& messenger, const SendArguments& like, const wire::PartitionSetup& setup) {
    auto* send = new SetupSend;
    send->content = wire::encode(setup);
    SendArguments arguments = like;
    arguments.buffer = send->content.data();
    arguments.count = send->content.size();
    arguments.type = datatype::resolve(MPI_BYTE);
    arguments.plane = comm::Plane::kPartitionedSetup;
    arguments.communicator->retain();
    send->set_arguments(arguments);
    send->set_continuation([](engine::Operation& operation) noexcept {
      auto& sent = static_cast<SetupSend&>(static_cast<SendRequest&>(static_cast<Request&>(operation)));
      comm::Communicator::drop(sent.arguments().communicator);
      delete &sent;
    });
    messenger.start(*send);
  }
};

}  // namespace

// ---- sending --------------------------------------------------------------------------------------------------------

PartitionedSend::PartitionedSend(engine::Engine& engine, Messenger& messenger, const SendArguments& arguments,
                                 int partitions)
    : Request(true),
      engine_(engine),
      messenger_(messenger),
      first_(arguments),
      type_(*arguments.type) {
  communicator_ = arguments.communicator;
  communicator_->retain();
  first_.plane = comm::Plane::kPartitioned;
  const wire::PartitionSetup setup{messenger.take_partition_tags(partitions), partitions,
                                   datatype::packed_size(*arguments.type, arguments.count)};
  const auto step = static_cast<std::int64_t>(arguments.count) * arguments.type->extent();
  for (int i = 0; i < partitions; ++i) {
    SendArguments part = first_;
    part.buffer = static_cast<const std::byte*>(arguments.buffer) + i * step;
    part.tag = setup.first_tag + i;
    parts_.push_back(std::make_unique<Part>());
    parts_.back()->set_arguments(part);
    parts_.back()->owner = this;
    parts_.back()->set_continuation(&on_part_sent);
  }
  SetupSend::post(messenger, arguments, setup);
}

PartitionedSend::~PartitionedSend() {
  comm::Communicator::drop(communicator_);
}

Status PartitionedSend::start() {
  result() = Result::empty();
  missing_ = static_cast<int>(parts_.size());
  for (auto& part : parts_) part->ready = false;
  engine_.begin(*this);
  if (missing_ == 0) engine_.finish(*this);
  return {};
}

Status PartitionedSend::ready(int low, int high) {
  if (!active()) return Status::error(MPI_ERR_REQUEST, "a partition cannot be ready before MPI_Start");
  const int count = static_cast<int>(parts_.size());
  if (low < 0 || high >= count || low > high)
    return Status::error(MPI_ERR_ARG, "partitions %d to %d are not all among the %d of this operation", low, high,
                         count);
  for (int i = low; i <= high; ++i) {
    Part& part = *parts_[static_cast<std::size_t>(i)];
    if (part.ready) return Status::error(MPI_ERR_ARG, "partition %d has been marked ready before in this round", i);
    part.ready = true;
    if (!messenger_.send_now(part.arguments()))
      messenger_.start(part);
    else if (--missing_ == 0)
      engine_.finish(*this);
  }
  return {};
}

void PartitionedSend::on_part_sent(engine::Operation& operation) noexcept {
  auto& part = static_cast<Part&>(static_cast<SendRequest&>(static_cast<Request&>(operation)));
  PartitionedSend& owner = *part.owner;
  if (owner.result().status.ok()) owner.result().status = std::move(part.result().status);
  if (--owner.missing_ == 0) owner.engine_.finish(owner);
}

// ---- receiving ------------------------------------------------------------------------------------------------------

PartitionedReceive::PartitionedReceive(engine::Engine& engine, Messenger& messenger, const ReceiveArguments& arguments,
                                       int partitions)
    : Request(true),
      engine_(engine),
      messenger_(messenger),
      first_(arguments),
      type_(*arguments.type),
      partitions_(partitions),
      partition_bytes_(datatype::packed_size(*arguments.type, arguments.count)) {
  communicator_ = arguments.communicator;
  communicator_->retain();
  first_.plane = comm::Plane::kPartitioned;
  ReceiveArguments setup = arguments;
  setup.buffer = setup_bytes_.data();
  setup.count = setup_bytes_.size();
  setup.type = datatype::resolve(MPI_BYTE);
  setup.plane = comm::Plane::kPartitionedSetup;
  setup_receive_.owner = this;
  setup_receive_.set_arguments(setup);
  setup_receive_.set_continuation(&on_setup);
  messenger_.start(setup_receive_);
}

PartitionedReceive::~PartitionedReceive() {
  comm::Communicator::drop(communicator_);
}

// The setup message is this receive's all the same, and not that of the next one with its tag: on_setup destroys it then.
void PartitionedReceive::destroy() noexcept {
  if (set_up_) {
    delete this;
    return;
  }
  given_up_ = true;
  messenger_.set_aside(setup_receive_);
}

void PartitionedReceive::on_setup(engine::Operation& operation) noexcept {
  PartitionedReceive& receive =
      *static_cast<Setup&>(static_cast<ReceiveRequest&>(static_cast<Request&>(operation))).owner;
  Result& result = receive.setup_receive_.result();
  if (receive.given_up_) {
    receive.messenger_.no_longer_aside(receive.setup_receive_);
    delete &receive;
    return;
  }
  Status status = std::move(result.status);
  if (status.ok() && result.source != MPI_PROC_NULL) status = receive.make_parts();
  receive.set_up_ = true;
  receive.setup_failure_ = std::move(status);
  if (!receive.waits_for_setup_) return;
  receive.waits_for_setup_ = false;
  receive.post_parts();
}

// Cuts the buffer as the sender does. Parts for which there is no room are received all the same, so that their sender comes to its end; but each costs
// memory here, so that there is an end to them.
Status PartitionedReceive::make_parts() {
  const bool sound = setup_receive_.result().bytes == setup_bytes_.size() && wire::decode(setup_bytes_, setup_);
  if (!sound) return Status::error(MPI_ERR_OTHER, "the sender's announcement of a partitioned operation is damaged");
  const auto partitions = static_cast<std::uint64_t>(setup_.partitions);
  const std::uint64_t with_room = setup_.partition_bytes == 0 ? partitions : room() / setup_.partition_bytes;
  if (partitions <= with_room + wire::PartitionSetup::kMostEmptyParts) cut();
  if (partitions <= with_room) return {};
  return Status::error(MPI_ERR_TRUNCATE,
                       "the partitioned send from rank %d has %" PRIu64 " bytes, but the receive has room for %" PRIu64,
                       first_.source, partitions * setup_.partition_bytes, room());
}

void PartitionedReceive::cut() {
  for (int i = 0; i < setup_.partitions; ++i) {
    parts_.push_back(std::make_unique<Part>());
    place(*parts_.back(), i);
  }
}

void PartitionedReceive::place(Part& part, int index) {
  part.owner = this;
  part.offset = std::min(setup_.partition_bytes * static_cast<std::uint64_t>(index), room());
  part.bytes = std::min(setup_.partition_bytes, room() - part.offset);
  ReceiveArguments arguments = first_;
  arguments.tag = setup_.first_tag + index;
  if (setup_.partition_bytes == partition_bytes_ && index < partitions_) {
    arguments.buffer = static_cast<std::byte*>(first_.buffer) +
                       index * static_cast<std::int64_t>(first_.count) * first_.type->extent();
  } else {
    arguments.count = part.bytes;
    arguments.type = datatype::resolve(MPI_BYTE);
    if (first_.type->contiguous()) {
      arguments.buffer = static_cast<std::byte*>(first_.buffer) + first_.type->true_lb() + part.offset;
    } else {
      part.room = std::make_unique<std::byte[]>(part.bytes);
      arguments.buffer = part.room.get();
    }
  }
  part.set_arguments(arguments);
  part.set_continuation(&on_part);
}

Status PartitionedReceive::start() {
  result() = Result::empty();
  result().source = first_.source;
  result().tag = first_.source == MPI_PROC_NULL ? MPI_ANY_TAG : first_.tag;
  engine_.begin(*this);
  for (auto& part : parts_) part->here = false;
  if (set_up_) {
    post_parts();
  } else {
    waits_for_setup_ = true;
  }
  return {};
}

void PartitionedReceive::post_parts() noexcept {
  if (!setup_failure_.ok()) result().status = setup_failure_.copy();
  missing_ = static_cast<int>(parts_.size());
  if (missing_ == 0) return engine_.finish(*this);
  for (auto& part : parts_) messenger_.start(*part);
}

void PartitionedReceive::on_part(engine::Operation& operation) noexcept {
  auto& part = static_cast<Part&>(static_cast<ReceiveRequest&>(static_cast<Request&>(operation)));
  part.owner->land(part);
}

void PartitionedReceive::land(Part& part) noexcept {
  part.here = true;
  const std::uint64_t bytes = std::min(part.result().bytes, part.bytes);
  if (part.room != nullptr && bytes != 0) {
    datatype::unpack(part.room.get(), bytes, first_.buffer, first_.count * static_cast<std::uint64_t>(partitions_),
                     *first_.type, part.offset);
  }
  result().bytes += bytes;
  if (result().status.ok()) result().status = std::move(part.result().status);
  if (--missing_ == 0) engine_.finish(*this);
}

bool PartitionedReceive::arrived(int partition) const noexcept {
  if (done()) return true;
  if (!set_up_ || waits_for_setup_) return false;
  // Cut alike, each partition is a message of its own, even when it is empty.
  if (setup_.partition_bytes == partition_bytes_ && partition < setup_.partitions)
    return parts_[static_cast<std::size_t>(partition)]->here;
  const std::uint64_t begin = partition_bytes_ * static_cast<std::uint64_t>(partition);
  const std::uint64_t end = begin + partition_bytes_;
  for (const auto& part : parts_) {
    if (part->offset < end && part->offset + part->bytes > begin && !part->here) return false;
  }
  return true;
}

}  // namespace lapwing::p2p
