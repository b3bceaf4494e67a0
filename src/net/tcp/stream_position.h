// Where in a connection's stream of bytes its receiver stands, as the kernel counts.
#pragma once

#include <cstdint>

namespace lapwing::net::tcp {

// Of the bytes that the peer has sent, so many have come in order, read or not. 0: the kernel does not tell.
std::uint64_t bytes_received(int socket) noexcept;

// Of those, so many have been read. Only while no program in the kernel sees the socket, and no other thread reads it.
std::uint64_t bytes_read(int socket) noexcept;

// The connection is over, as after a reset; then bytes_received() may be 0.
bool is_closed(int socket) noexcept;

}  // namespace lapwing::net::tcp
