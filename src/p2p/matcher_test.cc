#include "p2p/matcher.h"

#include <gtest/gtest.h>

#include <deque>

namespace lapwing::p2p {
namespace {

class MatcherTest : public testing::Test {
 protected:
  ReceiveRequest& post(MatchKey key) {
    ReceiveRequest& receive = receives_.emplace_back();
    receive.MatchNode::key = key;
    matcher.post(receive, posted);
    return receive;
  }
  UnexpectedMessage& keep(MatchKey envelope, std::uint64_t token = 0) {
    UnexpectedMessage& message = pool_.make(0);
    message.ByEnvelope::key = envelope;
    message.ByContext::key = {envelope.context, kAnyPeer, kAnyTag};
    message.sender_token = token;
    matcher.keep(message);
    kept_.push_back(&message);
    return message;
  }
  void TearDown() override {
    for (UnexpectedMessage* message : kept_) {
      if (message->ByEnvelope::queued()) matcher.take(*message);
      pool_.free(*message);
    }
    for (ReceiveRequest& receive : receives_) {
      if (receive.MatchNode::queued()) matcher.unpost(receive);
    }
    EXPECT_EQ(matcher.posted() + matcher.unexpected(), 0u);
    EXPECT_EQ(posted, 0u);
  }
  Matcher matcher;
  std::uint64_t posted = 0;

 private:
  std::deque<ReceiveRequest> receives_;
  MessagePool pool_{1 << 16};
  std::vector<UnexpectedMessage*> kept_;
};

TEST_F(MatcherTest, TheOldestReceiveWhoseEnvelopeFitsIsMatched) {
  ReceiveRequest& other_tag = post({8, {1}, 4});
  ReceiveRequest& first = post({8, {1}, 5});
  ReceiveRequest& second = post({8, {1}, 5});
  EXPECT_EQ(matcher.match({8, {1}, 5}), &first);
  EXPECT_EQ(matcher.match({8, {1}, 5}), &first) << "it stays posted";
  matcher.unpost(first);
  EXPECT_EQ(matcher.match({8, {1}, 5}), &second);
  EXPECT_EQ(matcher.match({8, {1}, 4}), &other_tag);
  EXPECT_EQ(matcher.match({8, {2}, 5}), nullptr);
  EXPECT_EQ(matcher.match({12, {1}, 5}), nullptr);
}

TEST_F(MatcherTest, WildcardsTakeTheirTurnInTheOrderOfPosting) {
  ReceiveRequest& any_tag = post({8, {1}, kAnyTag});
  ReceiveRequest& named = post({8, {1}, 5});
  ReceiveRequest& any_source = post({8, kAnyPeer, 5});
  ReceiveRequest& anything = post({8, kAnyPeer, kAnyTag});
  for (ReceiveRequest* expected : {&any_tag, &named, &any_source, &anything}) {
    EXPECT_EQ(matcher.match({8, {1}, 5}), expected);
    matcher.unpost(*expected);
  }
  EXPECT_EQ(matcher.match({8, {1}, 5}), nullptr);
}

TEST_F(MatcherTest, AReceiveFindsTheOldestMessageThatFits) {
  UnexpectedMessage& first = keep({8, {1}, 5});
  UnexpectedMessage& other = keep({8, {2}, 6});
  keep({8, {1}, 5});
  EXPECT_EQ(matcher.find({8, {1}, 5}), &first);
  EXPECT_EQ(matcher.find({8, kAnyPeer, kAnyTag}), &first);
  EXPECT_EQ(matcher.find({8, kAnyPeer, 6}), &other);
  EXPECT_EQ(matcher.find({8, {2}, kAnyTag}), &other);
  EXPECT_EQ(matcher.find({8, {2}, 5}), nullptr);
  EXPECT_EQ(matcher.find({12, kAnyPeer, kAnyTag}), nullptr);
}

TEST_F(MatcherTest, AMessageIsFoundByItsSendersToken) {
  keep({8, {1}, 5}, 70);
  UnexpectedMessage& second = keep({8, {1}, 5}, 71);
  EXPECT_EQ(matcher.find_sent_as({8, {1}, 5}, 71), &second);
  EXPECT_EQ(matcher.find_sent_as({8, {1}, 5}, 72), nullptr);
  EXPECT_EQ(matcher.find_sent_as({8, {1}, 6}, 71), nullptr);
}

}  // namespace
}  // namespace lapwing::p2p
