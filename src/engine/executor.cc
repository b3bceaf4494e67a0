#include "engine/executor.h"

#include <sys/prctl.h>


#include "base/delay_point.h"
#include "base/no_resource.h"
#include "engine/engine.h"
#include "engine/quiet_thread.h"

namespace lapwing::engine {

Status Executor::submit(Work& work) noexcept {
  const std::lock_guard guard(mutex_);
  if (!runs_) {
    join();  // it has seen that nothing waits, and takes no lock any more
    const int error = start_quiet_thread(thread_, &Executor::main, this);
    if (error != 0) return no_thread("a thread", error);
    runs_ = exists_ = true;
  }
  waiting_.push_back(work);
  return {};
}

void Executor::stop() noexcept {
  {
    const std::lock_guard guard(mutex_);
    while (!waiting_.empty()) waiting_.pop_front();
  }
  join();
}

// With the mutex held where a thread may submit meanwhile.
void Executor::join() noexcept {
  if (exists_) pthread_join(thread_, nullptr);
  exists_ = false;
}

Work* Executor::next() noexcept {
  const std::lock_guard guard(mutex_);
  runs_ = !waiting_.empty();
  return runs_ ? &waiting_.pop_front() : nullptr;
}

void* Executor::main(void* executor) noexcept {
  prctl(PR_SET_NAME, "lapwing-work");
  auto& self = *static_cast<Executor*>(executor);
  while (Work* work = self.next()) {
    work->block_(*work);
    LAPWING_DELAY_POINT("executor.finish");
    Visit visit(self.engine_);
    work->finish_(*work);
  }
  return nullptr;
}

}  // namespace lapwing::engine
