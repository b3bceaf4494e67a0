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

}  // namespace

bool send_probe(Port& port, PeerId peer, const wire::PacketAddress& to, const wire::PacketAddress& way_back, std::uint32_t number,
                std::size_t least_bytes) noexcept {
  reliable::PacketCarrier::Room room;
  if (!port.take(room)) return false;
  wire::PacketHeader header;
  header.kind = wire::PacketKind::kProbe;
  header.to = to;
  header.number = number;
  header.bytes = wire::kWayBackBytes;
  wire::encode(header, room.bytes);
  wire::encode_way_back(way_back, room.bytes);
  const std::size_t bytes = wire::packet_bytes(room.bytes), whole = std::max(bytes, least_bytes);
  std::memset(room.bytes + bytes, 0, whole - bytes);
  const bool sends = port.can_send(room.slot);
  if (sends) port.send(peer, room.slot, whole);
  port.give_back(room.slot);
  return sends;
}

Link::Link(LinkContext& context, PeerId peer, const wire::PacketAddress& to, std::string name, std::string place)
    : context_(context),
      peer_(peer),
      to_(to),
      name_(std::move(name)),
      place_(std::move(place)),
      packets_(context.sinks, context.port, peer, to),
      liveness_(context.patience) {}

// ---- packets --------------------------------------------------------------------------------------------------------

void Link::take(const wire::PacketHeader& header, const std::byte* packet, std::int64_t now) noexcept {
  if (!packets_.open()) return;
  liveness_.heard();
  switch (header.kind) {
    case wire::PacketKind::kData:
    case wire::PacketKind::kAcknowledge:
      if (const char* broken = packets_.take(header, packet, now); broken != nullptr) refuse(broken);
      return;
    case wire::PacketKind::kGoodbye:
      return take_goodbye(header, now);
    case wire::PacketKind::kGone:
      return lose(Status::error(MPI_ERR_PROC_ABORTED, "%s lost %s (%s): that process has ended; look at what it printed last", context_.self.c_str(), name_.c_str(),
                                place_.c_str()));
    default:  // kPresent has been heard; a kProbe is answered in the kernel
      return;
  }
}

void Link::take_goodbye(const wire::PacketHeader& header, std::int64_t now) noexcept {
  if (const char* broken = packets_.take_acknowledgement(header, {}, now); broken != nullptr) return refuse(broken);
  if ((header.flags & wire::kPacketBroken) != 0)
    return lose(Status::error(MPI_ERR_PROC_ABORTED, "%s lost %s (%s): it has given up what the two had to say to each other; look at what it printed last",
                              context_.self.c_str(), name_.c_str(), place_.c_str()));
  packets_.end(reliable::PacketLink::State::kFinished, Status::error(MPI_ERR_OTHER, "%s has finalized, so nothing can be sent to it", name_.c_str()),
               context_.goodbye_expected);
}

// ---- time -----------------------------------------------------------------------------------------------------------

bool Link::work(std::int64_t now) noexcept {
  const bool moved = packets_.work(now);
  if (!packets_.open()) return moved;
  if (context_.goodbye_expected && packets_.sender().silent_timeouts() >= kFinishedTimeouts) {
    lose(Status::error(MPI_ERR_OTHER, "%s has finalized, so nothing can be sent to it", name_.c_str()));
    return true;
  }
  ask(now);
  return moved;
}

void Link::ask(std::int64_t now) noexcept {
  switch (liveness_.judge(now, silent())) {
    case Liveness::Order::kNothing:
      return;
    case Liveness::Order::kAsk: {
      wire::PacketAddress way_back = context_.own;
      way_back.source = peer_.index;
      if (silent()) context_.port.renew_next_hop(peer_);
      send_probe(context_.port, peer_, to_, way_back, 0);
      return;
    }
    case Liveness::Order::kGone:
      return lose(Status::error(MPI_ERR_PROC_ABORTED,
                                "%s lost %s (%s): that host has not answered for %.3g s. It has gone, or the network between the hosts is cut; "
                                "LAPWING_PEER_TIMEOUT says how long to wait",
                                context_.self.c_str(), name_.c_str(), place_.c_str(), static_cast<double>(context_.patience) / 1e9));
  }
}

std::int64_t Link::deadline(std::int64_t now) const noexcept {
  return packets_.open() ? std::min(packets_.deadline(now), liveness_.deadline(silent())) : reliable::PacketLink::kNever;
}

// ---- the end --------------------------------------------------------------------------------------------------------

void Link::lose(const Status& why) noexcept {
  const bool orderly = context_.goodbye_expected && !packets_.incomplete();
  packets_.end(orderly ? reliable::PacketLink::State::kFinished : reliable::PacketLink::State::kLost, why, orderly);
}

void Link::refuse(const char* rule) noexcept {
  const Status why = Status::error(MPI_ERR_OTHER, "%s broke the rules of the wire (%s): %s. Do all ranks run the same Lapwing?", name_.c_str(), place_.c_str(), rule);
  say_goodbye(wire::kPacketBroken);
  packets_.end(reliable::PacketLink::State::kLost, why, false);
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
  log_info("%s: %llu packets sent by ether, %llu of them again (%llu taken for lost, %llu after time-outs); round trip %.3g us, window %.0f packets", name_.c_str(),
           static_cast<unsigned long long>(counters.sent), static_cast<unsigned long long>(counters.sent_again),
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
