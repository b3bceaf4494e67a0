#include "p2p/request_pool.h"

#include <utility>

#include "comm/communicator.h"
#include "p2p/attached_buffer.h"

namespace lapwing::p2p {

Status UserSend::start() {
  if (arguments().mode == SendMode::kBuffered) {
    result().clear();
    return buffer_for(*communicator_, messenger_of_user_).send(messenger_of_user_, arguments());
  }
  messenger_of_user_.start(*this);
  return {};
}

void UserSend::destroy() noexcept {
  RequestPool::put(pool_.free_sends_, *this);
}

Status UserReceive::start() {
  messenger_of_user_.start(*this);
  return {};
}

void UserReceive::destroy() noexcept {
  RequestPool::put(pool_.free_receives_, *this);
}

RequestPool::~RequestPool() {
  while (free_sends_ != nullptr) delete std::exchange(free_sends_, free_sends_->next_free_);
  while (free_receives_ != nullptr) delete std::exchange(free_receives_, free_receives_->next_free_);
}

UserSend& RequestPool::make(const SendArguments& arguments, bool persistent) {
  return revive(free_sends_, arguments, persistent);
}
UserReceive& RequestPool::make(const ReceiveArguments& arguments, bool persistent) {
  return revive(free_receives_, arguments, persistent);
}

template <typename UserRequest, typename Arguments>
UserRequest& RequestPool::revive(UserRequest*& list, const Arguments& arguments, bool persistent) {
  UserRequest* request = list;
  if (request != nullptr) [[likely]]
    list = request->next_free_;
  else
    request = new UserRequest(*this, messenger_);
  request->revive(persistent);
  request->set_arguments(arguments);
  if (arguments.communicator != nullptr) arguments.communicator->borrow();
  if (persistent && arguments.type != nullptr) request->kept_type_ = datatype::TypeRef(*arguments.type);
  return *request;
}

template <typename UserRequest>
void RequestPool::put(UserRequest*& list, UserRequest& request) noexcept {
  if (request.communicator_ != nullptr) comm::Communicator::give_back(*request.communicator_);
  if (request.kept_type_) request.kept_type_ = datatype::TypeRef();
  request.mark_freed();
  request.next_free_ = list;
  list = &request;
}

}  // namespace lapwing::p2p
