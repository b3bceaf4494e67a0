#include "net/ether/link.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace lapwing::net::ether {
namespace {

// A goodbye is not acknowledged: the process is gone before it could be.
constexpr int kGoodbyes = 3;
// Of a peer that may have finished: it is not asked for longer.
constexpr unsigned kFinishedTimeouts = 8;

// How many bytes it has: at least so many.
std::size_t write_probe(std::byte* packet, const wire::PacketAddress& to, const wire::PacketAddress& way_back, std::uint32_t number,
                        std::size_t least) noexcept {
  wire::PacketHeader header;
  header.kind = wire::PacketKind::kProbe;
  header.to = to;
  header.number = number;
  header.bytes = wire::kWayBackBytes;
  wire::encode(header, packet);
  wire::encode_way_back(way_back, packet);
  const std::size_t bytes = wire::packet_bytes(packet), whole = std::max(bytes, least);
  std::memset(packet + bytes, 0, whole - bytes);
  return whole;
}

}  // namespace

bool send_probe(Port& port, PeerId peer, const wire::PacketAddress& to, const wire::PacketAddress& way_back, std::uint32_t number,
                std::size_t least_bytes) noexcept {
  reliable::PacketCarrier::Room room;
  if (!port.take(room)) return false;
  const bool sends = port.can_send(room.slot);
  if (sends) port.send(peer, room.slot, write_probe(room.bytes, to, way_back, number, least_bytes));
  port.give_back(room.slot);
  return sends;
}

Link::Link(LinkContext& context, PeerId peer, const wire::PacketAddress& to, std::string name, std::string place, wire::PacketSealer* sealer,
           Transport* detour)
    : context_(context),
      peer_(peer),
      to_(to),
      name_(std::move(name)),
      place_(std::move(place)),
      detour_(detour),
      carrier_(context.port, context.detours, sealer),
      packets_(context.sinks, carrier_, peer, to),
      liveness_(context.patience, detour == nullptr ? Liveness::kPause : Liveness::kPauseBeforeDetour) {}

Link::~Link() {
  if (has_probe_) context_.port.give_back(probe_.slot);
}

// ---- packets --------------------------------------------------------------------------------------------------------

void Link::take(const wire::PacketHeader& header, const std::byte* packet, std::int64_t now) noexcept {
  if (!packets_.open()) return;
  liveness_.heard();
  if (header.kind == wire::PacketKind::kPresent) way_.answered(now);
  switch (header.kind) {
    case wire::PacketKind::kData:
    case wire::PacketKind::kAcknowledge:
      if (const char* broken = packets_.take(header, packet, now); broken != nullptr) return refuse(broken);
      if (header.kind == wire::PacketKind::kData && packets_.unheard()) way_.doubt();
      return;
    case wire::PacketKind::kGoodbye:
      return take_goodbye(header, now);
    case wire::PacketKind::kGone:
      return lose(Status::error(MPI_ERR_PROC_ABORTED, "%s lost %s (%s): that process has ended; look at what it printed last",
                                context_.self.c_str(), name_.c_str(), place_.c_str()));
    default:  // kPresent has been heard; a kProbe is answered in the kernel
      return;
  }
}

void Link::take_diverted(const wire::PacketHeader& header, const std::byte* packet, std::int64_t now) noexcept {
  if (may_divert()) way_.doubt();
  take(header, packet, now);
}

void Link::take_goodbye(const wire::PacketHeader& header, std::int64_t now) noexcept {
  if (const char* broken = packets_.take_acknowledgement(header, {}, now); broken != nullptr) return refuse(broken);
  if ((header.flags & wire::kPacketBroken) != 0)
    return lose(Status::error(MPI_ERR_PROC_ABORTED,
                              "%s lost %s (%s): it has given up what the two had to say to each other; look at what it printed last",
                              context_.self.c_str(), name_.c_str(), place_.c_str()));
  packets_.end(reliable::PacketLink::State::kFinished, Status::error(MPI_ERR_OTHER, "%s has finalized, so nothing can be sent to it", name_.c_str()),
               context_.goodbye_expected);
}

// ---- time -----------------------------------------------------------------------------------------------------------

bool Link::work(std::int64_t now) noexcept {
  const bool turned = packets_.open() && follow_way(now);
  const bool moved = packets_.work(now) || turned;
  if (!packets_.open()) return moved;
  if (context_.goodbye_expected && packets_.sender().silent_timeouts() >= kFinishedTimeouts) {
    lose(Status::error(MPI_ERR_OTHER, "%s has finalized, so nothing can be sent to it", name_.c_str()));
    return true;
  }
  ask(now);
  return moved;
}

// Where the detour does not stand (yet) the packets stay with ether, and what follows from its silence is as without a detour.
bool Link::follow_way(std::int64_t now) noexcept {
  if (detour_ != nullptr) {
    const bool before = way_.on_detour();
    way_.judge(now, liveness_.pause(true));
    if (!before && way_.on_detour()) detour_->watch_over(peer_);
  }
  const bool turns = should_divert() != diverted();
  if (turns) {
    carrier_.divert(should_divert() ? detour_ : nullptr);
    packets_.way_changed(now);
  }
  if (told_of_detour_ ? !way_.on_detour() : diverted()) tell_way();
  return turns;
}

// Once for each detour, however often the connection that it leads by is made again, and broken when the packets return.
void Link::tell_way() noexcept {
  told_of_detour_ = diverted();
  ++(told_of_detour_ ? context_.detours.begun : context_.detours.ended);
  const char *const name = name_.c_str(), *const place = place_.c_str(), *const by = detour_->name();
  if (told_of_detour_) return log_warn("%s (%s) does not answer by ether: packets take a detour by %s", name, place, by);
  log_info("%s (%s) answers by ether again: packets leave the detour by %s", name, place, by);
}

