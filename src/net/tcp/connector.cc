#include "net/tcp/connector.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/tuning.h"

namespace lapwing::net::tcp {
namespace {

constexpr std::uint64_t kFirstAttempt = 1;
constexpr double kLongSilence = 5;  // seconds

std::string no_answer_within(double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "no answer within %.3g s", seconds);
  return text;
}

}  // namespace

Connector::Connector(SharedState& shared, PeerId peer, std::vector<Address> candidates, std::int64_t time, const wire::Terms& terms,
                     ConnectorUser& user)
    : shared_(shared),
      peer_(peer),
      candidates_(std::move(candidates)),
      user_(user),
      terms_(terms),
      time_(time),
      stagger_(*this),
      end_(*this) {}

Connector::~Connector() {
  shared_.engine.cancel_timer(stagger_);
  shared_.engine.cancel_timer(end_);
}

bool Connector::committed() const noexcept {
  return std::any_of(dials_.begin(), dials_.end(), [](const auto& dial) { return dial->state() == Dial::State::kProven; });
}

// ---- dialling -------------------------------------------------------------------------------------------------------

void Connector::start() noexcept {
  set_end(time_);
  dial_next();
}

// Goes through the candidates until one is under way.
void Connector::dial_next() noexcept {
  while (next_ < candidates_.size()) {
    dials_.push_back(std::make_unique<Dial>(shared_, peer_, candidates_[next_++], terms_, *this));
    Dial& dial = *dials_.back();
    if (dial.start()) return dial_next_later();
    note(dial, dial.failure());
    dials_.pop_back();
  }
  if (dials_.empty()) report_unreachable();
}

void Connector::dial_next_later() noexcept {
  if (next_ < candidates_.size()) shared_.engine.set_timer(stagger_, shared_.engine.clock().now() + tuning().tcp_stagger);
}

// The others follow this one again, should it fail.
void Connector::keep_only(Dial& kept) noexcept {
  shared_.engine.cancel_timer(stagger_);
  std::stable_partition(candidates_.begin(), candidates_.end(), [&](const Address& address) {
    return address.same_host_address(kept.address()) && address.port == kept.address().port;
  });
  next_ = 1;
  std::erase_if(dials_, [&](const auto& dial) { return dial.get() != &kept; });
}

void Connector::forget(Dial& gone) noexcept {
  std::erase_if(dials_, [&](const auto& dial) { return dial.get() == &gone; });
}

// ---- what becomes of a dial -----------------------------------------------------------------------------------------

bool Connector::may_try_again(const Dial& dial) const noexcept {
  return dial.state() != Dial::State::kProven || terms_.position.attempt == kFirstAttempt;
}

void Connector::on_pausing(Dial& dial) noexcept {
  if (dial.exhausted() != 0) return warn_exhausted(dial.exhausted());
  if (std::exchange(patient_, false)) set_end(time_);
  if (!stagger_.pending()) dial_next_later();
}

void Connector::on_verdict(Dial& dial) noexcept {
  using Handshake = wire::Handshake::State;
  switch (dial.handshake().state()) {
    case Handshake::kAccepted:
      return user_.on_connected(dial.take_connection());
    case Handshake::kDuplicate:
      return user_.on_duplicate();
    default:
      peer_is_gone_ = dial.handshake().state() == Handshake::kGone;
      if (!peer_is_gone_) given_up_ = dial.handshake().giving_up();
      note(dial, dial.handshake().failure().text());
      return report_unreachable();
  }
}

void Connector::on_failed(Dial& dial) noexcept {
  if (std::exchange(patient_, false)) set_end(time_);
  note(dial, dial.failure());
  if (dial.was_proven()) {
    if (dial.resumes()) broke_at_ = dial.address();
    return report_unreachable();
  }
  forget(dial);
  dial_next();
}

// ---- time -----------------------------------------------------------------------------------------------------------

void Connector::set_end(std::int64_t nanoseconds) noexcept {
  shared_.engine.set_timer(end_, shared_.engine.clock().now() + nanoseconds);
}

void Connector::on_end() noexcept {
  const auto fresh = std::find_if(dials_.begin(), dials_.end(), [](const auto& dial) { return dial->has_news(); });
  if (fresh != dials_.end()) {
    set_end(time_);  // for what follows it
    return (*fresh)->catch_up();
  }
  if (goes_on_waiting()) return set_end(time_);
  give_up();
}

bool Connector::goes_on_waiting() noexcept {
  for (const auto& dial : dials_) {
    if (must_not_be_given_up(*dial)) return true;
    if (dial->state() != Dial::State::kGreeting || !dial->host_answers()) continue;
    be_patient(*dial);
    return true;
  }
  return false;
}

bool Connector::must_not_be_given_up(const Dial& dial) const noexcept {
  return dial.state() == Dial::State::kProven && (dial.host_answers() || !dial.handshake().has(wire::kFeatureResume));
}

