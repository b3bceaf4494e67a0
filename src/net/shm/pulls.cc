#include "net/shm/pulls.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/memory_order.h"
#include "base/tuning.h"

namespace lapwing::net::shm {
namespace {

double gigabytes_per_second(double ns_per_byte) noexcept {
  return ns_per_byte > 0 ? 1 / ns_per_byte : 0;
}

}  // namespace

void Pulls::attach(std::uint32_t local, std::uint32_t rank, const Invitation& invitation, PullWords& in,
                   PullWords& out) {
  Pair& pair = pairs_[local];
  pair.rank = rank;
  pair.pid = invitation.process.pid;
  pair.probe_address = invitation.probe_address;
  pair.probe_value = invitation.probe_value;
  pair.in = &in;
  pair.out = &out;
  pair.leads = my_local_ < local;
  pair.taker.attach(in);
  pair.helper.attach(out);
  if (choice_ == Choice::kOn && access_to(pair)) selection_of(pair);
}

bool Pulls::access_to(Pair& pair) noexcept {
  if (pair.access != Access::kUnknown) return pair.access == Access::kGranted;
  const bool granted = choice_ != Choice::kOff && SingleCopy::probe(pair.pid, pair.probe_address, pair.probe_value);
  if (choice_ != Choice::kOff) calls_ += granted ? 2 : 1;
  pair.access = granted ? Access::kGranted : Access::kRefused;
  return granted;
}

Copied Pulls::read_directly(std::uint32_t local, std::uint64_t address, void* to, std::uint64_t bytes) noexcept {
  ContiguousWalk into(static_cast<std::byte*>(to), bytes);
  return outcome(local, single_copy_.pull(pairs_[local].pid, address, bytes, into));
}

Copied Pulls::write_directly(std::uint32_t local, const void* from, std::uint64_t address, std::uint64_t bytes) noexcept {
  return outcome(local, single_copy_.push(pairs_[local].pid, reinterpret_cast<std::uintptr_t>(from), address, bytes));
}

Copied Pulls::outcome(std::uint32_t local, bool whole) noexcept {
  if (whole) return Copied::kWhole;
  if (single_copy_.found_bad_memory()) return Copied::kRefused;
  Pair& pair = pairs_[local];
  pair.access = Access::kRefused;
  if (pair.selection) {
    pair.selection->forbid(Path::kPull);
    pair.selection->forbid(Path::kShared);
    publish(pair);
  }
  return Copied::kForbidden;
}

PathSelection& Pulls::selection_of(Pair& pair) {
  if (pair.selection) return *pair.selection;
  pair.selection = std::make_unique<PathSelection>();
  if (!access_to(pair)) {
    publish(pair);
    return *pair.selection;
  }
  pair.selection->allow(Path::kPull);
  if (!engine_.oversubscribed()) pair.selection->allow(Path::kShared);  // both must have a core
  if (choice_ == Choice::kOn) pair.selection->forbid(Path::kRing);
  publish(pair);
  return *pair.selection;
}

void Pulls::publish(Pair& pair) noexcept {
  const std::uint64_t refuses = pair.access == Access::kRefused ? kCannotPull : 0;
  store_relaxed(pair.in->paths, pair.selection->word() | pair.both_ways | refuses);
}

// ---- the sender -----------------------------------------------------------------------------------------------------

bool Pulls::offers(std::uint32_t local, std::uint64_t bytes) noexcept {
  Pair& pair = pairs_[local];
  const Path path = path_to(pair, bytes);
  count_sent(pair, bytes);
  if (path == Path::kShared && access_to(pair)) {
    pair.idle_looks = 0;
    if (!pair.offering) offering_.push_back(&pair);
    pair.offering = true;
  }
  return path != Path::kRing;
}

bool Pulls::help(Pair& pair) noexcept {
  const PullHelper::Piece piece = pair.helper.open() ? pair.helper.claim() : PullHelper::Piece();
  if (piece.bytes == 0) {
    ++pair.idle_looks;
    return false;
  }
  pair.idle_looks = 0;
  pair.helper.finish(single_copy_.push(pair.pid, piece.from, piece.to, piece.bytes));
  return true;
}

// ---- the receiver ---------------------------------------------------------------------------------------------------

Path Pulls::path_from(Pair& pair, std::uint64_t bytes) {
  const PathSelection& own = selection_of(pair);
  return follows(pair, bytes) ? path_in(load_relaxed(pair.out->paths), bytes)
                              : own.path(PathSelection::class_of(bytes));
}

PullOp::End Pulls::pull(std::uint32_t local, PullOp& op) noexcept {
  Pair& pair = pairs_[local];
  if (!access_to(pair)) return PullOp::End::kRefused;
  op.began = engine_.clock().now();
  op.done = 0;
  op.copying = 0;
  op.failed = false;
  if (pair.queue.empty() && !begin(pair, op)) return PullOp::End::kRefused;
  pair.queue.push_back(op);
  if (&pair.queue.front() != &op) return PullOp::End::kNone;
  pulling_.push_back(&pair);
  copy_piece(pair, op);
  const PullOp::End end = state_of(pair, op);
  if (end != PullOp::End::kNone) take_out(pair, op, end);
  return end;
}

// False: messages of this size go through the ring by now, and this one is asked for in frames. A burst that was offered while a path was tried
// does not follow it to its end.
bool Pulls::begin(Pair& pair, PullOp& op) {
  const Path path = path_from(pair, op.bytes);
  op.shared = op.walk == nullptr && path == Path::kShared;
  return choice_ != Choice::kAuto || path != Path::kRing;
}

// The next piece of the first message of the queue.
bool Pulls::copy_piece(Pair& pair, PullOp& op) noexcept {
  if (op.shared) return copy_shared(pair, op);
  const std::uint64_t bytes = std::min(tuning().shm_pull_call, op.bytes - op.done);
  const std::int64_t began = engine_.clock().now();
  op.failed = !read(pair, op, op.done, bytes);
  op.copying += engine_.clock().now() - began;
  op.done += bytes;
  return true;
}

// After a failure the pieces that are left are claimed and not copied: the sender may still be copying one of its own.
bool Pulls::copy_shared(Pair& pair, PullOp& op) noexcept {
  if (!pair.open) pair.taker.open(op.address, reinterpret_cast<std::uintptr_t>(op.data), op.bytes);
  pair.open = true;
  const Range range = pair.taker.claim();
  if (range.bytes == 0) return false;
  op.failed = op.failed || !read(pair, op, range.offset, range.bytes);
  return true;
}

bool Pulls::read(Pair& pair, PullOp& op, std::uint64_t offset, std::uint64_t bytes) noexcept {
  ContiguousWalk piece(op.data + (op.walk != nullptr ? 0 : offset), bytes);
  ByteWalk& into = op.walk != nullptr ? *op.walk : piece;
  return single_copy_.pull(pair.pid, op.address + offset, bytes, into);
}

PullOp::End Pulls::state_of(const Pair& pair, const PullOp& op) noexcept {
  const bool over = op.shared ? pair.taker.complete() : op.failed || op.done == op.bytes;
  if (!over) return PullOp::End::kNone;
  return op.failed ? PullOp::End::kRefused : PullOp::End::kWhole;
}

// The first message leaves the queue.
void Pulls::unqueue(Pair& pair, PullOp& op) noexcept {
  op.unlink();
  pair.open = false;
  if (pair.queue.empty()) pulling_.erase(std::find(pulling_.begin(), pulling_.end(), &pair));
}

// The first message of the queue is over.
void Pulls::take_out(Pair& pair, PullOp& op, PullOp::End end) noexcept {
  unqueue(pair, op);
  if (end == PullOp::End::kRefused) {
    pair.access = Access::kRefused;
    pair.selection->forbid(Path::kPull);
  }
  if (end == PullOp::End::kRefused || (op.shared && pair.taker.failed())) {
    pair.selection->forbid(Path::kShared);
    return publish(pair);
  }
  if (engine_.oversubscribed()) return weigh(pair, Path::kPull, op.bytes, op.copying);
  note(pair, op.shared ? Path::kShared : Path::kPull, op.bytes, 0, op.began);
}

bool Pulls::pull_some(Pair& pair) noexcept {
  PullOp& op = pair.queue.front();
  const bool begun = op.done != 0 || pair.open;
  if (!begun && !begin(pair, op)) {
    unqueue(pair, op);
    op.on_end(op, PullOp::End::kRefused, Status());
    return true;
  }
  const bool moved = copy_piece(pair, op);
  const PullOp::End end = state_of(pair, op);
  if (end == PullOp::End::kNone) return moved;
  take_out(pair, op, end);
  op.on_end(op, end, Status());
  return true;
}

bool Pulls::poll() noexcept {
  bool moved = false;
  for (std::size_t i = pulling_.size(); i-- > 0;) {
    if (i < pulling_.size()) moved |= pull_some(*pulling_[i]);
  }
  for (std::size_t i = offering_.size(); i-- > 0;) {
    Pair& pair = *offering_[i];
    moved |= help(pair);
    if (pair.idle_looks < tuning().shm_idle_help) continue;
    pair.offering = false;
    offering_[i] = offering_.back();
    offering_.pop_back();
  }
  if (moved) engine_.took_long();
  return moved;
}

void Pulls::end(std::uint32_t local, const Status& why) noexcept {
  Pair& pair = pairs_[local];
  pair.access = Access::kRefused;
  if (pair.queue.empty()) return;
  pulling_.erase(std::find(pulling_.begin(), pulling_.end(), &pair));
  while (!pair.queue.empty()) {
    PullOp& op = pair.queue.pop_front();
    op.on_end(op, PullOp::End::kLost, why);
  }
}

// ---- measuring ------------------------------------------------------------------------------------------------------

void Pulls::came_in_frames(std::uint32_t local, std::uint64_t bytes, std::uint64_t before, std::int64_t began) {
  Pair& pair = pairs_[local];
  if (choice_ != Choice::kAuto || !access_to(pair)) return;
  note(pair, Path::kRing, bytes, before, began);
}

void Pulls::came_by_copies(std::uint32_t local, std::uint64_t bytes, std::uint64_t ps_per_byte) {
  Pair& pair = pairs_[local];
  if (choice_ != Choice::kAuto || !access_to(pair)) return;
  weigh(pair, Path::kRing, bytes, static_cast<std::int64_t>(bytes * ps_per_byte / 1000));
}

// By what copying it has taken, in ns (copy_cost.h).
void Pulls::weigh(Pair& pair, Path path, std::uint64_t bytes, std::int64_t copying) {
  count_received(pair, bytes);
  if (follows(pair, bytes)) return;
  const std::int64_t now = engine_.clock().now();
  judge(pair, {.path = path, .bytes = bytes, .unseen = 0, .began = now, .ended = now, .copying = std::max<std::int64_t>(copying, 1)});
}

// `unseen` of the message's bytes had come when it `began`.
void Pulls::note(Pair& pair, Path path, std::uint64_t bytes, std::uint64_t unseen, std::int64_t began) {
  count_received(pair, bytes);
  if (follows(pair, bytes)) return;
  const std::int64_t ended = engine_.clock().now();
  std::int64_t before_it = 0;
  if ((pair.both_ways & both_ways_flag(bytes)) != 0) {
    unseen = 0;  // they came while this rank copied for the other direction
    const std::int64_t sent = std::exchange(pair.sent, 0);
    if (sent != 0) before_it = std::min(std::max<std::int64_t>(began - sent, 0), ended - began);
  }
  judge(pair, {path, bytes, unseen, began, ended, before_it});
}

void Pulls::judge(Pair& pair, const TimedMessage& message) {
  PathSelection& selection = selection_of(pair);
  const unsigned size_class = PathSelection::class_of(message.bytes);
  const Path before = selection.usual(size_class);
  if (selection.measured(message)) publish(pair);
  if (selection.usual(size_class) != before) tell(pair, size_class, before);
}

// Whether the messages of a class go both ways is seen now and then by the rank that leads.
void Pulls::count_received(Pair& pair, std::uint64_t bytes) {
  Traffic& traffic = pair.traffic[PathSelection::class_of(bytes)];
  if (++traffic.received < tuning().shm_both_ways) return;
  const bool alike = traffic.sent <= 4 * traffic.received && traffic.received <= 4 * traffic.sent;
  const bool together = pair.leads && alike && (load_relaxed(pair.out->paths) & kCannotPull) == 0;
  traffic = Traffic();
  const std::uint64_t flag = both_ways_flag(bytes), before = pair.both_ways;
  pair.both_ways = together ? before | flag : before & ~flag;
  if (pair.both_ways == before) return;
  selection_of(pair).forget(PathSelection::class_of(bytes));
  publish(pair);
}

void Pulls::tell(const Pair& pair, unsigned size_class, Path before) const {
  const Path now = pair.selection->usual(size_class);
  log_info("messages of %llu KiB and more from rank %u: %s, %.1f GB/s (%s: %.1f)",
           static_cast<unsigned long long>(PathSelection::kSmallestClass << size_class) / 1024, pair.rank, name_of(now),
           gigabytes_per_second(pair.selection->cost(size_class, now)), name_of(before),
           gigabytes_per_second(pair.selection->cost(size_class, before)));
}

PathCounters Pulls::counters() const noexcept {
  PathCounters sum;
  for (std::uint32_t local = 0; local < local_ranks_; ++local) {
    if (!pairs_[local].selection) continue;
    const PathSelection::Counters& counters = pairs_[local].selection->counters();
    sum.in_frames += counters.messages[static_cast<unsigned>(Path::kRing)];
    sum.pulled += counters.messages[static_cast<unsigned>(Path::kPull)];
    sum.shared += counters.messages[static_cast<unsigned>(Path::kShared)];
    sum.trials += counters.trials;
    sum.changes += counters.changes;
  }
  return sum;
}

}  // namespace lapwing::net::shm
