// The key by which the ranks of a job prove to each other that they belong to it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/status.h"

namespace lapwing::wire {

inline constexpr std::size_t kProofBytes = 32;

// What the ranks of a job share and strangers do not know.
class JobKey {
 public:
  static constexpr std::size_t kBytes = 32;
  static constexpr std::size_t kIdBytes = 16;

  JobKey() noexcept = default;
  ~JobKey();
  JobKey(const JobKey&) = delete;
  JobKey& operator=(const JobKey&) = delete;

  // `secret`: 32 random bytes. `key_file`: those of the key file, without which the secret then proves nothing; empty: there is none.
  Status set(std::string_view secret, std::string_view key_file = {});
  bool known() const noexcept { return known_; }
  // Tells jobs apart without giving the secret away.
  const std::array<std::byte, kIdBytes>& id() const noexcept { return id_; }
  bool has_key_file() const noexcept { return has_key_file_; }
  void authenticate(const std::byte* text, std::size_t bytes, std::byte* proof) const noexcept;

 private:
  std::array<std::byte, kBytes> key_{};
  std::array<std::byte, kIdBytes> id_{};
  bool known_ = false;
  bool has_key_file_ = false;
};

}  // namespace lapwing::wire
