// What a transport is to the layers above: it moves frames between this rank and a peer, in order, without loss or
// duplicate, and knows no communicator and no tag: of a header it reads and writes the transport's part alone (wire/frame.h).
//
// Everything here is called with the endpoint's lock held, and calls back with it held. A transport is an engine::Source.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/byte_walk.h"
#include "base/intrusive_list.h"
#include "base/process_id.h"
#include "base/status.h"
#include "engine/engine.h"
#include "net/lent_queue.h"
#include "net/message_memory.h"
#include "wire/card_book.h"
#include "wire/frame.h"

namespace lapwing::net {

// A process that frames go to and come from.
using PeerId = ProcessId;

// When a frame is to reach the layer above at a peer whose application computes.
enum class Delivery {
  kWhenAsked,  // when its application calls MPI
  kAtOnce,     // now, if it has something in flight there that the frame may be for; else when its application calls
  kUrgent,     // now
};

// A send has two completions.
//
//   taken       the transport has the frame, and its SendOp may be used for the next one
//   delivered   the peer has the frame, or the transport a copy of it: the payload's memory may be reused
//
// Where nothing is kept for another connection (self, shared memory, TCP that does not resume) the two are one, and cost nothing. A link that keeps
// frames until they are acknowledged reads the payload of a long one where it lies. Its owner says how it wants to know the end of that: without an
// Undelivered, the frame is only taken when it is delivered; with one, it is taken when it has left, and counted there until it is delivered.
class Undelivered {
 public:
  // No frame is counted any more. `status` says why, if one of them will never be delivered: their peer is lost. From the transport's poll or a
  // tasklet, never from inside post().
  using OnDelivered = void (*)(Undelivered& all, const Status& status) noexcept;
  explicit Undelivered(OnDelivered on_delivered) noexcept : on_delivered_(on_delivered) {}

  bool none() const noexcept { return frames_ == 0; }
  // Whether something goes on when they are delivered though no thread waits for them: a schedule's next step.
  void set_followed(bool followed) noexcept { followed_ = followed; }

  // For the transport.
  bool followed() const noexcept { return followed_; }
  void add() noexcept { ++frames_; }
  void remove(const Status& status) noexcept {
    if (--frames_ == 0) on_delivered_(*this, status);
  }

 private:
  OnDelivered on_delivered_;
  std::uint32_t frames_ = 0;
  bool followed_ = false;
};

// One frame on its way out. Owned by the layer above; a transport links it into its queues until it is taken.
class SendOp : public ListNode<> {
 public:
  using OnTaken = void (*)(SendOp& op, const Status& status) noexcept;

  wire::FrameHeader header;         // the protocol's, and described; the transport numbers it
  const std::byte* data = nullptr;  // the payload when it is contiguous: header.payload_bytes() of it
  ByteWalk* walk = nullptr;         // otherwise; the transport takes exactly payload_bytes() from it
  Delivery delivery = Delivery::kAtOnce;
  bool trailer = false;    // wire::kFlagTrailer, after Transport::asking has said kKernel
  bool any_order = false;  // may overtake other frames to this peer, and be overtaken by them
  // Exactly once, unless post() has said so already: the frame is taken (or: it will never be sent, with why). From the transport's poll or a
  // tasklet, never from inside post().
  OnTaken on_taken = nullptr;
  // Counts this frame from when it is taken until it is delivered, where these are two. Its memory, that of the walk included, stays.
  Undelivered* undelivered = nullptr;

  // The transport's own bookkeeping.
  std::uint64_t transport_progress = 0;
};

struct PullTag;

// A message that is copied from its sender's memory into this process's, in which no frame has a part. Owned by the layer above until
// it is over.
class PullOp : public ListNode<PullTag> {
 public:
  enum class End {
    kNone,     // goes on
    kWhole,    // all bytes are there
    kRefused,  // the system does not allow it (any more), or frames are the faster way by now: ask for the bytes in frames
    kLost,     // the peer is gone
  };
  // `why`: of kLost.
  using OnEnd = void (*)(PullOp& op, End end, const Status& why) noexcept;

