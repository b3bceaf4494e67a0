// Feeds arbitrary bytes to the receiving end of a connection: headers, payloads, sequence numbers, in pieces as a
// socket might give them. Whatever comes, the sink must see a correct sequence of calls, and landings must not be
// overrun.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/internal_error.h"
#include "net/tcp/inbox.h"
#include "wire/message_header.h"

namespace {

using namespace lapwing;

void check_codec(const std::byte* bytes) {
  wire::FrameHeader frame;
  std::copy_n(bytes, sizeof frame.words, reinterpret_cast<std::byte*>(frame.words));
  LAPWING_CHECK(!wire::is_sound(frame) || wire::check(frame).ok());
  wire::MessageHeader header;
  if (!wire::is_sound(frame) || !wire::decode(frame, header).ok()) return;
  const wire::FrameHeader again = wire::pack(header);
  frame.set_flags(0);  // the transport's
  LAPWING_CHECK(again.words[0] == frame.words[0]);
  LAPWING_CHECK(std::equal(again.words + 2, again.words + wire::FrameHeader::kWords, frame.words + 2));
}

// Takes at most a page of each payload, by turns in a buffer, by a walk, or not at all.
class CheckingSink final : public net::FrameSink {
 public:
  net::Landing on_header(net::PeerId, const wire::FrameHeader& header) noexcept override {
    LAPWING_CHECK(!within_);
    LAPWING_CHECK(header.numbers().sequence >= next_ && header.payload_bytes() <= wire::kMaxPayloadBytes);
    next_ = header.numbers().sequence + 1;  // a goodbye between two frames has a number as well
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
    LAPWING_CHECK(frames_ % 3 != 1 || walk_.remaining() == 0);
    within_ = false;
    ++frames_;
  }
  void on_peer_lost(net::PeerId, const Status&, const net::Landing*) noexcept override { LAPWING_CHECK(false); }

 private:
  std::uint64_t frames_ = 0, next_ = 0;
  bool within_ = false;
  std::vector<std::byte> page_;
  ContiguousWalk walk_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto* bytes = reinterpret_cast<const std::byte*>(data + 1);
  const std::size_t count = size - 1;
  if (count >= wire::kHeaderBytes) check_codec(bytes);

  const std::size_t chunk = std::size_t{data[0]} + 1;
  CheckingSink sink;
  const net::Sinks sinks(sink);
  net::Channel channel;
  net::CopyCounters copies;
  net::tcp::Inbox inbox(sinks, channel, {}, copies);
  for (std::size_t at = 0; at < count; at += chunk) {
    if (inbox.parse(bytes + at, std::min(chunk, count - at))) continue;
    LAPWING_CHECK(!inbox.violation().ok() && inbox.violation().text()[0] != '\0');
    return 0;
  }
  return 0;
}
