// Feeds arbitrary text to the decoders of what ranks publish: the card, and in it the TCP addresses and the Ethernet endpoint.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/internal_error.h"
#include "net/ether/interface.h"
#include "net/tcp/address.h"
#include "wire/card.h"

namespace {

using namespace lapwing;

void check_addresses(std::string_view text) {
  std::vector<net::tcp::Address> addresses;
  if (!net::tcp::decode_addresses(text, addresses).ok()) {
    LAPWING_CHECK(addresses.empty());
    return;
  }
  const std::string written = net::tcp::encode_addresses(addresses);
  std::vector<net::tcp::Address> again;
  LAPWING_CHECK(net::tcp::decode_addresses(written, again).ok());
  LAPWING_CHECK(net::tcp::encode_addresses(again) == written);
}

void check_contact(std::string_view text) {
  net::ether::Contact contact, again;
  if (!net::ether::decode_contact(text, contact)) return;
  const std::string written = net::ether::encode_contact(contact);
  LAPWING_CHECK(net::ether::decode_contact(written, again));
  LAPWING_CHECK(net::ether::encode_contact(again) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_addresses(text);
  check_contact(text);
  wire::Card card;
  if (!wire::Card::decode(text, card).ok()) {
    LAPWING_CHECK(card.encode().empty());
    return 0;
  }
  check_addresses(card.get("tcp"));
  check_contact(card.get("ether"));
  const std::string written = card.encode();
  wire::Card again;
  if (written.size() <= wire::Card::kMaxBytes) {
    LAPWING_CHECK(wire::Card::decode(written, again).ok());
    LAPWING_CHECK(again.encode() == written);
  }
  return 0;
}
