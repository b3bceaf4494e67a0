// All ranks' cards, by rank, as texts. A card is decoded when it is asked for, so that a rank of a job of thousands
// pays only for the peers it meets. Copies share the texts.
//
// Where the launcher is our own, the texts lie in one table in memory that all ranks of the host map (launch/mpiexec):
//
//   0         4          8                  8 + 4 n             8 + 4 (n + 1)
//   | "LWCB"  | n        | begin of text 0  ... begin of n - 1  | end of the last  | texts ...
//
// all numbers 32-bit little-endian, counted from the beginning of the table. The table is checked like any other bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "wire/card.h"

namespace lapwing::wire {

class CardBook {
 public:
  CardBook() noexcept = default;
  explicit CardBook(std::vector<std::string> texts);
  // For few ranks and for tests.
  CardBook(const std::vector<Card>& cards);

  // Maps the table in `fd`, which stays the caller's.
  static Status map(int fd, std::uint32_t ranks, CardBook& book);

  std::uint32_t size() const noexcept;
  std::string_view text(std::uint32_t rank) const noexcept;
  // An error when the text is unreadable; the card is then empty.
  Status read(std::uint32_t rank, Card& card) const;

 private:
  struct Texts;
  std::shared_ptr<const Texts> texts_;
};

// The table's bytes. Empty when they would be too many.
std::string encode_card_table(const std::vector<std::string>& texts);

}  // namespace lapwing::wire
