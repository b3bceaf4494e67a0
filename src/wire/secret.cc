#include "wire/secret.h"

#include <sodium.h>

namespace lapwing::wire {

Secret::~Secret() {
  sodium_memzero(bytes.data(), bytes.size());
}

Secret Secret::random() noexcept {
  Secret secret;
  randombytes_buf(secret.bytes.data(), secret.bytes.size());
  return secret;
}

}  // namespace lapwing::wire
