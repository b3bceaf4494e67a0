#include "wire/job_key.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/internal_error.h"
#include "wire/raw_bytes.h"

namespace lapwing::wire {
namespace {

static_assert(crypto_auth_KEYBYTES == JobKey::kBytes && crypto_auth_BYTES == kProofBytes);

constexpr std::string_view kJobIdLabel = "lapwing job id";
constexpr std::string_view kKeyFileLabel = "lapwing key file 2 ";

}  // namespace

JobKey::~JobKey() {
  sodium_memzero(key_.data(), key_.size());
}

// The id stays that of the secret alone: so ranks of one job that have other key files, or none, can tell each other.
Status JobKey::set(std::string_view secret, std::string_view key_file) {
  if (secret.size() != kBytes)
    return Status::error(MPI_ERR_OTHER,
                         "the job's secret has %zu bytes instead of %zu: was this rank started by a launcher of "
                         "the same Lapwing?",
                         secret.size(), kBytes);
  if (sodium_init() < 0) return Status::error(MPI_ERR_OTHER, "libsodium finds no source of random numbers");
  std::memcpy(key_.data(), secret.data(), kBytes);
  known_ = true;
  std::array<std::byte, kProofBytes> proof;
  authenticate(reinterpret_cast<const std::byte*>(kJobIdLabel.data()), kJobIdLabel.size(), proof.data());
  std::copy_n(proof.begin(), kIdBytes, id_.begin());
  has_key_file_ = !key_file.empty();
  if (!has_key_file_) return {};
  std::string text = std::string(kKeyFileLabel) + std::string(key_file);
  authenticate(reinterpret_cast<const std::byte*>(text.data()), text.size(), proof.data());
  key_ = proof;
  sodium_memzero(text.data(), text.size());
  sodium_memzero(proof.data(), proof.size());
  return {};
}

void JobKey::authenticate(const std::byte* text, std::size_t bytes, std::byte* proof) const noexcept {
  LAPWING_CHECK(known_);
  crypto_auth(raw(proof), raw(text), bytes, raw(key_.data()));
}

}  // namespace lapwing::wire
