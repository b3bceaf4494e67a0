// The ranks of one host, through shared memory.
//
// What each rank owns. It maps one segment (segment.h), fetched from the lowest local rank (handover.h). In it, per ordered
// pair, a ring with one writer and one reader (ring.h); per rank, a control block. Beside it, per rank, a doorbell: an
// eventfd that all local ranks hold and that the rank's event port watches. Everything here runs with the endpoint's lock.
// Every SendOp ends exactly once, when its last byte is in the ring or its peer is gone.
//
// How no rank misses anything. A receiver looks only at its *hot* rings, those that lately had data, and at its pending
// bitmap, so a look costs what is active and not what exists. It sleeps only after announcing it. Four flags do this; each is
// used by the flag dance of base/memory_order.h, in which one of two sides always sees the other:
//
// (To publish is to store a tail or a record's stamp, ring.h, or several of them; to read the tail, below, is to look for either.)
//
//   pending bit    set = "the receiver looks at this ring". The sender publishes the tail, fences, and reads the bit: set,
//                  there is nothing to do (the usual case: a shared cache line that no rank writes); clear, it sets it. The
//                  receiver, cooling a ring down, clears the bit, fences, and reads the tail once more.
//   sleeping       the receiver sets it in arm(), fences, and then reads the bitmap and the tails of its hot rings; any work
//                  there and it does not sleep. The sender publishes the tail (and the bit if clear), fences, and reads
//                  sleeping: set, it takes it away (of several senders one gets it) and writes to the doorbell. The flag also
//                  says which thread sleeps. Where it is the event thread alone, because the application computes, a frame that may wait until
//                  that calls MPI (Delivery::kWhenAsked) notifies none, unless half of the ring is full. Where nothing is in flight
//                  (rest()), no frame notifies but an urgent one, unless half of the ring is full; the flag then stays up while the
//                  application comes, polls and goes. A frame that has no room makes what is there urgent, so that no sender is held up.
//   wants_space    the same dance with the roles exchanged: a sender whose output waits for room sets it, and its own
//                  sleeping, in arm(), fences, and reads the head. The receiver publishes the head, fences, reads
//                  wants_space, and if set notifies that sender should it sleep.
//   host memory    its user has flags of its own, beside the same sleeping: see host_memory.h.
//   armed_         (private) while armed, work can also begin under an application thread that only passes by and sends.
//                  Then waiting output announces itself at once, a sleeping flag taken by a sender is put back by the next
//                  poll(), and what a bounded poll() leaves is kept alive by a write to our own doorbell.
//
//   ends           how many ranks have ended without a word, in the segment's header. The rank that notices an end publishes it and then
//                  writes to all doorbells, without a look at the sleeping flags: the rank that ended may have taken one and not
//                  written to that doorbell any more.
//
// A peer's death cannot be seen in memory: another rank of the host notices it (lookout.h). A peer that finalizes says goodbye.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/measured_copy.h"
#include "net/assembly.h"
#include "net/host_memory.h"
#include "net/network.h"
#include "net/refusals.h"
#include "net/shm/cell_pool.h"
#include "net/shm/handover.h"
#include "net/shm/invitation.h"
#include "net/shm/lookout.h"
#include "net/shm/pulls.h"
#include "net/shm/ring.h"
#include "net/shm/segment.h"
#include "net/shm/streaming.h"
#include "net/transport.h"

namespace lapwing::net {

class ShmTransport final : public Transport, private HostMemory, private shm::Lookout::User {
 public:
  ShmTransport(engine::Engine& engine, const Sinks& sinks, const NetworkConfig& config);
  ~ShmTransport() override;

  // Shared memory takes a segment of n * n queues, and a descriptor per rank in each rank. Beyond what it takes, a job on one host does
  // without it, where there is another way; all its ranks come to the same conclusion. (Among several hosts nothing says yet how many
  // ranks share one.)
  static bool suits(const NetworkConfig& config, bool another_way);

  const char* name() const noexcept override { return "shm"; }
  Status publish(wire::Card& card) override;
  // Blocks until the ranks of this host have agreed to use the segment. Where it fails they have agreed not to, and the job can go
  // on without this transport.
  Status attach(const wire::CardBook& cards) override;
  bool reaches(PeerId peer) const noexcept override;
  Capabilities capabilities(PeerId peer) const noexcept override;

