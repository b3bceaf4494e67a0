// Receives that the messenger has lent to a carrier which matches where data arrives: a program in the kernel, a network card, another
// thread. The carrier puts a message straight into the memory of a lent receive, and the messenger learns of it afterwards. What the carrier does
// not match it passes on as frames, in order, and the messenger matches them as ever.
//
// One queue holds receives from one peer, all of whose messages that could match them come past the same carrier, one at a time; which keys share
// a queue is the carrier's choice. Receives with wildcards are never lent. The queue is memory that both sides write, without a lock:
//
//   place       kFree --lend--> kLent --claim--> kClaimed --land--> kLanded --collect--> kFree
//                 ^----take back---'
//   moved by           messenger      carrier           carrier           messenger
//
//   position    ever growing; place = position modulo kPlaces. Its state carries it, so that a claim fails for a receive that has left the place
//   [oldest, lent)   the positions that the carrier looks at, in this order, which is the one in which the receives were posted
//   passed, taken in  how many messages the carrier has passed on, and how many of these the messenger has matched or kept
//
// A claim and taking back are one compare-and-exchange each, so one of the two wins. A carrier claims only while it has passed on no message that
// the messenger has not taken in (open()). Thus no message overtakes one before it: that one was taken in, so it has its receive, or is kept
// and no receive that it matches is posted. And no receive overtakes one before it: the messenger lends a receive only if no older one that is not
// lent matches the same messages (p2p/lending.h).
//
// Each function makes one access to what the other side writes, so that test/model/lending_test.cc can run this class step by step. The carrier's
// side has no loop but the one over positions. `Word` is 64 bits wide but in the model.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "wire/frame.h"

namespace lapwing::net {

enum class LentState : std::uint8_t {
  kFree,     // the next receive may take the place
  kLent,     // the carrier may claim it for a message
  kClaimed,  // the carrier is landing a message
  kLanded,   // the message is there
};

template <typename Word, typename Room, typename Said, std::size_t kPlaces>
class BasicLentQueue {
  static_assert((kPlaces & (kPlaces - 1)) == 0, "positions wrap around");

 public:
  // What messages and receives are matched by; the peer is the queue's.
  struct Key {
    Word context, tag;
    bool operator==(const Key&) const noexcept = default;
  };

  // ---- the messenger's side ----

  bool full() const noexcept { return static_cast<Word>(lent_ - oldest_) == kPlaces; }
  // Lends a receive; three steps. Not while full().
  Word lend(Key key, Word capacity, const Room& room) noexcept {
    const Word position = fill(key, capacity, room);
    show(position);
    reach(position);
    return position;
  }
  Word fill(Key key, Word capacity, const Room& room) noexcept {
    Place& place = at(lent_);
    shared(place.context).store(key.context, std::memory_order_relaxed);
    shared(place.tag).store(key.tag, std::memory_order_relaxed);
    shared(place.capacity).store(capacity, std::memory_order_relaxed);
    place.room = room;
    return lent_;
  }
  void show(Word position) noexcept { put(position, LentState::kLent); }
  void reach(Word position) noexcept {
    shared(lent_).store(static_cast<Word>(position + 1), std::memory_order_release);
  }
  // False: the carrier has claimed it.
  bool take_back(Word position) noexcept {
    if (!exchange(position, LentState::kLent, LentState::kFree)) return false;
    retire();
    return true;
  }
  // A message that the carrier has passed on is matched or kept. In the order in which they were passed on.
  void take_in() noexcept { shared(taken_in_).store(static_cast<Word>(taken_in_ + 1), std::memory_order_release); }
  // Calls `visit` with the room and the message of each place that has landed, and frees it.
  template <typename Visit>
  void collect(Visit visit) noexcept {
    for (Word position = oldest_; position != lent_; ++position) collect_at(position, visit);
    retire();
  }
  template <typename Visit>
  void collect_at(Word position, Visit visit) noexcept {
    if (!is(position, LentState::kLanded)) return;
    const Room room = at(position).room;
    const Said said = at(position).said;
    put(position, LentState::kFree);
    visit(room, said);
  }
  // Gives up the oldest positions whose places are free.
  void retire() noexcept {
    Word position = oldest_;
    while (position != lent_ && is(position, LentState::kFree)) ++position;
    shared(oldest_).store(position, std::memory_order_release);
  }

