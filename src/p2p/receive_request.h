// A receive: where a message lands, and its state on the way. Embeddable and restartable like SendRequest.
//
// States, as the owner sees them:
//   idle       never started, or complete; done() is true
//   posted     waits for its message in the posted receive queue
//   landing    its message has been matched and its bytes are arriving (or are being pulled)
// result() then has source, tag and bytes; a message longer than the buffer gives MPI_ERR_TRUNCATE and fills the buffer.
#pragma once

#include <cstdint>
#include <optional>

#include "base/intrusive_list.h"
#include "datatype/walk.h"
#include "net/transport.h"
#include "p2p/arguments.h"
#include "p2p/match_table.h"
#include "request/request.h"

namespace lapwing::p2p {

class FrameReceiver;
class IncomingTransfers;
class Lending;
class Matcher;
class Messenger;
class ReceivePath;
using request::Request;
using request::Result;

class ReceiveRequest : public Request, public MatchNode {
 public:
  explicit ReceiveRequest(const ReceiveArguments& arguments = {}, bool persistent = false) noexcept
      : Request(persistent), arguments_(arguments) {
    communicator_ = arguments.communicator;
  }

  const ReceiveArguments& arguments() const noexcept { return arguments_; }
  // Only while idle.
  void set_arguments(const ReceiveArguments& arguments) noexcept {
    arguments_ = arguments;
    communicator_ = arguments.communicator;
  }

  Status start() override { return Status::error(MPI_ERR_REQUEST, "this receive is not persistent"); }
  Status cancel() override;
  void describe(wire::HangItem& item) const override;
  // The embedder owns the memory.
  void destroy() noexcept override {}

 private:
  friend class FrameReceiver;
  friend class IncomingTransfers;
  friend class Lending;
  friend class Matcher;
  friend class Messenger;
  friend class ReceivePath;

  ReceiveArguments arguments_;
  ReceivePath* path_ = nullptr;         // from the first start on
  std::byte* contiguous_ = nullptr;     // the buffer when it is one piece
  std::optional<datatype::Walk> walk_;  // otherwise
  datatype::TypeRef type_;              // held while walk_ is in use
  std::uint64_t capacity_ = 0;          // bytes that the buffer takes
  std::uint64_t message_bytes_ = 0;     // of the matched message
  std::uint64_t wanted_ = 0;            // min of the two
  std::uint64_t received_ = 0;
  std::uint64_t announced_ = 0;     // received, or of frames that are being received: several may be, on several connections
  std::uint64_t token_ = 0;         // ours on the wire while kData is expected, or may be, because the receive is lent
  std::uint64_t sender_token_ = 0;  // while the message is pulled, or after the carrier has answered
  bool by_carrier_ = false;         // it has
  std::int64_t began_ = 0;          // when a CTS was sent, or the header of a long eager message came; 0: neither
  std::uint64_t before_ = 0;        // and what had been received then
  struct Pull : net::PullOp {
    ReceiveRequest* receive = nullptr;
    IncomingTransfers* transfers = nullptr;
  } pull_;
  std::uint64_t* counter_ = nullptr;  // counts this receive while it is posted
  net::LentQueue* lent_to_ = nullptr;  // while it is posted and lent (lending.h)
  std::uint64_t lent_position_ = 0;
  net::PeerId peer_;  // the sender, once matched
};

}  // namespace lapwing::p2p
