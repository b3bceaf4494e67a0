#include "p2p/attached_buffer.h"

#include <cinttypes>

#include "base/internal_error.h"
#include "base/log.h"
#include "comm/session.h"
#include "datatype/pack.h"
#include "p2p/messenger.h"

namespace lapwing::p2p {

// The copy of one message on its way; ends by itself.
struct AttachedBuffer::Buffered final : SendRequest, ListNode<Buffered> {
  Buffered(AttachedBuffer& owner, const SendArguments& arguments) noexcept : SendRequest(arguments), owner(owner) {
    arguments.communicator->retain();
  }
  ~Buffered() { comm::Communicator::drop(arguments().communicator); }

  AttachedBuffer& owner;
  std::uint64_t number = 0;
  std::byte* room = nullptr;
};

AttachedBuffer::~AttachedBuffer() = default;

Status AttachedBuffer::attach(void* memory, std::uint64_t bytes) {
  if (attached_) return Status::error(MPI_ERR_BUFFER, "a buffer is attached already; detach it first");
  if (memory == nullptr && bytes > 0) return Status::error(MPI_ERR_BUFFER, "the buffer is a null pointer");
  attached_ = true;
  automatic_ = memory == MPI_BUFFER_AUTOMATIC;
  memory_ = static_cast<std::byte*>(memory);
  bytes_ = automatic_ ? 0 : bytes;
  next_offset_ = 0;
  return {};
}

void AttachedBuffer::detach(void*& memory, std::uint64_t& bytes) noexcept {
  LAPWING_CHECK(empty());
  memory = memory_;
  bytes = automatic_ ? 0 : bytes_;
  attached_ = automatic_ = false;
  memory_ = nullptr;
  bytes_ = 0;
}

// First fit, beginning behind the last message: sends mostly leave in the order they came.
Status AttachedBuffer::take_room(std::uint64_t bytes, std::byte*& room) {
  if (automatic_) {
    room = new std::byte[bytes];
    return {};
  }
  const std::uint64_t rounded = (bytes + 15) / 16 * 16;
  if (used_.empty()) next_offset_ = 0;
  for (const std::uint64_t begin : {next_offset_, std::uint64_t{0}}) {
    std::uint64_t offset = begin;
    auto next = used_.lower_bound(offset);
    if (next != used_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second > offset) offset = previous->first + previous->second;
    }
    while (next != used_.end() && next->first - offset < rounded) {
      offset = next->first + next->second;
      ++next;
    }
    if (offset > bytes_ || bytes_ - offset < bytes) continue;
    used_.emplace(offset, rounded);
    next_offset_ = offset + rounded;
    room = memory_ + offset;
    return {};
  }
  return Status::error(MPI_ERR_BUFFER,
                       "the attached buffer of %" PRIu64 " bytes has no room for a message of %" PRIu64
                       " bytes beside the %zu that have not left yet; attach a larger one, or MPI_BUFFER_AUTOMATIC",
                       bytes_, bytes, used_.size());
}

// What has been received may have given its room back, once this rank has heard of it.
Status AttachedBuffer::find_room(std::uint64_t bytes, std::byte*& room) {
  Status found = take_room(bytes, room);
  while (!found.ok() && bytes <= bytes_ && engine_.turn()) found = take_room(bytes, room);
  return found;
}

Status AttachedBuffer::send(Messenger& messenger, const SendArguments& arguments) {
  if (arguments.destination == MPI_PROC_NULL) return {};
  if (!attached_)
    return Status::error(MPI_ERR_BUFFER, "no buffer is attached; call MPI_Buffer_attach before a buffered send");
  const std::uint64_t bytes = datatype::packed_size(*arguments.type, arguments.count);
  if ((automatic_ || bytes <= bytes_) && messenger.send_now(arguments)) return {};
  std::byte* room = nullptr;
  if (bytes != 0) LAPWING_TRY(find_room(bytes, room));
  if (bytes != 0) datatype::pack(arguments.buffer, arguments.count, *arguments.type, room);
  SendArguments copy = arguments;
  copy.buffer = room;
  copy.count = bytes;
  copy.type = datatype::resolve(MPI_BYTE);
  copy.mode = SendMode::kStandard;
  auto* send = new Buffered(*this, copy);
  send->room = room;
  send->number = next_number_++;
  send->set_continuation(&AttachedBuffer::on_sent);
  sends_.push_back(*send);
  messenger.start(*send);
  return {};
}

void AttachedBuffer::on_sent(engine::Operation& operation) noexcept {
  auto& send = static_cast<Buffered&>(static_cast<SendRequest&>(static_cast<Request&>(operation)));
  send.owner.retire(send);
}

void AttachedBuffer::retire(Buffered& send) noexcept {
  if (automatic_) {
    delete[] send.room;
  } else if (send.room != nullptr) {
    used_.erase(static_cast<std::uint64_t>(send.room - memory_));
  }
  if (!send.result().status.ok()) {
    log_warn("a buffered send to rank %d was lost: %s", send.arguments().destination, send.result().status.text());
  }
  const std::uint64_t number = send.number;
  send.ListNode<Buffered>::unlink();
  delete &send;
  for (auto at = flushes_.begin(); at != flushes_.end();) {
    FlushRequest& flush = *at;
    ++at;
    if (number >= flush.before_ || --flush.missing_ != 0) continue;
    flush.ListNode<>::unlink();
    engine_.finish(flush);
  }
}

FlushRequest& AttachedBuffer::flush() {
  auto* request = new FlushRequest;
  request->set_active(true);
  request->before_ = next_number_;
  for (auto at = sends_.begin(); at != sends_.end(); ++at) ++request->missing_;
  if (request->missing_ != 0) {
    engine_.begin(*request);
    flushes_.push_back(*request);
  }
  return *request;
}

AttachedBuffer& buffer_for(comm::Communicator& communicator, Messenger& messenger) noexcept {
  const comm::Session* session = communicator.local_group().session;
  for (comm::Extra* extra : {communicator.buffer.get(), session != nullptr ? session->buffer.get() : nullptr}) {
    auto* buffer = static_cast<AttachedBuffer*>(extra);
    if (buffer != nullptr && buffer->attached()) return *buffer;
  }
  return messenger.process_buffer();
}

}  // namespace lapwing::p2p
