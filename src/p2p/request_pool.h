// The requests behind users' handles, kept for reuse. One pool per messenger; protected by the endpoint's lock.
//
// A request that is freed stays an object, marked (base/object.h), so a handle that is used after its request was freed is noticed, and
// the next one need not be built anew.
#pragma once

#include "p2p/receive_request.h"
#include "p2p/send_request.h"

namespace lapwing::p2p {

class Messenger;
class RequestPool;

// A persistent send in buffered mode hands a copy to the attached buffer at each start and is complete.
//
// Both keep the communicator for as long as they live, because its error handler speaks for them; persistent ones keep the
// datatype as well.
class UserSend final : public SendRequest {
 public:
  UserSend(RequestPool& pool, Messenger& messenger) noexcept : pool_(pool), messenger_of_user_(messenger) {}
  Status start() override;
  void destroy() noexcept override;

 private:
  friend class RequestPool;
  RequestPool& pool_;
  Messenger& messenger_of_user_;
  datatype::TypeRef kept_type_;
  UserSend* next_free_ = nullptr;
};

class UserReceive final : public ReceiveRequest {
 public:
  UserReceive(RequestPool& pool, Messenger& messenger) noexcept : pool_(pool), messenger_of_user_(messenger) {}
  Status start() override;
  void destroy() noexcept override;

 private:
  friend class RequestPool;
  RequestPool& pool_;
  Messenger& messenger_of_user_;
  datatype::TypeRef kept_type_;
  UserReceive* next_free_ = nullptr;
};

// Stands behind the handle of every send that was complete before its function returned (Messenger::send_now).
class SentSend final : public Request {
 public:
  SentSend() noexcept : Request(false) {
    set_active(true);
    set_shared();
  }
  Status start() override { return Status::error(MPI_ERR_REQUEST, "this send is not persistent"); }
  Status cancel() override { return {}; }
  void destroy() noexcept override {}
};

class RequestPool {
 public:
  explicit RequestPool(Messenger& messenger) noexcept : messenger_(messenger) {}
  ~RequestPool();
  RequestPool(const RequestPool&) = delete;
  RequestPool& operator=(const RequestPool&) = delete;

  // Not started yet. Inline, so that the arguments are written once, where they will be read.
  UserSend& make(const SendArguments& arguments, bool persistent = false) {
    return set_up(take(free_sends_), arguments, persistent);
  }
  UserReceive& make(const ReceiveArguments& arguments, bool persistent = false) {
    return set_up(take(free_receives_), arguments, persistent);
  }
  SentSend& sent() noexcept { return sent_; }

  // A receive for the time of one blocking call, which keeps the communicator alive itself and ends with put_back().
  UserReceive& lend(const ReceiveArguments& arguments) {
    UserReceive& receive = take(free_receives_);
    receive.set_arguments(arguments);
    return receive;
  }
  void put_back(UserReceive& receive) noexcept {
    receive.next_free_ = free_receives_;
    free_receives_ = &receive;
  }

 private:
  friend class UserSend;
  friend class UserReceive;
  template <typename UserRequest>
  UserRequest& take(UserRequest*& list) {
    if (list == nullptr) [[unlikely]]
      grow(list);
    UserRequest& request = *list;
    list = request.next_free_;
    return request;
  }
  template <typename UserRequest>
  void grow(UserRequest*& list);
  template <typename UserRequest, typename Arguments>
  static UserRequest& set_up(UserRequest& request, const Arguments& arguments, bool persistent) {
    request.revive(persistent);
    request.set_arguments(arguments);
    if (arguments.communicator != nullptr) arguments.communicator->borrow();
    if (persistent && arguments.type != nullptr) request.kept_type_ = datatype::TypeRef(*arguments.type);
    return request;
  }
  template <typename UserRequest>
  static void put(UserRequest*& list, UserRequest& request) noexcept;

  Messenger& messenger_;
  UserSend* free_sends_ = nullptr;
  UserReceive* free_receives_ = nullptr;
  SentSend sent_;
};

}  // namespace lapwing::p2p
