// Messages to the user's terminal: "lapwing: rank 3: text\n" on stderr, one write(2) per message so that the lines of
// several ranks do not mix.
//
// The level and the rank are process-wide (statics of log.cc): a message must be possible from every thread, before MPI_Init and
// after MPI_Finalize. All functions may be called from any thread.
#pragma once

namespace lapwing {

enum class LogLevel { kError, kWarn, kInfo, kDebug };

void set_log_level(LogLevel level) noexcept;
void set_log_rank(int rank) noexcept;

// True when messages of this level are printed; ask before composing an expensive one.
bool log_enabled(LogLevel level) noexcept;

// The text follows printf and has no trailing newline. errno is left as it was.
void log_error(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));
void log_warn(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));
void log_info(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));
void log_debug(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));

}  // namespace lapwing