  std::uint64_t address = 0;  // in the sender's memory
  std::uint64_t bytes = 0;
  std::byte* data = nullptr;  // where they go when that is contiguous
  ByteWalk* walk = nullptr;   // otherwise
  // Exactly once, unless pull() has said so already. From the transport's poll, or when the peer is lost; never from inside pull().
  OnEnd on_end = nullptr;

  // The transport's own bookkeeping.
  std::uint64_t done = 0;
  std::int64_t began = 0;
  std::int64_t copying = 0;  // ns, in all
  bool shared = false, failed = false;
};

// How long messages between ranks of a host came to this process.
struct PathCounters {
  std::uint64_t in_frames = 0, pulled = 0, shared = 0;  // rendezvous that were timed
  std::uint64_t streamed = 0, in_cells = 0;             // frames past the sender's caches, and by memory that changes hands
  std::uint64_t trials = 0, changes = 0;

  void add(const PathCounters& other) noexcept {
    in_frames += other.in_frames, pulled += other.pulled, shared += other.shared;
    streamed += other.streamed, in_cells += other.in_cells;
    trials += other.trials, changes += other.changes;
  }
};

// Payload that came to this process, by the number of copies between the packets in which it came and the place that its sink gave it. The kernel's
// read is one, and so is what a program in the kernel copies.
struct CopyCounters {
  std::uint64_t once = 0;   // straight to its place
  std::uint64_t twice = 0;  // by way of a transport's memory

  void add(const CopyCounters& other) noexcept { once += other.once, twice += other.twice; }
};

// Of packets that travelled as frames of another transport while their own way carried none (Transport::take_detour).
struct DetourCounters {
  std::uint64_t begun = 0, ended = 0;  // detours: to one peer, however often the connection that they lead by is made again
  std::uint64_t packets = 0;           // sent by them, those that were sent again too

  void add(const DetourCounters& other) noexcept { begun += other.begun, ended += other.ended, packets += other.packets; }
};

// Where the payload of one incoming frame goes.
struct Landing {
  std::byte* base = nullptr;   // contiguous destination, or
  ByteWalk* walk = nullptr;    // scattered destination; both null: drop
  std::uint64_t accepted = 0;  // how many payload bytes go there; the rest of the payload is read and dropped
  bool violation = false;      // the frame breaks the protocol: close the connection. `reason` says why
  const char* reason = "";
};

// Receives the frames of one protocol.
class FrameSink {
 public:
  // A frame that is here whole, its payload in one piece: does what on_header, taking the payload and on_frame would do, in one
  // step. False: not with this frame, and nothing has happened; go the long way.
  virtual bool receive_now(PeerId peer, const wire::FrameHeader& header, const std::byte* payload) noexcept {
    (void)peer, (void)header, (void)payload;
    return false;
  }
  // Whether a frame may come beside the order of the others (SendOp::any_order).
  virtual bool may_overtake(const wire::FrameHeader& header) const noexcept {
    (void)header;
    return false;
  }
  // A header from `peer` has arrived, and its transport's part is sound. Says where the payload goes. For a frame without payload too.
  virtual Landing on_header(PeerId peer, const wire::FrameHeader& header) noexcept = 0;
  // A carrier has put messages into receives that `peer`'s queue lent it, and acknowledged those that say wire::kFlagTrailer. Null, or what is wrong
  // with one: close the connection.
  virtual const char* on_landed(PeerId peer, LentQueue& queue) noexcept {
    (void)peer, (void)queue;
    return nullptr;
  }
  // Answers that the carrier has given in this process's name may be lost, and it gives no more (Transport::asking).
  virtual void on_answers_lost(PeerId peer) noexcept { (void)peer; }
  // The whole payload is where on_header has said.
  virtual void on_frame(PeerId peer, const wire::FrameHeader& header) noexcept = 0;
  // No frame will come from or go to `peer` any more. If a frame was half received, `landing` is what on_header gave for
  // it (else null). Posts to this peer fail from now on.
  virtual void on_peer_lost(PeerId peer, const Status& why, const Landing* landing) noexcept = 0;
  // The same for a peer that has said goodbye (it has finalized): it had nothing more to send.
  virtual void on_peer_left(PeerId peer, const Status& why) noexcept { on_peer_lost(peer, why, nullptr); }
  // `by` has given this process up, as it says, and tells the others; on_peer_lost follows.
  virtual void on_given_up(PeerId by) noexcept { (void)by; }
  // Whether this process has been given up by another, by whatever way it has heard of it.
  virtual bool is_given_up() const noexcept { return false; }
  // A way to `peer` stands that was not there before, or one that had broken stands again.
  virtual void on_peer_met(PeerId peer) noexcept { (void)peer; }

