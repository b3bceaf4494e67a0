// Answers to messages that a receive has found here, until the application's next step: CTS to a peer that MPI_Irecv finds waiting.
//
// Two ranks that exchange long messages, each by MPI_Irecv and then MPI_Isend, would send one after the other if they answered at once: the peer
// fills its socket with the data that the CTS asks for before it has our RTS, and its answer to that waits behind the data. So the RTS goes first.
// The answer leaves behind the next RTS to that peer, or when a thread polls next: in the wait that follows, or in the event thread soon after the
// application has left (Engine::want_turn); and before data to that peer in any case. A rank that has announced messages already owes nothing: it
// answers at once.
// Rejected: a bound of what lies unsent in the peer's socket, because a peer that computes would be woken for every piece to send.
//
// Only where the peer's answers do wait behind data (net::Capabilities::answers_wait), and for the application's own messages: a schedule posts its
// sends first. With the endpoint's lock held.
#pragma once

#include <vector>

#include "p2p/common.h"
#include "p2p/frame_sender.h"
#include "wire/message_header.h"

namespace lapwing::p2p {

class OwedAnswers final : public engine::Source {
 public:
  OwedAnswers(Common& common, FrameSender& frames) noexcept : common_(common), frames_(frames) { idle_ = true; }
  ~OwedAnswers() {
    if (added_) common_.engine.remove_source(*this);
  }
  OwedAnswers(const OwedAnswers&) = delete;
  OwedAnswers& operator=(const OwedAnswers&) = delete;

  // Once, before any message.
  void begin() {
    common_.engine.add_source(*this);
    added_ = true;
  }
  void owe(net::PeerId peer, const wire::MessageHeader& answer);
  // An RTS to this peer has been posted, or data is about to be.
  void give(net::PeerId peer) noexcept {
    if (!owed_.empty()) give_to(peer);
  }

  bool poll() noexcept override;
  bool arm() noexcept override { return owed_.empty(); }
  void disarm() noexcept override {}
  bool rest() noexcept override { return owed_.empty(); }

 private:
  struct Owed {
    net::PeerId peer;
    wire::MessageHeader answer;
  };
  void give_to(net::PeerId peer) noexcept;

  Common& common_;
  FrameSender& frames_;
  std::vector<Owed> owed_;
  bool added_ = false;
};

}  // namespace lapwing::p2p
