// A send and a receive with one request: MPI_Isendrecv and MPI_Isendrecv_replace. Complete when both are.
#pragma once

#include <cstddef>
#include <memory>

#include "p2p/messenger.h"
#include "p2p/receive_request.h"
#include "p2p/send_request.h"

namespace lapwing::p2p {

class ExchangeRequest final : public Request {
 public:
  // With `replaced`, the message to send is that memory (a packed copy), which the request keeps.
  ExchangeRequest(engine::Engine& engine, Messenger& messenger, const SendArguments& send,
                  const ReceiveArguments& receive, std::unique_ptr<std::byte[]> replaced) noexcept;

  // Once.
  Status start() override;
  void describe(wire::HangItem& item) const override;
  void destroy() noexcept override { delete this; }

 private:
  template <typename Base>
  struct Half final : Base {
    using Base::Base;
    ExchangeRequest* owner = nullptr;
  };
  ~ExchangeRequest();
  template <typename Base>
  static void on_half_done(engine::Operation& operation) noexcept;

  engine::Engine& engine_;
  Messenger& messenger_;
  std::unique_ptr<std::byte[]> replaced_;
  Half<SendRequest> send_;
  Half<ReceiveRequest> receive_;
  int missing_ = 0;
};

}  // namespace lapwing::p2p
