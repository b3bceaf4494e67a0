#include "tool/bench.h"

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

namespace lapwing::launch {
namespace {

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

std::string folder_of(const std::string& path) { return path.substr(0, path.find_last_of('/')); }

}  // namespace

int run_bench(const std::vector<std::string>& arguments) {
  const std::string tool = folder_of(folder_of(own_path())) + "/share/lapwing/bench/lapwing_bench";
  if (access((tool + "/__main__.py").c_str(), R_OK) != 0) {
    std::fprintf(stderr, "lapwing: the measuring tool is not at %s; was Lapwing installed?\n", tool.c_str());
    return 2;
  }
  std::vector<char*> words;
  for (const char* word : {"python3", tool.c_str()}) words.push_back(const_cast<char*>(word));
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  std::fprintf(stderr, "lapwing: bench needs python3, which cannot be started (%s); on Debian and Ubuntu: apt-get install python3\n",
               std::strerror(errno));
  return 2;
}

}  // namespace lapwing::launch
