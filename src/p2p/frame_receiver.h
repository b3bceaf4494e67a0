// Frames on their way in. on_header judges a frame before a byte of its payload is taken and says where that goes; on_frame acts on
// it. Only the rest of a message is asked for as early as in on_header, so that its sender need not wait for the answer.
//
// receive_now is the fast branch: a small message, and a posted receive with room for it in one piece, in one step. It judges, matches, pays and
// completes by the same functions; what is unusual is left to on_header and on_frame.
#pragma once

#include "net/transport.h"
#include "p2p/parts.h"
#include "p2p/heard_losses.h"
#include "p2p/peer_loss.h"
#include "p2p/receive_path.h"
#include "p2p/send_path.h"

namespace lapwing::p2p {

class FrameReceiver : public net::FrameSink {
 public:
  FrameReceiver(Parts& parts, SendPath& sends, ReceivePath& receives) noexcept;

  bool receive_now(net::PeerId id, const wire::FrameHeader& frame, const std::byte* payload) noexcept final;
  bool may_overtake(const wire::FrameHeader& frame) const noexcept final;
  net::Landing on_header(net::PeerId id, const wire::FrameHeader& frame) noexcept final;
  void on_frame(net::PeerId id, const wire::FrameHeader& frame) noexcept final;
  const char* on_landed(net::PeerId id, net::LentQueue& queue) noexcept final;
  void on_answers_lost(net::PeerId id) noexcept final;
  void on_peer_lost(net::PeerId id, const Status& why, const net::Landing* landing) noexcept final;
  void on_peer_left(net::PeerId id, const Status& why) noexcept final;
  void on_peer_met(net::PeerId id) noexcept final { loss_.tell(id); }
  void on_given_up(net::PeerId by) noexcept final { heard_losses_.be_given_up(by); }
  // The launcher says that a process has ended without a word; `why` says how.
  void on_end_told(net::PeerId id, Status why) noexcept { heard_losses_.hear(id, std::move(why)); }
  // Of a process that is lost: whose word that is; itself, where it is no other process's.
  net::PeerId source_of_loss(net::PeerId lost) const noexcept { return heard_losses_.source_of(lost); }

  // Another process says that this one is lost; all hear it, and its own word counts no more.
  bool is_given_up() const noexcept final { return loss_.is_given_up(); }

 protected:
  ~FrameReceiver() = default;

 private:
  net::Landing on_message_header(net::PeerId id, Peer& peer, const wire::MessageHeader& header,
                                 std::uint64_t stored) noexcept;
  net::Landing store(net::PeerId id, Peer& peer, const wire::MessageHeader& header, std::uint64_t stored) noexcept;
  void on_payload(net::PeerId id, Peer& peer, ReceiveRequest& receive, const wire::MessageHeader& header) noexcept;
  const char* take_landed(net::PeerId id, ReceiveRequest& receive, const wire::FrameHeader& frame) noexcept;
  const char* take_request(net::PeerId id, Peer& peer, ReceiveRequest& receive, const wire::MessageHeader& header) noexcept;
  void on_message(net::PeerId id, const wire::MessageHeader& header, std::uint64_t stored,
                  std::uint64_t address) noexcept;
  void on_stored(UnexpectedMessage& message, std::uint64_t address) noexcept;
  void on_cancel(net::PeerId id, const wire::MessageHeader& header) noexcept;
  void take_credit(net::PeerId id, Peer& peer, std::uint32_t credit) noexcept;

  Common& common_;
  FrameSender& frames_;
  CreditFlow& credit_;
  Matcher& matcher_;
  Lending& lending_;
  OutgoingTransfers& outgoing_;
  IncomingTransfers& incoming_;
  SendPath& sends_;
  ReceivePath& receives_;
  PeerLoss loss_;
  HeardLosses heard_losses_;
  Status malformed_;  // the text of the last breach that is no constant
};

}  // namespace lapwing::p2p