  // ---- the carrier's side ----

  // Claims the oldest receive for a message. False: pass it on; so also where that receive is too short, because the messenger knows what to
  // do then.
  bool claim(Key key, Word bytes, Word& claimed) noexcept {
    if (!open()) return false;
    const Word first = oldest();  // before reached(), which may be behind a later oldest()
    const Word end = reached();
    for (Word position = first; position != end; ++position) {
      if (!is(position, LentState::kLent) || !matches(position, key)) continue;
      if (!has_room(position, bytes)) return false;
      if (exchange(position, LentState::kLent, LentState::kClaimed)) {
        claimed = position;
        return true;
      }
    }
    return false;
  }
  // The memory of a claimed receive, and what the messenger is to be told of the message in it.
  const Room& room(Word position) const noexcept { return at(position).room; }
  void land(Word position, const Said& said) noexcept {
    at(position).said = said;
    put(position, LentState::kLanded);
  }
  // A claimed receive that the carrier does not fill: the message is passed on, and everything after it until that is taken in.
  void unclaim(Word position) noexcept { put(position, LentState::kLent); }
  // Before a message is handed to the messenger as a frame.
  void pass_on() noexcept { ++passed_; }

  bool open() const noexcept { return shared(taken_in_).load(std::memory_order_acquire) == passed_; }
  Word reached() const noexcept { return shared(lent_).load(std::memory_order_acquire); }
  Word oldest() const noexcept { return shared(oldest_).load(std::memory_order_acquire); }
  bool is(Word position, LentState state) const noexcept {
    return shared(at(position).state).load(std::memory_order_acquire) == word(position, state);
  }
  bool matches(Word position, Key key) const noexcept {
    const Place& place = at(position);
    return shared(place.context).load(std::memory_order_relaxed) == key.context &&
           shared(place.tag).load(std::memory_order_relaxed) == key.tag;
  }
  bool has_room(Word position, Word bytes) const noexcept {
    return bytes <= shared(at(position).capacity).load(std::memory_order_relaxed);
  }
  bool exchange(Word position, LentState from, LentState to) noexcept {
    Word expected = word(position, from);
    return shared(at(position).state)
        .compare_exchange_strong(expected, word(position, to), std::memory_order_acq_rel, std::memory_order_relaxed);
  }

 private:
  struct Place {
    Word state;  // position << 2 | LentState
    Word context, tag, capacity;
    Room room;
    Said said;  // once landed
  };

  static constexpr Word word(Word position, LentState state) noexcept {
    return static_cast<Word>(position << 2 | static_cast<Word>(state));
  }
  static std::atomic_ref<Word> shared(const Word& word) noexcept {
    return std::atomic_ref<Word>(const_cast<Word&>(word));
  }
  Place& at(Word position) noexcept { return places_[position % kPlaces]; }
  const Place& at(Word position) const noexcept { return places_[position % kPlaces]; }
  void put(Word position, LentState state) noexcept {
    shared(at(position).state).store(word(position, state), std::memory_order_release);
  }

  // The messenger's words, and the carrier's. Each side reads its own without more ado.
  Word lent_ = 0;
  Word oldest_ = 0;
  Word taken_in_ = 0;
  Word passed_ = 0;
  Place places_[kPlaces] = {};
};

// What the carrier needs of a receive, beside its key and length.
struct LentRoom {
  std::byte* base = nullptr;
  void* receive = nullptr;  // the messenger's
  // Nothing follows its completion before the application's next call: it may land while no thread of the process runs.
  std::uint64_t unattended = 0;
  // Its name in an answer; 0: the messenger answers what asks before it is sent.
  std::uint64_t token = 0;
};
using LentQueue = BasicLentQueue<std::uint64_t, LentRoom, wire::FrameHeader, 64>;

}  // namespace lapwing::net
