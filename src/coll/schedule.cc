#include "coll/schedule.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/internal_error.h"

namespace lapwing::coll {

void Schedule::set_team(comm::Plane plane, int rank, int size) noexcept {
  plane_ = plane;
  members_ = nullptr;
  inside_ = false;
  rank_ = rank;
  size_ = size;
}

void Schedule::set_team(comm::Plane plane, const std::vector<int>& members, int rank) noexcept {
  plane_ = plane;
  members_ = &members;
  inside_ = false;
  rank_ = rank;
  size_ = static_cast<int>(members.size());
}

void Schedule::set_team_inside() noexcept {
  set_team(plane_, levels_->neighbors(), levels_->place());
  inside_ = true;
}

void Schedule::set_team_across(const std::vector<int>& speakers) noexcept {
  set_team(plane_, speakers, levels_->host());
}

const std::vector<int>& Schedule::keep_members(std::vector<int> members) {
  kept_members_.push_back(std::make_unique<const std::vector<int>>(std::move(members)));
  return *kept_members_.back();
}

MessageStep Schedule::message(const Block& data, int peer, int lane) const noexcept {
  if (members_ != nullptr) peer = (*members_)[static_cast<std::size_t>(peer)];
  return {data, plane_, peer, static_cast<std::uint8_t>((first_lane_ + lane) % kLanes)};
}

void Schedule::keep(datatype::Datatype* type) {
  if (type == nullptr || type->is_predefined()) return;
  // Neighbouring steps mostly have the same type; a second reference does no harm.
  const std::size_t recent = types_.size() > 2 ? types_.size() - 2 : 0;
  for (std::size_t i = recent; i < types_.size(); ++i) {
    if (types_[i].get() == type) return;
  }
  types_.emplace_back(*type);
}

// Its own post, which it posts before that.
void Schedule::keep_what_is_read(const Step::Work& work) noexcept {
  const auto keep_post = [this](std::uint32_t round) {
    const auto is_post = [round](const Step& step) { return step.is<PostStep>() && step.as<PostStep>().round == round; };
    const auto post = std::find_if(steps_.rbegin(), steps_.rend(), is_post);
    if (post != steps_.rend()) std::get<PostStep>(post->work).kept = true;
  };
  if (const auto* take = std::get_if<TakeStep>(&work); take != nullptr && take->rank == rank_) keep_post(take->round);
  if (const auto* fold = std::get_if<FoldStep>(&work); fold != nullptr && fold->reads(rank_)) keep_post(fold->round);
}

StepId Schedule::add(const Step::Work& work, After after) {
  keep_what_is_read(work);
  const StepId id = static_cast<StepId>(steps_.size());
  steps_.push_back({work});
  // A dependency on a step behind the fence, or none, leaves the fence itself to wait for.
  bool beyond_floor = floor_ == kNoStep;
  for (const StepId before : after) {
    if (before == kNoStep) continue;
    add_dependency(id, before);
    if (floor_ != kNoStep && before >= floor_) beyond_floor = true;
  }
  if (!beyond_floor) add_dependency(id, floor_);
  return id;
}

void Schedule::add_dependency(StepId step, StepId waits_for) {
  if (waits_for == kNoStep) return;
  LAPWING_CHECK(waits_for < step && step < steps_.size());
  edges_.push_back({waits_for, step});
  ++steps_[step].waits_for;
}

StepId Schedule::send(const Block& source, int peer, After after, int lane) {
  keep(source.type);
  return add(SendStep{message(source, peer, lane)}, after);
}

StepId Schedule::send_when_asked(const Block& source, int peer, After after) {
  keep(source.type);
  return add(SendStep{message(source, peer, 0), true, false}, after);
}

StepId Schedule::send_unasked(const Block& source, int peer, After after) {
  keep(source.type);
  return add(SendStep{message(source, peer, 0), false, true}, after);
}

StepId Schedule::receive(const Block& target, int peer, After after, int lane) {
  keep(target.type);
  return add(ReceiveStep{message(target, peer, lane)}, after);
}

StepId Schedule::copy(const Block& source, const Block& target, After after) {
  if (source.bytes() == 0) return join(after);
  keep(source.type);
  keep(target.type);
  return add(CopyStep{source, target}, after);
}

StepId Schedule::reduce(const Block& source, const Block& target, After after) {
  if (target.count == 0) return join(after);
  keep(source.type);
  keep(target.type);
  return add(ReduceStep{source, target}, after);
}

StepId Schedule::post(const Block& source, std::uint32_t round, After after, Wakes wakes) {
  keep(source.type);
  round += first_round_;
  rounds_ = round + 1;
  return add(PostStep{source, nullptr, round, 0, wakes == Wakes::kEach}, after);
}

StepId Schedule::post_slice(const Block& source, std::uint64_t first, std::uint64_t bytes, std::uint32_t round, After after, Wakes wakes) {
  const std::uint64_t lines = (bytes + PostStep::kLine - 1) / PostStep::kLine;
  LAPWING_CHECK(first <= PostStep::kMostSliced && lines <= UINT16_MAX && bytes != 0);
  keep(source.type);
  round += first_round_;
  rounds_ = round + 1;
  return add(PostStep{source, nullptr, round, 0, wakes == Wakes::kEach, false, static_cast<std::uint16_t>(lines), static_cast<std::uint32_t>(first)}, after);
}

StepId Schedule::post_as(std::uint64_t flag, const Block& source, std::uint32_t round) {
  keep(source.type);
  round += first_round_;
  rounds_ = round + 1;
  return add(PostStep{source, nullptr, round, static_cast<std::uint32_t>(flag), false}, {});
}

StepId Schedule::post_parts(Blocks parts, std::uint32_t round, const PartRules& rules, Wakes wakes) {
  for (const Block& part : parts) keep(part.type);
  parts_.push_back(std::make_unique<const PostedParts>(PostedParts{std::move(parts), rules}));
  round += first_round_;
  rounds_ = round + 1;
  return add(PostStep{Block{}, parts_.back().get(), round, 0, wakes == Wakes::kEach}, {});
}

StepId Schedule::await(int rank, std::uint32_t round, After after, AwaitStep::What what) {
  return add(AwaitStep{first_round_ + round, rank, what}, after);
}

StepId Schedule::take(int rank, std::uint32_t round, std::uint64_t offset, const Block& target, After after) {
  if (target.bytes() == 0) return join(after);
  keep(target.type);
  return add(TakeStep{first_round_ + round, rank, offset, target, TakeStep::What::kRun}, after);
}

StepId Schedule::take_whole(int rank, std::uint32_t round, const Block& target, After after) {
  if (target.bytes() == 0) return join(after);
  keep(target.type);
  return add(TakeStep{first_round_ + round, rank, 0, target, TakeStep::What::kWhole}, after);
}

StepId Schedule::take_slice(int rank, std::uint32_t round, const Block& target, std::uint64_t first, After after) {
  keep(target.type);
  return add(TakeStep{first_round_ + round, rank, first, target, TakeStep::What::kSlice}, after);
}

namespace {
// A block of no bytes may have no type either.
Block room_of(const Block& target) noexcept {
  return target.bytes() != 0 ? target : bytes_block(nullptr, 0);
}
}  // namespace

StepId Schedule::take_part(int rank, std::uint32_t round, const Block& target, After after, std::uint32_t piece) {
  if (target.bytes() == 0 && piece == TakeStep::kAll) return join(after);
  const Block room = room_of(target);
  keep(room.type);
  return add(TakeStep{first_round_ + round, rank, 0, room, TakeStep::What::kPart, false, piece}, after);
}

StepId Schedule::take_piece(int rank, std::uint32_t round, const Block& target, std::uint64_t offset, std::uint32_t piece, After after) {
  const Block room = room_of(target);
  keep(room.type);
  return add(TakeStep{first_round_ + round, rank, offset, room, TakeStep::What::kPiece, false, piece}, after);
}

StepId Schedule::take_gathered(int rank, std::uint32_t round, const Block& target, bool placed, After after) {
  keep(target.type);
  return add(TakeStep{first_round_ + round, rank, 0, target, TakeStep::What::kGathered, placed}, after);
}

StepId Schedule::acknowledge(std::uint32_t round, bool always, After after) {
  return add(AcknowledgeStep{first_round_ + round, always}, after);
}

StepId Schedule::fold(int last_rank, std::uint32_t round, std::uint64_t offset, const Block& target, After after) {
  if (target.count == 0) return join(after);
  keep(target.type);
  return add(FoldStep{first_round_ + round, 0, last_rank, static_cast<std::uint32_t>(offset), nullptr, target}, after);
}

StepId Schedule::fold_around(std::uint32_t round, std::uint64_t offset, const Block& target, After after) {
  if (target.count == 0) return join(after);
  keep(target.type);
  return add(FoldStep{first_round_ + round, 0, FoldStep::kAround, static_cast<std::uint32_t>(offset), nullptr, target}, after);
}

StepId Schedule::fold_onto(int rank, std::uint32_t round, std::uint64_t offset, const Block& own, const Block& target, After after) {
  if (target.count == 0) return join(after);
  keep(target.type);
  return add(FoldStep{first_round_ + round, rank, rank, static_cast<std::uint32_t>(offset), own.address, target}, after);
}

StepId Schedule::post_places(const Blocks& buffers, std::uint32_t round, Wakes wakes) {
  const std::uint64_t bytes = buffers.size() * sizeof(BufferPlace);
  std::byte* places = scratch(bytes);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const bool is_run = buffers[i].bytes() != 0 && buffers[i].type->contiguous();
    const BufferPlace place = is_run ? place_of(buffers[i]) : BufferPlace{};
    std::memcpy(places + i * sizeof place, &place, sizeof place);
  }
  return post(bytes_block(places, bytes), round, {}, wakes);
}

