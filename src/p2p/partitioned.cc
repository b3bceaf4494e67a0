#include "p2p/partitioned.h"

#include <algorithm>
#include <cinttypes>
#include <climits>

#include "datatype/pack.h"

namespace lapwing::p2p {

using wire::PartitionRun;

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

// Neighbours that make a few kilobytes share a tag: a message for each would cost more than their bytes.
std::int32_t neighbours(int partitions, std::uint64_t bytes_of_one) noexcept {
  constexpr std::uint64_t kEnoughBytes = 4096;
  const int most = std::clamp(partitions, 1, wire::PartitionSetup::kMostNeighbours);
  if (bytes_of_one == 0) return most;
  return static_cast<std::int32_t>(std::min((kEnoughBytes - 1) / bytes_of_one + 1, static_cast<std::uint64_t>(most)));
}

// Those of a tag, the first of which has this index.
PartitionRun all_of_tag(const wire::PartitionSetup& setup, int index) noexcept {
  const int first = index * setup.neighbours;
  return {first, std::min(setup.neighbours, setup.partitions - first)};
}

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
  setup_.partitions = partitions;
  setup_.partition_bytes = datatype::packed_size(*arguments.type, arguments.count);
  setup_.neighbours = neighbours(partitions, setup_.partition_bytes);
  setup_.first_tag = messenger.take_partition_tags(setup_.tags());
  for (int i = 0; i < setup_.tags(); ++i) {
    parts_.push_back(std::make_unique<Part>());
    parts_.back()->owner = this;
    parts_.back()->tag = setup_.first_tag + i;
    parts_.back()->all = all_of_tag(setup_, i);
    parts_.back()->set_continuation(&on_part_sent);
  }
  SetupSend::post(messenger, arguments, setup_);
}

PartitionedSend::~PartitionedSend() {
  comm::Communicator::drop(communicator_);
}

Status PartitionedSend::start() {
  result() = Result::empty();
  missing_ = setup_.partitions;
  stages_.assign(static_cast<std::size_t>(setup_.partitions), Stage::kNotReady);
  engine_.begin(*this);
  if (missing_ == 0) engine_.finish(*this);
  return {};
}

Status PartitionedSend::ready(int low, int high) {
  LAPWING_TRY(check_ready(low, high));
  std::fill(stages_.begin() + low, stages_.begin() + high + 1, Stage::kReady);
  while (low <= high) {
    Part& part = *parts_[static_cast<std::size_t>(low / setup_.neighbours)];
    const int end = std::min(high + 1, part.all.end());
    if (!part.under_way) send(part, {low, end - low});
    low = end;
  }
  return {};
}

Status PartitionedSend::check_ready(int low, int high) const {
  if (!active()) return Status::error(MPI_ERR_REQUEST, "a partition cannot be ready before MPI_Start");
  if (low < 0 || high >= setup_.partitions || low > high)
    return Status::error(MPI_ERR_ARG, "partitions %d to %d are not all among the %d of this operation", low, high,
                         setup_.partitions);
  for (int i = low; i <= high; ++i) {
    if (stages_[static_cast<std::size_t>(i)] != Stage::kNotReady)
      return Status::error(MPI_ERR_ARG, "partition %d has been marked ready before in this round", i);
  }
  return {};
}

void PartitionedSend::send(Part& part, PartitionRun run) noexcept {
  std::fill_n(stages_.begin() + run.first, run.count, Stage::kSent);
  SendArguments arguments = first_;
  arguments.buffer = static_cast<const std::byte*>(first_.buffer) +
                     run.first * static_cast<std::int64_t>(first_.count) * first_.type->extent();
  arguments.count = first_.count * static_cast<std::uint64_t>(run.count);
  arguments.tag = part.tag;
  arguments.note = note_of(run);
  if (messenger_.send_now(arguments)) return over(run.count);
  part.set_arguments(arguments);
  part.run = run;
  part.under_way = true;
  messenger_.start(part);
}

// What has become ready while a message of its tag was under way goes together.
PartitionRun PartitionedSend::next_run(const Part& part) const noexcept {
  const auto begin = stages_.begin() + part.all.first, end = begin + part.all.count;
  const auto first = std::find(begin, end, Stage::kReady);
  const auto behind = std::find_if(first, end, [](Stage stage) { return stage != Stage::kReady; });
  return {static_cast<std::int32_t>(first - stages_.begin()), static_cast<std::int32_t>(behind - first)};
}

void PartitionedSend::over(int partitions) noexcept {
  missing_ -= partitions;
  if (missing_ == 0) engine_.finish(*this);
}

void PartitionedSend::on_part_sent(engine::Operation& operation) noexcept {
  auto& part = static_cast<Part&>(static_cast<SendRequest&>(static_cast<Request&>(operation)));
  PartitionedSend& owner = *part.owner;
  if (owner.result().status.ok()) owner.result().status = std::move(part.result().status);
  part.under_way = false;
  const int sent = part.run.count;
  while (!part.under_way) {
    const PartitionRun next = owner.next_run(part);
    if (next.count == 0) break;
    owner.send(part, next);
  }
  owner.over(sent);
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
  here_.resize(static_cast<std::size_t>(setup_.partitions));
  for (int i = 0; i < setup_.tags(); ++i) {
    parts_.push_back(std::make_unique<Part>());
    place(*parts_.back(), i);
  }
}