 protected:
  ~FrameSink() = default;
};

// The sink of each protocol. A frame of a protocol that has none here breaks the rules.
class Sinks {
 public:
  Sinks() noexcept;
  Sinks(FrameSink& messages) noexcept : Sinks() { add(wire::Protocol::kMessages, messages); }

  void add(wire::Protocol protocol, FrameSink& sink) noexcept { sinks_[static_cast<std::size_t>(protocol)] = &sink; }
  FrameSink& messages() const noexcept { return *sinks_[static_cast<std::size_t>(wire::Protocol::kMessages)]; }
  // Of a frame whose header is sound.
  FrameSink& of(const wire::FrameHeader& header) const noexcept { return *sinks_[header.protocol()]; }

  // `half_received`: the landing of a frame with this header, or null.
  void peer_lost(PeerId peer, const Status& why, const wire::FrameHeader& header,
                 const Landing* half_received) const noexcept;
  void peer_left(PeerId peer, const Status& why) const noexcept;
  void peer_met(PeerId peer) const noexcept;
  void given_up_by(PeerId peer) const noexcept;
  bool is_given_up() const noexcept;

 private:
  FrameSink* sinks_[wire::kProtocols];
};

struct Capabilities {
  std::uint64_t eager_limit = 0;   // longer messages go by rendezvous
  std::uint64_t data_chunk = 0;    // advised payload of one kData frame
  std::uint64_t long_chunk = 0;    // the same, of messages of more than four such payloads; 0: no other
  std::uint64_t first_bytes = 0;   // advised payload of an RTS frame; 0: the usual
  std::uint64_t at_once = 4096;    // what Transport::send_now takes
  std::uint64_t urgent_bytes = 0;  // payload of an urgent frame, at least, for a peer at rest to be told of it
  std::uint64_t pulls_above = ~std::uint64_t{0};  // longer messages ask Transport::offers_pull, though they could be sent whole
  std::uint64_t best_up_to = ~std::uint64_t{0};   // what is left of longer messages had better go by the next transport that reaches the peer
  std::uint64_t unasked = 0;       // up to this length messages leave whole though they are longer than eager ones, where there is an event thread (answers_wait)
  bool answers_wait = false;       // what is posted behind data leaves long after it, and a thread is there for what is put off (Engine::want_turn)
  bool matches = false;            // the carrier matches messages with receives that it is lent (Transport::lent_queue)

  std::uint64_t data_chunk_of(std::uint64_t message) const noexcept { return long_chunk != 0 && message > 4 * data_chunk ? long_chunk : data_chunk; }
  std::uint64_t longest_unasked() const noexcept { return answers_wait ? std::max(eager_limit, unasked) : eager_limit; }
};
// Who is to answer a request: what carries it to the peer may, though the peer's process does not run, and its process in any case.
enum class Asking : std::uint8_t {
  kNever,    // it cannot
  kProcess,  // it could, and is not asked
  kKernel,   // it may
};
inline constexpr std::uint64_t kMostUrgentBytes = 256 * 1024;

class Transport : public engine::Source {
 public:
  virtual ~Transport() = default;

  virtual const char* name() const noexcept = 0;

