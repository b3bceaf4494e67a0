// What carries packets: it has memory for them, and may lose, double and reorder them, but not alter them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/process_id.h"

namespace lapwing::net::reliable {

class PacketCarrier {
 public:
  using Slot = std::uint32_t;
  struct Room {
    Slot slot;
    std::byte* bytes;  // most_bytes() of them
  };

  // Of one packet, its header included.
  virtual std::size_t most_bytes() const noexcept = 0;
  // Memory for a packet, until give_back(). False: none at present.
  virtual bool take(Room& room) noexcept = 0;
  virtual void give_back(Slot slot) noexcept = 0;
  virtual std::byte* bytes(Slot slot) noexcept = 0;
  // False: not now; a packet that is still leaving from the last time must not be written to, nor sent again.
  virtual bool can_send(Slot slot) noexcept = 0;
  // The first `count` bytes of a slot, after can_send(). False: not now, after all.
  virtual bool send(ProcessId peer, Slot slot, std::size_t count) noexcept = 0;

 protected:
  ~PacketCarrier() = default;
};

}  // namespace lapwing::net::reliable
