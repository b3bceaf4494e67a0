#include "net/tcp/admission.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <string>
#include <vector>

namespace lapwing::net::tcp {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMillisecond;

Address address(const char* text) {
  Address parsed;
  EXPECT_TRUE(parse_address(text, parsed)) << text;
  return parsed;
}

// The kernel's queue before a rank that accepts what the admission lets in, once a millisecond at most; time is the test's own.
class Acceptor {
 public:
  explicit Acceptor(std::initializer_list<const char*> peers) {
    for (const char* peer : peers) admission_.expect(address(peer));
  }

  struct Connection {
    Address from;
    bool speaks = false;  // names the job as soon as it is looked at
  };
  // False: the queue is full, and the kernel drops it.
  bool arrive(const Connection& connection) {
    constexpr std::size_t kQueue = 4096;
    if (queue_.size() >= kQueue) return false;
    queue_.push_back(connection);
    return true;
  }

  void turn() {
    now_ += kMillisecond;
    Admission::Guest instead;
    std::int64_t again;
    while (!queue_.empty() && admission_.may_accept(now_, instead, again)) {
      if (instead != nullptr) throw_out(instead);
      const Connection next = queue_.front();
      queue_.pop_front();
      const Admission::Guest guest = &numbers_[++made_];
      if (Admission::Guest out = admission_.enter(guest, next.from, now_)) throw_out(out);
      if (!next.speaks) continue;
      admission_.greeted(guest);
      proven_.insert(guest);
    }
    most_ = std::max(most_, admission_.inside());
  }
  void throw_out(Admission::Guest guest) {
    admission_.leave(guest);
    EXPECT_FALSE(proven_.contains(guest)) << "one that has named the job";
  }

  std::int64_t now() const { return now_; }
  bool peer_is_in() const { return !proven_.empty(); }
  std::size_t most() const { return most_; }

 private:
  Admission admission_;
  std::deque<Connection> queue_;
  std::set<Admission::Guest> proven_;
  std::int64_t now_ = 0;
  std::size_t most_ = 0;
  std::size_t made_ = 0;
  std::vector<char> numbers_ = std::vector<char>(1'500'000);
};

// 20,000 silent connections a second, and a peer that knocks once after `start` and again a second later where it is dropped, as
// the kernel does it. The time until it is in.
std::int64_t time_to_get_in(Acceptor& acceptor, const std::vector<Address>& flood, const Address& peer) {
  constexpr int kPerMillisecond = 20;
  constexpr std::int64_t kStart = kSecond / 2;
  std::int64_t knocks = kStart;
  std::size_t next = 0;
  while (!acceptor.peer_is_in() && acceptor.now() < 60 * kSecond) {
    for (int i = 0; i < kPerMillisecond; ++i) acceptor.arrive({flood[next++ % flood.size()]});
    if (acceptor.now() >= knocks) knocks = acceptor.arrive({peer, true}) ? 1000 * kSecond : knocks + kSecond;
    acceptor.turn();
  }
  return acceptor.now() - kStart;
}

TEST(Admission, AFloodFromElsewhereKeepsNoPeerOut) {
  Acceptor acceptor{"192.0.2.1"};
  EXPECT_LT(time_to_get_in(acceptor, {address("203.0.113.5")}, address("192.0.2.1")), 10 * kMillisecond);
  EXPECT_LE(acceptor.most(), Admission::kMostPerSource + 2) << "a source is bounded";
}

TEST(Admission, AFloodFromManySourcesKeepsNoPeerOut) {
  Acceptor acceptor{"192.0.2.1"};
  std::vector<Address> flood;
  for (int i = 0; i < 200; ++i) flood.push_back(address(("198.51.100." + std::to_string(i)).c_str()));
  EXPECT_LT(time_to_get_in(acceptor, flood, address("192.0.2.1")), 10 * kMillisecond);
  EXPECT_LE(acceptor.most(), Admission::kMostUnknown + 2);
}

TEST(Admission, AFloodFromAPeersHostKeepsNoPeerOut) {
  Acceptor acceptor{"192.0.2.1", "192.0.2.2"};
  EXPECT_LT(time_to_get_in(acceptor, {address("192.0.2.2")}, address("192.0.2.1")), 5 * kSecond);
  Acceptor same{"192.0.2.1"};
  EXPECT_LT(time_to_get_in(same, {address("192.0.2.1")}, address("192.0.2.1")), 5 * kSecond);
  EXPECT_LE(same.most(), Admission::kMostKnown + 1);
}

TEST(Admission, APeerFromAnUnexpectedAddressGetsInToo) {
  Acceptor acceptor{"192.0.2.1"};
  EXPECT_LT(time_to_get_in(acceptor, {address("203.0.113.5")}, address("203.0.113.6")), 10 * kMillisecond);
}

TEST(Admission, AddressesOfOneNetworkOfIpv6AreOneSource) {
  Acceptor acceptor{"192.0.2.1"};
  std::vector<Address> flood;
  for (int i = 1; i < 200; ++i) flood.push_back(address(("2001:db8::" + std::to_string(i)).c_str()));
  time_to_get_in(acceptor, flood, address("192.0.2.1"));
  EXPECT_LE(acceptor.most(), Admission::kMostPerSource + 2);
}

// Descriptors are scarce: a stranger gives back its own at once, a peer when it has had the time to speak.
TEST(Admission, APeerThatHasJustComeIsNotWantedLeast) {
  Admission admission;
  admission.expect(address("192.0.2.1"));
  const char peer = 0, stranger = 0;
  admission.enter(&peer, address("192.0.2.1"), 0);
  EXPECT_EQ(admission.least_wanted(Admission::kGrace - 1), nullptr);
  EXPECT_EQ(admission.least_wanted(Admission::kGrace), &peer);
  admission.enter(&stranger, address("192.0.2.2"), 0);
  EXPECT_EQ(admission.least_wanted(0), &stranger);
}

// A crowd of peers is served in turn: none that is about to speak is thrown out while there is room.
TEST(Admission, ACrowdOfPeersWaitsOutside) {
  Admission admission;
  admission.expect(address("192.0.2.1"));
  const std::vector<char> guests(Admission::kMostKnown);
  Admission::Guest instead;
  std::int64_t again;
  for (const char& guest : guests) {
    ASSERT_TRUE(admission.may_accept(0, instead, again));
    ASSERT_EQ(admission.enter(&guest, address("192.0.2.1"), 0), nullptr);
  }
  EXPECT_FALSE(admission.may_accept(Admission::kGrace - 1, instead, again));
  EXPECT_EQ(again, Admission::kGrace);
  for (const char& guest : guests) admission.greeted(&guest);
  EXPECT_FALSE(admission.may_accept(Admission::kGrace, instead, again));
  EXPECT_EQ(admission.least_wanted(Admission::kGrace), nullptr);
  admission.leave(&guests[7]);
  EXPECT_TRUE(admission.may_accept(Admission::kGrace, instead, again));
  EXPECT_EQ(instead, nullptr);
}

}  // namespace
}  // namespace lapwing::net::tcp
