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
// Why it cannot deadlock: a message that costs more than is left is announced instead of sent (its envelope costs 4 units);
// when not even that is left, messages wait at home, in order. If then a receive is posted that the silent peer's messages
// could match, the receiver knows that the peer is out of credit (it counted every unit) and lends it kOverdraftUnits,
// again and again, until the wanted message has come. Only a program that insists on receiving late messages first, behind
// a full window of others, can thus exceed the limit, and only by an envelope (256 bytes here) for each message before
// the wanted one: the standard demands this progress. The loan is paid back before any credit returns.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace lapwing::p2p {

inline constexpr std::uint64_t kUnitBytes = 64;
inline constexpr std::uint64_t kBookkeepingBytes = 256;
inline constexpr std::uint64_t kInitialUnits = 256;    // 16 KiB per account
inline constexpr std::uint64_t kOverdraftUnits = 256;  // 64 envelopes
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
  return block_bytes(payload) / kUnitBytes;
}
inline constexpr std::uint64_t kEnvelopeUnits = message_units(0);
static_assert(kEnvelopeUnits == 4 && message_units(1) == 5 && message_units(300) == 10);

// What a receiver keeps about one sender.
struct IncomingAccount {
  std::uint64_t window = kInitialUnits;
  std::uint64_t allowance = kInitialUnits;  // what the sender may still spend
  std::uint64_t owed = 0;                   // free again, not yet told
  std::uint64_t overdraft = 0;              // lent above the window
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
    const std::uint64_t repaid = std::min(units, overdraft);
    overdraft -= repaid;
    owed += units - repaid;
  }
  // spend() and release() of a message that was matched as it came. False: not in the usual state of things, nothing has happened.
  bool pass(std::uint64_t units) noexcept {
    if (units > allowance || !introduced || overdraft != 0) return false;
    allowance -= units;
    owed += units;
    return true;
  }
  void lend() noexcept {
    overdraft += kOverdraftUnits;
    owed += kOverdraftUnits;
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
