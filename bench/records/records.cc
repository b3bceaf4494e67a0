// What it takes to make a record, by its size, beside the bare functions that do the work: a copy, the checksum by itself, and libsodium's two
// ciphers. By turns, on one thread, in memory that the caches hold.
extern "C" {
#include "../common.h"
}

#include <sodium.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "base/crc32c.h"
#include "wire/record.h"

namespace {

using namespace lapwing;

Sizes sizes;
const Option options[] = {{"--sizes", "LIST", "bytes of the body (64,1K,4K,16K,64K)", nullptr, nullptr, nullptr, &sizes},
                          {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr}};
const Program program = {"records", "Records that are checked or sealed, beside the bare functions.", options};

// What all works on.
struct Bench {
  std::size_t bytes = 0;
  std::vector<std::byte> body, record, out;
  wire::RecordGuard* closes = nullptr;
  crypto_aead_aes256gcm_state aes;
  unsigned char key[32] = {1}, nonce[12] = {0}, tag[16];
  std::uint32_t sum = 0;

  unsigned char* to() { return reinterpret_cast<unsigned char*>(out.data()); }
  const unsigned char* from() const { return reinterpret_cast<const unsigned char*>(body.data()); }
};

void copy(void* context, int times) {
  auto& bench = *static_cast<Bench*>(context);
  for (; times > 0; --times) {
    std::memcpy(bench.out.data(), bench.body.data(), bench.bytes);
    asm volatile("" ::"r"(bench.out.data()) : "memory");
  }
}

void checksum(void* context, int times) {
  auto& bench = *static_cast<Bench*>(context);
  for (; times > 0; --times) bench.sum ^= crc32c_copy(bench.sum, bench.out.data(), bench.body.data(), bench.bytes);
}

void aes(void* context, int times) {
  auto& bench = *static_cast<Bench*>(context);
  for (; times > 0; --times)
    crypto_aead_aes256gcm_encrypt_detached_afternm(bench.to(), bench.tag, nullptr, bench.from(), bench.bytes, nullptr, 0, nullptr, bench.nonce, &bench.aes);
}

void chacha(void* context, int times) {
  auto& bench = *static_cast<Bench*>(context);
  for (; times > 0; --times)
    crypto_aead_chacha20poly1305_ietf_encrypt_detached(bench.to(), bench.tag, nullptr, bench.from(), bench.bytes, nullptr, 0, nullptr, bench.nonce,
                                                       bench.key);
}

void close_record(void* context, int times) {
  auto& bench = *static_cast<Bench*>(context);
  for (; times > 0; --times) bench.closes->close(bench.record.data(), bench.body.data(), bench.bytes);
}

void measure_as(const char* series, void (*run)(void*, int), Bench& bench) {
  Samples times = {nullptr, 0, 0};
  const Measurement measurement = {run, &bench, [](void*, long value) { return value; }, nullptr, true, 0.05, 100e-6, nullptr};
  measure(&measurement, &times);
  scale_samples(&times, 1e6);
  report(&program, {series, "us", "lower", static_cast<double>(bench.bytes), "body", "B"}, &times);
}

void measure_size(std::size_t bytes) {
  Bench bench;
  bench.bytes = bytes;
  bench.body.assign(bytes, std::byte{7});
  bench.record.resize(wire::kMostRecordBytes);
  bench.out.resize(bytes);
  crypto_aead_aes256gcm_beforenm(&bench.aes, bench.key);
  const wire::Secret key = wire::Secret::random();
  wire::RecordGuard checked, chacha_guard(wire::Cipher::kChaCha20Poly1305, key);
  measure_as("copy", copy, bench);
  measure_as("CRC-32C and copy", checksum, bench);
  bench.closes = &checked;
  measure_as("checked record", close_record, bench);
  if (wire::Aead::has_aes()) {
    wire::RecordGuard aes_guard(wire::Cipher::kAes256Gcm, key);
    bench.closes = &aes_guard;
    measure_as("libsodium AES-256-GCM", aes, bench);
    measure_as("record sealed by AES-256-GCM", close_record, bench);
  }
  bench.closes = &chacha_guard;
  measure_as("libsodium ChaCha20-Poly1305", chacha, bench);
  measure_as("record sealed by ChaCha20-Poly1305", close_record, bench);
}

}  // namespace

int main(int argc, char** argv) {
  const CommandLine line = read_command_line(&program, argc, argv);
  if (line.stop) return std::fputs(line.text, line.code == 0 ? stdout : stderr), line.code;
  default_sizes(&sizes, "64,1K,4K,16K,64K", "64,16K");
  if (sodium_init() < 0) return 1;
  for (int i = 0; i < sizes.count; ++i) measure_size(static_cast<std::size_t>(sizes.values[i]));
  return 0;
}