  bool post(PeerId peer, SendOp& op) noexcept override;
  bool send_now(PeerId peer, wire::FrameHeader& header, const std::byte* payload, Delivery delivery) noexcept override;
  bool offers_pull(PeerId peer, std::uint64_t bytes) noexcept override;
  PullOp::End pull(PeerId peer, PullOp& op) noexcept override;
  void came_in_frames(PeerId peer, std::uint64_t bytes, std::uint64_t before, std::int64_t began) noexcept override;
  void came_unexpected(PeerId peer, std::uint64_t bytes, std::int64_t copying) noexcept override;
  PathCounters paths() const noexcept override;
  bool is_met(PeerId peer) const noexcept override { return link_to(peer) != nullptr && !link_to(peer)->gone; }
  void give_up(PeerId peer, const Status& why) noexcept override;
  std::vector<PeerId> doubles() const override { return doubles_; }

  bool flushed() const noexcept override { return waiting_.empty(); }
  void expect_goodbye() noexcept override { goodbye_expected_ = true; }
  void close() noexcept override;

  bool poll() noexcept override;
  bool arm() noexcept override;
  bool rest() noexcept override;
  void disarm() noexcept override;

 private:
  // This rank's dealings with one other rank of the host.
  struct Link {
    PeerId peer;
    std::uint32_t local = 0;  // its number on this host
    bool gone = false;        // `why` says why; nothing moves any more
    Status why;
    pid_t pid = 0;
    shm::ControlBlock* control = nullptr;           // its sleeping flag
    std::atomic<std::uint64_t>* pending = nullptr;  // the word of its bitmap with our bit
    std::uint64_t pending_bit = 0;

    shm::RingWriter out;
    IntrusiveList<SendOp> queue;  // the first may be partly in the ring
    bool acquainted = false;      // a frame has gone or come
    std::uint64_t written = 0;    // bytes since the queue was last empty
    bool waiting = false;         // in waiting_, and one engine hold
    bool claims = false;          // the lines of the frame under way (ring.h)
    bool on_trial = false;        // that frame's sender tries how it fills the ring
    bool timed = false;           // the record that is being read counts for streaming
    bool unanswered = false;      // a frame has come since something went

    bool in_cell = false;  // the payload under way lies in `cell`
    std::uint32_t cell = 0;

    shm::RingReader in;
    shm::CopyCost emptying;    // of long messages from it, where ranks share cores
    shm::Streaming streaming;  // of frames in both directions
    bool hot = false;
    unsigned idle_looks = 0;
    wire::FrameHeader header;  // of the frame that came last
    Assembly assembly;         // its payload, while that is coming
  };

  class Doorbell final : public engine::FdHandler {
   public:
    explicit Doorbell(ShmTransport& transport) noexcept : transport_(transport) {}
    void on_ready(std::uint32_t events) noexcept override;

   private:
    ShmTransport& transport_;
  };

  // Set-up: shm_transport.cc
  Status find_local_peers(const wire::CardBook& cards, std::vector<shm::Invitation>& invitations);
  bool is_here(PeerId rank, const shm::Invitation& invitation) const;
  Status share_segment(const std::vector<shm::Invitation>& invitations);
  Status lead(const std::vector<shm::Invitation>& others, const shm::Place& place, std::int64_t deadline);
  Status follow(const shm::Invitation& leader, const shm::Place& place, std::int64_t deadline);
  Status watch_doorbell();
  void forget_segment() noexcept;
  void open_links(const std::vector<shm::Invitation>& invitations);
  void say_goodbye(Link& link) noexcept;
  Link* link_to(PeerId peer) noexcept { return peer.index < link_of_.size() ? link_of_[peer.index] : nullptr; }
  const Link* link_to(PeerId peer) const noexcept { return const_cast<ShmTransport*>(this)->link_to(peer); }

