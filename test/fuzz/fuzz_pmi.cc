// Feeds arbitrary bytes to what mpiexec and the PMI client read from each other.
//
// The input is cut into chunks as a socket might, split into lines, and every line is parsed. What was read must come
// out the same when it is written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/internal_error.h"
#include "wire/pmi.h"

namespace {

using lapwing::Status;
using lapwing::wire::PmiLineBuffer;
using lapwing::wire::PmiMessage;

void check_line(const std::string& line) {
  LAPWING_CHECK(line.size() <= lapwing::wire::kPmiMaxLine);
  PmiMessage message;
  const Status status = message.parse(line);
  if (!status.ok()) {
    LAPWING_CHECK(message.command().empty() && status.text()[0] != '\0');
    return;
  }
  int number = 0;
  [[maybe_unused]] const bool is_number = message.find("rc", number);
  const std::string written = message.encode();
  LAPWING_CHECK(!written.empty() && written.back() == '\n');
  PmiMessage again;
  const Status second = again.parse(std::string_view(written).substr(0, written.size() - 1));
  LAPWING_CHECK(second.ok() && again.encode() == written);
}

void check_escape(std::string_view text) {
  const std::string value = lapwing::wire::pmi_escape(text);
  LAPWING_CHECK(lapwing::wire::is_pmi_text(value) && lapwing::wire::pmi_unescape(value) == text);
  const std::string plain = lapwing::wire::pmi_unescape(text);
  LAPWING_CHECK(plain.size() <= text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  check_escape(input);

  const std::size_t chunk = std::size_t{data[0]} + 1;
  PmiLineBuffer buffer;
  std::string line;
  std::size_t handed_out = 0;
  for (std::size_t position = 0; position < input.size(); position += chunk) {
    const std::string_view part = input.substr(position, chunk);
    if (!buffer.append(part).ok()) return 0;
    while (buffer.next(line)) {
      handed_out += line.size() + 1;
      check_line(line);
    }
    LAPWING_CHECK(handed_out + buffer.pending() == position + part.size());
  }
  return 0;
}
