// Receives that have their message: from the match to the completion. The receiver's half of rendezvous (CTS out, Data in; or the message is
// pulled, and FIN goes out).
//
// A receive completes here, exactly once (complete).
#pragma once

#include <cstdint>
#include <vector>

#include "p2p/common.h"
#include "p2p/frame_sender.h"
#include "p2p/outgoing_transfers.h"
#include "p2p/owed_answers.h"
#include "p2p/receive_request.h"
#include "p2p/slot_table.h"
#include "wire/message_header.h"

namespace lapwing::p2p {

class IncomingTransfers {
 public:
  IncomingTransfers(Common& common, FrameSender& frames, OwedAnswers& owed, const OutgoingTransfers& outgoing,
                    SlotTable<ReceiveRequest>& named) noexcept
      : common_(common), frames_(frames), owed_(owed), outgoing_(outgoing), receives_(named) {}

  // Where these bytes of the message go.
  static net::Landing landing_of(ReceiveRequest& receive, std::uint64_t offset, std::uint64_t bytes) noexcept;

  // The message's first frame has landed, of `header`: completes the receive, or gets the rest. `address` is where a message that may be
  // pulled lies in the sender's memory. `found`: the receive has found it here.
  void go_on(ReceiveRequest& receive, const wire::MessageHeader& header, std::uint64_t address, bool found) noexcept {
    if (header.kind == wire::MessageKind::kRts) return proceed(receive, header, address, found);
    const net::PeerId id = receive.peer_;
    if (receive.began_ != 0)
      complete_timed(receive);
    else
      complete(receive);
    if (header.sender_token != 0) frames_.answer(id, wire::MessageKind::kAck, header.sender_token);
  }
  // `before`: bytes that come without being asked for.
  void post_cts(ReceiveRequest& receive, std::uint64_t sender_token, std::uint64_t before) noexcept {
    frames_.post_control(receive.peer_, make_cts(receive, sender_token, before));
  }
  // The carrier has answered its request, by the name that the receive had when it was lent (lending.h).
  void answered_by_carrier(ReceiveRequest& receive, std::uint64_t sender_token) noexcept;
  // Such answers to this peer may be lost.
  void answer_again(net::PeerId id) noexcept;
  // What comes of the message from here on is timed, for the choice of later messages' paths (Transport::came_in_frames).
  void time(ReceiveRequest& receive) noexcept;

  // What is wrong with a Data frame; null if nothing.
  const char* breach_of_data(net::PeerId id, const wire::MessageHeader& header) const noexcept;
  net::Landing landing_of_data(const wire::MessageHeader& header) noexcept;
  void on_data(net::PeerId id, const wire::MessageHeader& header) noexcept;

  void complete(ReceiveRequest& receive) noexcept {
    receive.result().bytes = receive.received_;
    common_.counters.bytes_received += receive.received_;
    if (receive.message_bytes_ > receive.capacity_ || receive.token_ != 0 || receive.walk_) [[unlikely]]
      wind_up(receive);
    common_.engine.finish(receive);
  }
  void fail(ReceiveRequest& receive, Status why) noexcept {
    receive.result().status = std::move(why);
    complete(receive);
  }
  // The peer is lost.
  void fail_all_from(net::PeerId id, const Status& why) noexcept;

 private:
  void wind_up(ReceiveRequest& receive) noexcept;
  void proceed(ReceiveRequest& receive, const wire::MessageHeader& rts, std::uint64_t address, bool found) noexcept;
  wire::MessageHeader make_cts(ReceiveRequest& receive, std::uint64_t sender_token, std::uint64_t before) noexcept;
  bool may_owe(const ReceiveRequest& receive) noexcept;
  void pull(ReceiveRequest& receive, std::uint64_t address) noexcept;
  static void on_pulled(net::PullOp& op, net::PullOp::End end, const Status& why) noexcept;
  void after_pull(ReceiveRequest& receive, net::PullOp::End end) noexcept;
  void complete_timed(ReceiveRequest& receive) noexcept;

  Common& common_;
  FrameSender& frames_;
  OwedAnswers& owed_;
  const OutgoingTransfers& outgoing_;
  SlotTable<ReceiveRequest>& receives_;  // that data may name
};

}  // namespace lapwing::p2p
