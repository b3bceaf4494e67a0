// Feeds arbitrary bytes to both sides of the handshake. The first byte chooses the side and how the bytes are cut.
// A process that does not know the secret must not get past the proofs; the seeds hold correct proofs for the fixed key and
// nonces used here.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/internal_error.h"
#include "wire/handshake.h"

namespace {

using namespace lapwing;
using wire::Handshake;

wire::Nonce nonce_of(int value) {
  wire::Nonce nonce;
  nonce.fill(static_cast<std::byte>(value));
  return nonce;
}

constexpr std::uint32_t kJob = 7;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  wire::JobKey key;
  LAPWING_CHECK(key.set(std::string(wire::JobKey::kBytes, 's')).ok());
  const bool connects = (data[0] & 1) != 0;
  const std::size_t chunk = std::size_t{data[0]} / 2 + 1;
  Handshake handshake = connects ? Handshake::connector(key, {kJob, 2}, {kJob, 5}, nonce_of(1))
                                 : Handshake::acceptor(key, {kJob, 5}, 8, nonce_of(9));

  const auto* bytes = reinterpret_cast<const std::byte*>(data + 1);
  std::size_t left = size - 1;
  while (left > 0 && handshake.wanted() > 0) {
    const std::size_t count = std::min({chunk, left, handshake.wanted()});
    handshake.receive(bytes, count);
    bytes += count;
    left -= count;
    LAPWING_CHECK(handshake.output_bytes() <= Handshake::kMaxMessageBytes);
    LAPWING_CHECK(handshake.wanted() <= Handshake::kMaxMessageBytes);
  }
  using State = Handshake::State;
  const bool over = handshake.state() == State::kFailed || handshake.state() == State::kGone || handshake.state() == State::kGivenUp;
  LAPWING_CHECK(over == !handshake.failure().ok());
  if (handshake.state() == Handshake::State::kProven) {
    LAPWING_CHECK(!connects && handshake.peer().job == kJob && handshake.peer().rank < 8 && handshake.peer().rank != 5);
    handshake.decide(wire::Verdict::kAccepted);
    LAPWING_CHECK(handshake.output_bytes() == Handshake::kVerdictBytes);
  }
  return 0;
}
