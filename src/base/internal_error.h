// One place for our own bugs: prints what was violated and where, then aborts. Never used for a user's argument or a
// peer's bytes; those get a Status.
#pragma once

namespace lapwing {

[[noreturn]] void internal_error(const char* file, int line, const char* what) noexcept;

// Checked in every build; keep the condition cheap.
#define LAPWING_CHECK(condition)                                                                      \
  do {                                                                                                \
    if (__builtin_expect(!(condition), 0)) ::lapwing::internal_error(__FILE__, __LINE__, #condition); \
  } while (false)

}  // namespace lapwing
