// Feeds arbitrary bytes to the decoders of what a rank and the accelerator say to each other. What was read comes out the same when it is written
// and read again, and is within the bounds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/internal_error.h"
#include "wire/accelerator.h"

namespace {

using lapwing::wire::AcceleratorAnswer;
using lapwing::wire::AcceleratorRequest;

void check_request(std::string_view message) {
  AcceleratorRequest request;
  if (!AcceleratorRequest::decode(message, request).ok()) return;
  LAPWING_CHECK(message.size() <= AcceleratorRequest::kMaxBytes && request.descriptors() <= 1);
  LAPWING_CHECK(request.encode() == message);
}

void check_answer(std::string_view message) {
  AcceleratorAnswer answer;
  if (!AcceleratorAnswer::decode(message, answer).ok()) return;
  LAPWING_CHECK(answer.text.size() <= AcceleratorAnswer::kMaxText && answer.descriptors <= AcceleratorAnswer::kMaxDescriptors);
  LAPWING_CHECK(answer.granted || answer.descriptors == 0);
  LAPWING_CHECK(std::all_of(answer.text.begin(), answer.text.end(), [](char c) { return c >= ' ' && c <= '~'; }));
  AcceleratorAnswer again;
  LAPWING_CHECK(AcceleratorAnswer::decode(answer.encode(), again).ok() && again.encode() == answer.encode());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view message(reinterpret_cast<const char*>(data), size);
  check_request(message);
  check_answer(message);
  return 0;
}
