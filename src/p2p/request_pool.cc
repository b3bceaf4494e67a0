#include "p2p/request_pool.h"

#include <new>

#include "comm/communicator.h"
#include "p2p/attached_buffer.h"

namespace lapwing::p2p {
namespace {

void keep(comm::Communicator* communicator) noexcept {
  if (communicator != nullptr) communicator->retain();
}
void let_go(comm::Communicator* communicator) noexcept {
  if (communicator != nullptr) comm::Communicator::drop(communicator);
}

}  // namespace

UserSend::UserSend(RequestPool& pool, Messenger& messenger, const SendArguments& arguments, bool persistent) noexcept
    : SendRequest(arguments, persistent), pool_(pool), messenger_of_user_(messenger) {
  keep(communicator_);
  if (persistent && arguments.type != nullptr) kept_type_ = datatype::TypeRef(*arguments.type);
}
UserSend::~UserSend() {
  let_go(communicator_);
}

Status UserSend::start() {
  if (arguments().mode == SendMode::kBuffered) {
    result() = Result::empty();
    return buffer_for(*communicator_, messenger_of_user_).send(messenger_of_user_, arguments());
  }
  messenger_of_user_.start(*this);
  return {};
}

void UserSend::destroy() noexcept {
  RequestPool& pool = pool_;
  this->~UserSend();
  RequestPool::put(pool.sends_, this);
}

UserReceive::UserReceive(RequestPool& pool, Messenger& messenger, const ReceiveArguments& arguments,
                         bool persistent) noexcept
    : ReceiveRequest(arguments, persistent), pool_(pool), messenger_of_user_(messenger) {
  keep(communicator_);
  if (persistent && arguments.type != nullptr) kept_type_ = datatype::TypeRef(*arguments.type);
}
UserReceive::~UserReceive() {
  let_go(communicator_);
}

Status UserReceive::start() {
  messenger_of_user_.start(*this);
  return {};
}

void UserReceive::destroy() noexcept {
  RequestPool& pool = pool_;
  this->~UserReceive();
  RequestPool::put(pool.receives_, this);
}

RequestPool::~RequestPool() {
  for (FreeBlock* list : {sends_, receives_}) {
    while (list != nullptr) {
      FreeBlock* next = list->next;
      ::operator delete(list);
      list = next;
    }
  }
}

UserSend& RequestPool::make(const SendArguments& arguments, bool persistent) {
  return *new (take(sends_, sizeof(UserSend))) UserSend(*this, messenger_, arguments, persistent);
}
UserReceive& RequestPool::make(const ReceiveArguments& arguments, bool persistent) {
  return *new (take(receives_, sizeof(UserReceive))) UserReceive(*this, messenger_, arguments, persistent);
}

void* RequestPool::take(FreeBlock*& list, std::size_t bytes) {
  if (list == nullptr) return ::operator new(bytes);
  FreeBlock* block = list;
  list = block->next;
  return block;
}

// The link overwrites the first word, which is the table of virtual functions; the mark of Object behind it stays.
void RequestPool::put(FreeBlock*& list, void* block) noexcept {
  list = new (block) FreeBlock{list};
}

}  // namespace lapwing::p2p
