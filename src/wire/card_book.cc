#include "wire/card_book.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "wire/little_endian.h"

namespace lapwing::wire {
namespace {

constexpr char kMark[4] = {'L', 'W', 'C', 'B'};
constexpr std::size_t kHeadBytes = 8;
constexpr std::size_t kNumberBytes = 4;

std::size_t texts_begin(std::size_t ranks) noexcept {
  return kHeadBytes + kNumberBytes * (ranks + 1);
}

std::vector<std::string> encode_all(const std::vector<Card>& cards) {
  std::vector<std::string> texts;
  texts.reserve(cards.size());
  for (const Card& card : cards) texts.push_back(card.encode());
  return texts;
}

}  // namespace

struct CardBook::Texts {
  ~Texts() {
    if (table != nullptr) ::munmap(table, table_bytes);
  }
  std::vector<std::string> own;
  void* table = nullptr;  // instead, when mapped
  std::size_t table_bytes = 0;
  std::uint32_t ranks = 0;
};

CardBook::CardBook(std::vector<std::string> texts) {
  auto made = std::make_shared<Texts>();
  made->ranks = static_cast<std::uint32_t>(texts.size());
  made->own = std::move(texts);
  texts_ = std::move(made);
}

CardBook::CardBook(const std::vector<Card>& cards) : CardBook(encode_all(cards)) {}

Status CardBook::map(int fd, std::uint32_t ranks, CardBook& book) {
  struct stat about {};
  if (::fstat(fd, &about) != 0 || static_cast<std::size_t>(about.st_size) < texts_begin(ranks))
    return Status::error(MPI_ERR_OTHER, "the launcher's table of cards is too short for %u ranks", ranks);
  auto texts = std::make_shared<Texts>();
  texts->table_bytes = static_cast<std::size_t>(about.st_size);
  void* table = ::mmap(nullptr, texts->table_bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (table == MAP_FAILED)
    return Status::error(MPI_ERR_NO_MEM, "cannot map the launcher's table of cards: %s", std::strerror(errno));
  texts->table = table;
  texts->ranks = ranks;
  const auto* bytes = static_cast<const std::byte*>(table);
  if (std::memcmp(bytes, kMark, sizeof kMark) != 0 || load_little<std::uint32_t>(bytes + sizeof kMark) != ranks)
    return Status::error(MPI_ERR_OTHER, "what the launcher handed over is no table of the cards of %u ranks", ranks);
  book.texts_ = std::move(texts);
  return {};
}

std::uint32_t CardBook::size() const noexcept {
  return texts_ ? texts_->ranks : 0;
}

// Of a table only the place of this text is looked at, and where it is impossible, the text is empty.
std::string_view CardBook::text(std::uint32_t rank) const noexcept {
  if (rank >= size()) return {};
  if (texts_->table == nullptr) return texts_->own[rank];
  const auto* bytes = static_cast<const std::byte*>(texts_->table);
  const std::byte* number = bytes + kHeadBytes + kNumberBytes * rank;
  const std::size_t begin = load_little<std::uint32_t>(number);
  const std::size_t end = load_little<std::uint32_t>(number + kNumberBytes);
  if (begin < texts_begin(texts_->ranks) || end < begin || end > texts_->table_bytes) return {};
  return {reinterpret_cast<const char*>(bytes + begin), end - begin};
}

Status CardBook::read(std::uint32_t rank, Card& card) const {
  if (Status status = Card::decode(text(rank), card); !status.ok())
    return Status::error(MPI_ERR_OTHER, "the card of rank %u is unreadable: %s", rank, status.text());
  return {};
}

std::string encode_card_table(const std::vector<std::string>& texts) {
  std::size_t bytes = texts_begin(texts.size());
  for (const std::string& text : texts) bytes += text.size();
  if (bytes > UINT32_MAX) return {};
  std::string table(texts_begin(texts.size()), '\0');
  table.reserve(bytes);
  auto* head = reinterpret_cast<std::byte*>(table.data());
  std::memcpy(head, kMark, sizeof kMark);
  store_little(head + sizeof kMark, static_cast<std::uint32_t>(texts.size()));
  for (std::size_t rank = 0; rank <= texts.size(); ++rank) {
    const auto begin = static_cast<std::uint32_t>(table.size());
    store_little(reinterpret_cast<std::byte*>(table.data()) + kHeadBytes + kNumberBytes * rank, begin);
    if (rank < texts.size()) table += texts[rank];
  }
  return table;
}

}  // namespace lapwing::wire
