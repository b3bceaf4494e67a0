// The launcher as a job sees it: what started the ranks, tells each its place, carries a few short texts between them, and ends them.
//
// One object per job, used by one thread during MPI_Init, MPI_Finalize and MPI_Abort. Every call but abort() blocks until the
// launcher has answered; one that has gone gives an error, never a hang. A new sort of launcher is one class here, one line in
// open_launcher(), and what tells it from others in launcher_search.cc.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "runtime/launcher_search.h"
#include "wire/card_book.h"

namespace lapwing::runtime {

// What a launcher tells a rank of its place in the job.
struct Place {
  int rank = 0;
  int size = 1;
  int appnum = -1;         // which of the command line's programs (mpiexec a : b) this process belongs to; -1: not told
  int universe_size = -1;  // -1: not told
  int local_size = 0;      // ranks on this host; 0: not told
  bool bound = false;      // the launcher gave this rank cores of its own
  int cores = 0;           // of this host for all of the job's ranks; 0: not told
  bool oversubscribed = false;       // more ranks than cores, all on one host; told to all ranks alike, or to none
  const char* started_by = nullptr;  // for a person; null: no launcher started this process
  std::string secret;  // that the launcher made for this job, the same on every rank; empty: it makes none
};

// What an error goes back to that tells of a lost rank.
struct Blame {
  int rank = -1;       // the lost one; -1: the error is of another kind
  bool heard = false;  // this rank has not found the loss, but heard of it from another
};

// What a rank says when it ends the job.
struct LastWords {
  int code = 1;        // the exit code
  std::string reason;  // in one line
  std::string block;   // for a person's terminal, whole lines
  bool error = false;  // an error handler ends the job, and not MPI_Abort
  Blame blame;         // of an error
};

class Launcher {
 public:
  virtual ~Launcher() = default;

  // Once, first.
  virtual Status join(Place& place) = 0;

  // Whether join() failed because the launcher had nothing to say to this program: it closed the connection that a program before
  // this one had used.
  virtual bool closed_unheard() const noexcept { return false; }

  // Publishes a value, any bytes; others see it after the next fence(). The key is a short word of letters, digits, '-' and '_'.
  virtual Status put(std::string_view key, std::string_view value) = 0;
  // Returns when all ranks have called fence().
  virtual Status fence() = 0;
  // Whether fence() does not wait for ranks that have ended without a word while the others go on, nor for those that tell_lost() names: ranks with
  // which this one can have nothing to do any more, because their host has gone, say.
  virtual bool fence_counts_the_living() const noexcept { return false; }
  virtual Status tell_lost(int rank) {
    (void)rank;
    return {};
  }
  // The value published under `key` before the last fence.
  virtual Status get(std::string_view key, std::string& value) = 0;
  // Gives `mine` to all ranks, under `key` and this rank's number, and returns the texts of all; a fence as well. With `read` false
  // the texts may be left out. This way uses the three functions above.
  virtual Status exchange(const Place& place, std::string_view key, const std::string& mine, bool read,
                          wire::CardBook& all);

  // Says goodbye; from now on the launcher takes this rank's end as orderly.
  virtual Status leave() = 0;
  // Whether the launcher shows on its own output why a rank ends the job, for the first that does, and counts the others. Then the rank writes
  // nothing.
  virtual bool shows_last_words() const noexcept { return false; }
  // Asks the launcher to end the job, and returns. False: it could not be told, and shows nothing.
  virtual bool abort(const LastWords& words) noexcept = 0;
};

// None: this process is a job of its own, and its own only rank.
class Singleton final : public Launcher {
 public:
  Status join(Place& place) override {
    place.local_size = 1;
    return {};
  }
  Status put(std::string_view key, std::string_view value) override;
  Status fence() override { return {}; }
  Status get(std::string_view key, std::string& value) override;
  Status leave() override { return {}; }
  bool abort(const LastWords&) noexcept override { return false; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

// The one that was found, to be joined; an error when it cannot be spoken to.
Status open_launcher(const FoundLauncher& found, std::unique_ptr<Launcher>& launcher);

}  // namespace lapwing::runtime
