// Which connections may be inside before they have proven that they belong to the job. Pure: no socket, no clock of its own.
//
// Peers come from addresses that stand in their cards, mostly, and those go first. A flood must keep no peer out:
//
//   known sources      up to kMostKnown. When that many are inside, the others wait outside, in the kernel's queue, so that a crowd of
//                      peers is served in turn. The oldest that has said nothing gets kGrace, then it makes room: of the source with
//                      the most inside. So a queue of silent connections moves on at kMostKnown / kGrace = 25,600 a second.
//   other sources      up to kMostUnknown, and kMostPerSource of each (of IPv6: of each /64 network). One more takes the place of
//                      the oldest of its own source, at once, so that a flood never makes a peer wait outside.
//   greeted            the connection has named the job, which only members of the job can, and eavesdroppers. It is thrown
//                      out last, and only after kGraceOfGreeted.
//
// A peer that was thrown out tries again (connector.h). Cost: a few scans of those inside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "net/tcp/address.h"

namespace lapwing::net::tcp {

class Admission {
 public:
  static constexpr std::size_t kMostKnown = 256;
  static constexpr std::size_t kMostUnknown = 64;
  static constexpr std::size_t kMostPerSource = 16;
  static constexpr std::int64_t kGrace = 10'000'000;            // ns
  static constexpr std::int64_t kGraceOfGreeted = 250'000'000;  // ns

  using Guest = const void*;

  // Peers may come from this address.
  void expect(const Address& address);

  // Whether to accept a connection now. If not, `again` is when to ask again; when a guest leaves is another time.
  // If so, `instead` may name a guest that has to leave first.
  bool may_accept(std::int64_t now, Guest& instead, std::int64_t& again) const noexcept;
  // A connection was accepted. May name a guest that has to leave for it.
  Guest enter(Guest guest, const Address& from, std::int64_t now);
  void greeted(Guest guest) noexcept;
  // Known or not.
  void leave(Guest guest) noexcept;
  // The guest to do without when there is need of its descriptor; null: none. One of a known source has its kGrace here too, else two that come
  // at once would make room for each other without end.
  Guest least_wanted(std::int64_t now) const noexcept;

  std::size_t inside() const noexcept { return inside_.size(); }

 private:
  using Source = std::array<std::uint8_t, 17>;
  struct Entry {
    Guest guest;
    Source source;
    bool known;
    bool greeted;
    std::int64_t since;
  };

  struct Tally {
    Source source;
    bool known;
    std::size_t inside, silent;
  };

  static Source source_of(const Address& address) noexcept;
  bool expects(const Source& source) const noexcept;
  Tally& tally(const Source& source) noexcept;
  std::size_t& count(bool known) noexcept { return known ? known_ : unknown_; }
  const Entry* oldest_of(const Source& source) const noexcept;
  const Entry* oldest_silent_of_most(bool known) const noexcept;
  const Entry* oldest(bool known) const noexcept;

  std::vector<Source> expected_;  // sorted
  std::vector<Entry> inside_;     // oldest first
  std::vector<Tally> tallies_;    // of the sources of those
  std::size_t known_ = 0, unknown_ = 0;
};

}  // namespace lapwing::net::tcp
