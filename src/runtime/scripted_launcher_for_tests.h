// A launcher that follows a script: a test says what it answers, line by line.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "wire/pmi.h"

namespace lapwing::runtime {

// Answers the n-th line it reads with the n-th answer, then closes the connection. What it read is in heard().
class ScriptedLauncher {
 public:
  explicit ScriptedLauncher(std::vector<std::string> answers) : answers_(std::move(answers)) {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptedLauncher() { join(); }
  ScriptedLauncher(const ScriptedLauncher&) = delete;
  ScriptedLauncher& operator=(const ScriptedLauncher&) = delete;

  int client_fd() const { return ends_[1]; }
  const std::vector<std::string>& heard() {
    join();
    return heard_;
  }

 private:
  void serve() {
    wire::PmiLineBuffer input;
    for (const std::string& answer : answers_) {
      std::string line;
      while (!input.next(line)) {
        char bytes[4096];
        const ssize_t count = ::read(ends_[0], bytes, sizeof bytes);
        if (count <= 0 || !input.append({bytes, static_cast<std::size_t>(count)}).ok()) {
          ::close(ends_[0]);
          return;
        }
      }
      heard_.push_back(line);
      EXPECT_EQ(::write(ends_[0], answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
    }
    ::close(ends_[0]);
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  std::vector<std::string> answers_;
  std::vector<std::string> heard_;
  int ends_[2] = {-1, -1};
  std::thread thread_;
};

// The greeting of an mpiexec that knows all shortcuts, and what follows.
inline std::vector<std::string> shortcuts_and(const std::vector<std::string>& more) {
  std::vector<std::string> all = {
      "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0 lapwing=2\n",
      "cmd=lapwing_welcome vallen_max=16384 appnum=1 size=9 kvsname=kvs_7 secret=" + std::string(31, 's') + "%20\n"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace lapwing::runtime