// While packets are on the detour. As long as any packet, because a way that carries only short ones is none. One that has not left yet, because the
// interface is down, is not followed by another.
void Link::ask_again(std::int64_t now) noexcept {
  if (!way_.asks(now)) return;
  if (way_.state() == Way::State::kDetour || way_.closed()) detour_->watch_over(peer_);  // where it does not stand (any more)
  if (!way_.closed()) probe_again();
  way_.asked(now);
}

void Link::probe_again() noexcept {
  Port& port = context_.port;
  has_probe_ = has_probe_ || port.take(probe_);
  if (has_probe_ && port.can_send(probe_.slot)) {
    wire::PacketAddress way_back = context_.own;
    way_back.source = peer_.index;
    port.renew_next_hop(peer_);
    port.send(peer_, probe_.slot, write_probe(probe_.bytes, to_, way_back, 0, port.most_bytes()));
  }
}

void Link::ask(std::int64_t now) noexcept {
  if (way_.on_detour()) ask_again(now);
  switch (liveness_.judge(now, is_amiss())) {
    case Liveness::Order::kNothing:
      return;
    case Liveness::Order::kAsk: {
      if (way_.on_detour()) return;
      wire::PacketAddress way_back = context_.own;
      way_back.source = peer_.index;
      if (is_amiss()) context_.port.renew_next_hop(peer_);
      send_probe(context_.port, peer_, to_, way_back, 0, context_.port.most_bytes());
      if (detour_ != nullptr) way_.asked(now);
      return;
    }
    case Liveness::Order::kGone:
      if (diverted()) return liveness_.heard();  // the detour notices its end by itself
      return lose(why_gone());
  }
}

Status Link::why_gone() const noexcept {
  const double patience = static_cast<double>(context_.patience) / 1e9;
  if (way_.closed())
    return Status::error(MPI_ERR_PROC_ABORTED, "%s lost %s (%s): its own network interface has been taken away, and %s has not led there for %.3g s",
                         context_.self.c_str(), name_.c_str(), place_.c_str(), detour_->name(), patience);
  return Status::error(MPI_ERR_PROC_ABORTED,
                       "%s lost %s (%s): that host has not answered for %.3g s. It has gone, or the network between the hosts is cut; "
                       "LAPWING_PEER_TIMEOUT says how long to wait",
                       context_.self.c_str(), name_.c_str(), place_.c_str(), patience);
}

std::int64_t Link::deadline(std::int64_t now) const noexcept {
  if (!packets_.open()) return reliable::PacketLink::kNever;
  if (should_divert() != diverted()) return now;
  const std::int64_t at = std::min(packets_.deadline(now), liveness_.deadline(is_amiss()));
  return detour_ != nullptr ? std::min(at, way_.deadline(liveness_.pause(true))) : at;
}

// ---- the end --------------------------------------------------------------------------------------------------------

void Link::lose(const Status& why) noexcept {
  const bool orderly = context_.goodbye_expected && !packets_.incomplete();
  packets_.end(orderly ? reliable::PacketLink::State::kFinished : reliable::PacketLink::State::kLost, why, orderly);
}

void Link::refuse(const char* rule) noexcept {
  if (!packets_.open()) return;
  const Status why = Status::error(MPI_ERR_OTHER, "%s broke the rules of the wire (%s): %s. Do all ranks run the same Lapwing?", name_.c_str(),
                                   place_.c_str(), rule);
  say_goodbye(wire::kPacketBroken);
  packets_.end(reliable::PacketLink::State::kLost, why, false);
}

void Link::interface_lost(const Status& why) noexcept {
  if (!packets_.open()) return;
  if (detour_ == nullptr) return packets_.end(reliable::PacketLink::State::kLost, why, context_.goodbye_expected);
  way_.close();
  detour_->watch_over(peer_);
}

void Link::abandon(const Status& why) noexcept {
  if (!packets_.open()) return;
  say_goodbye(wire::kPacketBroken);
  packets_.end(reliable::PacketLink::State::kLost, why, true);
}

void Link::say_goodbye(std::uint8_t flags) noexcept {
  for (int i = 0; i < kGoodbyes; ++i) packets_.send_control(wire::PacketKind::kGoodbye, flags);
}

void Link::tell_counters() const noexcept {
  if (!log_enabled(LogLevel::kInfo)) return;
  const reliable::PacketSender::Counters& counters = packets_.sender().counters();
  log_info("%s: %llu packets sent by ether, %llu of them again (%llu taken for lost, %llu after time-outs); "
           "round trip %.3g us, window %.0f packets",
           name_.c_str(), static_cast<unsigned long long>(counters.sent), static_cast<unsigned long long>(counters.sent_again),
           static_cast<unsigned long long>(counters.lost), static_cast<unsigned long long>(counters.probes),
           static_cast<double>(packets_.sender().round_trip().smoothed()) / 1e3, packets_.sender().congestion().window());
}

void Link::close() noexcept {
  tell_counters();
  if (!packets_.open()) return;
  say_goodbye(packets_.flushed() ? 0 : wire::kPacketBroken);
  packets_.end(reliable::PacketLink::State::kFinished, Status::error(MPI_ERR_OTHER, "%s has closed its connections", context_.self.c_str()), true);
}

}  // namespace lapwing::net::ether
