#include "mpiexec/output.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <string_view>
#include <thread>

namespace lapwing::launch {
namespace {

// Standard output into a file in memory, as long as this lives.
class OutputFile {
 public:
  OutputFile() : before_(::dup(STDOUT_FILENO)), file_(::memfd_create("launch_test", MFD_CLOEXEC)) { ::dup2(file_, STDOUT_FILENO); }
  ~OutputFile() {
    ::dup2(before_, STDOUT_FILENO);
    ::close(before_);
    ::close(file_);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::string content() const {
    char bytes[4096];
    const ssize_t count = ::pread(file_, bytes, sizeof bytes, 0);
    return count > 0 ? std::string(bytes, static_cast<std::size_t>(count)) : std::string();
  }

 private:
  int before_;
  int file_;
};

// Two ranks that write to standard output, and a clock that stands still.
class Output : public testing::Test {
 protected:
  explicit Output(bool label = false) : forwarder_(loop_, label, [](const std::string&) {}) {
    for (int rank = 0; rank < 2; ++rank) EXPECT_TRUE(forwarder_.open(rank, STDOUT_FILENO, ranks_[rank]).ok());
  }
  ~Output() override {
    for (const int fd : ranks_) ::close(fd);
  }

  void write(int rank, std::string_view text) {
    ASSERT_EQ(::write(ranks_[rank], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  // What has been written when the event loop has run at `milliseconds`.
  std::string written_at(int milliseconds) {
    loop_.run_once(0);
    forwarder_.on_time(at(milliseconds));
    while (forwarder_.backlog() > 0) std::this_thread::yield();
    return file_.content();
  }

  static OutputForwarder::Time at(int milliseconds) { return OutputForwarder::Time(std::chrono::milliseconds(milliseconds)); }

  OutputFile file_;
  EventLoop loop_;
  OutputForwarder forwarder_;
  int ranks_[2] = {-1, -1};
};

class LabelledOutput : public Output {
 protected:
  LabelledOutput() : Output(true) {}
};

TEST_F(Output, PassesAPromptOnAfterAWhile) {
  write(0, "name? ");
  EXPECT_EQ(written_at(0), "");
  EXPECT_EQ(forwarder_.deadline(), at(200));
  EXPECT_EQ(written_at(199), "");
  EXPECT_EQ(written_at(200), "name? ");
  EXPECT_EQ(forwarder_.deadline(), std::nullopt);
}

TEST_F(Output, ALineWaitsForItsOwnEndOnly) {
  write(0, "a rank that");
  EXPECT_EQ(written_at(0), "");
  write(1, "another");
  EXPECT_EQ(written_at(150), "");
  write(0, " goes on\nand");
  EXPECT_EQ(written_at(190), "a rank that goes on\n");
  EXPECT_EQ(written_at(200), "a rank that goes on\n") << "neither line has waited for 200 ms";
  EXPECT_EQ(forwarder_.deadline(), at(350));
  write(0, " on\nand");
  EXPECT_EQ(written_at(349), "a rank that goes on\nand on\n");
  EXPECT_EQ(written_at(350), "a rank that goes on\nand on\nanother");
  EXPECT_EQ(forwarder_.deadline(), at(549));
}

TEST_F(LabelledOutput, ALineHasItsLabelWhereAnotherRankHasWrittenWithinOne) {
  write(0, "name? ");
  written_at(0);
  EXPECT_EQ(written_at(200), "[0] name? ");
  write(0, "and");
  written_at(300);
  EXPECT_EQ(written_at(500), "[0] name? and") << "the rank goes on with its own line";
  write(1, "done\n");
  EXPECT_EQ(written_at(600), "[0] name? and\n[1] done\n");
  write(0, "too\n");
  EXPECT_EQ(written_at(700), "[0] name? and\n[1] done\n[0] too\n");
}

}  // namespace
}  // namespace lapwing::launch
