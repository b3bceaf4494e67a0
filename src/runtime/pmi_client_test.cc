// The client against a scripted launcher: each test says what the other side answers, line by line.
#include "runtime/pmi_client.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "runtime/scripted_launcher_for_tests.h"

namespace lapwing::runtime {
namespace {

const std::vector<std::string> kGreeting = {"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
                                            "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=100\n",
                                            "cmd=appnum appnum=2\n", "cmd=universe_size size=8\n",
                                            "cmd=my_kvsname kvsname=kvs_7\n"};

std::vector<std::string> greeting_and(const std::vector<std::string>& more) {
  std::vector<std::string> all = kGreeting;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(PmiClient, LearnsAboutItsJob) {
  ScriptedLauncher launcher(kGreeting);
  PmiClient client;
  const Status status = client.connect(launcher.client_fd(), 3, 4);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(client.rank(), 3);
  EXPECT_EQ(client.size(), 4);
  EXPECT_EQ(client.appnum(), 2);
  EXPECT_EQ(client.universe_size(), 8);
  EXPECT_EQ(launcher.heard()[0], "cmd=init pmi_version=1 pmi_subversion=1");
}

TEST(PmiClient, SplitsLongValues) {
  const std::string done = "cmd=put_result rc=0 msg=success\n";
  ScriptedLauncher launcher(greeting_and({done, done, done, done}));
  PmiClient client;
  ASSERT_TRUE(client.connect(launcher.client_fd(), 0, 1).ok());
  ASSERT_TRUE(client.put("short", "a b%").ok());
  ASSERT_TRUE(client.put("long", std::string(150, 'x')).ok());
  const std::vector<std::string> heard = launcher.heard();
  EXPECT_EQ(heard[5], "cmd=put kvsname=kvs_7 key=short value=a%20b%25");
  EXPECT_EQ(heard[6], "cmd=put kvsname=kvs_7 key=long value=%pieces:3:" + std::string(67, 'x'));
  EXPECT_EQ(heard[7], "cmd=put kvsname=kvs_7 key=long.1 value=" + std::string(67, 'x'));
  EXPECT_EQ(heard[8], "cmd=put kvsname=kvs_7 key=long.2 value=" + std::string(16, 'x'));
}

TEST(PmiClient, JoinsLongValues) {
  ScriptedLauncher launcher(greeting_and(
      {"cmd=get_result rc=0 msg=success value=%pieces:2:a%2\n", "cmd=get_result rc=0 msg=success value=0b\n"}));
  PmiClient client;
  ASSERT_TRUE(client.connect(launcher.client_fd(), 0, 1).ok());
  std::string value;
  const Status status = client.get("long", value);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(value, "a b");
}

TEST(PmiClient, AsksForEverythingAtOnceWhereItCan) {
  std::vector<std::string> answers =
      greeting_and({"cmd=lapwing_value index=0 value=zero\ncmd=lapwing_value index=1 value=%pieces:2:o\n",
                    "cmd=get_result rc=0 value=%pieces:2:o\n", "cmd=get_result rc=0 value=ne\n"});
  answers[0] = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0 lapwing=1\n";
  ScriptedLauncher launcher(answers);
  PmiClient client;
  ASSERT_TRUE(client.connect(launcher.client_fd(), 0, 2).ok());
  std::vector<std::string> values;
  const Status status = client.get_all("card", 2, values);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(values, (std::vector<std::string>{"zero", "one"}));
  EXPECT_EQ(launcher.heard()[5], "cmd=lapwing_getall prefix=card count=2");
}

TEST(PmiClient, TakesEveryShortcut) {
  ScriptedLauncher launcher(shortcuts_and({"cmd=barrier_out rc=0\n", "cmd=finalize_ack rc=0\n"}));
  PmiClient client;
  const Status status = client.connect(launcher.client_fd(), 3, 4);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(client.appnum(), 1);
  EXPECT_EQ(client.universe_size(), 9);
  EXPECT_EQ(client.secret(), std::string(31, 's') + " ");
  int table = 0;
  ASSERT_TRUE(client.exchange("card-", "a b", table).ok());
  EXPECT_EQ(table, -1);  // this launcher has no table after all: get_all() has to do
  ASSERT_TRUE(client.finalize().ok());
  const std::vector<std::string> expected = {"cmd=init pmi_version=1 pmi_subversion=1", "cmd=lapwing_hello",
                                             "cmd=lapwing_exchange prefix=card- value=a%20b", "cmd=finalize"};
  EXPECT_EQ(launcher.heard(), expected);
}

TEST(PmiClient, TellsOfLossesWhereTheLauncherWantsToKnow) {
  for (const bool wants : {false, true}) {
    std::vector<std::string> answers = shortcuts_and({""});
    if (wants) answers[0].replace(answers[0].find("lapwing=2"), 9, "lapwing=3");
    ScriptedLauncher launcher(answers);
    PmiClient client;
    ASSERT_TRUE(client.connect(launcher.client_fd(), 3, 4).ok());
    EXPECT_EQ(client.counts_the_living(), wants);
    if (!wants) continue;
    const Status told = client.tell_lost(2);
    ASSERT_TRUE(told.ok()) << told.text();
    EXPECT_EQ(launcher.heard().at(2), "cmd=lapwing_lost rank=2");
  }
}

TEST(PmiClient, LeavesTheUsersTextOfAnErrorToALauncherThatShowsIt) {
  for (const bool shows : {false, true}) {
    std::vector<std::string> answers = shortcuts_and({""});
    if (shows) answers[1].insert(answers[1].find(" secret"), " shows_errors=1");
    ScriptedLauncher launcher(answers);
    PmiClient client;
    ASSERT_TRUE(client.connect(launcher.client_fd(), 3, 4).ok());
    EXPECT_EQ(client.shows_errors(), shows);
    EXPECT_FALSE(client.abort_by_error(6, std::string(wire::kPmiMaxLine / 3, '\n'), -1, false)) << "longer than a line, escaped";
    EXPECT_TRUE(shows ? client.abort_by_error(6, "a\n  b 100%\n", 2, true) : client.abort(6, "a b"));
    EXPECT_EQ(launcher.heard().at(2), shows ? "cmd=abort exitcode=6 lapwing_error=a%0a%20%20b%20100%25%0a lapwing_blamed=2 lapwing_heard=1"
                                            : "cmd=abort exitcode=6 lapwing_text=a%20b");
  }
}

TEST(PmiClient, SaysWhenAnErrorCouldNotBeTold) {
  ScriptedLauncher launcher(shortcuts_and({}));
  PmiClient client;
  ASSERT_TRUE(client.connect(launcher.client_fd(), 0, 1).ok());
  launcher.heard();
  EXPECT_FALSE(client.abort_by_error(6, "a\n", -1, false));
  EXPECT_FALSE(client.abort(6, "a"));
}

TEST(PmiClient, TellsAValueTooLongForTheShortcutInPieces) {
  std::vector<std::string> answers(3, "cmd=put_result rc=0 msg=success\n");
  answers.push_back("cmd=barrier_out rc=0\n");
  ScriptedLauncher launcher(shortcuts_and(answers));
  PmiClient client;
  ASSERT_TRUE(client.connect(launcher.client_fd(), 3, 4).ok());
  int table = 0;
  const Status status = client.exchange("card-", std::string(40000, 'x'), table);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(table, -1);
  EXPECT_EQ(launcher.heard()[2].rfind("cmd=put kvsname=kvs_7 key=card-3 value=%pieces:3:", 0), 0u);
}

TEST(PmiClient, RefusesHalfAWelcome) {
  for (const char* welcome : {"cmd=lapwing_welcome\n", "cmd=lapwing_welcome vallen_max=2 appnum=0 size=1 kvsname=k secret=\n"}) {
    std::vector<std::string> answers = shortcuts_and({});
    answers[1] = welcome;
    ScriptedLauncher launcher(answers);
    PmiClient client;
    EXPECT_FALSE(client.connect(launcher.client_fd(), 0, 1).ok()) << welcome;
  }
}

TEST(PmiClient, SaysWhenTheLauncherHasGone) {
  ScriptedLauncher launcher(kGreeting);
  PmiClient client;
  ASSERT_TRUE(client.connect(launcher.client_fd(), 0, 1).ok());
  launcher.heard();
  const Status status = client.fence();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(std::string(status.text()).find("launcher has gone"), std::string::npos) << status.text();
}

TEST(PmiClient, BearsNonsense) {
  const std::string answers[] = {
      "hello\n", "cmd=barrier_out\n",          "cmd=response_to_init rc=-1\n",           "cmd=response_to_init\n",
      "\n",      std::string("cmd=a\0b\n", 8), std::string(wire::kPmiMaxLine + 10, 'x'), "cmd=response_to_init rc=0 "};
  for (const std::string& answer : answers) {
    ScriptedLauncher launcher({answer});
    PmiClient client;
    EXPECT_FALSE(client.connect(launcher.client_fd(), 0, 1).ok()) << answer.substr(0, 40);
  }
}

TEST(PmiClient, RefusesDamagedPieces) {
  for (const char* value : {"%pieces:", "%pieces:0:a", "%pieces:x:a", "%pieces:99999:a", "%pieces:2"}) {
    ScriptedLauncher launcher(greeting_and({std::string("cmd=get_result rc=0 value=") + value + "\n"}));
    PmiClient client;
    ASSERT_TRUE(client.connect(launcher.client_fd(), 0, 1).ok());
    std::string ignored;
    EXPECT_FALSE(client.get("key", ignored).ok()) << value;
  }
}

TEST(PmiClient, ReportsAMissingValue) {
  ScriptedLauncher launcher(greeting_and({"cmd=get_result rc=-1 msg=key_card1_not_found value=unknown\n"}));
  PmiClient client;
  ASSERT_TRUE(client.connect(launcher.client_fd(), 0, 1).ok());
  std::string value;
  const Status status = client.get("card1", value);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(std::string(status.text()).find("card1"), std::string::npos);
}

// The launcher answers only when it has seen the word.
TEST(PmiClient, SaysThatTheLauncherIsSilent) {
  int ends[2], log[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ASSERT_EQ(::pipe(log), 0);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(log[1], STDERR_FILENO);
  std::string said;
  std::thread launcher([&] {
    pollfd word{log[0], POLLIN, 0};
    char bytes[512];
    if (::poll(&word, 1, 20'000) == 1) said.assign(bytes, static_cast<std::size_t>(std::max<ssize_t>(::read(log[0], bytes, sizeof bytes), 0)));
    for (const std::string& answer : kGreeting) EXPECT_EQ(::write(ends[0], answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
  });
  PmiClient client(std::chrono::milliseconds(0));
  const Status status = client.connect(ends[1], 0, 2);
  launcher.join();
  ::dup2(before, STDERR_FILENO);
  for (const int fd : {before, log[0], log[1], ends[0]}) ::close(fd);
  EXPECT_TRUE(status.ok()) << status.text();
  EXPECT_NE(said.find("rank 0 has waited 0 s in MPI_Init for an answer of the launcher"), std::string::npos) << said;
}

}  // namespace
}  // namespace lapwing::runtime
