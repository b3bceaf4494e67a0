// Parts of a payload as a peer, or a network that loses and doubles packets, might send them: in any order, overlapping, outside the
// frame. Each byte lands at most once and where it belongs, none beside the landing, and the frame is complete when all have come.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/internal_error.h"
#include "net/assembly.h"

namespace {

using namespace lapwing;

// 4 bytes per part: where, how long, how far off the frame.
void place_all(net::Assembly& assembly, const std::uint8_t* data, std::size_t size, std::vector<bool>& seen) {
  const std::uint64_t payload = seen.size();
  std::vector<std::byte> bytes;
  for (std::size_t at = 0; at + 4 <= size; at += 4) {
    std::uint64_t offset = (data[at] | std::uint64_t{data[at + 1]} << 8) % (payload + 2);
    if (data[at + 3] == 255) offset = ~std::uint64_t{0} - data[at];
    bytes.resize(data[at + 2]);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>((offset + i) * 7 + 1);
    const bool within = offset <= payload && bytes.size() <= payload - offset;
    const bool placed = assembly.place(offset, bytes.data(), bytes.size());
    LAPWING_CHECK(within || !placed);
    if (!placed) continue;
    for (std::size_t i = 0; i < bytes.size(); ++i) seen[offset + i] = true;
    LAPWING_CHECK(assembly.front() ==
                  static_cast<std::uint64_t>(std::find(seen.begin(), seen.end(), false) - seen.begin()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const std::uint64_t payload = data[0] | std::uint64_t{data[1]} << 4;
  const std::uint64_t accepted = std::min<std::uint64_t>(payload, data[2] * 16u);
  std::vector<std::byte> memory(accepted, std::byte{0});  // exactly, so that a sanitizer sees every byte too many
  ContiguousWalk walk(memory.data(), accepted);
  net::Landing landing;
  landing.accepted = accepted;
  if (data[3] % 3 == 0) landing.base = memory.data();
  if (data[3] % 3 == 1) landing.walk = &walk;
  net::Assembly assembly;
  assembly.begin(landing, payload);
  std::vector<bool> seen(payload, false);
  place_all(assembly, data + 4, std::min<std::size_t>(size - 4, 4000), seen);
  LAPWING_CHECK(assembly.complete() == std::all_of(seen.begin(), seen.end(), [](bool byte) { return byte; }));
  const bool lands = landing.base != nullptr || landing.walk != nullptr;
  for (std::uint64_t i = 0; i < accepted; ++i)
    LAPWING_CHECK(memory[i] == (lands && seen[i] ? static_cast<std::byte>(i * 7 + 1) : std::byte{0}));
  return 0;
}
