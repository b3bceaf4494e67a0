// Frames in records that are checked, beside the program in the kernel, which is played (past_program_for_tests.h).
#include <optional>

#include "net/tcp/past_program_for_tests.h"
#include "net/tcp/record_writer.h"

namespace lapwing::net::tcp::tests {
namespace {

class CheckedPastProgram : public InboxPastProgram {
 protected:
  void SetUp() override {
    InboxPastProgram::SetUp();
    connect();
  }
  // A connection stands, and the program sees it from its first byte on.
  void connect() {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ours_ = Socket(ends[0]);
    kernels_ = Socket(ends[1]);
    stream_.clear();
    arrived_ = in_socket_ = 0;
    std::memset(static_cast<void*>(area_.get()), 0, offsetof(kernel::ConnectionArea, queue));
    intake_.restart();
    intake_.come_in_records();
    writer_.emplace(wire::RecordGuard(), tuning().tcp_record, 1 << 20);
    reader_.emplace(wire::RecordGuard());
    inbox_.begin(&*reader_);
    inbox_.receive_past(intake_);
    intake_.open();
  }
  // It is over, and another stands, by which all that has not come is sent again.
  void connect_again() {
    inbox_.leave_program();
    inbox_.interrupt();
    ASSERT_TRUE(inbox_.violation().ok()) << inbox_.violation().text();
    connect();
    for (std::size_t i = channel_.received(); i < sent_.size(); ++i) write({sent_[i]});
  }
  void put(std::span<const std::byte> frame) override {
    sent_.emplace_back(frame.begin(), frame.end());
    if (!holds_back_) write({sent_.back()});
  }
  // Frames that leave together, each as the outbox has it: its header, and its payload.
  void write(const std::vector<std::vector<std::byte>>& frames) {
    std::vector<iovec> pieces;
    for (const std::vector<std::byte>& frame : frames) {
      auto* const bytes = const_cast<std::byte*>(frame.data());
      pieces.push_back({bytes, wire::kHeaderBytes});
      if (frame.size() > wire::kHeaderBytes) pieces.push_back({bytes + wire::kHeaderBytes, frame.size() - wire::kHeaderBytes});
    }
    writer_->write(pieces);
    const std::span<const std::byte> records = writer_->waiting();
    stream_.insert(stream_.end(), records.begin(), records.end());
  }
  void write_held_back() {
    write(sent_);
    holds_back_ = false;
  }
  void damage(std::size_t at) { stream_.at(at) ^= std::byte{1}; }

