// Tags of the messages of collectives.
//
//   bit 30      29 ............ 8    7 ....... 0
//   separate    number               lane (schedule.h)
//
// The number is the communicator's count of collective calls. Two operations would have to be 4 million calls apart and
// in flight at the same time to be confused. Persistent operations, whose number stays while the count goes on, live in
// a space of their own (bit 30).
#pragma once

#include "coll/schedule.h"
#include "wire/hang_report.h"

namespace lapwing::coll {

inline constexpr int kTagNumbers = 1 << 22;
inline constexpr int kSeparateTags = kTagNumbers;
static_assert(kSeparateTags == wire::HangItem::kPersistent);

inline int collective_tag(int number, bool persistent) noexcept {
  return (number & (kTagNumbers - 1)) | (persistent ? kSeparateTags : 0);
}
inline int message_tag(int collective_tag, int lane) noexcept {
  return (collective_tag * kLanes) | lane;
}

}  // namespace lapwing::coll
