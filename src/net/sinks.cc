#include "net/transport.h"

#include <algorithm>
#include <iterator>

namespace lapwing::net {
namespace {

class NoSink final : public FrameSink {
 public:
  Landing on_header(PeerId, const wire::FrameHeader&) noexcept override {
    Landing landing;
    landing.violation = true;
    landing.reason = "it uses a protocol that this rank does not";
    return landing;
  }
  void on_frame(PeerId, const wire::FrameHeader&) noexcept override {}
  void on_peer_lost(PeerId, const Status&, const Landing*) noexcept override {}
};

NoSink no_sink;

}  // namespace

Sinks::Sinks() noexcept {
  for (FrameSink*& sink : sinks_) sink = &no_sink;
}

void Sinks::peer_lost(PeerId peer, const Status& why, const wire::FrameHeader& header,
                      const Landing* half_received) const noexcept {
  for (FrameSink* sink : sinks_)
    sink->on_peer_lost(peer, why, half_received != nullptr && sink == &of(header) ? half_received : nullptr);
}

void Sinks::peer_met(PeerId peer) const noexcept {
  for (FrameSink* sink : sinks_) sink->on_peer_met(peer);
}

void Sinks::given_up_by(PeerId peer) const noexcept {
  for (FrameSink* sink : sinks_) sink->on_given_up(peer);
}

bool Sinks::is_given_up() const noexcept {
  return std::any_of(std::begin(sinks_), std::end(sinks_), [](const FrameSink* sink) { return sink->is_given_up(); });
}

void Sinks::peer_left(PeerId peer, const Status& why) const noexcept {
  for (FrameSink* sink : sinks_) sink->on_peer_left(peer, why);
}

}  // namespace lapwing::net
