// The two steps of an AF_XDP socket's beginning that take rights or can be refused, for a rank that has them, and for the service that stands in
// (launch/accelerator/). Between the two the rank maps the rings: of a socket that is bound the kernel maps none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace lapwing::net::ether {

// The memory that the kernel and the rank share: chunks of 2 KiB, the first half to receive into, the second to send from.
inline constexpr std::uint32_t kChunkBytes = 2048;
inline constexpr std::uint32_t kReceiveChunks = 2048, kSendChunks = 2048;  // powers of two: the rings have as many places
inline constexpr std::size_t kMemoryBytes = std::size_t{kReceiveChunks + kSendChunks} * kChunkBytes;

// A socket with this memory, of this process or a mapped file, whose pages it pins; and with its rings. Needs CAP_NET_RAW.
Status make_xdp_socket(const void* memory, int& fd);

// An errno value; 0: bound. EBUSY: another socket has the queue. `in_pieces`: packets may be of several chunks (Linux 6.6; EINVAL before that).
int bind_xdp_socket(int fd, unsigned interface, std::uint32_t queue, bool in_pieces) noexcept;

// From now on calls for what has come run the driver of the socket's queue (busy polling; Linux 5.11). Needs CAP_NET_ADMIN.
Status ask_for_busy_poll(int fd);

// A socket that has the memory of another one, its queue, and its rings for the memory's chunks; bound. All rings are to be mapped by it, which takes
// Linux 6.4. `other`: that one, which is bound to this queue.
Status make_sharing_socket(int other, unsigned interface, std::uint32_t queue, int& fd);

}  // namespace lapwing::net::ether
