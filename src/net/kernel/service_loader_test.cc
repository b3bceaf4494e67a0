// A service is played: what a rank makes of answers, right ones and others.
#include "net/kernel/service_loader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "net/kernel/area.h"
#include "net/kernel/local_message.h"

namespace lapwing::net::kernel::tests {
namespace {

using wire::AcceleratorAnswer;
using wire::AcceleratorRequest;

class ServiceLoaderTest : public testing::Test {
 protected:
  ServiceLoaderTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    service_ = Descriptor(ends[0]);
    loader_.adopt(Descriptor(ends[1]));
  }
  // What the service will answer next.
  void will_send(const std::string& bytes, std::size_t descriptors = 0) {
    EXPECT_TRUE(send_message(service_.fd(), bytes, std::vector<int>(descriptors, file_.fd())).ok());
  }
  void will_grant(std::size_t descriptors = 0) {
    will_send(AcceleratorAnswer{true, static_cast<std::uint16_t>(descriptors), ""}.encode(), descriptors);
  }
  void will_refuse(const char* why) { will_send(AcceleratorAnswer{false, 0, why}.encode()); }
  void get_ready() {
    will_grant(1);
    will_grant(3);
    ASSERT_TRUE(loader_.prepare(2, 1).ok());
    ASSERT_TRUE(loader_.load().ok());
  }
  AcceleratorRequest asked() {
    LocalMessage message;
    AcceleratorRequest request;
    EXPECT_EQ(receive_message(service_.fd(), message), Received::kMessage);
    EXPECT_TRUE(AcceleratorRequest::decode(message.bytes, request).ok());
    EXPECT_EQ(message.descriptors.size(), request.descriptors());
    return request;
  }
  std::string refusal() { return loader_.prepare(2, 3).text(); }

  Descriptor service_;
  const Descriptor file_{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  ServiceLoader loader_{"/nowhere"};
};

TEST_F(ServiceLoaderTest, AsksForWhatItNeeds) {
  get_ready();
  const AcceleratorRequest hello = asked();
  EXPECT_EQ(hello.kind, AcceleratorRequest::Kind::kHello);
  EXPECT_EQ(hello.connections, 2u);
  EXPECT_EQ(hello.zone_bytes, std::uint64_t{kZoneBlock});
  EXPECT_EQ(asked().kind, AcceleratorRequest::Kind::kLoad);
  will_grant();
  EXPECT_TRUE(loader_.join(1, file_.fd()).status.ok());
  EXPECT_EQ(asked().index, 1u);
  will_grant();
  loader_.forget(0);  // has not joined
  loader_.forget(1);
  EXPECT_EQ(asked().kind, AcceleratorRequest::Kind::kForget);
}

TEST_F(ServiceLoaderTest, TellsWhyItIsRefused) {
  will_refuse("no more");
  EXPECT_EQ(refusal(), "the service `lapwing accelerator` at /nowhere (LAPWING_ACCELERATOR) does not stand in: no more");
}

// One that turns ranks away does not wait for what they ask.
TEST_F(ServiceLoaderTest, HearsARefusalOfAServiceThatHasClosed) {
  will_refuse("too many");
  ::shutdown(service_.fd(), SHUT_RD);
  EXPECT_NE(refusal().find("too many"), std::string::npos);
}

TEST_F(ServiceLoaderTest, BelievesNoAnswerThatBreaksARule) {
  will_send("what?");
  EXPECT_NE(refusal().find("too short"), std::string::npos);
}

TEST_F(ServiceLoaderTest, TakesNoOtherDescriptorsThanItAskedFor) {
  will_send(AcceleratorAnswer{true, 1, ""}.encode());
  EXPECT_NE(refusal().find("other descriptors than it says"), std::string::npos);
}

TEST_F(ServiceLoaderTest, TakesAsManyDescriptorsAsItAskedFor) {
  will_grant(2);
  EXPECT_NE(refusal().find("too few descriptors, or too many"), std::string::npos);
}

TEST_F(ServiceLoaderTest, KnowsThatARefusedSocketHasNotJoined) {
  get_ready();
  will_refuse("not this one");
  const Joining refused = loader_.join(0, file_.fd());
  EXPECT_FALSE(refused.status.ok());
  EXPECT_TRUE(refused.known);
  will_grant();
  EXPECT_TRUE(loader_.join(0, file_.fd()).status.ok()) << "the service is still there";
}

TEST_F(ServiceLoaderTest, DoesNotKnowWhatAServiceThatDiedHasDone) {
  get_ready();
  ::shutdown(service_.fd(), SHUT_WR);
  EXPECT_FALSE(loader_.join(0, file_.fd()).known);
  const Joining later = loader_.join(1, file_.fd());
  EXPECT_FALSE(later.status.ok());
  EXPECT_TRUE(later.known) << "it was not asked any more";
}

// ---- sockets by which the program answers -------------------------------------------------------------------------------

class ServiceLoaderWay : public ServiceLoaderTest {
 protected:
  using State = Permission::State;

