// How many bytes make a connection's socket readable.
//
// Long frames. To be woken takes an event thread some 30 us of the core that it shares with the computation, so it takes a long frame in
// large pieces: nothing else on the link can be had before its last byte. The pieces get smaller towards the end, so that little
// is left to copy when that has come, and are a part of the receive buffer, so that the peer can go on. A thread that waits has nothing
// better to do than to copy early; and over loopback, where all comes at once, to be woken early costs less than to be late.
//
// At rest (engine/source.h) the port announces input when so much has gathered that the peer might soon be held up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/tuning.h"
#include "net/tcp/socket.h"

namespace lapwing::net::tcp {

class Watermark {
 public:
  // `missing`: of the frame that is arriving; 0: none is.
  void rest(const Socket& socket, std::uint64_t missing) noexcept {
    rests_ = true;
    set(socket, missing == 0 ? tuning().tcp_rest_watermark : std::min(tuning().tcp_rest_watermark, next_piece(missing, socket.receive_buffer())));
  }
  void end_rest(const Socket& socket) noexcept {
    if (std::exchange(rests_, false)) set(socket, 1);
  }
  // A thread is about to sleep. `at_once`: the application waits.
  void sleep(const Socket& socket, std::uint64_t missing, bool at_once) noexcept {
    if (missing >= tuning().tcp_small_rest) set(socket, at_once ? 1 : next_piece(missing, socket.receive_buffer()));
  }
  // The watermark never stays above what is missing of a frame. True when a frame is arriving that had better not be hidden.
  bool received(const Socket& socket, std::uint64_t missing) noexcept {
    if (rests_) return missing >= tuning().tcp_rest_watermark / 2;
    if (missing < bytes_ && bytes_ > 1) set(socket, 1);
    return false;
  }
  bool hides() const noexcept { return bytes_ > 1; }
  // The first byte makes the socket readable again.
  void lift(const Socket& socket) noexcept {
    rests_ = false;
    set(socket, 1);
  }
  // Another socket takes the place of this one.
  void forget() noexcept {
    bytes_ = 1;
    rests_ = false;
  }

 private:
  static std::uint64_t next_piece(std::uint64_t missing, std::uint64_t buffer) noexcept {
    const std::uint64_t last = tuning().tcp_last_piece, largest = std::max(last, tuning().tcp_largest_piece);
    const std::uint64_t wanted = missing <= last ? missing : std::clamp(missing / 2, last, largest);
    return std::max<std::uint64_t>(std::min(wanted, buffer / tuning().tcp_pieces_per_buffer), 1);
  }
  // The kernel announces at once what is there already.
  void set(const Socket& socket, std::uint64_t bytes) noexcept {
    if (bytes == bytes_) return;
    bytes_ = bytes;
    socket.announce_from(static_cast<int>(bytes));
  }

  std::uint64_t bytes_ = 1;
  bool rests_ = false;
};

}  // namespace lapwing::net::tcp
