#include "p2p/exchange_request.h"

#include <utility>

namespace lapwing::p2p {

ExchangeRequest::ExchangeRequest(engine::Engine& engine, Messenger& messenger, const SendArguments& send,
                                 const ReceiveArguments& receive, std::unique_ptr<std::byte[]> replaced) noexcept
    : Request(false),
      engine_(engine),
      messenger_(messenger),
      replaced_(std::move(replaced)),
      send_(send),
      receive_(receive) {
  communicator_ = send.communicator;
  communicator_->retain();
  send_.owner = receive_.owner = this;
  send_.set_continuation(&on_half_done<SendRequest>);
  receive_.set_continuation(&on_half_done<ReceiveRequest>);
}

ExchangeRequest::~ExchangeRequest() {
  comm::Communicator::drop(communicator_);
}

Status ExchangeRequest::start() {
  missing_ = 2;
  engine_.begin(*this);
  messenger_.start(receive_);
  messenger_.start(send_);
  return {};
}

template <typename Base>
void ExchangeRequest::on_half_done(engine::Operation& operation) noexcept {
  ExchangeRequest& owner = *static_cast<Half<Base>&>(static_cast<Base&>(static_cast<Request&>(operation))).owner;
  if (--owner.missing_ != 0) return;
  owner.result() = std::move(owner.receive_.result());
  if (owner.result().status.ok()) owner.result().status = std::move(owner.send_.result().status);
  owner.engine_.finish(owner);
}

}  // namespace lapwing::p2p