  void SetUp() override {
    get_ready();
    asked();
    asked();
    for (std::uint32_t index : {0u, 1u}) {
      will_grant();
      ASSERT_TRUE(loader_.join(index, file_.fd()).status.ok());
      asked();
    }
  }
  State state(std::uint32_t index) { return loader_.permission(index).state; }
};

TEST_F(ServiceLoaderWay, IsAskedForWithoutWaiting) {
  EXPECT_EQ(loader_.answer_by(1, file_.fd()).state, State::kAsked);
  const AcceleratorRequest way = asked();
  EXPECT_EQ(way.kind, AcceleratorRequest::Kind::kWay);
  EXPECT_EQ(way.index, 1u);
  EXPECT_EQ(state(1), State::kAsked);
  will_grant();
  EXPECT_EQ(state(1), State::kGranted);
  EXPECT_EQ(state(0), State::kNone);
}

TEST_F(ServiceLoaderWay, EachHasTheAnswerToItsOwn) {
  loader_.answer_by(1, file_.fd());
  loader_.answer_by(0, file_.fd());
  will_refuse("not this one");
  EXPECT_EQ(state(1), State::kRefused);
  EXPECT_NE(std::string(loader_.permission(1).why.text()).find("not this one"), std::string::npos);
  EXPECT_EQ(state(0), State::kAsked);
  will_grant();
  EXPECT_EQ(state(0), State::kGranted);
  EXPECT_EQ(state(1), State::kRefused);
}

// What is asked and waited for meanwhile does not take the other answer for its own.
TEST_F(ServiceLoaderWay, AnswersComeInTheOrderOfTheRequests) {
  loader_.answer_by(0, file_.fd());
  will_grant();
  will_refuse("not a second time");
  EXPECT_NE(std::string(loader_.join(1, file_.fd()).status.text()).find("not a second time"), std::string::npos);
  EXPECT_EQ(state(0), State::kGranted);
}

TEST_F(ServiceLoaderWay, NothingThatWasAskedBeforeHoldsForTheNextConnection) {
  loader_.answer_by(0, file_.fd());
  asked();
  will_grant();
  will_grant();
  loader_.forget(0);
  EXPECT_EQ(asked().kind, AcceleratorRequest::Kind::kForget);
  EXPECT_EQ(state(0), State::kNone);
}

TEST_F(ServiceLoaderWay, OutlivesTheConnectionThatIsAnswered) {
  loader_.answer_by(0, file_.fd());
  asked();
  will_grant();
  will_grant();
  loader_.leave(0);
  EXPECT_EQ(asked().kind, AcceleratorRequest::Kind::kLeave);
  EXPECT_EQ(state(0), State::kGranted);
}

TEST_F(ServiceLoaderWay, IsRefusedByAServiceThatHasGone) {
  loader_.answer_by(0, file_.fd());
  ::shutdown(service_.fd(), SHUT_WR);
  EXPECT_EQ(state(0), State::kRefused);
  EXPECT_EQ(loader_.answer_by(1, file_.fd()).state, State::kRefused);
}

// As a service that is stopped: the socket takes so many messages.
TEST_F(ServiceLoaderWay, AServiceThatReadsNothingIsNotWaitedFor) {
  Permission last;
  for (int i = 0; i < 100'000 && last.state != State::kRefused; ++i) last = loader_.answer_by(0, file_.fd());
  EXPECT_EQ(last.state, State::kRefused);
  EXPECT_EQ(state(0), State::kAsked) << "of those before";
}

TEST(ServiceLoader, SaysWhereThereIsNoService) {
  ServiceLoader loader("/nowhere/at/all");
  EXPECT_STREQ(loader.prepare(1, 1).text(),
               "the service `lapwing accelerator` at /nowhere/at/all (LAPWING_ACCELERATOR) does not stand in: No such file or directory");
}

}  // namespace
}  // namespace lapwing::net::kernel::tests
