// The job this process belongs to: its place, its secret, and the way to the launcher.
//
// join() and exchange() are the only steps of start-up that wait for other ranks. Used by the thread that initializes,
// finalizes or aborts; not part of the data path.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "runtime/launcher.h"
#include "wire/card_book.h"

namespace lapwing::runtime {

class Job {
 public:
  // Finds the launcher and joins its job; without one, or with `alone`, a job of its own (singleton).
  Status join(char** environment, bool alone);
  // By this launcher.
  Status join(std::unique_ptr<Launcher> launcher);
  // Gives `mine` to all ranks and returns those of all.
  Status exchange(const wire::Card& mine, wire::CardBook& cards);
  // Waits for all ranks, through the launcher, asleep: one message and one wake-up per rank.
  Status fence();
  Status tell_lost(int rank) { return launcher_->tell_lost(rank); }
  bool fence_counts_the_living() const noexcept { return launcher_->fence_counts_the_living(); }
  // The same, and brings the texts of all to rank 0. An error there when some rank has only called fence().
  Status fence_and_tell(const std::string& mine, wire::CardBook& all);
  // Says goodbye to the launcher.
  Status leave();
  // Ends the job: tells the launcher, which ends the other ranks, and exits with the code. Where the launcher does not show the block, this process
  // writes it on standard error, first.
  [[noreturn]] void abort(const LastWords& words) noexcept;
  // Whether the launcher shows it.
  bool launcher_shows_last_words() const noexcept { return launcher_ != nullptr && launcher_->shows_last_words(); }

  int rank() const noexcept { return place_.rank; }
  int size() const noexcept { return place_.size; }
  // No launcher started it.
  bool singleton() const noexcept { return place_.started_by == nullptr; }
  // Null: none.
  const char* started_by() const noexcept { return place_.started_by; }
  // -1 when unknown.
  int appnum() const noexcept { return place_.appnum; }
  int universe_size() const noexcept { return place_.universe_size; }

  // The same on every rank: what tells this job from others that it may meet.
  std::uint32_t number() const noexcept { return drawn_; }

  const std::string& host_name() const noexcept { return host_name_; }
  const std::string& host_identity() const noexcept { return host_identity_; }
  // 32 bytes, the same on every rank, known to no other process: it travels through the launcher only. Empty for a job of one rank.
  const std::string& secret() const noexcept { return place_.secret; }

  // Whether the launcher promised that all ranks run on this host.
  bool single_host() const noexcept { return place_.local_size == place_.size && !emulated_; }
  // Ranks on this host as the launcher says; 0: it did not say.
  int launcher_local_size() const noexcept { return place_.local_size; }
  // More ranks than cores, all on one host, as our own mpiexec tells every rank alike. Elsewhere no rank could know it of all.
  bool oversubscribed() const noexcept { return place_.oversubscribed && !emulated_; }
  // Of this host, for all of the job's ranks on it: as our own mpiexec says, or as many as this process may use.
  int cores() const noexcept;
  // How many of so many ranks share a core of this host: 2 or more where they are more than its cores.
  int ranks_per_core(int local_ranks) const noexcept;

 private:
  Status share_secret();
  void draw() noexcept;
  void emulate_hosts();

  std::unique_ptr<Launcher> launcher_;
  Place place_;
  std::uint32_t drawn_ = 0;
  std::string host_name_, host_identity_;
  bool emulated_ = false;  // hosts, for a test
};

}  // namespace lapwing::runtime
