// Feeds arbitrary text to the decoder of what a rank says about a hang. What was read comes out the same when it is written and
// read again, and is within the bounds.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/internal_error.h"
#include "wire/hang_report.h"

namespace {

using lapwing::wire::HangItem;
using lapwing::wire::HangReport;

void check_items(const std::vector<HangItem>& items) {
  LAPWING_CHECK(items.size() <= HangReport::kMaxItems);
  for (const HangItem& item : items) {
    LAPWING_CHECK(item.awaited.size() <= HangReport::kMaxAwaited && item.state.size() <= HangReport::kMaxText);
    for (const int rank : item.awaited) LAPWING_CHECK(rank >= 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  HangReport report;
  if (!HangReport::decode(std::string_view(reinterpret_cast<const char*>(data), size), report).ok()) {
    LAPWING_CHECK(report.waits.empty() && report.pending.items.empty());
    return 0;
  }
  LAPWING_CHECK(report.waits.size() <= HangReport::kMaxWaits);
  for (const auto& wait : report.waits) check_items(wait.items);
  check_items(report.pending.items);
  check_items(report.unexpected.items);
  const std::string written = report.encode();
  HangReport again;
  LAPWING_CHECK(HangReport::decode(written, again).ok() && again.encode() == written);
  return 0;
}