  // First step: opens what peers will need to reach this rank and writes it into this rank's card.
  virtual Status publish(wire::Card& card) = 0;
  // Second step, after all cards were exchanged. Registers with the engine. Lazy: connects to no peer before a frame is
  // posted to it, and where the launcher says that all ranks are on this host, reads no card before.
  virtual Status attach(const wire::CardBook& cards) = 0;
  // Whether this transport can reach `peer`; valid after attach().
  virtual bool reaches(PeerId peer) const noexcept = 0;
  virtual Capabilities capabilities(PeerId peer) const noexcept = 0;
  // The longest payload of one frame that the peer takes: as both have agreed when they connected, and before that what every peer takes.
  virtual std::uint64_t frame_limit(PeerId peer) const noexcept {
    (void)peer;
    return wire::kMaxPayloadBytes;
  }

  // Sends at once what the way takes (optimistic send); the rest follows as the engine turns. Order per peer is kept. True: the frame is
  // taken whole, and on_taken is not called. Nothing calls back from inside.
  [[nodiscard]] virtual bool post(PeerId peer, SendOp& op) noexcept = 0;

  // Takes a whole frame of at most capabilities().at_once of payload, by copying it: it is as good as sent, and nothing calls back.
  // False: not now, nothing has happened; post it. With kWhenAsked nothing is lost when the frame lies there until the peer's
  // application calls MPI, so a peer that computes need not be woken for it.
  virtual bool send_now(PeerId peer, wire::FrameHeader& header, const std::byte* payload, Delivery delivery) noexcept {
    (void)peer, (void)header, (void)payload, (void)delivery;
    return false;
  }

  // Of frames of Protocol::kPackets, which another transport brings for this one; null: it has no packets.
  virtual FrameSink* packet_sink() noexcept { return nullptr; }
  // After attach(): by `by`, the next transport in their order, packets may travel as frames while their own way carries none.
  virtual void take_detour(Transport& by) noexcept { (void)by; }

  // Whether packets to or from the peer are lost at present, which this transport mends soon, and one that waits for what is lost does not.
  virtual bool loses_packets(PeerId peer) const noexcept {
    (void)peer;
    return false;
  }

  // How often the kernel has sent packets to the peer again, since the present connection was made; for transports whose kernel does that.
  virtual std::uint32_t packets_resent(PeerId peer) const noexcept {
    (void)peer;
    return 0;
  }
  // The same of the next transport in their order, by which long messages go at present, before one of so many bytes: what that one keeps losing
  // counts in loses_packets().
  virtual void heed_resent(PeerId peer, std::uint32_t packets, std::uint64_t bytes) noexcept { (void)peer, (void)packets, (void)bytes; }

  // For a sender: whether the peer is to pull a contiguous message of so many bytes from this process's memory, rather than that it is sent
  // in frames. What is offered stays where it is until the peer says that it needs no more.
  virtual bool offers_pull(PeerId peer, std::uint64_t bytes) noexcept {
    (void)peer, (void)bytes;
    return false;
  }
  // For a receiver: pulls what a peer has offered. kNone: it is under way.
  [[nodiscard]] virtual PullOp::End pull(PeerId peer, PullOp& op) noexcept {
    (void)peer, (void)op;
    return PullOp::End::kRefused;
  }
  // A message of a length that may be pulled has come in frames, all but `before` of its bytes since `began`, when its header and its
  // receive had met. A transport with several paths compares them by such times.
  virtual void came_in_frames(PeerId peer, std::uint64_t bytes, std::uint64_t before, std::int64_t began) noexcept {
    (void)peer, (void)bytes, (void)before, (void)began;
  }
  // Where ranks share cores, of a message that had to be stored until its receive was there: to copy it to where that wants it has taken so many ns.
  virtual void came_unexpected(PeerId peer, std::uint64_t bytes, std::int64_t copying) noexcept {
    (void)peer, (void)bytes, (void)copying;
  }
  virtual PathCounters paths() const noexcept { return {}; }
  // Of a transport that reads what comes from the kernel.
  virtual CopyCounters copies() const noexcept { return {}; }
  // Connections that took the place of one that broke.
  virtual std::uint64_t connections_resumed() const noexcept { return 0; }
  // Of a transport whose packets can take one.
  virtual DetourCounters detours() const noexcept { return {}; }
  // What came by a connection that is checked or sealed, and was not as it had been sent.
  virtual std::uint64_t records_wrong() const noexcept { return 0; }

