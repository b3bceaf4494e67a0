#include "base/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace lapwing {

std::string read_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string contents;
  char piece[4096];
  ssize_t bytes = 0;
  do {
    bytes = ::read(file, piece, sizeof piece);
    if (bytes > 0) contents.append(piece, static_cast<std::size_t>(bytes));
  } while (bytes > 0 || (bytes < 0 && errno == EINTR));
  ::close(file);
  return bytes == 0 ? contents : std::string();
}

}  // namespace lapwing
