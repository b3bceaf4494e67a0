// Copies into a ring that another core reads, in the way that is best there (ring_trial.h), and by the instructions that are (measured_copy.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/measured_copy.h"
#include "base/ring_trial.h"

namespace lapwing {

// Whether the next copy goes past the caches, also in a pause of the trials. Only one that begins with a line does.
bool goes_past_caches(const RingTrials& trials, std::uint64_t message, const std::byte* to, std::size_t bytes) noexcept;

// Like memcpy, of a message or post of so many bytes in all, or a piece of one. Where `to` lies, by short laps or by whole ones, has been the
// caller's to see to.
void copy_into_ring(RingTrials& trials, std::uint64_t message, MeasuredCopy& copy, Clock& clock, std::byte* to, const std::byte* from,
                    std::size_t bytes) noexcept;

}  // namespace lapwing
