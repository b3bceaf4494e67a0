// System calls on descriptors of Lapwing's own that cannot fail. One that fails all the same is a bug of ours, unless a descriptor is not open any
// more: then the program has closed it, and is told so. Aborts in both cases.
#pragma once

namespace lapwing {

[[noreturn]] void call_failed(const char* file, int line, const char* call) noexcept;

// Checked in every build.
#define LAPWING_CHECK_CALL(call)                                                             \
  do {                                                                                       \
    if (__builtin_expect((call) != 0, 0)) ::lapwing::call_failed(__FILE__, __LINE__, #call); \
  } while (false)

}  // namespace lapwing
