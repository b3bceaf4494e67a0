// The job this process belongs to: its place, its secret, and the way to the launcher.
//
// join() and exchange() are the only steps of start-up that wait for other ranks. Used by the thread that initializes,
// finalizes or aborts; not part of the data path.
#pragma once

#include <string>

#include "base/status.h"
#include "runtime/pmi_client.h"
#include "wire/card_book.h"

namespace lapwing::runtime {

class Job {
 public:
  // Learns rank and size from the launcher. Without one this process is a job of its own (singleton); with `alone`, whatever
  // launcher there is.
  Status join(char** environment, bool alone);
  // Gives `mine` to all ranks and returns everybody's.
  Status exchange(const wire::Card& mine, wire::CardBook& cards);
  // Waits for all ranks, through the launcher, asleep: one message and one wake-up per rank.
  Status fence();
  // The same, and brings everybody's text to rank 0. An error there when some rank has only called fence().
  Status fence_and_tell(const std::string& mine, wire::CardBook& all);
  // Says goodbye to the launcher.
  Status leave();
  // Ends the job: tells the launcher, which ends the other ranks, and exits with `code`.
  [[noreturn]] void abort(int code, const char* text) noexcept;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  bool singleton() const noexcept { return !launched_; }
  // -1 when unknown.
  int appnum() const noexcept { return launched_ ? pmi_.appnum() : -1; }
  int universe_size() const noexcept { return launched_ ? pmi_.universe_size() : -1; }

  const std::string& host_name() const noexcept { return host_name_; }
  const std::string& host_identity() const noexcept { return host_identity_; }
  // 32 bytes, the same on every rank, known to nobody else: it travels through the launcher only. Empty for a singleton.
  const std::string& secret() const noexcept { return secret_; }

  // Whether the launcher promised that all ranks run on this host.
  bool single_host() const noexcept { return local_size_ == size_; }
  // Ranks on this host as the launcher says; 0: it did not say.
  int launcher_local_size() const noexcept { return local_size_; }
  // More ranks than cores, all on one host, as our own mpiexec tells every rank alike. Elsewhere nobody could know it of all.
  bool crowded() const noexcept { return launched_ && pmi_.crowded(); }
  // Whether this process is one of more ranks than there are cores for them.
  bool oversubscribed(int local_ranks) const noexcept;

 private:
  Status share_secret();
  Status share(const char* key, const std::string& mine, bool read, wire::CardBook& all);

  PmiClient pmi_;
  bool launched_ = false;
  bool bound_ = false;  // the launcher gave this rank cores of its own
  int rank_ = 0;
  int size_ = 1;
  int local_size_ = 0;
  std::string host_name_, host_identity_, secret_;
};

}  // namespace lapwing::runtime
