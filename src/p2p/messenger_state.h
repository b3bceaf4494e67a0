// The inside of the messenger, shared by the files that implement it: sending.cc, receiving.cc, incoming.cc, peer_loss.cc.
// Everything here runs with the endpoint's lock held.
//
// Nothing calls back from inside post(): it says whether the frame was taken at once, and what comes of it comes later.
#pragma once

#include <memory>
#include <vector>

#include "base/sparse_table.h"
#include "engine/engine.h"
#include "p2p/attached_buffer.h"
#include "p2p/credit.h"
#include "p2p/matcher.h"
#include "p2p/message.h"
#include "p2p/messenger.h"
#include "p2p/probe_watch.h"
#include "p2p/receive_request.h"
#include "p2p/request_pool.h"
#include "p2p/send_request.h"
#include "p2p/slot_table.h"
#include "wire/message_header.h"

namespace lapwing::p2p {

// What we know of one peer.
struct Peer {
  // The way there, from the first send_now on.
  net::Transport* transport = nullptr;
  std::uint64_t most_at_once = 0;  // bytes that send_now may take

  // The frame that is arriving.
  ReceiveRequest* landing_receive = nullptr;
  Message* landing_message = nullptr;
  std::byte address[8] = {};  // payload of a pullable request

  IncomingAccount incoming[kAccounts];
  OutgoingAccount outgoing[kAccounts];
  IntrusiveList<SendRequest, HeldTag> held[kAccounts];
  std::uint64_t posted[kAccounts] = {0, 0};  // receives that name this peer

  std::uint64_t controls = 0;  // frames for this peer that its transport has not taken yet

  bool listed_exhausted = false;
  bool lost = false;
  Status why;
};

struct Messenger::State {
  // A frame without payload, from the pool until it is taken.
  struct Control : net::SendOp {
    State* state = nullptr;
    net::PeerId peer = 0;
    Control* next_free = nullptr;
  };

  // Pulls go on piece by piece whenever somebody drives.
  struct Puller final : engine::Source {
    explicit Puller(State& owner) noexcept : state(owner) {}
    bool poll() noexcept override;
    bool arm() noexcept override { return state.pulls.empty(); }
    void disarm() noexcept override {}
    State& state;
  };

  struct Vigil : engine::Timer {
    explicit Vigil(State& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<Vigil&>(timer).state.keep_vigil(); }, kIdle), state(owner) {}
    State& state;
  };

  State(Messenger& owner, engine::Engine& engine, std::uint64_t unexpected_limit);
  ~State();

  // sending.cc
  void start(SendRequest& send) noexcept;
  bool send_now(const SendArguments& arguments) noexcept;
  void find_way(net::PeerId id, Peer& peer) noexcept;
  void prepare(SendRequest& send) noexcept;
  bool launch(SendRequest& send) noexcept;
  void post_whole(SendRequest& send) noexcept;
  void post_rts(SendRequest& send, std::uint64_t first_bytes) noexcept;
  void pump(SendRequest& send) noexcept;
  void post_chunk(SendRequest& send, SendRequest::Frame& frame) noexcept;
  void settle(SendRequest& send) noexcept;
  void fail(SendRequest& send, Status why) noexcept;
  void cancel(SendRequest& send) noexcept;
  void drain_held(net::PeerId id) noexcept;
  static void on_frame_taken(net::SendOp& op, const Status& status) noexcept;
  static void on_control_taken(net::SendOp& op, const Status& status) noexcept;
  std::uint32_t take_owed(Peer& peer) noexcept;
  [[nodiscard]] bool post(net::PeerId id, net::SendOp& op) noexcept;
  void post_control(net::PeerId id, const wire::MessageHeader& header) noexcept;
  void answer(net::PeerId id, wire::MessageKind kind, std::uint64_t sender_token) noexcept;
  void post_frame(SendRequest& send, SendRequest::Frame& frame, const wire::MessageHeader& header) noexcept;

