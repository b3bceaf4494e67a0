// One message over a local socket that keeps messages apart (SOCK_SEQPACKET), with descriptors beside its bytes: between a rank and the service
// `lapwing accelerator`. The sizes are bounded, whatever the other side sends; descriptors that come are closed with the message.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "net/bpf/bpf.h"

namespace lapwing::net::kernel {

struct LocalMessage {
  static constexpr std::size_t kMostBytes = 512;
  static constexpr std::size_t kMostDescriptors = 4;

  std::string bytes;
  std::vector<bpf::Descriptor> descriptors;
};

// Both block no longer than the socket's own limits, and not at all with MSG_DONTWAIT in `flags`. An error says why nothing could be sent.
Status send_message(int socket, std::string_view bytes, std::span<const int> descriptors = {}, int flags = 0);

enum class Received { kMessage, kEnd, kNothingInTime, kBroken };
// kBroken: what came is longer than any message, or has more descriptors, or this process can take no more of them; or the socket fails.
Received receive_message(int socket, LocalMessage& message, int flags = 0);

// A connection to the service that listens at `path`, on which each direction has a limit of so many milliseconds.
Status connect_local(const std::string& path, int milliseconds, bpf::Descriptor& connection);
void set_limit(int socket, int milliseconds) noexcept;

}  // namespace lapwing::net::kernel
