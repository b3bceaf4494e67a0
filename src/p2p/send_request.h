// A send: what the messenger moves out, and its state on the way.
//
// Embeddable: a blocking MPI_Send keeps it on the stack, a schedule keeps it in its step, a user's MPI_Isend gets one from
// a pool (request_pool.h). Messenger::start() begins it, as often as wanted, each time after the one before completed.
// The embedder keeps the communicator alive until completion; the messenger keeps the datatype.
//
// At most two frames of a contiguous message are with the transport at a time, so that other messages come in between; one
// of a scattered message, because its frames share one walk.
//
// States, as the owner sees them:
//   idle       never started, or complete; done() is true
//   held       the receiver's credit for us is used up; the message waits at home, in order
//   sending    frames are with the transport
//   asked      a synchronous or rendezvous send waits for the receiver's answer
// It completes when every frame of it has been delivered (net/transport.h; where a link keeps nothing, that is when it has left) and nothing is
// awaited from the receiver. result().status says why it failed.
#pragma once

#include <cstdint>
#include <optional>

#include "base/intrusive_list.h"
#include "datatype/walk.h"
#include "net/transport.h"
#include "p2p/arguments.h"
#include "request/request.h"

namespace lapwing::p2p {

class Messenger;
class OutgoingTransfers;
class SendPath;
struct HeldTag;

using request::Request;
using request::Result;

class SendRequest : public Request, public ListNode<HeldTag> {
 public:
  explicit SendRequest(const SendArguments& arguments = {}, bool persistent = false) noexcept
      : Request(persistent), arguments_(arguments) {
    communicator_ = arguments.communicator;
  }

  const SendArguments& arguments() const noexcept { return arguments_; }
  // Only while idle.
  void set_arguments(const SendArguments& arguments) noexcept {
    arguments_ = arguments;
    communicator_ = arguments.communicator;
  }

  // Whether another operation waits for this one, and no thread need wait for either (a step of a schedule). Only while idle.
  void set_followed(bool followed) noexcept { undelivered_.set_followed(followed); }

  // Nothing is awaited but that the link needs its memory no more: no thread need do anything for it.
  bool has_left() const noexcept {
    return done() || (!held_ && !awaits_answer_ && !awaits_cancel_ack_ && next_byte_ >= wanted_ && !frames_[0].busy && !frames_[1].busy);
  }

  Status start() override { return Status::error(MPI_ERR_REQUEST, "this send is not persistent"); }
  Status cancel() override;
  void describe(wire::HangItem& item) const override;
  // The embedder owns the memory.
  void destroy() noexcept override {}

 private:
  friend class SendPath;
  friend class OutgoingTransfers;
  friend class Messenger;

  // One frame of this send, with the transport until it is taken.
  struct Frame : net::SendOp {
    SendRequest* send = nullptr;
    bool busy = false;
  };
  // The frames that a link reads from the message's own memory until they are delivered.
  struct Undelivered : net::Undelivered {
    explicit Undelivered(SendRequest& owner) noexcept;
    SendRequest& send;
  };

  SendArguments arguments_;
  SendPath* path_ = nullptr;  // from the first start on
  OutgoingTransfers* transfers_ = nullptr;
  std::byte* contiguous_ = nullptr;     // the message when it lies in one piece
  std::optional<datatype::Walk> walk_;  // otherwise
  datatype::TypeRef type_;              // held while walk_ is in use
  std::uint64_t bytes_ = 0;
  std::uint64_t next_byte_ = 0;  // of the rendezvous: what kData carries next
  std::uint64_t wanted_ = 0;     // bytes that the receiver will take
  std::uint64_t token_ = 0;      // ours on the wire; 0 when no answer can come
  std::uint64_t receiver_token_ = 0;
  std::int64_t asked_at_ = 0;               // unless with kNever
  net::Asking asking_ = net::Asking::kNever;
  net::PeerId peer_;
  bool held_ = false;
  bool rendezvous_ = false;  // an RTS has gone
  bool awaits_answer_ = false;
  bool awaits_cancel_ack_ = false;
  bool trailer_ = false;  // the receiver's kernel may answer
  std::byte offer_[8] = {};  // payload of a pullable request: the address of the message
  Undelivered undelivered_{*this};
  Frame frames_[2];          // two, so that one fills the pipe while the next is prepared
};

}  // namespace lapwing::p2p
