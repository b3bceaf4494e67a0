// The arithmetic of credit: how a receiver keeps the memory for unexpected messages bounded without losing or blocking any.
//
// Both sides know the price of a message in units of 64 bytes: what the receiver must set aside for it when no receive is
// posted, bookkeeping included. A sender starts with kInitialUnits towards each peer; at the first contact the receiver
// grants the rest of the window that its LAPWING_UNEXPECTED_LIMIT allows per peer, and gives units back as messages are
// received: on any frame that goes there anyway, or on a kCredit frame once a quarter of the window is owed.
//
// There are two accounts, told apart by the top bit of the header's credit field: one for the user's point-to-point
// messages and one for everything inside the library, so that a flood of the first never holds up a barrier.
//
// The protocol, for one account of one pair. The sender has `credit`. The receiver keeps `allowance` (credit that the sender has, or that is
// on its way), `owed` (free again, not told yet) and `loan`; stored messages cost `stored`. At all times
//
//     credit + units of messages and of credit under way = allowance,     allowance + owed + stored = window + loan
//
// 1. A sender pays for a message before it sends it, in the order of its sends: in one piece (eager) only if an envelope's worth is
//    left afterwards; otherwise it announces the message (rendezvous), with as many first bytes as the credit pays for. With less
//    than an envelope's worth it keeps the message, and all after it, at home.
// 2. The receiver releases a message's units when it has been received. They pay back the loan first, and are owed then.
// 3. A receive or probe that is posted may be for a message that a peer keeps at home. So while one is, the receiver sees to it that each
//    peer that it could be for has an allowance of an envelope at least: it gives what is owed, and lends what is still missing. This is
//    looked at when a receive is posted and when a message has come: nothing else makes a reason or takes allowance away.
//
// Progress: by 3 a sender whose messages are wanted can always announce the next one (its credit becomes the allowance when what is under way has
// arrived, because less than an envelope's worth buys nothing), and so, one by one, the wanted one.
// Memory: a loan makes the allowance an envelope's worth exactly, and with that a sender can only announce (rule 1, also a message
// without bytes). An announced send is not complete before it is received. So stored <= window + 4 units for each send that is not
// complete: a sender that waits for its sends is held up, and one that does not keeps more for each of them itself. The standard
// demands that much, of a program that receives late messages first.
//
// test/model/credit_test.cc runs the two accounts below through every interleaving.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace lapwing::p2p {

inline constexpr std::uint64_t kUnitBytes = 64;
inline constexpr std::uint64_t kBookkeepingBytes = 256;
inline constexpr std::uint64_t kInitialUnits = 256;  // 16 KiB per account
inline constexpr std::uint32_t kInternalAccountBit = 0x80000000u;
inline constexpr std::uint32_t kMaxUnitsPerFrame = 0x7fffffffu;

enum Account { kUserAccount = 0, kInternalAccount = 1, kAccounts = 2 };

// The block of memory for a message with `payload` stored bytes: rounded so that blocks can be reused, wasting at most a
// fifth: four sizes between a power of two and the next.
constexpr std::uint64_t block_bytes(std::uint64_t payload) noexcept {
  const std::uint64_t bytes = kBookkeepingBytes + payload;
  const std::uint64_t step = std::bit_floor(bytes) / 4;
  return (bytes + step - 1) & ~(step - 1);
}
constexpr std::uint64_t message_units(std::uint64_t payload) noexcept {
  // Between 256 and 512 the sizes are multiples of a unit.
  if (payload < kBookkeepingBytes) [[likely]]
    return (kBookkeepingBytes + payload + kUnitBytes - 1) / kUnitBytes;
  return block_bytes(payload) / kUnitBytes;
}
inline constexpr std::uint64_t kEnvelopeUnits = message_units(0);
static_assert(kEnvelopeUnits == 4 && message_units(1) == 5 && message_units(255) == 8 && message_units(300) == 10);
static_assert(message_units(200) == block_bytes(200) / kUnitBytes);

// What a sender keeps about one receiver.
struct OutgoingAccount {
  std::uint64_t credit = kInitialUnits;

  bool pays_whole(std::uint64_t units) const noexcept { return units + kEnvelopeUnits <= credit; }
  bool pays_announced(std::uint64_t units) const noexcept { return units <= credit; }
  // False: nothing can be sent.
  bool pays_envelope() const noexcept { return pays_announced(kEnvelopeUnits); }
  void spend(std::uint64_t units) noexcept { credit -= units; }
  void gain(std::uint64_t units) noexcept { credit += units; }
};

// What a receiver keeps about one sender.
struct IncomingAccount {
  std::uint64_t window = kInitialUnits;
  std::uint64_t allowance = kInitialUnits;  // what the sender may still spend
  std::uint64_t owed = 0;                   // free again, not yet told
  std::uint64_t loan = 0;                   // given above the window
  bool introduced = false;

  bool exhausted() const noexcept { return allowance < kEnvelopeUnits; }
  // False: the sender spends what it does not have.
  bool spend(std::uint64_t units) noexcept {
    if (units > allowance) return false;
    allowance -= units;
    if (!introduced) {
      introduced = true;
      owed += window - kInitialUnits;
    }
    return true;
  }
  void release(std::uint64_t units) noexcept {
    if (loan != 0) [[unlikely]]
      units = repay(units);
    owed += units;
  }
  // Of a message that was matched as it came.
  bool pass(std::uint64_t units) noexcept {
    if (!spend(units)) return false;
    release(units);
    return true;
  }
  // Rule 3: when all that is owed has been given back, the sender can announce a message.
  void relieve() noexcept {
    const std::uint64_t has = allowance + owed;
    if (has >= kEnvelopeUnits) return;
    loan += kEnvelopeUnits - has;
    owed += kEnvelopeUnits - has;
  }
  bool worth_a_frame() const noexcept { return owed != 0 && owed >= window / 4; }
  std::uint32_t give_back() noexcept {
    const std::uint64_t units = std::min<std::uint64_t>(owed, kMaxUnitsPerFrame);
    owed -= units;
    allowance += units;
    return static_cast<std::uint32_t>(units);
  }
  // give_back() has not reached the sender.
  void keep(std::uint32_t units) noexcept {
    owed += units;
    allowance -= units;
  }

 private:
  // What is left of `units` when the loan has had its part.
  std::uint64_t repay(std::uint64_t units) noexcept {
    const std::uint64_t repaid = std::min(units, loan);
    loan -= repaid;
    return units - repaid;
  }
};

// The windows that a limit on memory allows for each of `peers` senders. A sixteenth of it is left to the pool of free
// blocks. Never less than the initial credit.
struct Windows {
  std::uint64_t units[kAccounts];
};
constexpr Windows windows_for(std::uint64_t limit, std::uint32_t peers) noexcept {
  const std::uint64_t each = (limit - limit / 16) / kUnitBytes / std::max<std::uint32_t>(peers, 1);
  return {{std::max(each / 4 * 3, kInitialUnits), std::max(each / 4, kInitialUnits)}};
}

}  // namespace lapwing::p2p