void Connector::be_patient(Dial& dial) noexcept {
  keep_only(dial);
  patient_ = true;
  if (dial.seconds_so_far() < kLongSilence || std::exchange(warned_silent_, true) || !user_.waits_for_answer()) return;
  log_warn(
      "waiting for %s, whose host accepts connections at %s while the rank itself does not answer: it may be stopped, "
      "or compute without progress (LAPWING_PROGRESS=polling)",
      shared_.describe(peer_).c_str(), dial.address().text().c_str());
}

void Connector::give_up() noexcept {
  for (const auto& dial : dials_) {
    if (dial->state() == Dial::State::kProven) broke_at_ = dial->address();
    const std::string silence = no_answer_within(dial->seconds_so_far());
    if (dial->exhausted() != 0)
      why_exhausted_ = dial->exhausted();
    else if (!dial->failure().empty())
      note(*dial, dial->failure());
    else
      note(*dial, dial->state() == Dial::State::kConnecting ? silence : "connected, but " + silence);
  }
  report_unreachable();
}

void Connector::report_unreachable() noexcept {
  dials_.clear();
  shared_.engine.cancel_timer(stagger_);
  shared_.engine.cancel_timer(end_);
  user_.on_unreachable(diagnosis());
}

// One in a round, because it may end the attempt. The others follow in the next.
bool Connector::inspect() noexcept {
  return std::any_of(dials_.begin(), dials_.end(), [](const auto& dial) { return dial->inspect(); });
}

// ---- what is told ---------------------------------------------------------------------------------------------------

void Connector::warn_exhausted(int error) noexcept {
  if (std::exchange(warned_exhausted_, true)) return;
  log_warn("no socket for a connection to %s: %s; trying again for %.3g s. Raise the limit of open files (ulimit -n)",
           shared_.describe(peer_).c_str(), std::strerror(error), static_cast<double>(time_) / 1e9);
}

bool Connector::refused_by(const Address& address) const noexcept {
  return std::any_of(refused_.begin(), refused_.end(),
                     [&](const Address& other) { return other.same_host_address(address); });
}

void Connector::note(const Dial& dial, const std::string& why) {
  const bool refused = dial.error() == ECONNREFUSED;
  if (refused) refused_.push_back(dial.address());
  const auto alike = std::find_if(failures_.begin(), failures_.end(), [&](const Failure& other) { return other.why == why; });
  if (alike != failures_.end())
    alike->addresses += ", " + dial.address().text();
  else
    failures_.push_back({dial.address().text(), why, dial.fault(), refused});
}

std::string Connector::failures() const {
  std::string text;
  for (const Failure& failure : failures_) text += (text.empty() ? "" : "; ") + failure.addresses + ": " + failure.why;
  return text;
}

bool Connector::all_refused() const noexcept {
  return !failures_.empty() && std::all_of(failures_.begin(), failures_.end(), [](const Failure& failure) { return failure.refused; });
}

// Where ranks have met that are set up in different ways, that is what is wrong, whatever has become of other addresses.
const char* Connector::advice() const {
  using Fault = wire::Handshake::Fault;
  const auto are_settings = [](const Failure& failure) { return failure.fault == Fault::kSettings; };
  const auto is_stranger = [](const Failure& failure) { return failure.fault == Fault::kStranger; };
  if (std::any_of(failures_.begin(), failures_.end(), are_settings)) return "";
  if (!failures_.empty() && std::all_of(failures_.begin(), failures_.end(), is_stranger))
    return ". Choose the network that leads to that rank with LAPWING_TCP_INTERFACE";
  return ". Check that no firewall stands between the two hosts, choose the network with LAPWING_TCP_INTERFACE or the ports with "
         "LAPWING_TCP_PORTS, and run `lapwing doctor` on both";
}

Status Connector::diagnosis() const {
  if (why_exhausted_ != 0)
    return Status::error(MPI_ERR_OTHER,
                         "%s has no socket left for a connection to %s: %s. Raise the limit of open files (ulimit -n), also "
                         "where the job is started; each peer takes one",
                         shared_.describe_self().c_str(), shared_.describe(peer_).c_str(), std::strerror(why_exhausted_));
  if (all_refused())
    return Status::error(MPI_ERR_PROC_ABORTED,
                         "%s cannot reach %s by TCP (%s). That process has probably ended; look at what it printed last. Else a firewall refuses "
                         "connections, or another host has these addresses: choose the network with LAPWING_TCP_INTERFACE",
                         shared_.describe_self().c_str(), shared_.describe(peer_).c_str(), failures().c_str());
  return Status::error(MPI_ERR_OTHER, "%s cannot reach %s by TCP (%s)%s", shared_.describe_self().c_str(), shared_.describe(peer_).c_str(),
                       failures().c_str(), advice());
}

}  // namespace lapwing::net::tcp
