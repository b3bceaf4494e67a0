#include "net/packet_relay.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/packet_frame.h"

namespace lapwing::net {
namespace {

constexpr PeerId kPeer{3};

class Told final : public FrameSink {
 public:
  std::vector<std::string> calls;

  Landing on_header(PeerId peer, const wire::FrameHeader& header) noexcept override {
    note("header", peer);
    Landing landing;
    landing.accepted = header.payload_bytes();
    landing.base = bytes_;
    return landing;
  }
  void on_frame(PeerId peer, const wire::FrameHeader&) noexcept override { note("frame", peer); }
  void on_peer_lost(PeerId peer, const Status&, const Landing*) noexcept override { note("lost", peer); }
  void on_peer_met(PeerId peer) noexcept override { note("met", peer); }
  const std::byte* bytes() const { return bytes_; }

 private:
  void note(const char* what, PeerId peer) { calls.push_back(what + (" " + std::to_string(peer.index))); }
  std::byte bytes_[100];
};

Landing tell_all(PacketRelay& relay, const wire::FrameHeader& header) {
  relay.on_peer_met(kPeer);
  const Landing landing = relay.on_header(kPeer, header);
  if (!landing.violation) relay.on_frame(kPeer, header);
  relay.on_peer_lost(kPeer, Status::error(MPI_ERR_OTHER, "gone"), nullptr);
  return landing;
}

TEST(PacketRelay, PassesAllOnToTheSinkThatIsSet) {
  PacketRelay relay;
  Told told;
  relay.set(&told);
  const Landing landing = tell_all(relay, wire::packet_frame(100));
  EXPECT_FALSE(landing.violation);
  EXPECT_EQ(landing.base, told.bytes());
  EXPECT_EQ(landing.accepted, 100u);
  EXPECT_EQ(told.calls, (std::vector<std::string>{"met 3", "header 3", "frame 3", "lost 3"}));
}

TEST(PacketRelay, WithoutASinkAPacketBreaksTheRules) {
  PacketRelay relay;
  const Landing landing = tell_all(relay, wire::packet_frame(100));
  EXPECT_TRUE(landing.violation);
  EXPECT_STREQ(landing.reason, "it sends packets to a rank that takes none");
}

TEST(PacketRelay, ForgetsASinkThatIsTakenAway) {
  PacketRelay relay;
  Told told;
  relay.set(&told);
  relay.set(nullptr);
  EXPECT_TRUE(tell_all(relay, wire::packet_frame(100)).violation);
  EXPECT_TRUE(told.calls.empty());
}

}  // namespace
}  // namespace lapwing::net
