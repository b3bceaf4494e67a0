#include "base/settings.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace lapwing {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

Status load(Settings& settings, std::vector<std::string> variables) {
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  return settings.load(environment.data());
}

TEST(Settings, HasTheDefaultsFromBirth) {
  const Settings settings;
  EXPECT_EQ(settings.transports, (std::vector<std::string>{"self", "shm", "tcp"}));
  EXPECT_EQ(settings.progress, Progress::kThread);
  EXPECT_EQ(settings.eager_limit_tcp, 64u << 10);
  EXPECT_EQ(settings.unexpected_limit, 256u << 20);
  EXPECT_EQ(settings.connect_timeout, milliseconds(10000));
  EXPECT_FALSE(settings.spin.has_value());
  EXPECT_TRUE(settings.tcp_ports.any());
  EXPECT_TRUE(settings.tcp_interface.empty());
  EXPECT_EQ(settings.key_file, "~/.config/lapwing/key");
}

TEST(Settings, EveryDefaultIsWellFormed) {
  const Settings settings;
  for (const SettingDescription& entry : settings.describe()) {
    EXPECT_EQ(entry.source, SettingSource::kDefault);
    Settings again;
    const Status status = load(again, {entry.name + "=" + entry.value_text});
    EXPECT_TRUE(status.ok()) << status.text();
  }
}

TEST(Settings, TuningValuesAreReadAsAList) {
  Settings settings;
  ASSERT_TRUE(load(settings, {"LAPWING_TUNE=engine.earned_share=50,engine.turns_per_clock=4"}).ok());
  EXPECT_EQ(settings.tune.engine_earned_share, 50u);
  EXPECT_EQ(settings.tune.engine_turns_per_clock, 4u);
  const Status status = load(settings, {"LAPWING_TUNE=engine.earned_share=50,engine.nothing=1"});
  EXPECT_NE(std::string(status.text()).find("lapwing info --tuning"), std::string::npos) << status.text();
}

TEST(Settings, ReadsTheEnvironment) {
  Settings settings;
  const Status status =
      load(settings, {"HOME=/root", "LAPWING_TRANSPORTS=tcp", "LAPWING_PROGRESS=polling", "LAPWING_EAGER_LIMIT_TCP=1M",
                      "LAPWING_SHM_RING=4096", "LAPWING_TCP_INTERFACE=eth0,10.0.0.0/8", "LAPWING_TCP_PORTS=20000-20010",
                      "LAPWING_CONNECT_TIMEOUT=0.25", "LAPWING_SPIN=40", "LAPWING_STATS=1", "LAPWING_SINGLE_COPY=off",
                      "LAPWING_LOG=debug", "LAPWING_WIRE=sealed", "LAPWING_KEY_FILE="});
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(settings.transports, std::vector<std::string>{"tcp"});
  EXPECT_EQ(settings.progress, Progress::kPolling);
  EXPECT_EQ(settings.eager_limit_tcp, 1u << 20);
  EXPECT_TRUE(settings.is_given("eager_limit_tcp"));
  EXPECT_FALSE(settings.is_given("eager_limit_shm"));
  EXPECT_EQ(settings.shm_ring, 4096u);
  EXPECT_EQ(settings.tcp_interface, (std::vector<std::string>{"eth0", "10.0.0.0/8"}));
  EXPECT_EQ(settings.tcp_ports.first, 20000);
  EXPECT_EQ(settings.tcp_ports.last, 20010);
  EXPECT_EQ(settings.connect_timeout, milliseconds(250));
  EXPECT_EQ(settings.spin, microseconds(40));
  EXPECT_TRUE(settings.stats);
  EXPECT_EQ(settings.single_copy, Choice::kOff);
  EXPECT_EQ(settings.log, LogLevel::kDebug);
  EXPECT_EQ(settings.wire, Protection::kSealed);
  EXPECT_EQ(settings.key_file, "");
}

TEST(Settings, RemembersWhereAValueCameFrom) {
  Settings settings;
  ASSERT_TRUE(load(settings, {"LAPWING_SPIN=0"}).ok());
  for (const SettingDescription& entry : settings.describe()) {
    EXPECT_EQ(entry.source == SettingSource::kEnvironment, entry.name == "LAPWING_SPIN") << entry.name;
  }
}

TEST(Settings, NamesTheNearestSettingForAnUnknownOne) {
  Settings settings;
  const Status status = load(settings, {"LAPWING_PROGES=thread"});
  ASSERT_FALSE(status.ok());
  EXPECT_STREQ(status.text(),
               "LAPWING_PROGES is not a setting; did you mean LAPWING_PROGRESS? `lapwing info --settings` lists all");
}

TEST(Settings, NamesNoneWhereNoneIsLikeIt) {
  Settings settings;
  EXPECT_STREQ(load(settings, {"LAPWING_FOO=1"}).text(), "LAPWING_FOO is not a setting; `lapwing info --settings` lists all");
}

TEST(Settings, SaysWhatIsAllowed) {
  const char* malformed[] = {"LAPWING_TRANSPORTS=",
                             "LAPWING_TRANSPORTS=tcp,,shm",
                             "LAPWING_PROGRESS=Thread",
                             "LAPWING_SHM_RING=64q",
                             "LAPWING_SHM_RING=",
                             "LAPWING_SHM_RING=-1",
                             "LAPWING_SHM_RING=k",
                             "LAPWING_SHM_RING=99999999999G",
                             "LAPWING_EAGER_LIMIT_SHM=65M",
                             "LAPWING_EAGER_LIMIT_TCP=1048577",
                             "LAPWING_TCP_INTERFACE=a,",
                             "LAPWING_TCP_INTERFACE=eth0,1.2.3.4/33",
                             "LAPWING_TCP_INTERFACE=1.2.3.4/",
                             "LAPWING_TCP_INTERFACE=fe80::1/129",
                             "LAPWING_TCP_PORTS=10",
                             "LAPWING_TCP_PORTS=10-9",
                             "LAPWING_TCP_PORTS=1-65536",
                             "LAPWING_ETHER_FRAMING=tcp",
                             "LAPWING_ETHER_RULES=on",
                             "LAPWING_ETHER_PORT=",
                             "LAPWING_ETHER_PORT=0",
                             "LAPWING_ETHER_PORT=65281",
                             "LAPWING_ETHER_PORT=0x6a2e",
                             "LAPWING_CONNECT_TIMEOUT=0",
                             "LAPWING_CONNECT_TIMEOUT=nan",
                             "LAPWING_CONNECT_TIMEOUT=1e99",
                             "LAPWING_SPIN=-1",
                             "LAPWING_SPIN=1.5",
                             "LAPWING_STATS=yes",
                             "LAPWING_LOG=loud",
                             "LAPWING_WIRE=",
                             "LAPWING_SINGLE_COPY=maybe"};
  for (const char* variable : malformed) {
    Settings settings;
    const Status status = load(settings, {variable});
    ASSERT_FALSE(status.ok()) << variable;
    EXPECT_NE(std::string(status.text()).find("it takes"), std::string::npos) << status.text();
  }
}

TEST(Settings, PassesOverWhatIsNotASetting) {
  Settings settings;
  EXPECT_TRUE(load(settings, {"LAPWING_INTERNAL_TOKEN=x", "LAPWING_CC=clang", "LAPWING_ONLY_BUILT=1", "LAPWINGS=2",
                              "XLAPWING_A=1"})
                  .ok());
}

}  // namespace
}  // namespace lapwing