// A partition with a tag of its own lands in its place, where that can be named; others in a room beside it.
void PartitionedReceive::place(Part& part, int index) {
  part.owner = this;
  part.all = all_of_tag(setup_, index);
  ReceiveArguments arguments = first_;
  arguments.tag = setup_.first_tag + index;
  const bool alone = part.all.count == 1;
  if (!alone || !find_place(part.all.first, arguments)) {
    std::uint64_t bytes = bytes_with_room(part.all);
    if (!alone && bytes != 0) bytes = setup_.partition_bytes * static_cast<std::uint64_t>(part.all.count);  // a message may begin anywhere
    part.room = std::make_unique<std::byte[]>(bytes);
    arguments.buffer = part.room.get();
    arguments.count = bytes;
    arguments.type = datatype::resolve(MPI_BYTE);
  }
  part.set_arguments(arguments);
  part.set_continuation(&on_part);
}

// False when no piece of the buffer can be named.
bool PartitionedReceive::find_place(int partition, ReceiveArguments& arguments) const noexcept {
  auto* const buffer = static_cast<std::byte*>(first_.buffer);
  if (setup_.partition_bytes == partition_bytes_ && partition < partitions_) {
    arguments.buffer = buffer + partition * static_cast<std::int64_t>(first_.count) * first_.type->extent();
    return true;
  }
  arguments.count = bytes_with_room({partition, 1});
  arguments.type = datatype::resolve(MPI_BYTE);
  if (arguments.count == 0 || !first_.type->contiguous()) return false;
  arguments.buffer = buffer + first_.type->true_lb() + setup_.partition_bytes * static_cast<std::uint64_t>(partition);
  return true;
}

std::uint64_t PartitionedReceive::bytes_with_room(PartitionRun run) const noexcept {
  const std::uint64_t offset = setup_.partition_bytes * static_cast<std::uint64_t>(run.first);
  const std::uint64_t bytes = setup_.partition_bytes * static_cast<std::uint64_t>(run.count);
  return offset < room() ? std::min(bytes, room() - offset) : 0;
}

Status PartitionedReceive::start() {
  result() = Result::empty();
  result().source = first_.source;
  result().tag = first_.source == MPI_PROC_NULL ? MPI_ANY_TAG : first_.tag;
  engine_.begin(*this);
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
  here_.assign(here_.size(), false);
  for (auto& part : parts_) part->missing = part->all.count;
  for (auto& part : parts_) messenger_.start(*part);
}

void PartitionedReceive::on_part(engine::Operation& operation) noexcept {
  auto& part = static_cast<Part&>(static_cast<ReceiveRequest&>(static_cast<Request&>(operation)));
  part.owner->land(part);
}

// A message for which there was no room has come as well.
void PartitionedReceive::land(Part& part) noexcept {
  Status& status = part.result().status;
  const bool failed = !status.ok() && status.error_class() != MPI_ERR_TRUNCATE;
  const PartitionRun run = failed ? PartitionRun() : part.all.count == 1 ? part.all : wire::run_of(part.result().note, part.all);
  if (run.count == 0 && !failed) status = Status::error(MPI_ERR_OTHER, "a message of a partitioned operation is damaged");
  part.missing = run.count != 0 && run.count < part.missing ? part.missing - run.count : 0;
  take(part, run);
  if (result().status.ok()) result().status = std::move(status);
  if (part.missing != 0) return messenger_.start(part);
  if (--missing_ == 0) engine_.finish(*this);
}

void PartitionedReceive::take(Part& part, PartitionRun run) noexcept {
  const std::uint64_t bytes = std::min(part.result().bytes, bytes_with_room(run));
  if (part.room != nullptr && bytes != 0) {
    datatype::unpack(part.room.get(), bytes, first_.buffer, first_.count * static_cast<std::uint64_t>(partitions_),
                     *first_.type, setup_.partition_bytes * static_cast<std::uint64_t>(run.first));
  }
  result().bytes += bytes;
  std::fill_n(here_.begin() + run.first, run.count, true);
}

bool PartitionedReceive::arrived(int partition) const noexcept {
  if (done()) return true;
  if (!set_up_ || waits_for_setup_) return false;
  // Cut alike, also an empty partition is of a message.
  if (setup_.partition_bytes == partition_bytes_ && partition < setup_.partitions)
    return here_[static_cast<std::size_t>(partition)];
  if (setup_.partition_bytes == 0 || partition_bytes_ == 0) return true;
  const std::uint64_t begin = partition_bytes_ * static_cast<std::uint64_t>(partition);
  const std::uint64_t last = (begin + partition_bytes_ - 1) / setup_.partition_bytes;
  for (std::uint64_t i = begin / setup_.partition_bytes; i <= last && i < here_.size(); ++i) {
    if (!here_[i]) return false;
  }
  return true;
}

}  // namespace lapwing::p2p
