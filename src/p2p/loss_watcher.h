// What has to know when a process is lost beyond the messages that name it: an operation of several processes, which cannot be carried out any more,
// though this process may only have to do with others of them, that wait themselves or have given up.
#pragma once

#include "base/intrusive_list.h"
#include "base/process_id.h"
#include "base/status.h"

namespace lapwing::p2p {

class LossWatcher : public ListNode<LossWatcher> {
 public:
  // Once for each process that is lost, after the messages to and from it have ended; not for one that has finalized. May end the watch
  // of this watcher, and of no other.
  virtual void on_process_lost(ProcessId process, const Status& why) noexcept = 0;

 protected:
  ~LossWatcher() = default;
};

}  // namespace lapwing::p2p
