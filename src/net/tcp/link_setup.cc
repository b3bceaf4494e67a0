#include "net/tcp/link_setup.h"

#include <algorithm>
#include <utility>

#include "base/tuning.h"
#include "net/tcp/candidates.h"

namespace lapwing::net::tcp {
namespace {

// An attempt to mend a connection, and the pause behind it, take one part in so many of the time that the break has lasted.
constexpr std::int64_t kLeastWait = 1'000'000'000;  // for a connection that the peer is making
constexpr std::int64_t kTriesPerBreak = 8, kPausesPerBreak = 32;

}  // namespace

LinkSetup::LinkSetup(SharedState& shared, PeerId peer, Role role, std::vector<Address> addresses, bool same_host,
                     const Diagnosis& diagnosis, const Channel& channel, LinkSetupUser& user)
    : shared_(shared),
      peer_(peer),
      role_(std::move(role)),
      addresses_(std::move(addresses)),
      same_host_(same_host),
      diagnosis_(diagnosis),
      channel_(channel),
      user_(user),
      await_(*this),
      mend_(*this),
      safe_point_(*this) {}

LinkSetup::~LinkSetup() {
  shared_.engine.cancel_timer(await_);
  shared_.engine.cancel_timer(mend_);
  if (safe_point_.linked()) safe_point_.unlink();
}

// ---- an attempt -----------------------------------------------------------------------------------------------------

void LinkSetup::connect() noexcept {
  state_ = LinkState::kConnecting;
  connecting_since_ = shared_.engine.clock().now();
  if (break_) shared_.interfaces = list_interfaces();  // one may have gone, or come
  std::vector<Address> dialled = candidates();
  if (dialled.empty()) return fail_soon(diagnosis_.no_route(addresses_));
  attempts_.begin();
  if (break_) ++break_->tries;
  const std::int64_t time = time_to_connect(std::ssize(dialled));
  shared_.engine.end_rest();  // the handshake's messages are not to wake the event thread beside a thread that polls for them
  const bool goes_on = break_.has_value();  // with what a connection that resumed has left, whichever side asked for that at first
  const wire::Terms terms = shared_.terms(role_.resumes && (goes_on || shared_.wants_to_resume(same_host_)), position(), role_.rail);
  connector_ = std::make_unique<Connector>(shared_, peer_, std::move(dialled), time, terms, *this);
  connector_->start();
}

// A rail is made in its own network, and mended by any.
std::vector<Address> LinkSetup::candidates() const {
  const auto route = [this](const Address& address) { return find_route(address, shared_.interfaces); };
  const auto is_home = [this](const Address& address) { return role_.home->same_host_address(address); };
  std::vector<Address> ordered = order_candidates(addresses_, shared_.interfaces, same_host_, route);
  if (role_.home) {
    const auto others = std::stable_partition(ordered.begin(), ordered.end(), is_home);
    if (!break_) ordered.erase(others, ordered.end());
  }
  if (break_ && break_->silent) put_last(ordered, break_->remote, shared_.interfaces);
  if (first_) std::stable_partition(ordered.begin(), ordered.end(), [this](const Address& address) { return first_->same_host_address(address); });
  return ordered;
}

// Where a connection broke, packets are lost for some time: an attempt of seconds would meet the kernel's pauses of seconds in the middle. So
// attempts are short at first, and later long enough for any network. The link stands again soon after the break has healed, in proportion.
std::int64_t LinkSetup::time_to_connect(std::int64_t candidates) const noexcept {
  if (!break_) return shared_.options.connect_timeout;
  const std::int64_t each = std::max(tuning().tcp_first_try, length_of_break() / kTriesPerBreak);
  return std::min(each + (candidates - 1) * tuning().tcp_stagger, shared_.options.connect_timeout);
}

std::int64_t LinkSetup::length_of_break() const noexcept {
  return shared_.engine.clock().now() - break_->since;
}

void LinkSetup::on_connected(std::unique_ptr<Connection> connection) noexcept {
  ++shared_.counters.connections_made;
  user_.open(std::move(connection));
}

void LinkSetup::on_duplicate() noexcept {
  state_ = LinkState::kAwaiting;
  connector_.reset();
  // The peer's connection may have broken as well: then each would wait for the other's.
  const std::int64_t patience = break_ ? std::max(kLeastWait, time_to_connect(1)) : shared_.options.connect_timeout;
  shared_.engine.set_timer(await_, shared_.engine.clock().now() + patience);
}

void LinkSetup::on_awaited_in_vain() noexcept {
  if (break_) return connect();
  if (role_.home) return settle(LinkState::kIdle);
  user_.lose(diagnosis_.not_arrived());
}

// A rank listens as long as it lives, and within a host nothing stands in the way.
void LinkSetup::on_unreachable(Status why) noexcept {
  if (same_host_ && connector_->refused() && !break_) why = diagnosis_.ended();
  fail_soon(std::move(why));
}

// No owner expects to be told of a lost peer from inside post().
void LinkSetup::fail_soon(Status why) noexcept {
  failure_ = std::move(why);
  if (!safe_point_.linked()) shared_.engine.defer(safe_point_);
}

void LinkSetup::at_safe_point() noexcept {
  if (state_ != LinkState::kConnecting || failure_.ok()) return;
  if (const wire::GivingUp* how = connector_ ? connector_->given_up() : nullptr; how != nullptr)
    return user_.be_given_up(diagnosis_.given_up(*how));
  if (break_) return mending_failed();
  if (const Address* at = connector_ ? connector_->broke_at() : nullptr; at != nullptr) return mend_first(*at);
  if (std::exchange(watch_only_, false)) return watching_failed();
  user_.lose(std::move(failure_));
}

// The first connection broke after the peer had proven itself: perhaps it has accepted it.
void LinkSetup::mend_first(const Address& remote) noexcept {
  broke({.why = diagnosis_.broken(remote, "it broke before it was accepted"), .remote = remote, .since = connecting_since_, .silent = true});
  mend();
}

// What was posted meanwhile has all its time before it. A watch goes on until the host has not been reached for as long as a
// connection may be silent.
void LinkSetup::watching_failed() noexcept {
  if (unreached_since_ == kReached) unreached_since_ = connecting_since_;
  if (!role_.home && shared_.engine.clock().now() >= patience_ends()) return user_.lose(diagnosis_.not_reached(failure_));
  state_ = LinkState::kIdle;
  watch_failed_at_ = shared_.engine.clock().now();
  connector_.reset();
  failure_ = Status();
  if (user_.something_to_send()) connect();
}

// ---- what the peer does ---------------------------------------------------------------------------------------------

bool LinkSetup::watch_over() noexcept {
  if (state_ != LinkState::kIdle) return false;
  // Another watch than the one that failed long ago: the host may have been reached by other ways meanwhile.
  if (shared_.engine.clock().now() - watch_failed_at_ >= shared_.liveness_monitor.patience()) unreached_since_ = kReached;
  watch_only_ = true;
  connect();
  return true;
}

wire::Verdict LinkSetup::judge(const wire::Terms& theirs, bool resumes) const noexcept {
  const bool ours_wins = shared_.own_name() < shared_.name(peer_) && connector_ && connector_->committed();
  const wire::Verdict verdict = attempts_.judge(state_, theirs.position.attempt, resumes, ours_wins);
  // One that is given up itself has not given up the others; and what does not resume is lost alone, and not the peer.
  const bool gives_up = role_.resumes && !shared_.sinks.is_given_up();
  return verdict == wire::Verdict::kGivenUp && !gives_up ? wire::Verdict::kGone : verdict;
}

wire::GivingUp LinkSetup::giving_up() const noexcept {
  constexpr std::int64_t kMillisecond = 1'000'000;
  const std::int64_t unreached = unreached_since_ == kReached ? 0 : ended_at_ - unreached_since_;
  const std::int64_t ago = shared_.engine.clock().now() - ended_at_;
  return {static_cast<std::uint64_t>(unreached / kMillisecond), static_cast<std::uint64_t>(ago / kMillisecond)};
}

std::optional<std::int64_t> LinkSetup::stands(std::uint64_t attempt) noexcept {
  settle(LinkState::kOpen);
  failure_ = Status();
  watch_only_ = false;
  attempts_.agree(attempt);
  unreached_since_ = kReached;
  if (!break_) return std::nullopt;
  const std::int64_t length = length_of_break();
  break_.reset();
  return length;
}

void LinkSetup::end(LinkState state) noexcept {
  ended_at_ = shared_.engine.clock().now();
  settle(state);
}

// No attempt goes on.
void LinkSetup::settle(LinkState state) noexcept {
  state_ = state;
  shared_.engine.cancel_timer(await_);
  shared_.engine.cancel_timer(mend_);
  connector_.reset();
}

// ---- a connection that breaks ---------------------------------------------------------------------------------------

void LinkSetup::broke(Break what) noexcept {
  state_ = LinkState::kConnecting;
  failure_ = Status();
  unreached_since_ = what.since;
  break_ = Mending{std::move(what), Status(), 0};
}

void LinkSetup::mend(const std::optional<Address>& first) noexcept {
  first_ = first;
  connect();
  if (state_ == LinkState::kConnecting) shared_.engine.set_timer(mend_, patience_ends());
}

// Where a rank listened and nothing listens any more, it has ended. Of an address that another host may have as well that is no proof.
bool LinkSetup::peer_has_ended() const noexcept {
  return connector_ && (connector_->peer_is_gone() || (same_host_ ? connector_->refused() : connector_->refused_by(break_->remote)));
}

void LinkSetup::mending_failed() noexcept {
  if (peer_has_ended()) return user_.lose(diagnosis_.ended(break_->why));
  break_->last_try = std::exchange(failure_, Status());
  connector_.reset();
  const std::int64_t pause = std::max(tuning().tcp_retry_pause, length_of_break() / kPausesPerBreak);
  shared_.engine.set_timer(mend_, std::min(shared_.engine.clock().now() + pause, patience_ends()));
}

// It is time to try again, or to give up.
void LinkSetup::mend_or_give_up() noexcept {
  const std::int64_t now = shared_.engine.clock().now();
  const bool stopped = connector_ && connector_->is_patient();
  if (now >= patience_ends() && !stopped) return give_up();
  if (state_ == LinkState::kConnecting && !connector_) connect();
  if (break_) shared_.engine.set_timer(mend_, stopped ? now + shared_.liveness_monitor.patience() : patience_ends());
}

void LinkSetup::give_up() noexcept {
  user_.lose(diagnosis_.not_resumed(break_->why, static_cast<double>(length_of_break()) / 1e9, break_->tries, break_->last_try));
}

}  // namespace lapwing::net::tcp
