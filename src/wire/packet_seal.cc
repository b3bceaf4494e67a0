#include "wire/packet_seal.h"

#include <cstring>
#include <utility>

#include "wire/little_endian.h"

namespace lapwing::wire {

std::size_t PacketSealer::close(const std::byte* packet, std::byte* out) noexcept {
  if (number_ != 0 && number_ % packets_per_key_ == 0) aead_.renew();
  const std::size_t bytes = packet_bytes(packet);
  std::memcpy(out, packet, kPacketHeaderBytes);
  store_little(out + bytes, number_);
  aead_.encrypt(number_, out, kPacketHeaderBytes, packet + kPacketHeaderBytes, bytes - kPacketHeaderBytes, out + kPacketHeaderBytes,
                out + bytes + sizeof number_);
  ++number_;
  return bytes + kPacketSealBytes;
}

// Null: no packet of an honest peer has this number now.
Aead* PacketOpener::key_of(std::uint64_t number) {
  const std::uint64_t key_number = number / packets_per_key_;
  if (key_number == key_number_) return aead_.get();
  if (key_number != key_number_ + 1) return nullptr;
  if (!next_) next_ = std::make_unique<Aead>(cipher_, aead_->next_key());
  return next_.get();
}

// Late packets of a key that was replaced meanwhile count as lost: the key is wiped, and they are sent again.
PacketOpener::Outcome PacketOpener::open(const PacketHeader& header, const std::byte* packet, std::size_t size, std::byte* out) {
  const std::size_t bytes = kPacketHeaderBytes + header.bytes;
  if (size < bytes + kPacketSealBytes) return Outcome::kWrong;
  const auto number = load_little<std::uint64_t>(packet + bytes);
  if (!window_.is_new(number) || number / packets_per_key_ < key_number_) return Outcome::kAgain;
  const Aead* const key = key_of(number);
  std::memcpy(out, packet, kPacketHeaderBytes);
  if (key == nullptr || !key->decrypt(number, packet, kPacketHeaderBytes, packet + kPacketHeaderBytes, header.bytes,
                                      packet + bytes + sizeof number, out + kPacketHeaderBytes))
    return Outcome::kWrong;
  window_.note(number);
  if (key == next_.get()) {
    aead_ = std::move(next_);
    ++key_number_;
  }
  return Outcome::kOpened;
}

}  // namespace lapwing::wire
