#include "base/log.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>

namespace lapwing {
namespace {

std::atomic<LogLevel> current_level{LogLevel::kWarn};
std::atomic<int> current_rank{-1};

void write_line(const char* format, va_list arguments) noexcept {
  const int saved_errno = errno;
  char line[1024];
  const int rank = current_rank.load(std::memory_order_relaxed);
  const int head = rank < 0 ? std::snprintf(line, sizeof line, "lapwing: ")
                            : std::snprintf(line, sizeof line, "lapwing: rank %d: ", rank);
  const std::size_t room = sizeof line - static_cast<std::size_t>(head);
  const int body = std::vsnprintf(line + head, room, format, arguments);
  // A longer text is cut; the newline always has its place.
  const std::size_t written = std::min(body < 0 ? 0 : static_cast<std::size_t>(body), room - 1);
  const std::size_t length = std::min(static_cast<std::size_t>(head) + written, sizeof line - 1);
  line[length] = '\n';
  // Nothing sensible can be done when stderr is closed.
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, line, length + 1);
  errno = saved_errno;
}

}  // namespace

void set_log_level(LogLevel level) noexcept {
  current_level.store(level, std::memory_order_relaxed);
}
void set_log_rank(int rank) noexcept {
  current_rank.store(rank, std::memory_order_relaxed);
}
bool log_enabled(LogLevel level) noexcept {
  return level <= current_level.load(std::memory_order_relaxed);
}

#define LAPWING_DEFINE_LOG(function, level)         \
  void function(const char* format, ...) noexcept { \
    if (!log_enabled(level)) return;                \
    va_list arguments;                              \
    va_start(arguments, format);                    \
    write_line(format, arguments);                  \
    va_end(arguments);                              \
  }

LAPWING_DEFINE_LOG(log_error, LogLevel::kError)
LAPWING_DEFINE_LOG(log_warn, LogLevel::kWarn)
LAPWING_DEFINE_LOG(log_info, LogLevel::kInfo)
LAPWING_DEFINE_LOG(log_debug, LogLevel::kDebug)

}  // namespace lapwing
