// The frames of one link that its peer may not have, in order.
//
//     front                          unsent                      back
//       +------------------------------+--------------------------+
//       | kept: have left, and are     | wait for the socket, of  |
//       | not acknowledged             | the first a part perhaps |
//       +------------------------------+--------------------------+
//
// A link that does not resume keeps nothing: what has left is forgotten. When a connection stands in the place of one that broke, all that the peer
// has not had is unsent again.
//
// Small frames are copied when they are posted, and several in a row are one entry. The payload of others stays where it is until they are delivered.
// What a waiting thread wants back before that is copied as well, up to a bound, when the thread has nothing better to do (copy_kept): so a blocking
// send does not wait for an acknowledgement, and a stream of long messages is not copied while the socket takes more. Beside a computation, when no
// thread waits, only those are copied that something else goes on from: the acknowledgement gives the others back for nothing. The alternatives are
// dearer: to copy before sending puts the copy on the message's way, and to wait for each acknowledgement costs a round trip. A short frame for
// which there was no room among the small ones is copied as soon as it has left: a thread that waits for it while others arrive finds no poll with
// nothing better to do.
//
// Pure: no socket, no clock. Everything runs with the endpoint's lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "net/channel.h"
#include "net/tcp/copy_ring.h"
#include "net/tcp/fifo.h"
#include "net/tcp/spare_memory.h"
#include "net/transport.h"

namespace lapwing::net::tcp {

class SendQueue {
 public:
  struct Entry {
    bool copied = false;           // several frames, in the ring of copies at `place`; else one frame
    std::size_t place = 0;
    std::uint64_t bytes = 0;       // headers and trailer included
    std::uint64_t sent = 0;
    wire::FrameHeader header;      // of one frame, with its payload here
    const std::byte* data = nullptr;
    ByteWalk* walk = nullptr;
    std::uint64_t walk_begin = 0;  // where in the walk
    SendOp* op = nullptr;          // of a frame that has not been taken
    Undelivered* undelivered = nullptr;   // counts one that has been taken, and is not delivered
    std::unique_ptr<std::byte[]> copy;    // of the payload, from copy_kept()
    std::uint64_t bytes_copied = 0;

    std::uint64_t payload_bytes() const noexcept { return bytes - wire::kHeaderBytes - trailer_bytes(); }
    std::uint64_t trailer_bytes() const noexcept { return header.trailer_bytes(); }
    // Of one frame: what has left of it is all but the trailer, or more.
    bool trailer_is_next() const noexcept { return trailer_bytes() != 0 && sent >= bytes - trailer_bytes(); }
    bool borrowed() const noexcept { return op != nullptr || undelivered != nullptr; }
    // Its owner goes on when it is delivered, whether or not a thread waits for that: with the next frame, or with another operation.
    bool followed() const noexcept { return op != nullptr || (undelivered != nullptr && undelivered->followed()); }
  };

  SendQueue(Channel& channel, SpareMemory& memory) noexcept : channel_(channel), memory_(memory) {}

  // ---- what waits ----

  // Queues the frame, and numbers it if a connection stands.
  void push(SendOp& op) noexcept;
  // Numbers the frame and takes it by copying it. False when there is no room. Only while a connection stands.
  bool copy(wire::FrameHeader& header, const std::byte* payload, ByteWalk* walk) noexcept;
  // Queues and numbers a frame of the channel itself. It needs no room: an acknowledgement must never wait for one. Only while a connection stands.
  void push_channel(wire::ChannelWord word) noexcept;
  bool all_sent() const noexcept { return unsent_ == entries_.size(); }
  // Where frames are kept: the peer is known to have all but those of the channel itself.
  bool all_delivered() const noexcept { return all_sent() && (!keeps_ || channel_.acknowledged() >= needed_); }
  std::size_t unsent() const noexcept { return entries_.size() - unsent_; }
  std::uint64_t unsent_bytes() noexcept;
  Entry& unsent(std::size_t index) noexcept { return entries_[unsent_ + index]; }
  const std::byte* copies_of(const Entry& entry) const noexcept { return copies_.at(entry.place); }
  // So many bytes of unsent(0) are in the socket; at most those that were missing.
  void sent(std::uint64_t bytes) noexcept;

  // ---- what is kept ----

  // A connection stands, and the peer expects this frame next. `keeps`: from now on frames are kept until they are acknowledged, as they are on all
  // connections that follow one on which they were. Fails where the peer does not keep to that, or expects what cannot be.
  Status begin(std::uint64_t peer_expects, bool keeps);
  // Forgets what the peer has acknowledged. False when it acknowledges what has not left.
  bool release() noexcept;
  // So many frames, from the first on, the peer must have: the last of them is not the channel's own.
  std::uint64_t needed() const noexcept { return needed_; }
  // The peer has not been asked yet to acknowledge all that it needs.
  bool owes_question() const noexcept { return keeps_ && channel_.acknowledged() < needed_ && asked_ < needed_; }
  // The next frame asks.
  void ask() noexcept;
  // Frames that have left and lie in their owners' memory: all, or those whose owners go on when they are delivered.
  enum class Loans { kAll, kFollowed };
  // Whether there is something to copy.
  bool lends(Loans which) noexcept { return keeps_ && next_to_copy(which) != nullptr; }
  // Copies a piece of what has left and is not delivered. False when there is nothing, or no room.
  bool copy_kept(Loans which) noexcept;
  // Copies those that have left and are not longer than that.
  void copy_short(std::uint64_t payload_bytes) noexcept;

  // ---- the owners ----

  // Some frames have been taken or delivered, and their owners do not know yet.
  bool has_news() const noexcept { return !taken_.empty() || !delivered_.empty(); }
  // Tells the owners of the frames that were taken or delivered; they may push again.
  void tell() noexcept;
  // Whether this frame was taken, when its owner asks: tell() then leaves it out.
  static bool has_taken(SendOp& op) noexcept;
  // Ends all frames with `why`.
  void fail(const Status& why) noexcept;

 private:
  void number(wire::FrameHeader& header, bool copied) noexcept;
  void number_again(Entry& entry) noexcept;
  bool release_first() noexcept;
  void pass() noexcept;
  void give_back(Entry& entry) noexcept;
  void drop_front() noexcept;
  Entry* next_to_copy(Loans which) noexcept;

  Channel& channel_;
  SpareMemory& memory_;
  bool keeps_ = false;
  Fifo<Entry> entries_;
  std::size_t unsent_ = 0;         // index of the first that has not left whole
  std::size_t first_borrowed_ = 0;  // index; before it is nothing to copy
  CopyRing copies_;
  std::uint64_t released_ = 0;     // frames
  std::uint64_t bytes_kept_ = 0;   // by copy_kept()
  std::uint64_t needed_ = 0;       // the frames before this one, or some of them, are not the channel's own
  std::uint64_t asked_ = 0;        // those before this one have been asked for, over the connection that stands
  std::uint64_t unasked_ = 0;      // bytes since an acknowledgement was asked for
  std::uint64_t unasked_copies_ = 0;  // ... of small frames
  IntrusiveList<SendOp> taken_;    // and their owners do not know yet
  std::vector<Undelivered*> delivered_;  // likewise
};

}  // namespace lapwing::net::tcp