  static constexpr std::size_t kBeside = kernel::kRecordHeader + kernel::kRecordTrailer;
  std::optional<RecordWriter> writer_;
  std::optional<RecordReader> reader_;
  std::vector<std::vector<std::byte>> sent_;  // all frames
  bool holds_back_ = false;
};

TEST_F(CheckedPastProgram, AFrameInARecordOfItsOwnIsTaken) {
  post(3);
  append(kLent, 100);
  append(kLent, 0);
  append(kLent, 3000);
  arrive(to_come());
  EXPECT_FALSE(intake_.has_passed());
  EXPECT_EQ(receive(), Inbox::Result::kDrained);
  EXPECT_EQ(sink_.landed, 3);
  expect_all_well();
}

TEST_F(CheckedPastProgram, WhatMatchesNoReceiveComesThroughTheRing) {
  append(kNeverLent, 100);
  arrive(to_come());
  EXPECT_FALSE(intake_.has_passed());
  receive();
  EXPECT_EQ(sink_.passed, 1);
  expect_all_well();
}

// The kernel writes there before anything is checked.
TEST_F(CheckedPastProgram, NothingIsPutInTheZone) {
  post(1, 3000, &zone_);
  append(kLent, 3000);
  arrive(to_come());
  receive();
  EXPECT_EQ(sink_.landed, 1);
  expect_copies(0, 3000);
  expect_all_well();
}

TEST_F(CheckedPastProgram, FramesThatShareARecordAndLongOnesAreRead) {
  post(4);
  holds_back_ = true;
  append(kLent, 100);
  append(kLent, 200);
  write_held_back();
  append(kLent, 20'000);
  arrive(to_come());
  receive();
  EXPECT_EQ(sink_.landed, 0);
  EXPECT_EQ(sink_.passed, 3);
  append(kLent, 100);
  arrive(to_come());
  receive();
  EXPECT_EQ(sink_.landed, 1) << "what follows is taken again";
  expect_all_well();
}

TEST_F(CheckedPastProgram, ARecordOfWhichTheProgramHasAPartIsReadOn) {
  post(2);
  append(kLent, 100);
  append(kLent, 1000);
  arrive(kBeside + wire::kHeaderBytes + 100 + 500);
  intake_.close();
  arrive(200);
  receive();
  EXPECT_EQ(sink_.landed, 1);
  arrive(to_come());
  receive();
  EXPECT_EQ(sink_.landed, 1);
  EXPECT_EQ(sink_.passed, 1);
  expect_all_well();
}

// Whichever byte it is.
TEST_F(CheckedPastProgram, BehindARecordThatIsWrongNothingIsBelieved) {
  const std::size_t first = kBeside + wire::kHeaderBytes, second = first + 100;
  for (std::size_t at = 0; at < second; ++at) {
    append(kNeverLent, 0);
    arrive(to_come());
    receive();
    post(3);
    const std::size_t begin = stream_.size();
    append(kLent, 0);
    append(kLent, 100);
    append(kLent, 100);
    damage(begin + first + at);
    const int landed = sink_.landed, passed = sink_.passed;
    arrive(to_come());
    EXPECT_EQ(receive(), Inbox::Result::kWrong) << at;
    EXPECT_EQ(sink_.landed, landed + 1);
    connect_again();
    arrive(to_come());
    receive();
    EXPECT_EQ(sink_.landed + sink_.passed, landed + passed + 3);
    expect_all_well();
  }
}

TEST_F(CheckedPastProgram, ARecordThatIsMissingIsFoundOut) {
  post(2);
  const std::size_t begin = stream_.size();
  append(kLent, 100);
  const std::size_t end = stream_.size();
  append(kLent, 100);
  stream_.erase(stream_.begin() + static_cast<std::ptrdiff_t>(begin), stream_.begin() + static_cast<std::ptrdiff_t>(end));
  arrive(to_come());
  EXPECT_EQ(receive(), Inbox::Result::kWrong);
  EXPECT_EQ(sink_.landed, 0);
  inbox_.leave_program();
  EXPECT_TRUE(sink_.all_taken_back());
  expect_all_well();
}

// Longer than a record may be: the program takes nothing of it, though all that it looks at is right.
TEST_F(CheckedPastProgram, ARecordThatIsTooLongIsRefused) {
  post(1);
  std::vector<std::byte> record(kernel::kRecordHeader);
  const std::uint32_t body = wire::kHeaderBytes + kernel::kMostPayload;
  std::memcpy(record.data(), &body, sizeof body);
  const std::vector<std::byte> frame = bytes_of(0, kLent, 0, kernel::kMostPayload);
  record.insert(record.end(), frame.begin(), frame.end());
  stream_.insert(stream_.end(), record.begin(), record.end());
  arrive(to_come());
  EXPECT_TRUE(intake_.has_passed());
  EXPECT_EQ(receive(), Inbox::Result::kWrong);
  EXPECT_TRUE(sink_.all_taken_back());
}

TEST_F(CheckedPastProgram, HalfARecordAtTheEndHasNotCome) {
  post(2);
  append(kLent, 100);
  append(kLent, 2000);
  arrive(to_come() - 1);
  inbox_.leave_program();
  EXPECT_EQ(sink_.landed, 1);
  EXPECT_EQ(inbox_.half_received(), nullptr);
  EXPECT_TRUE(sink_.all_taken_back());
  expect_all_well();
}

TEST_F(CheckedPastProgram, AnyOrderOfAllThoughConnectionsBreak) {
  int wrong = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned most) { return random() % most; };
    const unsigned cut = seed % 3 == 0 ? 300 : 70'000;
    const auto receive_or_connect = [&] {
      const Inbox::Result result = receive();
      ASSERT_NE(result, Inbox::Result::kViolation);
      if (result != Inbox::Result::kWrong) return;
      ++wrong;
      connect_again();
    };
    for (int i = 0; i < 1500; ++i) {
      switch (below(10)) {
        case 0: case 1:
          append(below(8) == 0 ? (below(2) == 0 ? kNeverLent : kPassedOn) : kLent, below(8) == 0 ? below(65'537) : below(400));
          if (below(100) == 0) damage(stream_.size() - 1 - below(100));
          break;
        case 2: case 3: case 4:
          if (sink_.waiting() < 30) sink_.post(&intake_.queue(), below(20) == 0 ? 100 : 1 << 16, below(2) == 0, below(2) == 0 ? &zone_ : nullptr);
          break;
        case 5:
          arrive_some(1 + below(cut));
          break;
        case 6: case 7:
          receive_or_connect();
          break;
        case 8:
          if (below(2) == 0 ? intake_.close() : intake_.close_to_attended())
            for (unsigned packets = 1 + below(4); packets > 0; --packets) arrive_some(1 + below(cut));
          if (below(20) == 0) connect_again();
          break;
        case 9:
          intake_.open();
          break;
      }
    }
    while (channel_.received() < sent_.size()) {
      intake_.open();
      arrive_some(1 + below(cut));
      receive_or_connect();
    }
    ASSERT_TRUE(sink_.in_order && sink_.intact && inbox_.violation().ok()) << seed << ": " << inbox_.violation().text();
  }
  for (const int tag : {kPassedOn, kLent, kNeverLent}) EXPECT_EQ(sink_.next[tag], appended_[tag]);
  EXPECT_GT(sink_.landed, 400);
  EXPECT_GT(sink_.passed, 500);
  EXPECT_GT(wrong, 20);
}

}  // namespace
}  // namespace lapwing::net::tcp::tests
