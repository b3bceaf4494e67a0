// The PMI-1 wire client of one rank: finds out rank and size from the launcher (our mpiexec, Hydra, Slurm) and
// exchanges small texts ("business cards") with the other ranks through the launcher's key-value space.
//
// The launcher is reached over a connection that it has left open (PMI_FD), or listens for one (PMI_PORT: Hydra's -pmi-port, and
// launchers that cannot hand descriptors on).
//
// One object per job, used by one thread during MPI_Init, MPI_Finalize and MPI_Abort. It owns the file descriptor of
// the launcher's connection from connect() until it is destroyed. Every call blocks until the launcher has answered; a
// launcher that has gone or talks nonsense gives an error Status, never a hang on a closed connection. One that is silent is
// waited for without an end, and after some time with a word.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "wire/pmi.h"

namespace lapwing::runtime {

class PmiClient {
 public:
  // What takes longer than `patience` is told in the log, once.
  explicit PmiClient(std::chrono::milliseconds patience = std::chrono::seconds(10)) noexcept : patience_(patience) {}
  ~PmiClient();
  PmiClient(const PmiClient&) = delete;
  PmiClient& operator=(const PmiClient&) = delete;

  // Once, one of these. Greet the launcher: as PMI_FD, PMI_RANK and PMI_SIZE in the environment say,
  Status connect_to_descriptor();
  // as PMI_PORT and PMI_ID say,
  Status connect_to_port();
  // or over a given descriptor, which the object then owns.
  Status connect(int fd, int rank, int size);

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  // Which of the command line's programs (mpiexec a : b) this process belongs to; -1 when the launcher does not know.
  int appnum() const noexcept { return appnum_; }
  // As the launcher says; -1 when it has no opinion.
  int universe_size() const noexcept { return universe_size_; }

  // Publishes a value, any bytes; others see it after the next fence(). What the launcher would not carry unchanged is
  // escaped, and long values are split over several keys. The key is a short word of letters, digits, '-' and '_'.
  Status put(std::string_view key, std::string_view value);
  // Returns when all ranks have called fence().
  Status fence();
  // The value published under `key` before the last fence.
  Status get(std::string_view key, std::string& value);
  // The values of key_prefix + "0" ... key_prefix + to_string(count - 1), in one round trip under our own mpiexec.
  Status get_all(std::string_view key_prefix, int count, std::vector<std::string>& values);

  // put(), fence() and get_all() in one round trip, where the launcher offers it (offers_table()): the values come as one
  // table that all ranks map (wire/card_book.h). `table` is a descriptor, the caller's; -1: get_all() has to do.
  Status exchange(std::string_view key_prefix, std::string_view value, int& table);
  bool offers_table() const noexcept { return offers_table_; }
  // Whether fence() is over without ranks that have ended while the others go on, and those that tell_lost() names.
  bool counts_the_living() const noexcept { return counts_the_living_; }
  // This rank can have nothing to do with that one any more, whatever its process does. Only where counts_the_living().
  Status tell_lost(int rank) { return send(wire::PmiMessage("lapwing_lost").add("rank", rank)); }
  // What the launcher made up for this job: 32 bytes, the same on every rank. Empty when it does not offer any.
  const std::string& secret() const noexcept { return secret_; }

  // Whether the launcher says that all ranks share one host with fewer cores; the same answer on every rank.
  bool oversubscribed() const noexcept { return oversubscribed_ != 0; }

  // All ranks have come through MPI_Init. From now on a rank may wait for the others as long as they compute, without a word.
  void have_met() noexcept { told_of_wait_ = true; }
  // Says goodbye; from now on the launcher takes this rank's end as orderly.
  Status finalize();
  // Whether the launcher is our own mpiexec.
  bool offers_extensions() const noexcept { return offers_extensions_; }
  // And, while connected, the one that set the variables of this process.
  bool served_by_mpiexec() const noexcept;
  // Whether the launcher closed the connection before it said a word to this program.
  bool closed_unheard() const noexcept { return closed_ && !heard_; }
  // Whether the launcher shows why a rank ends the job, so that the rank need not.
  bool shows_errors() const noexcept { return shows_errors_ != 0; }
  // Asks the launcher to end the job with this exit code, and returns. `text` is the reason, in one line. False: it could not be told.
  bool abort(int code, std::string_view text) noexcept;
  // The same, because of an error that `block`, of several lines, tells of; only where shows_errors(). False, and the launcher has not been told,
  // also where the block is longer than a line of PMI may be. `blamed_rank`: of an error that goes back to a lost rank, that one; -1: none.
  // `heard`: this rank has heard of the loss from another.
  bool abort_by_error(int code, std::string_view block, int blamed_rank, bool heard) noexcept;

 private:
  Status dial_launcher(const std::string& port, int id);
  Status introduce(int id);
  Status read_set(std::string_view name, int least, int most, int& value);
  Status greet();
  Status greet_own_launcher();
  Status request(const wire::PmiMessage& message, std::string_view expected_command, wire::PmiMessage& reply);
  Status request_fence(const wire::PmiMessage& message, wire::PmiMessage& reply);
  Status send(const wire::PmiMessage& message);
  Status receive(wire::PmiMessage& reply);
  Status fill_input();
  void tell_of_long_wait() noexcept;
  Status gone(const char* doing, int error);
  Status put_piece(std::string_view key, std::string_view value);
  Status get_piece(std::string_view key, std::string& value);
  Status read_bulk(std::string_view key_prefix, int count, std::vector<std::string>& values);

  const std::chrono::milliseconds patience_;
  int fd_ = -1;
  int rank_ = 0;
  int size_ = 1;
  int appnum_ = -1;
  int universe_size_ = -1;
  int oversubscribed_ = 0;
  int shows_errors_ = 0;
  bool offers_extensions_ = false;  // the launcher is our mpiexec
  bool offers_table_ = false;       // and young enough for exchange()
  bool counts_the_living_ = false;  // ... and for tell_lost()
  int received_fd_ = -1;            // came with the line read last
  bool finalized_ = false;
  bool in_fence_ = false;  // waits for the other ranks, not for the launcher alone
  bool told_of_wait_ = false;
  bool heard_ = false;   // the launcher has answered `init`
  bool closed_ = false;  // the connection is closed at its end
  std::size_t value_limit_ = 0;  // longest value the launcher takes under one key
  std::string kvs_name_, secret_;
  wire::PmiLineBuffer input_;
};

}  // namespace lapwing::runtime