  // Where receives from `peer` with this key can be lent; null: not these. Only where capabilities().matches. Such a transport
  // notes (LentQueue::take_in, or its own way) each message frame that its carrier passed on, as soon as receive_now has taken it or on_header has
  // judged it, and calls FrameSink::on_landed for what has landed, the last time before on_peer_lost. No receive is left claimed then.
  virtual LentQueue* lent_queue(PeerId peer, LentQueue::Key key) noexcept {
    (void)peer, (void)key;
    return nullptr;
  }

  // For a sender of a message of so many bytes that has to wait for an answer: whom it asks. With kKernel it posts the message whole, with a trailer,
  // or a request that says so (wire::kFlagAtOnce), and has no payload; with kProcess it does as ever.
  virtual Asking asking(PeerId peer, std::uint64_t bytes) noexcept {
    (void)peer, (void)bytes;
    return Asking::kNever;
  }
  // Unless with kNever: it had what it waited for after so many ns.
  virtual void asking_took(PeerId peer, std::uint64_t bytes, Asking way, std::int64_t time) noexcept { (void)peer, (void)bytes, (void)way, (void)time; }

  // Memory in which messages are received at less cost than elsewhere; null: any memory is as good. From attach() on.
  virtual std::shared_ptr<MessageMemory> message_memory() const noexcept { return nullptr; }

  // A peer is waited for, and nothing has been said to it perhaps: from now on the transport notices when its host is gone
  // (on_peer_lost). True when it had to begin something for that, such as a connection. The second form is content with any rank of
  // the same host, and begins no more than a bounded number of times.
  virtual bool watch_over(PeerId peer) noexcept {
    (void)peer;
    return false;
  }
  virtual bool watch_over_host(PeerId peer) noexcept {
    (void)peer;
    return false;
  }
  // After how many ns of waiting to ask for that; 0: never, this transport notices in any case.
  virtual std::int64_t watch_after() const noexcept { return 0; }

  // Whether a frame to `peer` goes by a way that stands, so that none has to be made for it.
  virtual bool is_met(PeerId peer) const noexcept {
    (void)peer;
    return false;
  }
  // The end of a peer that this transport has not found itself. Two cases:
  //
  //   give_up   the launcher or another rank knows that it is lost. What has come from it already is taken, and then on_peer_lost tells of its end, unless
  //             nothing has been had to do with it
  //   abandon   the sinks know, because another transport has lost it, and its receives are ending. Nothing lands from it any more, what was posted to it
  //             ends with `why`, and no sink is told
  //
  // Not from inside post() or on_frame().
  virtual void give_up(PeerId peer, const Status& why) noexcept { (void)peer, (void)why; }
  virtual void abandon(PeerId peer, const Status& why) noexcept { (void)peer, (void)why; }

  // Ranks that seem to be on this host by their cards, and are not: on a machine that was cloned while it ran. After attach().
  virtual std::vector<PeerId> doubles() const { return {}; }

  // True when no posted frame waits to leave, perhaps once more: where packets may be lost, or connections made again, when all are known to have
  // come.
  virtual bool flushed() const noexcept = 0;
  // Has peers say that frames have come, where flushed() depends on that and they would not of themselves. May be said again at any time.
  virtual void ask_for_flush() noexcept {}
  // From here on a peer that goes away is not an error.
  virtual void expect_goodbye() noexcept = 0;
  // Closes everything. Called without posted frames, or at abort.
  virtual void close() noexcept = 0;
};

}  // namespace lapwing::net
