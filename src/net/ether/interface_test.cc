#include "net/ether/interface.h"

#include <gtest/gtest.h>

namespace lapwing::net::ether::tests {
namespace {

Contact contact() {
  return {{2, 0, 0, 0, 0, 1}, 3, 1500, "192.0.2.0/24", true, {0xc0000207, 27185}};
}

// What is on the wire (docs/wire-format.md).
TEST(Contact, IsThisText) {
  EXPECT_EQ(encode_contact(contact()), "02:00:00:00:00:01,3,1500,192.0.2.0/24,raw,192.0.2.7:27185");
  EXPECT_EQ(encode_contact({{2, 0, 0, 0, 0, 1}, 0, 9000, "-", false, {}}), "02:00:00:00:00:01,0,9000,-,-,-");
}

TEST(Contact, ComesOutAsItWentIn) {
  for (const bool raw : {true, false}) {
    for (const wire::UdpAddress& udp : {wire::UdpAddress{}, contact().udp}) {
      Contact written = contact(), read;
      written.raw = raw;
      written.udp = udp;
      ASSERT_TRUE(decode_contact(encode_contact(written), read));
      EXPECT_EQ(encode_contact(read), encode_contact(written));
    }
  }
}

TEST(Contact, AnythingElseIsNone) {
  Contact read;
  for (const char* text :
       {"", "02:00:00:00:00:01,0,1500,-", "02:00:00:00:00:01,0,1500,-,raw", "02:00:00:00:00:01,0,1500,-,udp,-", "02:00:00:00:00:01,0,1500,-,raw,-,-",
        "02:00:00:00:00,0,1500,-,raw,-", "02:00:00:00:00:01,65536,1500,-,raw,-", "02:00:00:00:00:01,0,65537,-,raw,-",
        "02:00:00:00:00:01,0,1500,-,raw,1.2.3.4"})
    EXPECT_FALSE(decode_contact(text, read)) << text;
}

}  // namespace
}  // namespace lapwing::net::ether::tests
