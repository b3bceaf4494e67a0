// Feeds arbitrary text to the decoder of what a rank's card says of shared memory.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/internal_error.h"
#include "net/shm/handover.h"
#include "net/shm/invitation.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lapwing::net::shm;
  Invitation invitation;
  if (!Invitation::decode({reinterpret_cast<const char*>(data), size}, invitation)) return 0;
  LAPWING_CHECK(invitation.token.size() == Listener::kTokenBytes && invitation.process.pid > 0);
  LAPWING_CHECK(!invitation.name.empty() && invitation.name.size() <= 64);
  Invitation again;
  LAPWING_CHECK(Invitation::decode(invitation.encode(), again));
  LAPWING_CHECK(again.encode() == invitation.encode());
  return 0;
}
