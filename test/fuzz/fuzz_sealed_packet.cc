// Packets that were sealed and then changed, cut short, doubled, left out or made up: each is opened as it was sealed, once at most, or not at all.
#include <sodium.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "base/internal_error.h"
#include "wire/packet_seal.h"

using namespace lapwing;

// Four bytes a step: what is done, to which of the packets sealed so far, where, and by how much.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  LAPWING_CHECK(sodium_init() >= 0);
  const wire::Secret key;
  wire::PacketSealer sealer(wire::Cipher::kChaCha20Poly1305, key, 16);
  wire::PacketOpener opener(wire::Cipher::kChaCha20Poly1305, key, 16);
  std::vector<std::vector<std::byte>> plain, sealed;
  std::set<std::size_t> opened;
  for (std::size_t at = 0; at + 4 <= size; at += 4) {
    const unsigned what = data[at], which = data[at + 1], where = data[at + 2], how = data[at + 3];
    if (what % 4 == 0 || sealed.empty()) {
      wire::PacketHeader header;
      header.kind = wire::PacketKind::kGoodbye;
      header.number = static_cast<std::uint32_t>(plain.size());
      header.bytes = static_cast<std::uint16_t>(where);
      std::vector<std::byte>& packet = plain.emplace_back(wire::kPacketHeaderBytes + where, std::byte(how));
      wire::encode(header, packet.data());
      sealed.emplace_back(packet.size() + wire::kPacketSealBytes);
      sealer.close(packet.data(), sealed.back().data());
      continue;
    }
    const std::size_t index = which % sealed.size();
    std::vector<std::byte> comes = sealed[index];
    if (what % 4 == 2) comes[where % comes.size()] ^= std::byte(how);
    if (what % 4 == 3) comes.resize(std::min<std::size_t>(where, comes.size()));
    wire::PacketHeader header;
    if (!wire::decode_header(comes.data(), comes.size(), header).ok()) continue;
    std::vector<std::byte> out(wire::kPacketHeaderBytes + header.bytes);  // exactly, so that a sanitizer sees every byte too many
    if (opener.open(header, comes.data(), comes.size(), out.data()) != wire::PacketOpener::Outcome::kOpened) continue;
    LAPWING_CHECK(out == plain[index] && opened.insert(index).second);
  }
  return 0;
}
