// Feeds arbitrary text to the decoder of what a rank tells of a loss. What was read comes out the same when it is written and read again, and is
// within the bounds.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/internal_error.h"
#include "wire/loss_found.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using lapwing::wire::LossFound;
  LossFound found, again;
  if (!LossFound::decode(std::string_view(reinterpret_cast<const char*>(data), size), found).ok()) return 0;
  LAPWING_CHECK(found.rank >= 0 && found.why.size() <= LossFound::kMaxText);
  for (const char c : found.why) LAPWING_CHECK(c >= ' ' && c <= '~');
  LAPWING_CHECK(LossFound::decode(found.encode(), again).ok() && again.rank == found.rank && again.why == found.why);
  return 0;
}
