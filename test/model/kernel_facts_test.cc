// What the models take for granted of Linux' epoll, tried.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

namespace lapwing::model {
namespace {

// An event port with a never-read, edge-triggered doorbell in it, and the outer epoll that watches the port one-shot.
class KernelFacts : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_GE(port_, 0);
    ASSERT_GE(outer_, 0);
    watch(port_, bell_, EPOLLIN | EPOLLET);
    epoll_event event{};
    ASSERT_EQ(epoll_ctl(outer_, EPOLL_CTL_ADD, port_, &event), 0);
  }
  ~KernelFacts() override {
    for (int fd : {bell_, outer_, port_}) ::close(fd);
  }
  static void watch(int epoll, int fd, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
  }
  void ring() {
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(bell_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }
  void arm() {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLONESHOT;
    ASSERT_EQ(epoll_ctl(outer_, EPOLL_CTL_MOD, port_, &event), 0);
  }
  // How many descriptors are announced, and what for.
  static int announced(int epoll, std::uint32_t* events = nullptr) {
    epoll_event event{};
    const int count = epoll_wait(epoll, &event, 1, 0);
    if (events != nullptr) *events = event.events;
    return count;
  }

  int port_ = epoll_create1(EPOLL_CLOEXEC), outer_ = epoll_create1(EPOLL_CLOEXEC);
  int bell_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
};

TEST_F(KernelFacts, EachRingOfABellThatNobodyReadsIsOneEdge) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(announced(port_), 0);
    ring();
    EXPECT_EQ(announced(port_), 1);
  }
}

TEST_F(KernelFacts, ArmingSeesAnEdgeFromBefore) {
  ring();
  arm();
  EXPECT_EQ(announced(outer_), 1);
  EXPECT_EQ(announced(outer_), 0) << "one shot";
  arm();
  EXPECT_EQ(announced(outer_), 1) << "it has not been collected from the port";
}

TEST_F(KernelFacts, WhatSomebodyCollectedIsNotAnnouncedOutside) {
  arm();
  ring();
  EXPECT_EQ(announced(port_), 1);
  EXPECT_EQ(announced(outer_), 0);
  ring();
  EXPECT_EQ(announced(outer_), 1) << "and the shot was not used up";
}

TEST_F(KernelFacts, WhoComesBackToThePortIsToldWhatCameMeanwhile) {
  ring();
  EXPECT_EQ(epoll_ctl(port_, EPOLL_CTL_DEL, bell_, nullptr), 0);
  EXPECT_EQ(announced(port_), 0) << "a descriptor that leaves takes along what was announced";
  watch(port_, bell_, EPOLLIN | EPOLLET);
  EXPECT_EQ(announced(port_), 1);
  EXPECT_EQ(announced(port_), 0);
}

TEST_F(KernelFacts, AnEndThatCameWithTheLastBytesIsAnnouncedOnce) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  watch(port_, ends[0], EPOLLIN | EPOLLRDHUP | EPOLLET);
  char bytes[16] = {};
  ASSERT_EQ(::write(ends[1], bytes, 4), 4);
  ::close(ends[1]);
  std::uint32_t events = 0;
  EXPECT_EQ(announced(port_, &events), 1);
  EXPECT_NE(events & EPOLLRDHUP, 0u);
  EXPECT_EQ(::read(ends[0], bytes, sizeof bytes), 4) << "less than asked for: it is empty, and yet there is the end";
  EXPECT_EQ(announced(port_), 0);
  epoll_event again{};
  again.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
  ASSERT_EQ(epoll_ctl(port_, EPOLL_CTL_MOD, ends[0], &again), 0);
  EXPECT_EQ(announced(port_), 1) << "announced again when asked";
  ::close(ends[0]);
}

// A connection over loopback, whose one end is watched; and what a watermark does to its announcements.
class Watermark : public KernelFacts {
 protected:
  void SetUp() override {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(listener, name, length), 0);
    ASSERT_EQ(::listen(listener, 1), 0);
    ASSERT_EQ(::getsockname(listener, name, &length), 0);
    ASSERT_EQ(::connect(sender_, name, length), 0);
    receiver_ = ::accept(listener, nullptr, nullptr);
    ASSERT_GE(receiver_, 0);
    ::close(listener);
    watch(port_, receiver_, EPOLLIN | EPOLLRDHUP | EPOLLET);
  }
  ~Watermark() override {
    for (int fd : {sender_, receiver_}) ::close(fd);
  }
  void ask_for(int bytes) const {
    ASSERT_EQ(setsockopt(receiver_, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes), 0);
  }
  // Returns when the bytes are in the other end's queue.
  void send(std::size_t count) {
    const std::vector<char> bytes(count);
    ASSERT_EQ(::send(sender_, bytes.data(), count, 0), static_cast<ssize_t>(count));
    sent_ += static_cast<int>(count);
    for (int there = 0; there < sent_;) ASSERT_EQ(ioctl(receiver_, FIONREAD, &there), 0);
  }
  int announced_in_time() const {
    epoll_event event{};
    return epoll_wait(port_, &event, 1, 10'000);
  }

  int sender_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), receiver_ = -1, sent_ = 0;
};

TEST_F(Watermark, LessIsNotAnnounced) {
  ask_for(3000);
  send(2999);
  EXPECT_EQ(announced(port_), 0);
  send(1);
  EXPECT_EQ(announced_in_time(), 1);
}

TEST_F(Watermark, LoweringItAnnouncesWhatIsThere) {
  ask_for(3000);
  send(2000);
  EXPECT_EQ(announced(port_), 0);
  ask_for(1500);
  EXPECT_EQ(announced_in_time(), 1);
}

TEST_F(Watermark, RaisingItTakesBackWhatNobodyHasCollected) {
  send(1000);
  ask_for(3000);
  EXPECT_EQ(announced(port_), 0);
  send(2000);
  EXPECT_EQ(announced_in_time(), 1);
}

TEST_F(Watermark, TheEndIsAnnouncedInAnyCase) {
  ask_for(3000);
  send(10);
  EXPECT_EQ(announced(port_), 0);
  ::shutdown(sender_, SHUT_WR);
  EXPECT_EQ(announced_in_time(), 1);
}

TEST_F(Watermark, AskingToBeToldAgainGoesByItToo) {
  send(1000);
  EXPECT_EQ(announced_in_time(), 1);
  ask_for(3000);
  epoll_event again{};
  again.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
  ASSERT_EQ(epoll_ctl(port_, EPOLL_CTL_MOD, receiver_, &again), 0);
  EXPECT_EQ(announced(port_), 0);
}

}  // namespace
}  // namespace lapwing::model
