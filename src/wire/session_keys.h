// What two ranks have agreed on for what is sealed between them, over one connection or by packets.
#pragma once

#include "wire/aead.h"
#include "wire/secret.h"

namespace lapwing::wire {

// No other process knows them.
struct SessionKeys {
  Cipher cipher = Cipher::kChaCha20Poly1305;
  Secret own, peers;  // of what this side sends, and of what it receives
};

}  // namespace lapwing::wire
