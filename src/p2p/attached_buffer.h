// Memory that a program lends to buffered sends (MPI 5.0, section 3.6): on the process, a communicator or a session, a
// piece of the program's own or, with MPI_BUFFER_AUTOMATIC, as much as is needed from the heap.
//
// A buffered send whose message the transport copies at once needs no room. Otherwise it packs its message into the buffer and is complete; the copy
// then leaves as a standard send for which no request of the user's stands. What a message takes of the buffer is its packed bytes;
// MPI_BSEND_OVERHEAD is room enough for the rounding.
// A flush waits for the sends that were in the buffer when it began, and for no later ones.
//
// Protected by the endpoint's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "base/intrusive_list.h"
#include "comm/communicator.h"
#include "p2p/send_request.h"

namespace lapwing::p2p {

class Messenger;

// Completes when the sends that were in the buffer have left. Destroyed like a user's request.
class FlushRequest final : public Request, public ListNode<> {
 public:
  FlushRequest() noexcept : Request(false) {}
  Status start() override { return Status::error(MPI_ERR_REQUEST, "a flush cannot be started again"); }
  void describe(wire::HangItem& item) const override;
  void destroy() noexcept override { delete this; }

 private:
  friend class AttachedBuffer;
  ~FlushRequest() = default;
  std::uint64_t before_ = 0;   // sends with a lower number are waited for
  std::uint64_t missing_ = 0;  // so many of them
};

class AttachedBuffer final : public comm::Extra {
 public:
  explicit AttachedBuffer(engine::Engine& engine) noexcept : engine_(engine) {}
  ~AttachedBuffer() override;

  bool attached() const noexcept { return attached_; }
  Status attach(void* memory, std::uint64_t bytes);
  // Whether every message has left.
  bool empty() const noexcept { return sends_.empty(); }
  // Only when it is empty. Gives back what attach() got; null when nothing is attached.
  void detach(void*& memory, std::uint64_t& bytes) noexcept;

  // Takes a copy of the message and sends it. MPI_ERR_BUFFER when there is no room.
  Status send(Messenger& messenger, const SendArguments& arguments);

  // A request under way, or complete at once.
  FlushRequest& flush();

 private:
  struct Buffered;
  static void on_sent(engine::Operation& operation) noexcept;
  void retire(Buffered& send) noexcept;
  Status find_room(std::uint64_t bytes, std::byte*& room);
  Status take_room(std::uint64_t bytes, std::byte*& room);

  engine::Engine& engine_;
  bool attached_ = false;
  bool automatic_ = false;
  std::byte* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::map<std::uint64_t, std::uint64_t> used_;  // offset -> bytes
  std::uint64_t next_offset_ = 0;                // behind the room taken last: where to look first
  std::uint64_t next_number_ = 0;
  IntrusiveList<Buffered, Buffered> sends_;
  IntrusiveList<FlushRequest> flushes_;
};

// The buffer that a send on this communicator uses: its own if it has one, else that of its session if that has one, else
// the process's.
AttachedBuffer& buffer_for(comm::Communicator& communicator, Messenger& messenger) noexcept;

}  // namespace lapwing::p2p
