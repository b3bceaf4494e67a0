#include "p2p/request_pool.h"

#include <utility>

#include "comm/communicator.h"
#include "p2p/attached_buffer.h"
#include "p2p/messenger.h"

namespace lapwing::p2p {

Status UserSend::start() {
  if (arguments().mode == SendMode::kBuffered) {
    result().clear();
    return buffer_for(*communicator_, messenger_of_user_).send(messenger_of_user_, arguments());
  }
  if (arguments().mode != SendMode::kSynchronous && messenger_of_user_.send_now(arguments())) {
    result().clear();
    return {};
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

template <typename UserRequest>
void RequestPool::grow(UserRequest*& list) {
  list = new UserRequest(*this, messenger_);
}
template void RequestPool::grow(UserSend*& list);
template void RequestPool::grow(UserReceive*& list);

template <typename UserRequest>
void RequestPool::put(UserRequest*& list, UserRequest& request) noexcept {
  if (request.communicator_ != nullptr) comm::Communicator::give_back(*request.communicator_);
  if (request.kept_type_) request.kept_type_ = datatype::TypeRef();
  request.set_continuation(nullptr);
  request.mark_freed();
  request.next_free_ = list;
  list = &request;
}

}  // namespace lapwing::p2p
