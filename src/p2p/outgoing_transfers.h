// Sends that are under way: from their first frame to their completion. The sender's half of rendezvous (RTS out, CTS or FIN in, Data out), and
// the answers that a synchronous or a cancelled send waits for.
//
// A send completes here, exactly once (settle): when all its frames are delivered and no answer can come
// any more. (Delivered is taken where a link keeps nothing, see net/transport.h. The memory of a message in one piece is the link's until then; of a
// scattered one, whose frames share a walk, each frame is taken only when it is delivered.)
#pragma once

#include <cstdint>

#include "p2p/common.h"
#include "p2p/frame_sender.h"
#include "p2p/owed_answers.h"
#include "p2p/send_request.h"
#include "p2p/slot_table.h"
#include "wire/message_header.h"

namespace lapwing::p2p {

// The header of a message, as far as its arguments decide.
inline wire::MessageHeader envelope(const SendArguments& arguments, wire::MessageKind kind) noexcept {
  wire::MessageHeader header;
  header.kind = kind;
  header.context = arguments.communicator->wire_context(arguments.plane);
  header.source = arguments.communicator->rank();
  header.tag = arguments.tag;
  header.receiver_token = arguments.note;
  return header;
}

class OutgoingTransfers {
 public:
  OutgoingTransfers(Common& common, FrameSender& frames, OwedAnswers& owed) noexcept
      : common_(common), frames_(frames), owed_(owed) {}

  void begin(SendRequest& send) noexcept;
  // What it takes is timed, unless with kNever: of a message that could be sent whole until it is complete, of a longer one until the answer comes.
  void begin_asking(SendRequest& send, net::Asking way) noexcept;
  // The message leaves in one frame, or begins a rendezvous. `send` may be over afterwards. Where its asking is kKernel, which a synchronous one's may
  // be, the receiver's kernel is asked, unless it is for many messages already.
  void post_whole(SendRequest& send, net::Delivery delivery) noexcept;
  // Of `how`, either or none.
  enum class Rts { kUsual, kOffersPull, kAtOnce };
  void post_rts(SendRequest& send, std::uint64_t first_bytes, Rts how) noexcept;
  // Asks the receiver for a message that it may not have matched yet.
  void post_cancel(SendRequest& send) noexcept;

  // What is wrong with an answer to one of our sends; null if nothing.
  const char* breach_of_answer(net::PeerId id, const wire::MessageHeader& header) const noexcept;
  void on_answer(const wire::MessageHeader& header) noexcept;

  // Completes the send if nothing more can happen to it.
  void settle(SendRequest& send) noexcept;
  void fail(SendRequest& send, Status why) noexcept;
  // The peer is lost. A send whose frames are still with the transport ends when the transport gives them up.
  void fail_all_to(net::PeerId id, const Status& why) noexcept;

  std::uint64_t active() const noexcept { return active_; }
  // Of no message that is announced does the receiver still want something.
  bool none_announced() const noexcept { return sends_.size() == 0; }
  SlotTable<SendRequest>& awaiting_answer() noexcept { return sends_; }

  // Some frame has left, or been delivered: the next, or the end.
  void go_on(SendRequest& send, const Status& status) noexcept;

 private:
  void pump(SendRequest& send) noexcept;
  void end_asking(SendRequest& send) noexcept;
  void end_trailer(SendRequest& send) noexcept;
  void post_chunk(SendRequest& send, SendRequest::Frame& frame) noexcept;
  void post_frame(SendRequest& send, SendRequest::Frame& frame, const wire::MessageHeader& header) noexcept;

  Common& common_;
  FrameSender& frames_;
  OwedAnswers& owed_;
  SlotTable<SendRequest> sends_;  // that an answer may name
  std::uint64_t active_ = 0;
};

}  // namespace lapwing::p2p
