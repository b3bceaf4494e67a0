// Arbitrary packets, as a peer or a network gone mad might send them: the link takes each or names the rule that it breaks, the sink sees a correct
// sequence of calls, and no landing is overrun.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/internal_error.h"
#include "net/reliable/packet_link.h"
#include "wire/packet.h"

namespace {

using namespace lapwing;

// Takes at most a page of each payload, by turns in a buffer, by a walk, or not at all.
class CheckingSink final : public net::FrameSink {
 public:
  net::Landing on_header(net::PeerId, const wire::FrameHeader& header) noexcept override {
    LAPWING_CHECK(!within_ && header.payload_bytes() <= wire::kMaxPayloadBytes);
    within_ = true;
    net::Landing landing;
    landing.violation = header.own(0) >> 32 == 0xdead;
    landing.reason = "the sink refuses";
    landing.accepted = std::min<std::uint64_t>(header.payload_bytes(), 4096);
    page_.assign(landing.accepted, std::byte{0});  // exactly, so that a sanitizer sees every byte too many
    walk_ = ContiguousWalk(page_.data(), landing.accepted);
    if (frames_ % 3 == 0) landing.base = page_.data();
    if (frames_ % 3 == 1) landing.walk = &walk_;
    return landing;
  }
  void on_frame(net::PeerId, const wire::FrameHeader&) noexcept override {
    LAPWING_CHECK(within_);
    within_ = false;
    ++frames_;
  }
  void on_peer_lost(net::PeerId, const Status&, const net::Landing*) noexcept override {}

 private:
  std::uint64_t frames_ = 0;
  bool within_ = false;
  std::vector<std::byte> page_;
  ContiguousWalk walk_;
};

class Carrier final : public net::reliable::PacketCarrier {
 public:
  static constexpr std::size_t kBytes = 256, kSlots = 64;
  Carrier() : memory_(kBytes * kSlots) {
    for (Slot slot = 0; slot < kSlots; ++slot) free_.push_back(slot);
  }
  std::size_t most_bytes() const noexcept override { return kBytes; }
  bool take(Room& room) noexcept override {
    if (free_.empty()) return false;
    room = {free_.back(), bytes(free_.back())};
    free_.pop_back();
    return true;
  }
  void give_back(Slot slot) noexcept override { free_.push_back(slot); }
  std::byte* bytes(Slot slot) noexcept override { return memory_.data() + slot * kBytes; }
  bool can_send(Slot) noexcept override { return true; }
  bool send(ProcessId, Slot slot, std::size_t count) noexcept override {
    wire::PacketHeader header;
    LAPWING_CHECK(wire::decode(bytes(slot), count, header).ok());
    return true;
  }

 private:
  std::vector<std::byte> memory_;
  std::vector<Slot> free_;
};

}  // namespace

// Of each packet first its length, then its bytes; the first two of these are made right mostly, or nothing would get far.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  CheckingSink sink;
  const net::Sinks sinks(sink);
  Carrier carrier;
  net::reliable::PacketLink link(sinks, carrier, {}, {});
  std::int64_t now = 1'000'000;
  wire::FrameHeader own;
  own.describe(wire::Protocol::kMessages, 8);
  const std::byte payload[8] = {};
  link.send_now(own, payload, now);
  std::vector<std::byte> packet;
  for (std::size_t at = 0; at < size; now += 100'000) {
    const std::size_t count = std::min<std::size_t>(data[at], size - at - 1);
    packet.resize(count);
    if (count != 0) std::memcpy(packet.data(), data + at + 1, count);
    at += count + 1;
    if (count > 1 && packet[0] != std::byte{77}) packet[0] = static_cast<std::byte>(wire::kPacketVersion);
    wire::PacketHeader header;
    const Status sound = wire::decode(packet.data(), packet.size(), header);
    LAPWING_CHECK(sound.ok() || sound.text()[0] != '\0');
    if (!sound.ok() || header.kind > wire::PacketKind::kAcknowledge) continue;
    if (const char* broken = link.take(header, packet.data(), now); broken != nullptr) {
      LAPWING_CHECK(broken[0] != '\0');
      break;
    }
    link.work(now);
  }
  link.end(net::reliable::PacketLink::State::kLost, Status::error(MPI_ERR_OTHER, "the end"), false);
  return 0;
}
