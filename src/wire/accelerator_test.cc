#include "wire/accelerator.h"

#include <gtest/gtest.h>

#include <string>

namespace lapwing::wire::tests {
namespace {

using Kind = AcceleratorRequest::Kind;

AcceleratorRequest hello() {
  AcceleratorRequest request;
  request.connections = 0x01020304;
  request.fingerprint = 0x1112'1314'1516'1718;
  request.zone_bytes = 0x2122'2324'2526'2728;
  return request;
}

AcceleratorRequest bind() {
  AcceleratorRequest request;
  request.kind = Kind::kBind;
  request.interface = 7;
  request.index = 5;
  request.ether_type = 0x88b5;
  request.address = 0xc0000207;
  request.port = 27182;
  request.tag = 0x1112'1314'1516'1718;
  request.network = 0x2122'2324'2526'2728;
  request.in_pieces = 1;
  return request;
}

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

// What is on the socket does not change: a service and a rank may be of two builds.
TEST(AcceleratorRequest, HasTheseBytes) {
  EXPECT_EQ(hello().encode(), bytes({'L',  'W',  'A',  'C',  3,    0,    1,    0,    1,    0,    0,    0,    4,    3,    2,    1,
                                     0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21}));
  AcceleratorRequest join;
  join.kind = Kind::kJoin;
  join.index = 5;
  EXPECT_EQ(join.encode(), bytes({'L', 'W', 'A', 'C', 3, 0, 3, 0, 5, 0, 0, 0}));
  join.kind = Kind::kWay;
  EXPECT_EQ(join.encode(), bytes({'L', 'W', 'A', 'C', 3, 0, 7, 0, 5, 0, 0, 0}));
  join.kind = Kind::kForget;
  EXPECT_EQ(join.encode(), bytes({'L', 'W', 'A', 'C', 3, 0, 8, 0, 5, 0, 0, 0}));
  EXPECT_EQ(bind().encode(),
            bytes({'L', 'W', 'A', 'C', 3,    0,    6,    0,    7,    0,    0,    0,    5,    0,    0,    0,    0xb5, 0x88, 0,    0,
                   7,   2,   0,   0xc0, 0x2e, 0x6a, 0,    0,    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
                   0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 1,    0,    0,    0}));
  AcceleratorRequest memory;
  memory.kind = Kind::kMemory;
  EXPECT_EQ(memory.encode(), bytes({'L', 'W', 'A', 'C', 3, 0, 5, 0}));
}

TEST(AcceleratorRequest, ComesOutAsItWentIn) {
  for (const Kind kind : {Kind::kHello, Kind::kLoad, Kind::kJoin, Kind::kLeave, Kind::kMemory, Kind::kBind, Kind::kWay, Kind::kForget}) {
    AcceleratorRequest request = hello();
    request.kind = kind;
    request.index = 77;
    const std::string message = request.encode();
    EXPECT_LE(message.size(), AcceleratorRequest::kMaxBytes);
    AcceleratorRequest read;
    ASSERT_TRUE(AcceleratorRequest::decode(message, read).ok());
    EXPECT_EQ(read.kind, kind);
    EXPECT_EQ(read.encode(), message);
    EXPECT_EQ(read.descriptors(), kind == Kind::kJoin || kind == Kind::kMemory || kind == Kind::kWay ? 1u : 0u);
  }
}

TEST(AcceleratorRequest, OfAnotherLengthIsRefused) {
  for (const Kind kind : {Kind::kHello, Kind::kLoad, Kind::kJoin, Kind::kLeave, Kind::kMemory, Kind::kBind, Kind::kWay, Kind::kForget}) {
    AcceleratorRequest request;
    request.kind = kind;
    const std::string message = request.encode();
    AcceleratorRequest read;
    for (std::size_t length = 0; length < message.size(); ++length) EXPECT_FALSE(AcceleratorRequest::decode(message.substr(0, length), read).ok());
    EXPECT_FALSE(AcceleratorRequest::decode(message + '\0', read).ok());
  }
}

TEST(AcceleratorRequest, SaysWhatABindingTakes) {
  AcceleratorRequest read;
  ASSERT_TRUE(AcceleratorRequest::decode(bind().encode(), read).ok());
  EXPECT_EQ(read.network, bind().network);
  EXPECT_EQ(read.address, bind().address);
  EXPECT_EQ(read.port, bind().port);
  EXPECT_EQ(read.in_pieces, bind().in_pieces);
}

TEST(AcceleratorRequest, OfAnotherKindOrVersionIsRefusedWithAWord) {
  AcceleratorRequest read;
  std::string message = AcceleratorRequest().encode();
  message[6] = 9;
  EXPECT_STREQ(AcceleratorRequest::decode(message, read).text(), "there is no request of kind 9");
  message = AcceleratorRequest().encode();
  message[4] = 1;
  EXPECT_STREQ(AcceleratorRequest::decode(message, read).text(), "the rank speaks version 1, the accelerator 3: both must be of one release");
  message = AcceleratorRequest().encode();
  message[0] = 'l';
  EXPECT_FALSE(AcceleratorRequest::decode(message, read).ok());
  EXPECT_FALSE(AcceleratorRequest::decode(AcceleratorAnswer().encode(), read).ok());
}

TEST(AcceleratorAnswer, ComesOutAsItWentIn) {
  AcceleratorAnswer read;
  ASSERT_TRUE(AcceleratorAnswer::decode(AcceleratorAnswer{true, 2, ""}.encode(), read).ok());
  EXPECT_TRUE(read.granted);
  EXPECT_EQ(read.descriptors, 2);
  ASSERT_TRUE(AcceleratorAnswer::decode(AcceleratorAnswer{false, 0, "no more"}.encode(), read).ok());
  EXPECT_FALSE(read.granted);
  EXPECT_EQ(read.text, "no more");
}

TEST(AcceleratorAnswer, OfALaterVersionIsUnderstood) {
  std::string message = AcceleratorAnswer{false, 0, "the accelerator speaks version 3"}.encode();
  message[4] = 3;
  AcceleratorAnswer read;
  ASSERT_TRUE(AcceleratorAnswer::decode(message, read).ok());
  EXPECT_EQ(read.text, "the accelerator speaks version 3");
}

TEST(AcceleratorAnswer, ItsTextIsBoundedAndPrintable) {
  AcceleratorAnswer read;
  ASSERT_TRUE(AcceleratorAnswer::decode(AcceleratorAnswer{false, 0, std::string(5000, 'x')}.encode(), read).ok());
  EXPECT_EQ(read.text.size(), AcceleratorAnswer::kMaxText);
  ASSERT_TRUE(AcceleratorAnswer::decode(AcceleratorAnswer{false, 0, "a\x1b[2J\nb\xff"}.encode(), read).ok());
  EXPECT_EQ(read.text, "a?[2J?b?");
  EXPECT_FALSE(AcceleratorAnswer::decode(AcceleratorAnswer().encode() + std::string(AcceleratorAnswer::kMaxText + 1, 'x'), read).ok());
}

TEST(AcceleratorAnswer, ThatNoServiceGivesIsRefused) {
  AcceleratorAnswer read;
  EXPECT_FALSE(AcceleratorAnswer::decode(AcceleratorAnswer{true, AcceleratorAnswer::kMaxDescriptors + 1, ""}.encode(), read).ok());
  EXPECT_FALSE(AcceleratorAnswer::decode(AcceleratorAnswer{false, 1, ""}.encode(), read).ok());
  std::string message = AcceleratorAnswer().encode();
  message[8] = 2;
  EXPECT_FALSE(AcceleratorAnswer::decode(message, read).ok());
  EXPECT_FALSE(AcceleratorAnswer::decode(AcceleratorRequest().encode(), read).ok());
  EXPECT_FALSE(AcceleratorAnswer::decode("", read).ok());
}

}  // namespace
}  // namespace lapwing::wire::tests
