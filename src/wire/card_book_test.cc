#include "wire/card_book.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace lapwing::wire {
namespace {

// A table as a launcher would hand it over.
class CardBookTest : public testing::Test {
 protected:
  void hand_over(const std::string& bytes) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = ::memfd_create("cards", MFD_CLOEXEC);
    ASSERT_EQ(::write(fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  ~CardBookTest() override { ::close(fd_); }
  int fd_ = -1;
};

TEST_F(CardBookTest, ReadsFromATableWhatWentInto) {
  std::vector<std::string> texts;
  for (int rank = 0; rank < 100; ++rank) texts.push_back("name=node" + std::to_string(rank) + ";pid=1");
  texts[7].clear();
  hand_over(encode_card_table(texts));
  CardBook book;
  ASSERT_TRUE(CardBook::map(fd_, 100, book).ok());
  ASSERT_EQ(book.size(), 100u);
  Card card;
  for (std::uint32_t rank = 0; rank < 100; ++rank) {
    ASSERT_TRUE(book.read(rank, card).ok());
    EXPECT_EQ(card.get("name"), rank == 7 ? "" : "node" + std::to_string(rank));
  }
  ASSERT_TRUE(book.read(100, card).ok());
  EXPECT_FALSE(card.has("name"));
}

TEST_F(CardBookTest, ReadsFromTextsAndCards) {
  Card card;
  card.set("name", "a b");
  const CardBook copy = CardBook(std::vector<Card>{card, {}});
  Card read;
  ASSERT_TRUE(copy.read(0, read).ok());
  EXPECT_EQ(read.get("name"), "a b");
  EXPECT_EQ(CardBook().size(), 0u);
}

TEST_F(CardBookTest, RefusesWhatIsNoTable) {
  CardBook book;
  hand_over("LWCB");
  EXPECT_FALSE(CardBook::map(fd_, 1, book).ok());
  hand_over(std::string(100, 'x'));
  EXPECT_FALSE(CardBook::map(fd_, 2, book).ok());
  hand_over(encode_card_table({"name=a", "name=b"}));
  EXPECT_FALSE(CardBook::map(fd_, 3, book).ok());
  EXPECT_TRUE(CardBook::map(fd_, 2, book).ok());
}

TEST_F(CardBookTest, ImpossiblePlacesHoldNothing) {
  const std::string sound = encode_card_table({"name=a", "name=b"});
  for (std::size_t at = 8; at < 20; ++at) {
    std::string table = sound;
    table[at] = '\xff';
    hand_over(table);
    CardBook book;
    ASSERT_TRUE(CardBook::map(fd_, 2, book).ok());
    Card card;
    for (std::uint32_t rank = 0; rank < 2; ++rank) (void)book.read(rank, card).ok();
  }
}

}  // namespace
}  // namespace lapwing::wire
