// A thread of the library's own. Signals belong to the application's threads: it blocks them all.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace lapwing::engine {

// 0, or the error number.
inline int start_quiet_thread(pthread_t& thread, void* (*main)(void*), void* argument) noexcept {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // which the new thread inherits
  const int error = pthread_create(&thread, nullptr, main, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

}  // namespace lapwing::engine