  // receiving.cc
  void start(ReceiveRequest& receive) noexcept;
  void start_matched(ReceiveRequest& receive, Message& message) noexcept;
  void prepare(ReceiveRequest& receive) noexcept;
  void prepare_pieces(ReceiveRequest& receive) noexcept;
  void cancel(ReceiveRequest& receive) noexcept;
  void expect(ReceiveRequest& receive, std::uint64_t message_bytes) noexcept;
  void deliver(ReceiveRequest& receive, Message& message) noexcept;
  void proceed(ReceiveRequest& receive, std::uint64_t sender_token, bool pullable, std::uint64_t address) noexcept;
  void post_cts(ReceiveRequest& receive, std::uint64_t sender_token) noexcept;
  bool pull_some(ReceiveRequest& receive) noexcept;
  void complete(ReceiveRequest& receive) noexcept;
  void fail(ReceiveRequest& receive, Status why) noexcept;
  net::Landing landing_of(ReceiveRequest& receive, std::uint64_t offset, std::uint64_t bytes) noexcept;
  void discard(Message& message) noexcept;

  // incoming.cc
  bool on_whole(net::PeerId id, const wire::FrameHeader& frame, const std::byte* payload) noexcept;
  net::Landing on_header(net::PeerId id, const wire::FrameHeader& frame) noexcept;
  net::Landing on_answer_header(net::PeerId id, const wire::MessageHeader& header) noexcept;
  net::Landing on_message_header(net::PeerId id, const wire::MessageHeader& header) noexcept;
  net::Landing store(net::PeerId id, const wire::MessageHeader& header) noexcept;
  net::Landing on_data_header(net::PeerId id, const wire::MessageHeader& header) noexcept;
  const char* check_answer(net::PeerId id, const wire::MessageHeader& header) noexcept;
  void on_frame(net::PeerId id, const wire::FrameHeader& frame) noexcept;
  void on_message(net::PeerId id, const wire::MessageHeader& header) noexcept;
  void on_data(net::PeerId id, const wire::MessageHeader& header) noexcept;
  void on_answer(const wire::MessageHeader& header) noexcept;
  void on_cancel(net::PeerId id, const wire::MessageHeader& header) noexcept;
  void notify_probes(const Message& message) noexcept;
  void take_credit(net::PeerId id, std::uint32_t credit) noexcept;
  void return_credit(net::PeerId id, bool all) noexcept;
  void relieve(net::PeerId id, int account, bool asked) noexcept;
  void relieve_for(MatchKey wanted) noexcept {
    if (wanted.peer() == kAnyPeer)
      relieve_anybody(wanted);
    else
      relieve(wanted.peer(), account_of(wanted.context), true);
  }
  void relieve_anybody(MatchKey wanted) noexcept;
  void list_exhausted(net::PeerId id, Peer& peer) noexcept;
  void after_spending(net::PeerId id, Peer& peer, int account) noexcept;

  // peer_loss.cc
  static constexpr bool kFailed = true;  // rather than finalized
  void on_peer_gone(net::PeerId id, const Status& why, bool failed) noexcept;
  // Why a receive from any member of this group would fail; null: it would not.
  const Status* failure_among(const comm::Group& group) noexcept;
  static bool may_be_from(const ReceiveRequest& receive, net::PeerId id) noexcept;

  // vigil.cc
  void begin_vigil() noexcept;
  void keep_vigil() noexcept;
  void watch_over(net::PeerId id, int& left) noexcept;
  void watch_over_members(const comm::Group& group, int& left) noexcept;

