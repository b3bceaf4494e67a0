// Two ranks of which one receives in the kernel (net/kernel/area.h). Skipped where this process may load no program.
#pragma once

#include <netinet/tcp.h>

#include <functional>
#include <memory>

#include "net/tcp/lending_sink_for_tests.h"

namespace lapwing::net::tcp::tests {

class TcpKernelTest : public TcpTest {
 protected:
  void SetUp() override {
    TcpTest::SetUp();
    open(Choice::kOff);
    if (!receives_in_kernel()) GTEST_SKIP() << "this process may not load a program into the kernel";
  }
  // Rank 1 receives in the kernel, with a sink of its own.
  void open(Choice resume, Protection wire = Protection::kPlain) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      nodes_[rank].reset();
      nodes_[rank] = std::make_unique<Node>(clock_, rank, [&](TcpOptions& options) {
        options.resume = resume;
        options.wire = wire;
        if (rank == 1) options.receive = Receive::kAuto;
      }, rank == 1 ? &sink_ : nullptr);
    }
    if (before_load_ != nullptr) submit(*before_load_);
    attach();
    if (before_load_ == nullptr) pump([&] { return !loads_program(); });
  }
  void submit(engine::Work& work) {
    const engine::Visit visit(high().engine);
    EXPECT_TRUE(high().engine.submit(work).ok());
  }
  bool loads_program() {
    const engine::Visit visit(high().engine);
    return high().transport->loads_program();
  }
  bool matches() {
    const engine::Visit visit(high().engine);
    return high().transport->capabilities({0}).matches;
  }
  bool receives_in_kernel() {
    const engine::Visit visit(high().engine);
    return high().transport->receives_in_kernel();
  }
  void post_receives(int count, std::size_t capacity = 1 << 16, bool unattended = false) {
    const engine::Visit visit(high().engine);
    for (int i = 0; i < count; ++i) sink_.post(high().transport->lent_queue({0}, {kContext, kLent}), capacity, unattended);
  }
  // The connection stands, and the program sees it.
  void get_acquainted() {
    MessageOp op(kNeverLent, 0, 10);
    low().post(1, op);
    pump([&] { return sink_.passed == 1 && high().transport->lent_queue({0}, {kContext, kLent}) != nullptr; });
  }
  // What a thread does before it sleeps, and when it is awake again.
  bool arm() {
    const engine::Visit visit(high().engine);
    return high().transport->arm();
  }
  void disarm() {
    const engine::Visit visit(high().engine);
    high().transport->disarm();
  }
  // What the port of rank 1 announces of what rank 0 sends; nothing, where nothing comes.
  engine::EventPort::Batch await_announcement() {
    engine::EventPort::Batch batch;
    for (int turns = 0; batch.count == 0 && turns < 2'000'000; ++turns) {
      low().turn();
      high().engine.port().collect(batch, 0);
    }
    return batch;
  }
  void deliver(const engine::EventPort::Batch& batch) {
    const engine::Visit visit(high().engine);
    high().engine.port().deliver(batch);
  }
  void expect_all_well() {
    EXPECT_TRUE(sink_.in_order);
    EXPECT_TRUE(sink_.intact);
    EXPECT_EQ(sink_.lost, 0) << sink_.lost_text;
  }
  // A raw peer whose connection the program sees, without a frame so far; and one that has sent its first frame, because nothing is taken before that
  // has been read.
  Socket join_unheard() {
    Socket peer = join_as_rank_0();
    const int one = 1;
    ::setsockopt(peer.fd(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    pump([&] { return high().transport->lent_queue({0}, {kContext, kLent}) != nullptr; });
    return peer;
  }
  Socket join_past_program() {
    Socket peer = join_unheard();
    const std::vector<std::byte> first = bytes_of(0, kNeverLent, 0, 0);
    send_bytes(peer, first.data(), first.size());
    pump([&] { return sink_.passed == 1; });
    return peer;
  }
  void turn_high(int times = 20) {
    for (int i = 0; i < times; ++i) high().turn();
  }

  LendingSink sink_;
  engine::Work* before_load_ = nullptr;  // the program is loaded when this is done; null: before open() returns
};

}  // namespace lapwing::net::tcp::tests
