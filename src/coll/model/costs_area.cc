// Collectives on a shared area: every rank posts, and reads what it needs. A line takes l to each rank that looks at it.
//
// Operands of more than one post go piece by piece, each in rounds of its own. Where a root or a contributor is some pieces ahead,
// copying in and copying out go on at the same time.
#include <cmath>
#include <cstdint>

#include "coll/one_way_piece.h"
#include "coll/model/costs.h"

namespace lapwing::coll::model {
namespace {

// `lines` that pass between ranks, `copied` and `reduced` bytes, one after the other.
Cost on_area(const Machine& machine, double lines, double copied, double reduced, double waits) {
  const double time = lines * machine.memory.post + copied * machine.memory.copy + reduced * machine.memory.reduce;
  return {time, time, waits};
}

double pieces(const Machine& machine, double n) { return n <= machine.post_bytes ? 1 : std::ceil(n / machine.longest_post); }

// The others read as many pieces as are there before they wait again.
Cost with_ranks_ahead(const Machine& machine, Cost cost, double piece) {
  cost.waits = std::ceil(cost.waits * piece / machine.ring_bytes);
  return cost;
}

// All pieces of what takes `one` for one of them.
Cost in_pieces(const Machine& machine, double n, Cost (*one)(const Machine&, int, double), int p) {
  const double count = pieces(machine, n);
  return count * one(machine, p, n / count);
}

Cost one_allgather(const Machine& machine, int p, double n) { return on_area(machine, p, (p + 1) * n, 0, 1); }
// Two ranks combine what is posted with their own operand where that lies.
Cost one_fold(const Machine& machine, int p, double n) { return on_area(machine, p, p == 2 ? n : 2 * n, (p - 1) * n, 1); }

// Of so many bytes in a post, of which each rank combines a share: in the round of each piece the shares of the one before are told.
Cost in_shares(const Machine& machine, int p, double n, double longest) {
  const double count = n <= std::max(machine.post_bytes, machine.longest_post) ? 1 : std::ceil(n / longest);
  const double copied = p == 2 ? 1.5 * n : n * (2 * p + 1) / p;  // two ranks post only what the other one combines
  return on_area(machine, (count + 1) * p, copied, n * (p - 1) / p, count + 1);
}

}  // namespace

Cost barrier_on_area(const Machine& machine, int p, double) { return on_area(machine, p, 0, 0, 1); }

// The processor that reads has half of it.
Cost bcast_on_area(const Machine& machine, int p, double n) {
  const bool cores_for_all = machine.cores == 0;
  const double piece = cores_for_all ? static_cast<double>(one_way_piece(static_cast<std::uint64_t>(n), p)) : machine.post_bytes;
  const double count = std::max(std::ceil(n / piece), 1.0);
  const Cost reading = count * on_area(machine, 2, n / count, 0, 1);
  return with_ranks_ahead(machine, {reading.time + machine.copy(n / count).time, reading.processor, reading.waits}, n / count);
}

// The root copies its own block while the others' are posted.
Cost gather_on_area(const Machine& machine, int p, double n) {
  const double count = pieces(machine, n);
  return with_ranks_ahead(machine, count * on_area(machine, p, p * n / count, 0, 1), n / count);
}

// Between two ranks only the other one's block, unless it is cut.
double posted_or_cut(const Machine& machine, int p, double n) noexcept { return p == 2 && n <= machine.post_bytes ? n : p * n; }

// A piece, and the post for a single other rank, has no part for the root, which copies its own block besides.
Cost scatter_on_area(const Machine& machine, int p, double n) {
  const double count = pieces(machine, posted_or_cut(machine, p, n));
  const Cost root = count * on_area(machine, 1, (count > 1 || p == 2 ? p : p + 1) * n / count, 0, 1);
  const Cost other = on_area(machine, 2, n / count, 0, 0);
  const double last = count > 1 ? other.time : machine.memory.post;
  return with_ranks_ahead(machine, {root.time + last, std::max(root.processor, count * other.processor), root.waits}, p * n / count);
}

Cost allgather_on_area(const Machine& machine, int p, double n) { return in_pieces(machine, n, one_allgather, p); }

// In pieces, and between two ranks, a rank's own block is copied once.
Cost alltoall_on_area(const Machine& machine, int p, double n) {
  const double count = pieces(machine, posted_or_cut(machine, p, n));
  return count * on_area(machine, p, (count > 1 || p == 2 ? 2 * p - 1 : 2 * p) * n / count, 0, 1);
}

namespace {

bool is_cut(const Machine& machine, int p, double n) noexcept {
  return p == 2 && machine.cores == 0 && n > static_cast<double>(one_way_piece(static_cast<std::uint64_t>(n), 2));
}

// In one post; or, of two ranks that have a core each, in pieces: the root combines one while the other rank copies the next one in.
Cost reduce_between_two(const Machine& machine, double n) {
  const double count = is_cut(machine, 2, n) ? std::ceil(n / static_cast<double>(one_way_piece(static_cast<std::uint64_t>(n), 2))) : 1.0;
  const Cost root = on_area(machine, 2, 0, n / count, 1), copying = machine.copy(n / count);
  return {count * std::max(root.time, copying.time) + copying.time, count * root.processor, count * root.waits};
}

}  // namespace

Cost reduce_on_area(const Machine& machine, int p, double n) {
  if (is_cut(machine, p, n) || (p == 2 && n <= machine.post_bytes)) return reduce_between_two(machine, n);
  return n <= machine.post_bytes ? one_fold(machine, p, n) : reduce_in_shares_on_area(machine, p, n);
}

Cost reduce_in_shares_on_area(const Machine& machine, int p, double n) {
  if (is_cut(machine, p, n)) return reduce_between_two(machine, n);
  // In one post each rank has all of its operand, two ranks too.
  if (n <= machine.post_bytes) return on_area(machine, 2 * p, n * (2 * p + 1) / p, n * (p - 1) / p, 2);
  return allreduce_in_shares_on_area(machine, p, n);
}

Cost allreduce_on_area(const Machine& machine, int p, double n) {
  return n <= machine.post_bytes ? one_fold(machine, p, n) : allreduce_in_shares_on_area(machine, p, n);
}

Cost allreduce_in_shares_on_area(const Machine& machine, int p, double n) {
  return in_shares(machine, p, n, machine.longest_post * (p == 2 ? 1 : p / (p + 1.0)));
}

Cost reduce_scatter_on_area(const Machine& machine, int p, double n) {
  const double count = pieces(machine, n), copied = p == 2 ? n / 2 : n + n / p;
  return count * on_area(machine, p, copied / count, n * (p - 1) / p / count, 1);
}

// Each rank copies its block once the place is known; no rank goes on before all have copied.
namespace {

// How often one of the ranks that copy from a root's pages, or to them, waits for another one.
double turns(const Machine& machine, int p, double n) {
  if (machine.cores > 0) return 1;
  return std::max(1.0, std::ceil(std::min(p - 1.0, std::floor(machine.one_lock / std::max(n, 1.0))) / machine.direct_at_once));
}

Cost directly(const Machine& machine, double lines, double blocks, double n) {
  const Cost meeting = on_area(machine, lines, 0, 0, 2);
  const Cost copies = blocks * machine.direct(n);
  return meeting + copies;
}

}  // namespace

Cost allgather_directly(const Machine& machine, int p, double n) {
  return directly(machine, 2 * p, p - 1, n) + machine.copy(n);
}
Cost alltoall_directly(const Machine& machine, int p, double n) {
  return directly(machine, 2 * p, p - 1, n) + machine.copy(n);
}
// The root copies its own block meanwhile.
Cost gather_directly(const Machine& machine, int p, double n) {
  const Cost other = directly(machine, 2, 1, n), root = on_area(machine, p, n, 0, 2);
  const double waiting = (turns(machine, p, n) - 1) * (machine.direct(n).time + machine.memory.post);
  return {std::max(other.time + waiting + p * machine.memory.post, root.time), std::max(other.processor, root.processor), 2};
}
Cost scatter_directly(const Machine& machine, int p, double n) { return gather_directly(machine, p, n); }

Cost scan_on_area(const Machine& machine, int p, double n) { return in_pieces(machine, n, one_fold, p); }

}  // namespace lapwing::coll::model