  // What every small message passes, inline.
  void post_receive(ReceiveRequest& receive, std::uint64_t& counter) noexcept {
    matcher.post(receive);
    receive.posted_counter_ = &counter;
    ++counter;
    if (vigil_due) [[unlikely]]
      begin_vigil();
  }
  void unpost(ReceiveRequest& receive) noexcept {
    matcher.unpost(receive);
    --*receive.posted_counter_;
  }
  static wire::MessageHeader envelope(const SendArguments& arguments, wire::MessageKind kind) noexcept {
    wire::MessageHeader header;
    header.kind = kind;
    header.context = arguments.communicator->wire_context(arguments.plane);
    header.source = arguments.communicator->rank();
    header.tag = arguments.tag;
    header.receiver_token = arguments.note;
    return header;
  }
  // A receive and its message have met.
  void bind(ReceiveRequest& receive, net::PeerId id, std::int32_t source, std::int32_t tag,
            std::uint64_t note) noexcept {
    ++counters.messages_received;
    receive.peer_ = id;
    Result& result = receive.result();
    result.source = receive.arguments_.source == MPI_ANY_SOURCE ? source : receive.arguments_.source;
    result.tag = tag;
    result.note = note;
  }
  // Payload has landed in the application's memory.
  void count_received(std::uint64_t bytes) noexcept {
    counters.bytes_received += bytes;
    count_moved(bytes);
  }
  // A message frame has come: gives back what its sender is owed, if that is worth a frame, and looks whether the sender is stuck.
  void after_message(net::PeerId id, Peer& peer, int account) noexcept {
    if (peer.incoming[account].worth_a_frame()) return_credit(id, false);
    if (peer.incoming[account].exhausted()) after_spending(id, peer, account);
  }
  // A receive from any source learns the sender's rank from the frame: it must be the rank of the process that sent it.
  bool names_itself_truly(const ReceiveRequest& receive, net::PeerId id, std::int32_t source) const noexcept {
    if (receive.arguments_.source != MPI_ANY_SOURCE) return true;
    const comm::Group& group = receive.arguments_.communicator->peers(receive.arguments_.plane);
    return source >= 0 && source < group.size() && group.member(source) == id;
  }

  // Whether a peer asks for answers and reads none. All that its credit lets it ask for may wait for a peer that computes.
  static bool leaves_answers(const Peer& peer) noexcept {
    constexpr std::uint64_t kSome = 4096;
    const std::uint64_t units = peer.incoming[kUserAccount].window + peer.incoming[kInternalAccount].window;
    return peer.controls > kSome + units / kEnvelopeUnits;
  }

  static int account_of(std::uint64_t context) noexcept {
    const bool user = (context & 3) == static_cast<std::uint64_t>(comm::Plane::kPointToPoint);
    return user ? kUserAccount : kInternalAccount;
  }
  void count_moved(std::uint64_t bytes) noexcept {
    counters.bytes_moved += bytes;
    if (engine.event_thread_drives()) counters.bytes_overlapped += bytes;
  }

  Messenger& owner;
  engine::Engine& engine;
  net::Network* network = nullptr;
  std::uint64_t unexpected_limit;
  SparseTable<Peer> peers;
  std::vector<net::PeerId> failed_peers;  // those that are lost, but for those that have finalized

  Matcher matcher;
  bool vigil_due = false;              // the next that waits begins it
  std::int64_t vigil_period = 0;       // ns; 0: none is needed
  std::uint64_t vigil_stamp = 0;       // receives with a lower one waited in its last round already
  std::uint64_t posted_any[kAccounts] = {};  // receives from any source
  IntrusiveList<Messenger::ProbeWatch> probes;
  std::vector<net::PeerId>
      exhausted;  // peers that may have no credit left here, each once; cleaned when looked through

  SlotTable<SendRequest> sends;        // that an answer may name
  SlotTable<ReceiveRequest> receives;  // that data may name
  std::uint64_t sends_active = 0;
  std::uint64_t controls_active = 0;

  int next_partition_tag = 0;

  MessagePool pool;
  RequestPool requests;
  AttachedBuffer process_buffer;
  std::vector<std::unique_ptr<Control>> controls;  // all ever made
  Control* free_controls = nullptr;
  Status malformed;  // the text of the last violation that is no constant
  Puller puller;
  Vigil vigil;
  engine::Timer kick;  // wakes whoever should drive when a pull begins
  IntrusiveList<ReceiveRequest, PullTag> pulls;
  mutable MessengerCounters counters;
};

}  // namespace lapwing::p2p
