// Links whose frames come past a program in the kernel (net/kernel/area.h), with a sink that lends receives as the messenger does. Each receive must
// get the first message that it matches and no receive before it has got, whether the program took it or passed it on. Skipped where this process may
// load no program.
#include <sys/epoll.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <fstream>
#include <random>
#include <string>

#include "base/tuning.h"
#include "net/tcp/kernel_receive_for_tests.h"

namespace lapwing::net::tcp::tests {
namespace {

TEST_F(TcpKernelTest, AMessageLandsInALentReceive) {
  get_acquainted();
  for (const std::size_t bytes : {0u, 1u, 8u, 1000u, 4096u, 65'535u, 65'536u}) {
    post_receives(1);
    MessageOp op(kLent, sink_.next[kLent], bytes);
    const int before = sink_.landed;
    low().post(1, op);
    pump([&] { return sink_.landed == before + 1; });
  }
  EXPECT_EQ(sink_.passed, 1);
  expect_all_well();
}

TEST_F(TcpKernelTest, WhatMatchesNothingOrHasNoRoomIsMatchedByTheProcess) {
  get_acquainted();
  post_receives(1, 100);
  MessageOp first(kNeverLent, 1, 200), too_long(kLent, 0, 101);
  low().post(1, first);
  low().post(1, too_long);
  pump([&] { return sink_.passed == 3; });
  EXPECT_EQ(sink_.landed, 0);
  expect_all_well();
}

TEST_F(TcpKernelTest, AThreadThatSleepsIsTold) {
  get_acquainted();
  post_receives(2);
  ASSERT_TRUE(arm());
  MessageOp op(kLent, 0, 5000);
  low().post(1, op);
  const engine::EventPort::Batch batch = await_announcement();  // no poll has been needed
  ASSERT_GT(batch.count, 0);
  disarm();
  deliver(batch);
  pump([&] { return sink_.passed == 2; });
  MessageOp next(kLent, 1, 5000);
  low().post(1, next);
  pump([&] { return sink_.landed == 1; });
  expect_all_well();
}

// The event thread of a process that computes is not woken for what only the application's next call waits for.
TEST_F(TcpKernelTest, AProcessThatComputesIsNotWokenForWhatIsUnattended) {
  get_acquainted();
  post_receives(2, 1 << 16, true);
  ASSERT_TRUE(arm());
  MessageOp first(kLent, 0, 5000), second(kLent, 1, 60'000);
  low().post(1, first);
  low().post(1, second);
  for (int turns = 0; turns < 100; ++turns) low().turn();
  engine::EventPort::Batch batch;
  high().engine.port().collect(batch, 0);
  EXPECT_EQ(batch.count, 0);
  EXPECT_EQ(sink_.received(), 1);
  disarm();
  pump([&] { return sink_.landed == 2; });
  expect_all_well();
}

// Sockets of rank 1 that its port watches, though not for input.
int watched_without_input(int port) {
  std::ifstream file("/proc/self/fdinfo/" + std::to_string(port));
  int found = 0;
  for (std::string word; file >> word;) {
    std::uint32_t events = 0;
    if (word == "events:" && file >> std::hex >> events >> std::dec) found += (events & EPOLLRDHUP) != 0 && (events & EPOLLIN) == 0;
  }
  return found;
}

TEST_F(TcpKernelTest, WhereMostIsTakenOnlyANoticeWakesAProcessThatComputes) {
  const auto without_input = [&] { return watched_without_input(high().engine.port().fd()); };
  get_acquainted();
  post_receives(3, 1 << 16, true);
  ASSERT_TRUE(arm());
  EXPECT_EQ(without_input(), 0) << "nothing is known of what comes";
  for (int number = 0; number < 2; ++number) {
    MessageOp taken(kLent, number, 5000);
    low().post(1, taken);
    pump([&] { return sink_.landed == number + 1; });
    EXPECT_EQ(without_input(), 1);
  }
  MessageOp passed(kPassedOn, 0, 200);
  low().post(1, passed);
  const engine::EventPort::Batch batch = await_announcement();
  ASSERT_GT(batch.count, 0);
  deliver(batch);
  EXPECT_FALSE(arm()) << "something is here";
  pump([&] { return sink_.passed == 2; });
  disarm();
  ASSERT_TRUE(arm());
  EXPECT_EQ(without_input(), 1) << "most was taken";
  disarm();
  MessageOp last(kLent, 2, 5000);
  low().post(1, last);
  pump([&] { return sink_.landed == 3; });
  expect_all_well();
}

// Such as a message of a sender that has hardly any credit left: the process gives it more.
TEST_F(TcpKernelTest, AProcessThatComputesIsWokenForWhatIsUrgent) {
  get_acquainted();
  post_receives(2, 1 << 16, true);
  ASSERT_TRUE(arm());
  MessageOp first(kLent, 0, 500), urgent(kLent, 1, 500);
  urgent.delivery = Delivery::kUrgent;
  low().post(1, first);
  low().post(1, urgent);
  const engine::EventPort::Batch batch = await_announcement();
  EXPECT_GT(batch.count, 0);
  disarm();
  deliver(batch);
  pump([&] { return sink_.received() == 3; });
  EXPECT_EQ(sink_.landed, 1);
  expect_all_well();
}

// What is half here when a program begins to compute goes on by the socket, unless its receive is unattended.
TEST_F(TcpKernelTest, AFrameInPiecesIsGoneOnWithWhereItIsUnattended) {
  Socket peer = join_past_program();
  for (const bool unattended : {true, false}) {
    const int number = unattended ? 0 : 1;
    post_receives(1, 1 << 16, unattended);
    turn_high();
    const std::vector<std::byte> bytes = bytes_of(static_cast<std::uint64_t>(number + 1), kLent, number, 20'000);
    send_bytes(peer, bytes.data(), 9000);
    turn_high();
    ASSERT_TRUE(arm());
    send_bytes(peer, bytes.data() + 9000, bytes.size() - 9000);
    engine::EventPort::Batch batch;
    high().engine.port().collect(batch, unattended ? 0 : 1000);
    EXPECT_EQ(batch.count != 0, !unattended);
    disarm();
    deliver(batch);
    pump([&] { return sink_.received() == number + 2; });
  }
  EXPECT_EQ(sink_.landed, 1);
  EXPECT_EQ(sink_.passed, 2);
  expect_all_well();
}

// One that the program has taken meanwhile keeps a thread from sleeping.
TEST_F(TcpKernelTest, NoThreadSleepsBesideWhatWasTaken) {
  Socket peer = join_past_program();
  post_receives(2);
  turn_high();
  const std::vector<std::byte> bytes = bytes_of(1, kLent, 0, 500);
  send_bytes(peer, bytes.data(), bytes.size());
  bool armed = true;
  for (int tries = 0; armed && tries < 1'000'000; ++tries) {
    armed = arm();
    if (armed) {  // the packet came when the connection was closed to the program
      disarm();
      high().turn();
      if (sink_.received() == 2) break;
    }
  }
  disarm();
  pump([&] { return sink_.received() == 2; });
  expect_all_well();
}

TEST_F(TcpKernelTest, AFrameInPiecesGoesOnInTheSocket) {
  Socket peer = join_past_program();
  post_receives(3);
  for (int number = 0; number < 3; ++number) {
    const std::vector<std::byte> bytes = bytes_of(static_cast<std::uint64_t>(number + 1), kLent, number, 20'000);
    turn_high();
    send_bytes(peer, bytes.data(), 9000);
    turn_high();
    if (number == 1) {
      ASSERT_TRUE(arm());  // half a frame is in the ring, which wakes no thread
    }
    send_bytes(peer, bytes.data() + 9000, bytes.size() - 9000);
    if (number == 1) disarm();
    pump([&] { return sink_.received() == number + 2; });
  }
  EXPECT_EQ(sink_.landed, 2);
  EXPECT_EQ(sink_.passed, 2);
  expect_all_well();
}

// The front of a packet that is passed on with what follows it.
TEST_F(TcpKernelTest, WhatHasBeenTakenIsLeftOutByFewReads) {
  Socket peer = join_past_program();
  post_receives(1);
  turn_high();
  std::vector<std::byte> both = bytes_of(1, kLent, 0, 20'000);
  const std::vector<std::byte> behind = bytes_of(2, kNeverLent, 1, 0);
  both.insert(both.end(), behind.begin(), behind.end());
  const auto receives = [&] {
    const engine::Visit visit(high().engine);
    return high().engine.system_calls().receives;
  };
  const auto before = receives();
  send_bytes(peer, both.data(), both.size());
  pump([&] { return sink_.passed == 2; });
  EXPECT_LT(receives() - before, 20U);
  EXPECT_EQ(sink_.landed, 1);
  expect_all_well();
}

TEST_F(TcpKernelTest, APeerLostInTheMiddleOfATakenFrame) {
  {
    Socket peer = join_past_program();
    post_receives(2);
    turn_high();
    const std::vector<std::byte> whole = bytes_of(1, kLent, 0, 100), half = bytes_of(2, kLent, 1, 20'000);
    send_bytes(peer, whole.data(), whole.size());
    send_bytes(peer, half.data(), 9000);
  }
  pump([&] { return sink_.lost == 1; });
  EXPECT_EQ(sink_.received(), 2);
  EXPECT_TRUE(sink_.lost_within_frame);
  EXPECT_TRUE(sink_.in_order && sink_.intact);
  EXPECT_TRUE(sink_.all_taken_back());
}

TEST_F(TcpKernelTest, ATakenFrameThatBreaksARuleEndsTheConnection) {
  Socket peer = join_past_program();
  post_receives(4);
  turn_high();
  for (const std::uint64_t sequence : {1u, 7u, 3u}) {
    const std::vector<std::byte> bytes = bytes_of(sequence, kLent, 0, 100);
    send_bytes(peer, bytes.data(), bytes.size());
  }
  pump([&] { return sink_.lost == 1; });
  EXPECT_NE(sink_.lost_text.find("frame 7 arrived where frame 2 was due"), std::string::npos) << sink_.lost_text;
  EXPECT_EQ(sink_.received(), 2);
  EXPECT_TRUE(sink_.all_taken_back());
  EXPECT_TRUE(is_closed(peer));
}

// The end of a connection that is not in the port, because it was busy, is found by looks.
TEST_F(TcpKernelTest, TheEndOfABusyLinkIsFound) {
  get_acquainted();
  for (int i = 0; i < 200; ++i) {
    post_receives(1);
    MessageOp op(kLent, i, 8);
    low().post(1, op);
    pump([&] { return sink_.received() == i + 2; });
  }
  EXPECT_GT(sink_.landed, 0);
  nodes_[0].reset();
  for (int turns = 0; sink_.lost == 0; ++turns) {
    ASSERT_LT(turns, 2'000'000);
    const engine::Visit visit(high().engine);
    high().transport->poll();
  }
}

// Messages of both kinds, receives, sleep and rest in any order; what is taken and what is passed on follow each other all the time.
void mix(const std::function<void(int)>& act, unsigned seed, int steps) {
  std::mt19937 random(seed);
  for (int i = 0; i < steps; ++i) act(static_cast<int>(random() % 100));
}

class TcpKernelMix : public TcpKernelTest {
 protected:
  unsigned breaks_ = 0;  // seed; 0: no connection breaks
  void run(unsigned seed) {
    std::mt19937 sizes(seed);
    std::deque<MessageOp> ops;
    int sent[3] = {sink_.next[0], sink_.next[1], sink_.next[2]}, posted = sink_.next[kLent];
    const auto send = [&](int tag) {
      const std::size_t bytes = sizes() % 4 == 0 ? sizes() % 65'537 : sizes() % 300;
      low().post(1, ops.emplace_back(tag, sent[tag]++, bytes));
    };
    std::mt19937 breaks(breaks_);
    const auto act = [&](int way) {
      if (breaks_ != 0 && breaks() % 100 == 0) cut(static_cast<Cut>(breaks() % 3), breaks() % 2);
      if (way < 30) return send(kLent);
      if (way < 33) return send(kNeverLent);
      if (way < 35) return send(kPassedOn);
      if (way < 65) return post_receives(1), void(++posted);
      if (way < 85) return high().turn();
      if (way < 95) return low().turn();
      if (way < 98 && arm()) low().turn();
      if (way == 99) {
        const engine::Visit visit(high().engine);
        high().transport->rest();
        return;
      }
      disarm();
    };
    mix(act, seed, 3000);
    disarm();
    TcpTest::pump([&] { return std::equal(sent, sent + 3, sink_.next); }, [&] { clock_.advance(100'000); });
    TcpTest::pump([&] { return std::all_of(ops.begin(), ops.end(), [](const MessageOp& op) { return op.completions == 1; }); },
                  [&] { clock_.advance(100'000); });
    if (posted < sent[1]) post_receives(sent[1] - posted);
    expect_all_well();
  }
};

TEST_F(TcpKernelMix, EachReceiveGetsItsMessage) {
  get_acquainted();
  for (unsigned seed = 1; seed <= 12; ++seed) run(seed);
  EXPECT_GT(sink_.landed, 100);
  EXPECT_GT(sink_.passed, 100);
}

// What an executor does until the test lets it go on.
struct Gate final : engine::Work {
  Gate() : Work([](Work& work) noexcept { static_cast<Gate&>(work).open.wait(false); }, [](Work&) noexcept {}) {}
  void let_go() {
    open = true;
    open.notify_all();
  }
  std::atomic<bool> open{false};
};

// So many connections announce nothing before many bytes have gathered.
long count_hidden(const std::vector<int>& connections) {
  return std::count_if(connections.begin(), connections.end(), [](int fd) {
    int bytes = 0;
    socklen_t length = sizeof bytes;
    return ::getsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, &length) == 0 && bytes > 1;
  });
}

// A thread that comes back from computing finds what the program takes.
TEST_F(TcpKernelTest, APollEndsRest) {
  get_acquainted();
  disarm();
  {
    const engine::Visit visit(high().engine);
    ASSERT_TRUE(high().transport->rest());
  }
  EXPECT_EQ(count_hidden(connections()), 1);
  post_receives(1);
  MessageOp op(kLent, 0, 100);
  low().post(1, op);
  pump([&] { return sink_.received() == 2; });
  EXPECT_EQ(count_hidden(connections()), 0);
  post_receives(1);
  MessageOp next(kLent, 1, 100);
  low().post(1, next);
  pump([&] { return sink_.received() == 3; });
  EXPECT_GT(sink_.landed, 0);
  expect_all_well();
}

TEST_F(TcpKernelTest, WhereAllWasTakenNothingIsHiddenAtRest) {
  const auto hidden_at_rest = [&] {
    const engine::Visit visit(high().engine);
    EXPECT_TRUE(high().transport->rest());
    const long hidden = count_hidden(connections());
    high().transport->disarm();
    high().transport->poll();
    return hidden;
  };
  get_acquainted();
  disarm();
  EXPECT_EQ(hidden_at_rest(), 1) << "a message was passed on before";
  EXPECT_EQ(count_hidden(connections()), 0);
  post_receives(1);
  MessageOp op(kLent, 0, 100);
  low().post(1, op);
  pump([&] { return sink_.landed == 1; });
  EXPECT_EQ(hidden_at_rest(), 0);
  MessageOp passed(kPassedOn, 0, 100);
  low().post(1, passed);
  pump([&] { return sink_.received() == 3; });
  EXPECT_EQ(hidden_at_rest(), 1);
  expect_all_well();
}

// LAPWING_RECEIVE=auto: messages travel while the program is being loaded.
TEST_F(TcpKernelTest, ALinkThatStandsJoinsWhenTheProgramIsLoaded) {
  Gate gate;
  before_load_ = &gate;
  open(Choice::kOff);
  EXPECT_TRUE(loads_program());
  EXPECT_TRUE(matches()) << "as far as is known";
  post_receives(2);
  MessageOp first(kLent, 0, 100), second(kLent, 1, 100), third(kLent, 2, 100), fourth(kLent, 3, 100);
  low().post(1, first);
  pump([&] { return sink_.passed == 1; });
  EXPECT_EQ(high().transport->lent_queue({0}, {kContext, kLent}), nullptr);
  gate.let_go();
  pump([&] { return !loads_program(); });
  low().post(1, second);
  pump([&] { return sink_.passed == 2 && high().transport->lent_queue({0}, {kContext, kLent}) != nullptr; });
  post_receives(2);
  low().post(1, third);
  pump([&] { return sink_.received() == 3; });
  low().post(1, fourth);
  pump([&] { return sink_.landed == 1; });
  expect_all_well();
}

// A rank that ends before the program is loaded waits for no more than the piece of work that runs.
TEST_F(TcpKernelTest, ATransportIsClosedWhileTheProgramWaitsToBeLoaded) {
  Gate gate;
  before_load_ = &gate;
  open(Choice::kOff);
  {
    const engine::Visit visit(high().engine);
    high().transport->close();
  }
  gate.let_go();
  high().engine.stop();
  EXPECT_FALSE(receives_in_kernel());
}

// ---- links that resume ----------------------------------------------------------------------------------------------

class TcpKernelResumeTest : public TcpKernelMix {
 protected:
  void SetUp() override {
    TcpKernelMix::SetUp();
    if (!IsSkipped()) open(Choice::kOn);
  }
};

TEST_F(TcpKernelResumeTest, EachReceiveGetsItsMessage) {
  get_acquainted();
  for (unsigned seed = 1; seed <= 4; ++seed) run(seed);
  EXPECT_GT(sink_.landed, 30);
}

TEST_F(TcpKernelResumeTest, EachReceiveGetsItsMessageThoughConnectionsBreak) {
  get_acquainted();
  for (unsigned seed = 1; seed <= 12; ++seed) {
    breaks_ = seed;
    run(seed);
  }
  EXPECT_GT(high().transport->counters().connections_resumed, 12u);
  EXPECT_GT(sink_.landed, 30);
}

// A frame whose memory is kept is copied when it has left. Its owner learns of that though nothing comes, and so no poll reads the socket.
TEST_F(TcpKernelResumeTest, ASenderIsToldOfADeliveryThoughNothingComes) {
  get_acquainted();
  struct Count : Undelivered {
    Count() : Undelivered([](Undelivered& all, const Status&) noexcept { ++static_cast<Count&>(all).times; }) {}
    int times = 0;
  } delivered;
  MessageOp op(kNeverLent, 0, tuning().tcp_copied_at_once);
  op.undelivered = &delivered;
  high().post(0, op);
  EXPECT_EQ(op.completions, 1);
  EXPECT_FALSE(arm()) << "a thread would sleep";
  disarm();
  turn_high();
  EXPECT_EQ(delivered.times, 1);
}

// ---- links whose frames are checked ---------------------------------------------------------------------------------

class TcpKernelCheckedTest : public TcpKernelMix {
 protected:
  void SetUp() override {
    TcpKernelMix::SetUp();
    if (!IsSkipped()) open(Choice::kOff, Protection::kChecked);
  }
};

TEST_F(TcpKernelCheckedTest, AMessageLandsInALentReceive) {
  get_acquainted();
  post_receives(1);
  MessageOp op(kLent, 0, 1000);
  low().post(1, op);
  pump([&] { return sink_.landed == 1; });
  expect_all_well();
}

TEST_F(TcpKernelCheckedTest, EachReceiveGetsItsMessageThoughConnectionsBreak) {
  get_acquainted();
  for (unsigned seed = 1; seed <= 12; ++seed) {
    breaks_ = seed % 3;
    run(seed);
  }
  EXPECT_GT(high().transport->counters().connections_resumed, 4u);
  EXPECT_GT(sink_.landed, 30);
}

TEST_F(TcpKernelCheckedTest, WhatIsSealedIsReceivedAsEver) {
  open(Choice::kOff, Protection::kSealed);
  MessageOp op(kNeverLent, 0, 10);
  low().post(1, op);
  pump([&] { return sink_.passed == 1; });
  EXPECT_EQ(high().transport->lent_queue({0}, {kContext, kLent}), nullptr);
}

}  // namespace
}  // namespace lapwing::net::tcp::tests
