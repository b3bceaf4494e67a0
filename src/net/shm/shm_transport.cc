#include "net/shm/shm_transport.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/delay_point.h"
#include "base/descriptor_limit.h"
#include "base/internal_error.h"
#include "base/log.h"
#include "base/memory_order.h"
#include "base/settings.h"
#include "base/tuning.h"
#include "wire/inline_frame.h"

namespace lapwing::net {
namespace {

constexpr const char* kCardKey = "shm";

}  // namespace

bool ShmTransport::suits(const NetworkConfig& config, bool another_way) {
  constexpr std::size_t kOtherDescriptors = 128;
  if (!config.single_host || !another_way) return true;
  const rlimit before = make_room_for_descriptors(config.size + kOtherDescriptors);
  if (config.size <= shm::kMaxLocalRanks && config.size + kOtherDescriptors <= before.rlim_max) return true;
  if (config.size > shm::kMaxLocalRanks)
    log_info("%u ranks on one host are too many for shared memory: going on without it", config.size);
  else
    log_warn("the limit of open files, %llu, is too low for shared memory between %u ranks, which takes %llu: going on without it. Raise it (ulimit -n)",
             static_cast<unsigned long long>(before.rlim_max), config.size, static_cast<unsigned long long>(config.size + kOtherDescriptors));
  return false;
}

ShmTransport::ShmTransport(engine::Engine& engine, const Sinks& sinks, const NetworkConfig& config)
    : engine_(engine),
      sinks_(sinks),
      config_(config),
      user_(config.host_memory_user),
      pulls_(engine, config.settings->single_copy) {}

ShmTransport::~ShmTransport() {
  close();
}

// ---- Set-up ----

Status ShmTransport::publish(wire::Card& card) {
  LAPWING_TRY(listener_.open());
  std::uint64_t probe_value = 0;
  LAPWING_TRY(shm::random_bytes(&probe_value, sizeof probe_value));
  probe_word_ = probe_value;
  if (config_.settings->single_copy == Choice::kOn) shm::SingleCopy::allow_readers();
  const auto probe_address = reinterpret_cast<std::uintptr_t>(&probe_word_);
  card.set(kCardKey, shm::Invitation{listener_.name(), listener_.token(), probe_address, probe_value,
                                     shm::ProcessName::of_this_process()}
                         .encode());
  return {};
}

Status ShmTransport::attach(const wire::CardBook& cards) {
  std::vector<shm::Invitation> invitations;
  LAPWING_TRY(find_local_peers(cards, invitations));
  if (local_ranks_.size() > 1) {
    if (Status shared = share_segment(invitations); !shared.ok()) {
      forget_segment();
      return shared;
    }
    open_links(invitations);
    engine_.add_source(*this);
    open_ = true;
    std::vector<shm::ProcessName> processes;
    for (const shm::Invitation& invitation : invitations) processes.push_back(invitation.process);
    lookout_.start(std::move(processes), my_local_);
    if (user_ != nullptr) user_->on_open(*this);
  }
  listener_.close();
  return {};
}

Status ShmTransport::find_local_peers(const wire::CardBook& cards, std::vector<shm::Invitation>& invitations) {
  local_of_.assign(cards.size(), -1);
  wire::Card card;
  for (PeerId peer; peer.index < cards.size(); ++peer.index) {
    LAPWING_TRY(cards.read(peer.index, card));
    if (!card.has(kCardKey) || card.get("host") != config_.host_identity) continue;
    shm::Invitation invitation;
    if (!shm::Invitation::decode(card.get(kCardKey), invitation))
      return Status::error(MPI_ERR_OTHER, "rank %u's card has a malformed entry for shared memory: \"%s\"",
                           rank_of(peer), card.get(kCardKey).c_str());
    if (!is_here(peer, invitation)) {
      doubles_.push_back(peer);
      continue;
    }
    if (peer == config_.self) my_local_ = static_cast<std::uint32_t>(local_ranks_.size());
    local_of_[peer.index] = static_cast<std::int32_t>(local_ranks_.size());
    local_ranks_.push_back(peer);
    invitations.push_back(std::move(invitation));
  }
  return {};
}

// Machines cloned while they ran have one identity. Where the launcher does not promise that all ranks are on one host, a rank is
// on this one only if its listener is here, which it is from before the cards were exchanged until it has agreed with all others.
bool ShmTransport::is_here(PeerId peer, const shm::Invitation& invitation) const {
  return config_.single_host || peer == config_.self || shm::exists_here(invitation.name);
}

Status ShmTransport::share_segment(const std::vector<shm::Invitation>& invitations) {
  // Generous: ranks beyond the number of cores may have to wait for a processor.
  const auto patience = std::chrono::nanoseconds(config_.settings->connect_timeout).count() * 3;
  const std::int64_t deadline = engine_.clock().now() + patience;
  std::vector<std::uint32_t> ranks;
  for (const PeerId peer : local_ranks_) ranks.push_back(rank_of(peer));
  const shm::Place place = shm::place_among(ranks, my_local_);
  LAPWING_TRY(my_local_ == 0 ? lead(invitations, place, deadline) : follow(invitations[0], place, deadline));
  files_.segment.reset();  // the mapping stays
  return {};
}

Status ShmTransport::lead(const std::vector<shm::Invitation>& others, const shm::Place& place, std::int64_t deadline) {
  const auto one_has_ended = [&others] {
    return std::any_of(others.begin(), others.end(), [](const shm::Invitation& other) { return shm::has_ended(other.process); });
  };
  const auto prepare = [&]() -> Status {
    LAPWING_TRY(
        segment_.create(place.local_ranks, config_.settings->shm_ring, user_bytes(place.local_ranks), files_.segment));
    LAPWING_TRY(shm::create_doorbells(place.local_ranks, files_.doorbells));
    return watch_doorbell();
  };
  if (Status prepared = prepare(); !prepared.ok()) {
    listener_.refuse(place, prepared.text(), engine_.clock(), deadline, one_has_ended);
    return prepared;
  }
  shm::Agreement agreement(segment_.agreement(), place.local_ranks, files_.doorbells[0].get());
  agreement.join();
  return listener_.serve(place, files_, agreement, engine_.clock(), deadline, one_has_ended);
}

Status ShmTransport::follow(const shm::Invitation& leader, const shm::Place& place, std::int64_t deadline) {
  LAPWING_TRY(
      shm::fetch(leader.name, leader.token, rank_of(local_ranks_[0]), place, engine_.clock(), deadline, files_));
  Status prepared = segment_.map(files_.segment, place.local_ranks, user_bytes(place.local_ranks));
  if (prepared.ok()) prepared = watch_doorbell();
  if (!prepared.ok()) {
    shm::decline(leader.name, leader.token, rank_of(local_ranks_[0]), place, prepared.text());
    return prepared;
  }
  shm::Agreement agreement(segment_.agreement(), place.local_ranks, files_.doorbells[0].get());
  agreement.join();
  const auto leader_has_ended = [&leader] { return shm::has_ended(leader.process); };
  if (agreement.wait(engine_.clock(), deadline, leader_has_ended) == shm::Agreement::kTogether) return {};
  return Status::error(MPI_ERR_OTHER,
                       "a rank of this host has ended, cannot use the host's shared memory, or did not come for it in time "
                       "(LAPWING_CONNECT_TIMEOUT gives it longer)");
}

// From here on nothing may fail when the ranks have agreed, so this comes before.
Status ShmTransport::watch_doorbell() {
  LAPWING_TRY(engine_.port().add(files_.doorbells[my_local_].get(), EPOLLIN | EPOLLET, doorbell_));
  doorbell_watched_ = true;
  return {};
}

void ShmTransport::forget_segment() noexcept {
  listener_.close();
  if (doorbell_watched_) engine_.port().remove(files_.doorbells[my_local_].get());
  doorbell_watched_ = false;
  segment_.unmap();
  files_.segment.reset();
  files_.doorbells.clear();
}

void ShmTransport::open_links(const std::vector<shm::Invitation>& invitations) {
  const auto count = static_cast<std::uint32_t>(local_ranks_.size());
  const std::uint64_t capacity = segment_.layout().ring_bytes;
  links_ = std::make_unique<Link[]>(count);
  link_of_.assign(local_of_.size(), nullptr);
  pulls_.set_ranks(count, my_local_);
  cells_.attach(segment_, my_local_);
  most_of_a_small_record_ = shm::Layout::most_of_a_small_record(capacity);
  long_head_ = shm::Layout::head_of_a_long_record(capacity);
  wide_head_ = shm::Layout::wide_head(capacity);
  hot_.reserve(count);
  waiting_.reserve(count);
  looked_at_.assign(segment_.layout().pending_words(), 0);
  pending_here_ = segment_.pending(my_local_);
  looked_at_[my_local_ / 64] |= std::uint64_t{1} << (my_local_ % 64);  // no rank sends to itself here
  for (std::uint32_t local = 0; local < count; ++local) {
    Link& link = links_[local];
    link.peer = local_ranks_[local];
    link.local = local;
    if (local == my_local_) continue;
    link_of_[link.peer.index] = &link;
    link.control = &segment_.control(local);
    link.pending = segment_.pending(local) + my_local_ / 64;
    link.pending_bit = std::uint64_t{1} << (my_local_ % 64);
    link.out.attach(segment_.ring_header(my_local_, local), segment_.ring_bytes(my_local_, local), capacity);
    link.in.attach(segment_.ring_header(local, my_local_), segment_.ring_bytes(local, my_local_), capacity);
    link.pid = invitations[local].process.pid;
    link.streaming.attach(segment_.ring_header(local, my_local_).pull.copies,
                          segment_.ring_header(my_local_, local).pull.copies);
    pulls_.attach(local, rank_of(link.peer), invitations[local], segment_.ring_header(local, my_local_).pull,
                  segment_.ring_header(my_local_, local).pull);
    if (config_.settings->single_copy == Choice::kOn && !pulls_.may_pull(local))
      log_warn(
          "LAPWING_SINGLE_COPY=on, but the system does not let this process read the memory of rank %u (see "
          "/proc/sys/kernel/yama/ptrace_scope; containers need CAP_SYS_PTRACE); large messages are copied twice",
          rank_of(link.peer));
  }
}

void ShmTransport::close() noexcept {
  listener_.close();
  if (!open_) return;
  open_ = false;
  if (user_ != nullptr) user_->on_close();
  for (std::uint32_t local = 0; local < local_ranks_.size(); ++local) {
    if (local != my_local_) say_goodbye(links_[local]);
  }
  lookout_.stop();  // last: a rank that ends before has perhaps taken a sleeper's flag and not notified it
  engine_.remove_source(*this);
  cells_.give_all();
  forget_segment();
  hot_.clear();
}

// Only to those we had to do with, and only if nothing of ours is in the way (an abort): the word is a courtesy.
void ShmTransport::say_goodbye(Link& link) noexcept {
  if (!link.gone && link.acquainted && link.queue.empty() && link.out.room_to_begin(wire::kHeaderBytes) >= wire::kHeaderBytes) {
    wire::store_around_stamp(wire::goodbye(), link.out.begin(wire::kHeaderBytes));
    link.out.wipe_next();
    link.out.publish_head();
    announce(link, Delivery::kAtOnce);
  }
  end(link, Status::error(MPI_ERR_OTHER, "this rank has closed its connections"));
}

bool ShmTransport::reaches(PeerId peer) const noexcept {
  return link_to(peer) != nullptr;
}

Capabilities ShmTransport::capabilities(PeerId peer) const noexcept {
  const Link* link = link_to(peer);
  if (link == nullptr) return {};
  // A frame of data fits into a cell. Of a message of more than four cells more memory would be under way than the cores' own caches hold: it goes
  // through the ring, which two frames fill, one that is written while the other is read. (1.1 to 2 MiB take 0.6 to 0.9 of the ring's time in
  // cells, 4 MiB 0.95 to 1.25: 2 and 4 ranks on 2 cores with 1 MiB of level-two cache each.)
  const std::uint64_t half = (link->out.capacity() / 2 - wire::kHeaderBytes) / shm::kRecordAlignment * shm::kRecordAlignment;
  const std::uint64_t eager = std::min<std::uint64_t>(config_.settings->eager_limit_shm, wire::kMaxPayloadBytes);
  Capabilities way;
  way.eager_limit = eager;
  way.data_chunk = std::min(half, cells_.bytes());
  way.long_chunk = half;
  way.first_bytes = std::min(tuning().shm_first_bytes, way.data_chunk);
  if (config_.settings->single_copy != Choice::kOff) way.pulls_above = tuning().shm_least_pull;
  way.at_once = eager;
  return way;
}

// ---- Long messages ----

bool ShmTransport::offers_pull(PeerId peer, std::uint64_t bytes) noexcept {
  const Link* link = link_to(peer);
  return link != nullptr && pulls_.offers(link->local, bytes);
}

PullOp::End ShmTransport::pull(PeerId peer, PullOp& op) noexcept {
  const Link* link = link_to(peer);
  if (link == nullptr || link->gone || !open_) return PullOp::End::kRefused;
  const PullOp::End end = pulls_.pull(link->local, op);
  engine_.system_calls().copies = pulls_.calls();
  if (armed_ && end == PullOp::End::kNone) write_doorbell(my_local_);
  return end;
}

void ShmTransport::came_in_frames(PeerId peer, std::uint64_t bytes, std::uint64_t before, std::int64_t began) noexcept {
  Link* link = link_to(peer);
  if (link == nullptr) return;
  if (engine_.oversubscribed()) return came_by_copies(*link, bytes);
  if (!link->on_trial) pulls_.came_in_frames(link->local, bytes, std::max(before, long_head_), began);
}

void ShmTransport::came_unexpected(PeerId peer, std::uint64_t bytes, std::int64_t copying) noexcept {
  Link* link = link_to(peer);
  if (link == nullptr) return;
  link->emptying.copied(0, copying);  // once more
  came_by_copies(*link, bytes);
}

void ShmTransport::came_by_copies(Link& link, std::uint64_t bytes) noexcept {
  const std::uint64_t emptying = link.emptying.take(), filling = link.in.filling();
  if (!link.on_trial && emptying != 0 && filling != 0) pulls_.came_by_copies(link.local, bytes, emptying + filling);
}

bool ShmTransport::copy_pieces() noexcept {
  const bool moved = pulls_.poll();
  engine_.system_calls().copies = pulls_.calls();
  return moved;
}

PathCounters ShmTransport::paths() const noexcept {
  PathCounters sum = pulls_.counters();
  sum.in_cells = cells_.came();
  for (std::uint32_t local = 0; links_ && local < local_ranks_.size(); ++local) {
    if (const shm::PathSelection* copies = links_[local].streaming.selection())
      sum.streamed += copies->counters().messages[static_cast<unsigned>(shm::Path::kStream)];
  }
  return sum;
}

// ---- Progress and waking ----

bool ShmTransport::poll() noexcept {
  if (!open_) return false;
  if (armed_ && load_relaxed(segment_.control(my_local_).sleeping) == 0) {
    // A sender took the flag to notify this rank; the next sleep may come without a call of arm(). Put it back before looking: pairs with
    // the fence in announce() and give_back().
    store_relaxed(segment_.control(my_local_).sleeping, sleeper());
    full_fence();
  }
  if (failure_) report_failures();
  if (lookout_.unheard_news()) report_ends();
  bool moved = user_ != nullptr && user_->waits() && user_->poll();
  moved |= collect_senders();
  moved |= receive_hot();
  if (!waiting_.empty()) moved |= push_waiting();
  if (pulls_.active()) moved |= copy_pieces();
  if (armed_ && work_left()) write_doorbell(my_local_);
  return moved;
}

bool ShmTransport::arm() noexcept {
  if (!open_) return true;
  armed_ = true;
  at_rest_ = false;
  if (user_ != nullptr) user_->arm();
  store_relaxed(segment_.control(my_local_).sleeping, sleeper());
  for (Link* link : waiting_) link->out.want_space(true);
  LAPWING_DELAY_POINT("shm.arm");
  full_fence();  // pairs with the fences in announce() (tail, bit), give_back() (head) and of the user of the host's memory
  LAPWING_DELAY_POINT("shm.armed");
  return !work_left();
}

bool ShmTransport::rest() noexcept {
  if (!open_) return true;
  disarm();
  at_rest_ = true;
  store_relaxed(segment_.control(my_local_).sleeping, std::uint32_t{shm::kAtRest});
  LAPWING_DELAY_POINT("shm.rest");
  full_fence();  // pairs with the fence in announce()
  LAPWING_DELAY_POINT("shm.rests");
  return !work_left();
}

void ShmTransport::disarm() noexcept {
  if (!open_ || (!armed_ && !at_rest_)) return;
  armed_ = at_rest_ = false;
  if (user_ != nullptr) user_->disarm();
  LAPWING_DELAY_POINT("shm.disarm");
  store_relaxed(segment_.control(my_local_).sleeping, std::uint32_t{shm::kNoThread});
  for (Link* link : waiting_) link->out.want_space(false);
}

// Something that poll() would move, or a failure it would report.
bool ShmTransport::work_left() noexcept {
  if (failure_ || lookout_.unheard_news() || unseen_senders()) return true;
  if (pulls_.work_left() || (user_ != nullptr && user_->work_left())) return true;
  for (Link* link : hot_) {
    if (has_input(*link) || link->in.broken()) return true;
  }
  for (Link* link : waiting_) {
    if (can_push(*link) || link->out.broken()) return true;
  }
  return false;
}

void ShmTransport::Doorbell::on_ready(std::uint32_t) noexcept {
  // The eventfd is never read: edge-triggered, each write is one edge, and its count does not overflow in this universe.
  // Not armed: the thread that drives polls before it sleeps. At rest the sender has taken the flag, and no other would notify.
  if (transport_.at_rest_) transport_.engine_.end_rest();
  if (transport_.armed_) transport_.poll();
}

std::uint32_t ShmTransport::sleeper() const noexcept {
  return engine_.application_drives() ? shm::kWaiter : shm::kListener;
}

void ShmTransport::notify_if_sleeping(Link& link, Delivery delivery) noexcept {
  const std::uint32_t sleeper = load_relaxed(link.control->sleeping);
  if (sleeper == shm::kNoThread || may_lie(link, sleeper, delivery)) return;
  LAPWING_DELAY_POINT("shm.take_flag");
  // Of several senders one notifies. A sender that loses here relies on the winner's notification, which comes after both have published.
  if (link.control->sleeping.exchange(shm::kNoThread, std::memory_order_relaxed) == shm::kNoThread) return;
  LAPWING_DELAY_POINT("shm.notify");
  write_doorbell(link.local);
}

// Whether what was sent may lie there until the application of the sleeper calls.
bool ShmTransport::may_lie(Link& link, std::uint32_t sleeper, Delivery delivery) noexcept {
  if (sleeper == shm::kWaiter || delivery == Delivery::kUrgent) return false;
  if (sleeper == shm::kListener && delivery == Delivery::kAtOnce) return false;
  return link.out.half_empty();
}

void ShmTransport::notify(std::uint32_t local) noexcept {
  Link& link = links_[local];
  if (!link.gone) notify_if_sleeping(link, Delivery::kAtOnce);
}

void ShmTransport::write_doorbell(std::uint32_t local) noexcept {
  ++engine_.system_calls().notifications;
  const std::uint64_t one = 1;
  while (::write(files_.doorbells[local].get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

// ---- The end of a peer ----

void ShmTransport::report_failures() noexcept {
  failure_ = false;
  for (std::uint32_t local = 0; local < local_ranks_.size(); ++local) {
    Link& link = links_[local];
    if (local == my_local_ || link.gone || !link.out.broken()) continue;
    lose(link,
         Status::error(MPI_ERR_OTHER,
                       "rank %u broke the shared-memory queue to it (its read position is impossible); it, or this "
                       "process, has overwritten foreign memory",
                       rank_of(link.peer)));
  }
}

// The count of ends is published, and each of the others is notified, whatever its sleeping flag says: the rank that has ended may have taken
// that flag without getting as far as the doorbell, and then no sender would notify that sleeper any more. This rank sees the count in its next
// poll: the layers above may not be ready yet (attach), and the thread that drives polls before it sleeps.
void ShmTransport::on_end_noticed() noexcept {
  for (std::uint32_t local = 0; local < local_ranks_.size(); ++local) {
    if (local != my_local_) write_doorbell(local);
  }
  if (at_rest_) engine_.end_rest();
  if (armed_) poll();
}

// What they sent before is taken first.
void ShmTransport::report_ends() noexcept {
  if (!lookout_.news()) return;
  for (std::uint32_t local = 0; local < local_ranks_.size(); ++local) {
    Link& link = links_[local];
    if (local == my_local_ || link.gone || !lookout_.has_ended(local)) continue;
    give_up(link.peer,
            Status::error(MPI_ERR_PROC_ABORTED,
                          "the process of rank %u (pid %d on this host, %s) has ended without MPI_Finalize; look at what "
                          "it printed last",
                          rank_of(link.peer), static_cast<int>(link.pid), config_.host_name.c_str()));
  }
}

void ShmTransport::give_up(PeerId peer, const Status& why) noexcept {
  Link* const link = link_to(peer);
  if (link == nullptr) return;
  while (!link->gone && has_input(*link) && receive(*link)) {
  }
  lose(*link, why.copy());
}

void ShmTransport::lose(Link& link, Status why) noexcept {
  if (link.gone) return;
  const bool half_received = link.assembly.under_way();
  end(link, why.copy());
  sinks_.peer_lost(link.peer, why, link.header, half_received ? &link.assembly.landing() : nullptr);
  if (user_ != nullptr) user_->on_rank_lost(link.local, why);
}

// It said goodbye while this rank goes on.
void ShmTransport::leave_behind(Link& link, Status why) noexcept {
  if (link.gone) return;
  end(link, why.copy());
  sinks_.peer_left(link.peer, why);
  if (user_ != nullptr) user_->on_rank_lost(link.local, why);
}

// No more traffic with this peer; queued frames end in an error.
void ShmTransport::end(Link& link, Status why) noexcept {
  if (link.gone) return;
  link.gone = true;
  link.why = std::move(why);
  stop_waiting(link);
  pulls_.end(link.local, link.why);
  while (!link.queue.empty()) {
    SendOp& op = link.queue.pop_front();
    op.on_taken(op, link.why);
  }
}

}  // namespace lapwing::net
