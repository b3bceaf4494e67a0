// What a rank tells its launcher when it is asked why the program does not go on: one packet of text.
//
// The packet is a sequence of lines of the form that PMI-1 has (wire/pmi.h), each a command with attributes:
//
//   rank inquiry= visits= threads=            once, first
//   wait call= age= any=                      a thread that waits in an MPI call; the items that follow are what it waits for
//   pending count=, unexpected count=         a list; the items that follow are its oldest
//   item kind= what= peer= tag= comm= context= bytes= number= root= any= moving= awaited= state=
//
// The launcher takes it for what it is, bytes from another process: every number, length and count is checked and bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lapwing::wire {

// One message or operation.
struct HangItem {
  enum class Kind { kReceive, kSend, kProbe, kCollective, kOther };
  static constexpr int kNone = -1;
  static constexpr int kAny = -2;
  static constexpr int kPersistent = 1 << 22;  // `number` is this and more: of a persistent operation, and what is more tells when it was made

  Kind kind = Kind::kOther;
  std::string what;          // the operation of a collective ("MPI_Bcast"); the mode of a send, if it has one
  int peer = kNone;          // rank in the communicator, or kAny
  int tag = kNone;           // or kAny
  std::string communicator;  // its name; empty: it has none
  std::uint64_t context = 0;
  std::uint64_t bytes = 0;  // of the message, or the room for it
  int number = kNone;       // of a collective, among those of its communicator
  int root = kNone;         // of a collective that has one
  bool any = false;         // one of `awaited` is enough
  bool moving = false;      // bytes are on their way
  std::vector<int>
      awaited;        // ranks in MPI_COMM_WORLD, which are process ids of the own job, without which it cannot end
  std::string state;  // for a person
};

// A thread that waits in an MPI call.
struct HangWait {
  std::string call;  // "MPI_Recv"
  std::int64_t age_ms = 0;
  bool any = false;  // one of the items is enough
  std::vector<HangItem> items;
};

// The oldest of `count`.
struct HangList {
  std::uint64_t count = 0;
  std::vector<HangItem> items;
};

struct HangReport {
  static constexpr std::size_t kMaxBytes = 65536;  // of a packet
  static constexpr std::size_t kMaxWaits = 16;     // threads
  static constexpr std::size_t kMaxItems = 16;     // of one list
  static constexpr std::size_t kMaxAwaited = 256;  // ranks of one item; where one of more is enough, none is named
  static constexpr std::size_t kMaxText = 160;     // bytes of one text

  std::uint32_t inquiry = 0;  // which one it answers
  std::uint64_t visits = 0;   // of application threads to the library so far
  bool threads = false;       // MPI_THREAD_MULTIPLE: there may be threads that are not in MPI
  std::vector<HangWait> waits;
  HangList pending, unexpected;

  // At most kMaxBytes; what does not fit is left out.
  std::string encode() const;
  // On an error `report` is empty.
  static Status decode(std::string_view text, HangReport& report);
};

}  // namespace lapwing::wire
