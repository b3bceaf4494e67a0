// Where mpiexec asks its ranks why they do not go on, for --timeout, for SIGUSR1 and for `lapwing why`; tells them when one of them has
// ended while the others go on; and hears from them which ranks they have found to be lost.
//
// Each rank holds one end of a socket pair; inside MPI its event port watches it (src/process/launcher_socket.h). One inquiry is under way at a
// time: a question to all ranks inside MPI, then answers until all are there or the time is up. Questions that come meanwhile get the same
// text. On the event loop's thread; nothing here blocks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "mpiexec/event_loop.h"
#include "mpiexec/hang_report.h"
#include "wire/loss_found.h"

namespace lapwing::launch {

class HangDesk {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Sink = std::function<void(const std::string& text)>;
  // Fills in what mpiexec knows of a rank by itself: all but `report`. A rank inside MPI comes as kSilent.
  using Knowledge = std::function<RankView(int rank)>;

  // A rank has found by itself that another one is lost.
  using LossSink = std::function<void(int finder, wire::LossFound found)>;

  HangDesk(EventLoop& loop, int ranks, Knowledge knowledge, LossSink loss_sink);
  ~HangDesk();
  HangDesk(const HangDesk&) = delete;
  HangDesk& operator=(const HangDesk&) = delete;

  // Makes the rank's socket; stores the end for the child, which the caller closes after the fork, and its variable's value.
  Status open_connection(int rank, int& child_fd, std::string& variable);

  // `sink` gets the text, at once or later.
  void ask(Sink sink);
  // Tells all others that a rank has ended without MPI_Finalize. A rank whose socket takes no more (it has been stopped for long) is not told.
  void tell_end(int rank, int wait_status);
  // Takes what this rank has sent so far.
  void drain(int rank);
  // When on_time() wants to be called.
  std::optional<Time> deadline() const noexcept { return deadline_; }
  void on_time(Time now);

  static constexpr const char* kVariable = "LAPWING_INTERNAL_QUESTIONS";

 private:
  struct Peer {
    int fd = -1;
    bool asked = false;  // and has not answered yet
    bool answered = false;
    wire::HangReport report;
  };

  bool take_packet(int rank);
  void take_answer(Peer& peer, const std::string& packet);
  void finish_if_complete();
  void finish();
  RankView view_of(int rank) const;
  void close(Peer& peer);

  EventLoop& loop_;
  Knowledge knowledge_;
  LossSink loss_sink_;
  std::vector<Peer> peers_;
  std::vector<Sink> sinks_;
  std::optional<Time> deadline_;
  std::uint32_t inquiry_ = 0;
};

}  // namespace lapwing::launch
