// The launcher's side of PMI-1: one connection per rank, one key-value space, fences.
//
// Everything runs on the event loop's thread. A rank that breaks the protocol is reported once and not listened to
// again. Beyond PMI-1, `lapwing=3` in the answer to init offers
//
//   lapwing_hello                      all that PMI-1 tells one by one, a secret for the job, whether it is oversubscribed, and whether abort takes
//                                      lapwing_error=, the lines that tell the user of an error, and lapwing_blamed= and lapwing_heard=, which
//                                      rank it goes back to
//   lapwing_getall prefix= count=      all values of a numbered key
//   lapwing_exchange prefix= value=    put, fence, and with the fence's end all values, as a table in memory whose descriptor
//                                      comes with the answer: made once, mapped by all (wire/card_book.h)
//   lapwing_lost rank=                 this rank has lost that one for good; has no answer
//
// so that n ranks start with O(n) work instead of O(n^2).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "mpiexec/event_loop.h"
#include "wire/pmi.h"

namespace lapwing::launch {

// What a rank has told the launcher about itself.
enum class PmiState {
  kSilent,       // has not spoken PMI: it may be no MPI program at all
  kInitialised,  // inside MPI: its end would be a failure
  kFinalised,    // may end as it likes
};

// The error by which a rank ends the job.
struct RankError {
  int code = 1;
  std::string block;  // what tells the user of it, in whole lines
  int blamed_rank = -1;  // of an error that goes back to a lost rank: that one. -1: none
  bool heard = false;    // the rank has not found that loss, but heard of it from another
};

class PmiServer {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // The rank asked for the job's end (MPI_Abort). The text may be empty.
    virtual void on_abort(int rank, int code, const std::string& text) = 0;
    // An error ends the job, which the rank has not written anywhere.
    virtual void on_error(int rank, RankError error) = 0;
    // The rank waits in a fence that others have not reached yet.
    virtual void on_waiting(int rank) = 0;
    // A rank can have nothing to do with another one any more.
    virtual void on_given_up(int rank, int by) = 0;
    // The rank sent what no PMI client sends.
    virtual void on_protocol_error(int rank, const Status& status) = 0;
  };

  // `appnums[rank]` is the number of the program that the rank runs.
  PmiServer(EventLoop& loop, Listener& listener, std::vector<int> appnums);
  ~PmiServer();
  PmiServer(const PmiServer&) = delete;
  PmiServer& operator=(const PmiServer&) = delete;

  // What lapwing_hello says: whether the ranks are more than the cores for them.
  void set_oversubscribed(bool oversubscribed) noexcept { oversubscribed_ = oversubscribed; }

  // What lapwing_hello says: whether the listener shows the blocks of on_error(), so that the ranks need not.
  void set_shows_errors(bool shows) noexcept { shows_errors_ = shows; }

  // Makes the rank's connection and stores the descriptor for the child, which the caller closes after the fork.
  Status open_connection(int rank, int& child_fd);

  // Reads what a rank said before it ended; call it before judging the end.
  void drain(int rank);
  PmiState state(int rank) const noexcept { return peers_[static_cast<std::size_t>(rank)].state; }
  bool in_fence(int rank) const noexcept { return peers_[static_cast<std::size_t>(rank)].in_fence; }
  // Whether all ranks have met in a fence: from then on each is inside MPI, and knows how to reach the others.
  bool all_have_met() const noexcept { return all_have_met_; }
  // The rank has ended or was given up, and the others go on: fences are complete without it. If it lives it waits in none: one that it is in, or
  // enters later, is over for it at once.
  void excuse(int rank);
  bool excused(int rank) const noexcept { return peers_[static_cast<std::size_t>(rank)].excused; }
  // A rank that waits in a fence, -1 if none does.
  int waiting_rank() const noexcept;

 private:
  static constexpr int kNoTable = -1;

  struct Peer {
    int fd = -1;
    int appnum = 0;
    PmiState state = PmiState::kSilent;
    bool in_fence = false;
    bool excused = false;
    bool wants_table = false;  // at the fence's end
    wire::PmiLineBuffer input;
    std::string output;  // what the socket did not take yet; until it has, no further line is handled
    bool watched_for_output = false;
  };

  void on_event(int rank, std::uint32_t events);
  bool read_input(int rank);
  void handle_lines(int rank);
  bool store(const std::string& key, const std::string& value);
  void handle_line(int rank, const std::string& line);
  void answer_put(int rank, const wire::PmiMessage& message);
  void answer_get(int rank, const wire::PmiMessage& message);
  void note_abort(int rank, const wire::PmiMessage& message);
  void note_lost(int rank, const wire::PmiMessage& message);
  void answer_get_all(int rank, const wire::PmiMessage& message);
  void answer_hello(int rank);
  void enter_exchange(int rank, const wire::PmiMessage& message);
  void enter_fence(int rank);
  void leave_fence_if_complete();
  void leave_fence();
  void leave_fence(int rank, int table);
  int make_table() const;
  bool send_with_table(int rank, const wire::PmiMessage& message, int table);
  void reply(int rank, const wire::PmiMessage& message) { send(rank, message.encode()); }
  void send(int rank, std::string_view bytes);
  void flush(int rank);
  void disconnect(int rank);
  void refuse(int rank, const Status& status);
  Peer& peer(int rank) noexcept { return peers_[static_cast<std::size_t>(rank)]; }

  EventLoop& loop_;
  Listener& listener_;
  std::vector<Peer> peers_;
  std::string kvs_name_;
  std::unordered_map<std::string, std::string> values_;
  std::size_t stored_bytes_ = 0;
  std::size_t waiting_ = 0;   // ranks in the fence
  std::size_t excused_ = 0;   // ranks
  bool all_have_met_ = false;
  std::string table_prefix_;  // of the values that the ranks in the fence exchange
  std::string secret_;
  bool oversubscribed_ = false;
  bool shows_errors_ = false;
};

}  // namespace lapwing::launch
