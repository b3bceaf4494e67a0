// A rank's card: what it publishes through the launcher so that peers can find it. A flat list of key=value pairs, as text.
//
// The keys are listed in docs/wire-format.md, The card: what the job says of each rank, and what each transport adds.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace lapwing::wire {

class Card {
 public:
  // Keys: [a-z0-9_]+. Values: any bytes; those outside printable ASCII, and '%', ';', '=' and ' ', travel as %XX.
  void set(std::string_view key, std::string_view value);
  // Empty when absent.
  const std::string& get(std::string_view key) const noexcept;
  bool has(std::string_view key) const noexcept;

  std::string encode() const;
  static Status decode(std::string_view text, Card& card);

  static constexpr std::size_t kMaxBytes = 16384;

 private:
  std::map<std::string, std::string, std::less<>> entries_;
};

}  // namespace lapwing::wire
