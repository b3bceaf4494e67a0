// Messages that came before their receive, and the memory they wait in.
//
// A message and its payload share one block, whose size is exactly what the sender paid for (credit.h). Free blocks are
// kept by size up to a bound. Protected by the endpoint's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/object.h"
#include "comm/communicator.h"
#include "net/transport.h"
#include "p2p/credit.h"
#include "p2p/match_table.h"

namespace lapwing::p2p {

class ReceiveRequest;

struct ByEnvelope : MatchNode {};  // filed under (context, peer, tag)
struct ByContext : MatchNode {};   // filed under the context alone, for receives with wildcards

// Also what an MPI_Message points at, once a matched probe has taken it out of the queues.
struct UnexpectedMessage : Object, ByEnvelope, ByContext {
  UnexpectedMessage() noexcept : Object(ObjectKind::kMessage) {}
  ~UnexpectedMessage() = default;

  std::uint64_t message_bytes = 0;
  std::uint64_t stored_bytes = 0;  // of payload, behind this object
  std::uint64_t address = 0;       // in the sender's memory, if it may be pulled
  std::uint64_t sender_token = 0;
  std::uint64_t note = 0;
  ReceiveRequest* receive = nullptr;           // matched while the payload was still arriving
  comm::Communicator* communicator = nullptr;  // kept from a matched probe to its receive
  std::int32_t source = 0;
  bool is_rts = false;  // rendezvous: only the first bytes are here
  bool pullable = false;
  bool arrived = false;   // the payload is here
  bool unwanted = false;  // to be dropped when it is

  ProcessId peer() const noexcept { return ByEnvelope::key.peer(); }
  std::int32_t tag() const noexcept { return ByEnvelope::key.tag(); }
  std::uint64_t context() const noexcept { return ByEnvelope::key.context; }
  std::byte* payload() noexcept { return reinterpret_cast<std::byte*>(this) + kBookkeepingBytes; }
};
static_assert(sizeof(UnexpectedMessage) <= kBookkeepingBytes);

class MessagePool {
 public:
  explicit MessagePool(std::uint64_t cache_limit) noexcept : cache_limit_(cache_limit) {}
  ~MessagePool();
  MessagePool(const MessagePool&) = delete;
  MessagePool& operator=(const MessagePool&) = delete;

  UnexpectedMessage& make(std::uint64_t payload_bytes);
  void free(UnexpectedMessage& message) noexcept;

  std::uint64_t bytes_in_use() const noexcept { return in_use_; }
  std::uint64_t peak_bytes() const noexcept { return peak_; }
  std::uint64_t cached_bytes() const noexcept { return cached_; }

 private:
  struct FreeBlock {
    FreeBlock* next;
  };
  static std::size_t class_of(std::uint64_t block) noexcept;

  std::vector<FreeBlock*> free_;
  std::uint64_t cache_limit_;
  std::uint64_t cached_ = 0;
  std::uint64_t in_use_ = 0;
  std::uint64_t peak_ = 0;
};

}  // namespace lapwing::p2p