  // ---- HostMemory: shm_transport.cc
  std::byte* shared_bytes() noexcept override { return segment_.user_bytes(); }
  std::uint32_t local_ranks() const noexcept override { return segment_.layout().local_ranks; }
  std::uint32_t own_number() const noexcept override { return my_local_; }
  std::int32_t local_number(PeerId process) const noexcept override {
    return process.index < local_of_.size() ? local_of_[process.index] : -1;
  }
  void notify(std::uint32_t local) noexcept override;
  bool reaches(std::uint32_t local) noexcept override { return local == my_local_ || pulls_.may_pull(local); }
  Copied read_from(std::uint32_t local, std::uint64_t address, void* to, std::uint64_t bytes) noexcept override {
    return pulls_.read_directly(local, address, to, bytes);
  }
  Copied write_to(std::uint32_t local, const void* from, std::uint64_t address, std::uint64_t bytes) noexcept override {
    return pulls_.write_directly(local, from, address, bytes);
  }
  std::uint64_t user_bytes(std::uint32_t local_ranks) const noexcept {
    return user_ != nullptr ? user_->bytes_for(local_ranks) : 0;
  }

  // Waking: shm_transport.cc
  bool copy_pieces() noexcept;
  bool work_left() noexcept;
  bool unseen_senders() noexcept;
  void notify_if_sleeping(Link& link, Delivery delivery) noexcept;
  bool may_lie(Link& link, std::uint32_t sleeper, Delivery delivery) noexcept;
  std::uint32_t sleeper() const noexcept;
  void write_doorbell(std::uint32_t local) noexcept;
  void report_failures() noexcept;
  void on_end_noticed() noexcept override;
  void report_ends() noexcept;
  void lose(Link& link, Status why) noexcept;
  void leave_behind(Link& link, Status why) noexcept;
  void end(Link& link, Status why) noexcept;

  // A record is published when its head is written: the whole of a small one, so the reader never waits for the rest of it.
  std::uint64_t head_of(std::uint64_t record, bool wide) const noexcept {
    return is_small(record) ? record : wide ? std::min(record, wide_head_) : long_head_;
  }
  bool is_small(std::uint64_t record) const noexcept { return record <= most_of_a_small_record_; }

  // Sending: shm_send.cc
  void push(Link& link) noexcept;
  void write_queue(Link& link, IntrusiveList<SendOp>& taken) noexcept;
  bool can_push(Link& link) noexcept;
  bool push_waiting() noexcept;
  std::uint64_t write_piece(Link& link, SendOp& op) noexcept;
  std::uint64_t write_whole_in_cell(Link& link, SendOp& op) noexcept;
  void write_payload(Link& link, SendOp& op, std::uint64_t from, std::uint64_t bytes, bool streams) noexcept;
  bool send_record_now(Link& link, const wire::FrameHeader& header, const std::byte* payload,
                       Delivery delivery) noexcept;
  // Whether a payload of so many bytes goes into a cell. The line behind the header comes sooner than one elsewhere, so shorter ones do not.
  static constexpr std::uint64_t kLeastInCell = 257;
  bool goes_in_cell(const Link& link, std::uint64_t payload) noexcept {
    return payload >= kLeastInCell && payload <= cells_.bytes() && cells_.has_one(link.out.answered());
  }
  template <typename Fill>
  void write_in_cell(Link& link, const wire::FrameHeader& header, Fill fill) noexcept;
  void copy_into_cell(Link& link, const wire::FrameHeader& header, const std::byte* payload) noexcept;
  // Of a payload in a cell, how much is there with the record's line.
  std::uint64_t head_in_cell(std::uint64_t payload) const noexcept {
    return std::min(payload, head_of(shm::Layout::record_bytes(payload), false) - wire::kHeaderBytes);
  }
  void send_rest_now(Link& link, const wire::FrameHeader& header, const std::byte* payload, std::uint64_t flags) noexcept;
  static std::uint64_t copy_flags(const Link& link, std::uint64_t payload, bool streams) noexcept;
  std::uint64_t flags_for(Link& link, std::uint64_t payload) noexcept;
  bool show(Link& link) noexcept;
  void announce(Link& link, Delivery delivery) noexcept;
  void start_waiting(Link& link) noexcept;
  void stop_waiting(Link& link) noexcept;

