// Feeds arbitrary bytes to a reader of records. The first byte chooses checked or sealed, and how the bytes are cut. Whatever comes, what is opened
// is a beginning of what the writer of the other side, whose records are the seeds, has written with the same key, and nothing else.
#include <sodium.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/internal_error.h"
#include "net/tcp/record_reader.h"

namespace {

using namespace lapwing;

constexpr std::uint64_t kRecordsPerKey = 3;

wire::RecordGuard guard(bool sealed) {
  wire::Secret key;
  key.bytes.fill(std::byte{'k'});
  if (!sealed) return {};
  return {wire::Cipher::kChaCha20Poly1305, key, kRecordsPerKey};
}

// What the seeds say.
std::byte written(std::size_t at) {
  return static_cast<std::byte>(at * 7 + at / 256 + 3);
}

void open_all(net::tcp::RecordReader& reader, std::size_t& opened) {
  std::vector<std::byte> landing;
  while (const std::size_t bytes = reader.next()) {
    LAPWING_CHECK(bytes <= wire::kMostRecordBody);
    landing.resize(bytes);  // exactly, so that a sanitizer sees every byte too many
    const std::byte* const body = reader.open(bytes % 2 == 0 ? landing.data() : nullptr);
    if (body == nullptr) break;
    for (std::size_t i = 0; i < bytes; ++i) LAPWING_CHECK(body[i] == written(opened + i));
    opened += bytes;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  LAPWING_CHECK(sodium_init() >= 0);
  net::tcp::RecordReader reader(guard((data[0] & 1) != 0));
  const std::size_t chunk = (std::size_t{data[0]} / 2 + 1) * 37;
  std::size_t opened = 0;
  for (std::size_t at = 1; at < size && !reader.wrong();) {
    const auto room = reader.room();
    LAPWING_CHECK(!room.empty());
    const std::size_t count = std::min({chunk, room.size(), size - at});
    std::memcpy(room.data(), data + at, count);
    reader.filled(count);
    at += count;
    open_all(reader, opened);
    LAPWING_CHECK(reader.wrong() || reader.missing(0) <= wire::kMostRecordBytes);
  }
  return 0;
}