StepId Schedule::read_directly(int rank, std::uint32_t round, int index, std::uint64_t whole, std::uint64_t offset,
                               const Block& own, After after) {
  return add(DirectStep{first_round_ + round, rank, static_cast<std::uint32_t>(index), false, false, whole, offset, own.address, own.bytes()}, after);
}

StepId Schedule::write_directly(int rank, std::uint32_t round, int index, std::uint64_t whole, std::uint64_t offset,
                                const Block& own, After after, bool other_complains) {
  return add(DirectStep{first_round_ + round, rank, static_cast<std::uint32_t>(index), true, other_complains, whole, offset, own.address,
                        own.bytes()},
             after);
}

StepId Schedule::add_if_refused(bool sends, Copies copies, const Block& data, int peer, After after, StepId if_step) {
  if (data.bytes() == 0) return join(after);
  keep(data.type);
  return add(IfRefusedStep{message(data, peer, 0), sends, copies == Copies::kPeer, if_step}, after);
}

StepId Schedule::send_if_refused(Copies copies, const Block& source, int peer, After after, StepId if_step) {
  return add_if_refused(true, copies, source, peer, after, if_step);
}

StepId Schedule::receive_if_refused(Copies copies, const Block& target, int peer, After after, StepId if_step) {
  return add_if_refused(false, copies, target, peer, after, if_step);
}

