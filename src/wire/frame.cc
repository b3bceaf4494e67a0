#include "wire/frame.h"

#include <cinttypes>

namespace lapwing::wire {
namespace {

Status check_channel_frame(const FrameHeader& header) {
  if (header.payload_bytes() != 0)
    return Status::error(MPI_ERR_OTHER,
                         "a frame of the channel itself announces %" PRIu64 " payload bytes, and has none",
                         header.payload_bytes());
  const bool more = (header.own(1) | header.own(2) | header.own(3) | header.own(4) | header.own(5)) != 0;
  const auto word = static_cast<ChannelWord>(header.own(0));
  if (more || (word != ChannelWord::kGoodbye && word != ChannelWord::kAcknowledge))
    return Status::error(MPI_ERR_OTHER, "a frame of the channel itself says %" PRIu64 ", which means nothing",
                         header.own(0));
  return {};
}

}  // namespace

Status check(const FrameHeader& header) {
  if (header.protocol() >= kProtocols)
    return Status::error(MPI_ERR_OTHER, "there is no protocol %u", static_cast<unsigned>(header.protocol()));
  if ((header.flags() & ~(header.is(Protocol::kChannel) ? kFlagAcknowledge : kFlagAcknowledge | kFlagTrailer)) != 0)
    return Status::error(MPI_ERR_OTHER, "a frame has unknown flags 0x%02x", static_cast<unsigned>(header.flags()));
  if (header.reserved() != 0)
    return Status::error(MPI_ERR_OTHER, "a frame has 0x%04x in the reserved bits",
                         static_cast<unsigned>(header.reserved()));
  if (header.payload_bytes() > kMaxPayloadBytes)
    return Status::error(MPI_ERR_OTHER, "a frame announces %" PRIu64 " payload bytes; %" PRIu64 " is the limit",
                         header.payload_bytes(), kMaxPayloadBytes);
  return header.is(Protocol::kChannel) ? check_channel_frame(header) : Status();
}

}  // namespace lapwing::wire
