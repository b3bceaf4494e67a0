// Feeds arbitrary bytes to the reader of the launcher's table of cards, mapped as MPI_Init maps it. The first two bytes say how many
// ranks the job has.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/internal_error.h"
#include "wire/card_book.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lapwing::wire;
  if (size < 2) return 0;
  const std::uint32_t ranks = data[0] | data[1] << 8;
  const int file = memfd_create("table", MFD_CLOEXEC);
  LAPWING_CHECK(write(file, data + 2, size - 2) == static_cast<ssize_t>(size - 2));
  CardBook book;
  const bool mapped = CardBook::map(file, ranks, book).ok();
  close(file);
  LAPWING_CHECK(book.size() == (mapped ? ranks : 0));
  std::size_t sum = 0;
  for (std::uint32_t rank = 0; rank < ranks + 2; ++rank) {
    const std::string_view text = book.text(rank);
    for (const char letter : text) sum += static_cast<unsigned char>(letter);  // reads all of it
    Card card;
    (void)book.read(rank, card).ok();
  }
  return sum == 1 ? 1 : 0;
}