  // Receiving: shm_receive.cc
  bool collect_senders() noexcept;
  bool receive_hot() noexcept;
  bool receive(Link& link) noexcept;
  static bool has_input(Link& link) noexcept {
    if (!link.assembly.under_way()) return link.in.record_here();
    return (link.in_cell ? link.in.available_in_cells() : link.in.available()) != 0;
  }
  std::uint64_t take_header(Link& link) noexcept;
  std::uint64_t take_channel_frame(Link& link) noexcept;
  std::uint64_t take_inline(Link& link, const std::byte* line) noexcept;
  std::uint64_t take_header_of_cell(Link& link) noexcept;
  std::uint64_t take_from_cell(Link& link) noexcept;
  std::uint64_t append_from_cell(Link& link, std::uint64_t bytes) noexcept;
  void keep_cell(const Link& link) noexcept { cells_.keep(link.cell, link.header.payload_bytes()); }
  void lose_malformed(Link& link, const char* why) noexcept;
  void begin_frame(Link& link) noexcept;
  std::uint64_t take_payload(Link& link, std::uint64_t available) noexcept;
  void time_frame(Link& link) noexcept;
  void finish_frame(Link& link) noexcept;
  void give_back(Link& link, std::uint64_t bytes) noexcept;
  void came_by_copies(Link& link, std::uint64_t bytes) noexcept;
  bool cool_down(Link& link) noexcept;
  void take_goodbye(Link& link) noexcept;

  std::uint64_t piece_of(std::uint64_t payload, bool wide) const noexcept;
  // Whether a frame of so much payload goes past this rank's caches.
  static bool streams(Link& link, std::uint64_t payload) noexcept;
  // Whether what copying a payload takes from the processor is to be known (copy_cost.h).
  bool weighs(std::uint64_t payload) const noexcept { return payload > tuning().shm_least_pull && engine_.oversubscribed(); }
  // Into a ring, of so much payload in all; past the caches if it `streams`.
  void copy(shm::RingWriter& out, std::uint64_t payload, std::byte* to, const std::byte* from, std::uint64_t bytes, bool streams) noexcept;
  template <typename Copying>
  void weigh(shm::RingWriter& out, std::uint64_t payload, std::uint64_t bytes, Copying copying) noexcept;
  void copy_by_trials(RingTrials& trials, std::uint64_t payload, std::byte* to, const std::byte* from, std::uint64_t bytes, bool streams) noexcept;
  void copy_in(shm::RingWriter& out, const std::byte* from, std::uint64_t bytes, std::uint64_t payload, bool streams) noexcept;

  engine::Engine& engine_;
  MeasuredCopy copy_in_, copy_out_;  // of rings
  Sinks sinks_;
  NetworkConfig config_;
  HostMemoryUser* const user_;             // or null
  volatile std::uint64_t probe_word_ = 0;  // peers read and write it by SingleCopy::probe

  shm::Listener listener_;
  shm::Segment segment_;
  shm::SharedFiles files_;
  shm::Pulls pulls_;
  shm::CellPool cells_;
  Doorbell doorbell_{*this};

  // In its job.
  std::uint32_t rank_of(PeerId peer) const noexcept { return config_.processes->name(peer).rank; }

  std::vector<PeerId> local_ranks_;  // the host's processes, ascending: by local number
  std::vector<PeerId> doubles_;
  std::uint32_t my_local_ = 0;
  std::uint64_t most_of_a_small_record_ = 0;
  std::uint64_t long_head_ = 0, wide_head_ = 0;               // of a record that is not small
  std::vector<Link*> link_of_;                                // by process, null elsewhere and for this one
  std::vector<std::int32_t> local_of_;                        // local number by process, -1 elsewhere
  std::unique_ptr<Link[]> links_;                             // by local number; our own is unused
  const std::atomic<std::uint64_t>* pending_here_ = nullptr;  // our pending bitmap
  std::vector<Link*> hot_;
  std::vector<std::uint64_t> looked_at_;  // bits of the hot rings, laid out like our pending bitmap
  std::vector<Link*> waiting_;            // with queued output
  shm::Lookout lookout_{engine_, segment_, *this};
  Refusals refusals_{engine_};
  bool failure_ = false;  // a broken ring was noticed while sending; poll() reports it
  bool open_ = false;
  bool doorbell_watched_ = false;
  bool armed_ = false;
  bool at_rest_ = false;
  bool goodbye_expected_ = false;
};

}  // namespace lapwing::net
