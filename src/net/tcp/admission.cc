#include "net/tcp/admission.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace lapwing::net::tcp {

Admission::Source Admission::source_of(const Address& address) noexcept {
  Source source{};
  source[0] = static_cast<std::uint8_t>(address.family);
  std::copy_n(address.bytes.begin(), address.byte_count(), source.begin() + 1);
  return source;
}

void Admission::expect(const Address& address) {
  const Source source = source_of(address);
  const auto place = std::lower_bound(expected_.begin(), expected_.end(), source);
  if (place == expected_.end() || *place != source) expected_.insert(place, source);
}

bool Admission::expects(const Source& source) const noexcept {
  return std::binary_search(expected_.begin(), expected_.end(), source);
}

Admission::Tally& Admission::tally(const Source& source) noexcept {
  return *std::find_if(tallies_.begin(), tallies_.end(), [&](const Tally& each) { return each.source == source; });
}

const Admission::Entry* Admission::oldest(bool known) const noexcept {
  const auto found =
      std::find_if(inside_.begin(), inside_.end(), [known](const Entry& entry) { return entry.known == known; });
  return found == inside_.end() ? nullptr : &*found;
}

// A silent one if there is one.
const Admission::Entry* Admission::oldest_of(const Source& source) const noexcept {
  const Entry* first = nullptr;
  for (const Entry& entry : inside_) {
    if (entry.source != source) continue;
    if (!entry.greeted) return &entry;
    if (first == nullptr) first = &entry;
  }
  return first;
}

const Admission::Entry* Admission::oldest_silent_of_most(bool known) const noexcept {
  const Tally* most = nullptr;
  for (const Tally& each : tallies_) {
    if (each.known == known && each.silent > (most == nullptr ? 0 : most->silent)) most = &each;
  }
  return most == nullptr ? nullptr : oldest_of(most->source);
}

bool Admission::may_accept(std::int64_t now, Guest& instead, std::int64_t& again) const noexcept {
  instead = nullptr;
  if (known_ < kMostKnown) return true;
  const Entry* silent = oldest_silent_of_most(true);
  const Entry* last = silent != nullptr ? silent : oldest(true);
  again = last->since + (silent != nullptr ? kGrace : kGraceOfGreeted);
  if (now < again) return false;
  instead = last->guest;
  return true;
}

Admission::Guest Admission::enter(Guest guest, const Address& from, std::int64_t now) {
  Source source = source_of(from);
  const bool known = expects(source);
  if (!known && from.family == AF_INET6) std::fill(source.begin() + 1 + 8, source.end(), std::uint8_t{0});
  const auto same = [&](const Tally& each) { return each.source == source; };
  if (std::none_of(tallies_.begin(), tallies_.end(), same)) tallies_.push_back({source, known, 0, 0});
  const Entry* out = nullptr;
  if (!known && tally(source).inside >= kMostPerSource) {
    out = oldest_of(source);
  } else if (!known && unknown_ >= kMostUnknown) {
    out = oldest_silent_of_most(false);
    if (out == nullptr) out = oldest(false);
  }
  const Guest instead = out != nullptr ? out->guest : nullptr;
  inside_.push_back({guest, source, known, false, now});
  ++count(known);
  ++tally(source).inside;
  ++tally(source).silent;
  return instead;
}

void Admission::greeted(Guest guest) noexcept {
  for (Entry& entry : inside_) {
    if (entry.guest == guest && !std::exchange(entry.greeted, true)) --tally(entry.source).silent;
  }
}

void Admission::leave(Guest guest) noexcept {
  const auto entry =
      std::find_if(inside_.begin(), inside_.end(), [guest](const Entry& each) { return each.guest == guest; });
  if (entry == inside_.end()) return;
  Tally& of_source = tally(entry->source);
  --count(entry->known);
  of_source.silent -= entry->greeted ? 0 : 1;
  if (--of_source.inside == 0) {
    std::swap(of_source, tallies_.back());
    tallies_.pop_back();
  }
  inside_.erase(entry);
}

Admission::Guest Admission::least_wanted(std::int64_t now) const noexcept {
  if (const Entry* unknown = oldest_silent_of_most(false); unknown != nullptr) return unknown->guest;
  const Entry* known = oldest_silent_of_most(true);
  return known != nullptr && now >= known->since + kGrace ? known->guest : nullptr;
}

}  // namespace lapwing::net::tcp
