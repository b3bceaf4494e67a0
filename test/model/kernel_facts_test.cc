// What the models take for granted of Linux' epoll, tried.
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

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
  EXPECT_EQ(announced(outer_), 1) << "nobody has collected it from the port";
}

TEST_F(KernelFacts, WhatSomebodyCollectedIsNotAnnouncedOutside) {
  arm();
  ring();
  EXPECT_EQ(announced(port_), 1);
  EXPECT_EQ(announced(outer_), 0);
  ring();
  EXPECT_EQ(announced(outer_), 1) << "and the shot was not used up";
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

}  // namespace
}  // namespace lapwing::model