StepId Schedule::join(After steps) {
  return add(JoinStep{}, steps);
}

void Schedule::fence() {
  const StepId end = static_cast<StepId>(steps_.size());
  if (end == fenced_) return;
  const StepId floor = join({});
  for (StepId before = fenced_; before < end; ++before) add_dependency(floor, before);
  floor_ = floor;
  fenced_ = floor;
}

void Schedule::set_op(datatype::Op& op) noexcept {
  op.retain();
  if (op_ != nullptr) datatype::free(op_);
  op_ = &op;
}

Schedule::Branch Schedule::begin_branch(After after) {
  const Branch outer{floor_, fenced_};
  floor_ = join(after);
  fenced_ = floor_;
  first_round_ = rounds_;
  return outer;
}

StepId Schedule::end_branch(const Branch& outer) {
  fence();
  const StepId done = floor_;
  floor_ = outer.floor;
  fenced_ = outer.fenced;
  first_round_ = rounds_;
  return done;
}

std::byte* Schedule::scratch(std::uint64_t bytes) {
  if (bytes == 0) bytes = 1;
  scratch_.push_back(scratch_pool_ != nullptr ? scratch_pool_->take(bytes)
                                              : ScratchMemory{std::unique_ptr<std::byte[]>(new std::byte[bytes]), bytes});
  scratch_bytes_ += scratch_.back().bytes;
  return scratch_.back().address.get();
}

Block Schedule::scratch_like(const Block& like) {
  if (like.count == 0) return {scratch(1), 0, like.type};
  const std::int64_t span = (static_cast<std::int64_t>(like.count) - 1) * like.type->extent();
  const std::int64_t low = std::min<std::int64_t>(span, 0) + like.type->true_lb();
  const std::int64_t high = std::max<std::int64_t>(span, 0) + like.type->true_ub();
  return {Block::at(scratch(static_cast<std::uint64_t>(high - low)), -low), like.count, like.type};
}

Block Schedule::unpacked_later(const Block& data) {
  if (data.bytes() == 0) return bytes_block(nullptr, 0);
  if (data.type->contiguous()) return bytes_block(Block::at(data.address, data.type->true_lb()), data.bytes());
  return bytes_block(scratch(data.bytes()), data.bytes());
}

Block Schedule::packed(const Block& data, StepId* ready) {
  const Block run = unpacked_later(data);
  const bool in_place = data.bytes() == 0 || data.type->contiguous();
  if (!in_place) *ready = copy(data, run);
  return run;
}

void Schedule::seal() {
  followers_.resize(edges_.size());
  for (const Edge& edge : edges_) ++steps_[edge.from].followers;
  std::uint32_t next = 0;
  for (Step& step : steps_) {
    step.first_follower = next;
    next += step.followers;
    step.followers = 0;
  }
  for (const Edge& edge : edges_) {
    Step& from = steps_[edge.from];
    followers_[from.first_follower + from.followers++] = edge.to;
  }
  members_ = nullptr;
}

void Schedule::clear() noexcept {
  steps_.clear();
  edges_.clear();
  followers_.clear();
  floor_ = kNoStep;
  fenced_ = 0;
  types_.clear();
  parts_.clear();
  kept_members_.clear();
  if (op_ != nullptr) datatype::free(op_);
  op_ = nullptr;
  if (scratch_pool_ != nullptr)
    for (ScratchMemory& memory : scratch_) scratch_pool_->give_back(std::move(memory));
  scratch_.clear();
  scratch_bytes_ = 0;
  rounds_ = first_round_ = 0;
  members_ = nullptr;
  levels_ = nullptr;
  inside_ = false;
  first_lane_ = 0;
}

}  // namespace lapwing::coll
