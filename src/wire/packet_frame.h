// A packet (wire/packet.h) as the payload of a frame: so it travels where the network does not carry packets and a connection stands. One frame
// holds one packet, exactly, in the bytes that it would have had as a packet, without a check, which the connection has if it is asked for. The
// frame's own words are 0.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "wire/frame.h"
#include "wire/packet.h"

namespace lapwing::wire {

// No carrier takes longer packets.
inline constexpr std::size_t kMostFramedPacket = 10240;

FrameHeader packet_frame(std::size_t packet_bytes) noexcept;
// Null, or the rule that the frame breaks. Its transport's part has been found right.
const char* wrong_packet_frame(const FrameHeader& header) noexcept;
// The payload of a frame for the rank `own`, from the rank `source`; the text of an error says which rule was broken. Probes and their answers take
// no detour.
Status decode_framed(const std::byte* payload, std::size_t size, std::uint64_t own_tag, std::uint32_t source, PacketHeader& header);

}  // namespace lapwing::wire
