// Work that blocks, and is not the event thread's: what loads a program into the kernel, or waits for a file or a name. While it blocks,
// messages go on moving.
//
// A piece of work has two parts. The first runs on the executor's thread, without the endpoint's lock, and touches nothing that the lock
// guards. The second runs on the same thread with the lock held, exactly once, as if an application thread had called: what it posts or
// completes moves at once. Pieces run one after the other, in the order in which they were submitted.
//
// The thread lives as long as there is work. To start one costs some 30 us, which is little beside anything that belongs here, and a
// process without such work has no thread more.
#pragma once

#include <pthread.h>

#include <mutex>

#include "base/intrusive_list.h"
#include "base/status.h"

namespace lapwing::engine {

class Engine;

struct WorkTag;

// Owned by its submitter until the second part has begun, or the executor was stopped.
class Work : public ListNode<WorkTag> {
 public:
  using Part = void (*)(Work& work) noexcept;
  Work(Part block, Part finish) noexcept : block_(block), finish_(finish) {}

 private:
  friend class Executor;
  Part block_, finish_;
};

class Executor {
 public:
  explicit Executor(Engine& engine) noexcept : engine_(engine) {}
  ~Executor() { stop(); }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // With the endpoint's lock held, or before the engine starts. An error: the system gives no thread, and `work` does not run.
  Status submit(Work& work) noexcept;
  // Without the endpoint's lock: waits for the piece that runs, both parts of it; those that have not begun are dropped.
  void stop() noexcept;
  // Work that has not begun.
  bool has_waiting() noexcept {
    const std::lock_guard guard(mutex_);
    return !waiting_.empty();
  }

 private:
  static void* main(void* executor) noexcept;
  Work* next() noexcept;
  void join() noexcept;

  Engine& engine_;
  std::mutex mutex_;  // taken with the endpoint's lock held, never the other way round
  IntrusiveList<Work, WorkTag> waiting_;
  bool runs_ = false;    // the thread will look for work once more
  bool exists_ = false;  // ... is to be joined
  pthread_t thread_{};
};

}  // namespace lapwing::engine
