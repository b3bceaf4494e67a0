#include "p2p/messenger.h"

#include <cinttypes>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <utility>

#include "base/internal_error.h"
#include "p2p/messenger_state.h"

namespace lapwing::p2p {
namespace {

MatchKey key_of(comm::Communicator& communicator, int source, int tag) noexcept {
  return {communicator.wire_context(comm::Plane::kPointToPoint),
          source == MPI_ANY_SOURCE ? kAnyPeer : communicator.peers().member(source),
          tag == MPI_ANY_TAG ? kAnyTag : tag};
}

void add_line(std::string& text, const char* format, ...) __attribute__((format(printf, 2, 3)));
void add_line(std::string& text, const char* format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  text += line;
  text += '\n';
}

// How many entries of each queue describe() spells out.
constexpr int kSpelledOut = 20;

}  // namespace

Messenger::ProbeWatch::ProbeWatch(comm::Communicator& communicator, int source, int tag,
                                  engine::Waiter& waiter) noexcept
    : key_(key_of(communicator, source, tag)), group_(communicator.peers()), waiter_(waiter) {}

Messenger::State::State(Messenger& owner, engine::Engine& engine, std::uint64_t unexpected_limit)
    : owner(owner),
      engine(engine),
      unexpected_limit(unexpected_limit),
      pool(unexpected_limit / 16),
      requests(owner),
      process_buffer(engine),
      puller(*this),
      vigil(*this),
      kick([](engine::Timer&) noexcept {}) {
  engine.add_source(puller);
}

Messenger::State::~State() {
  engine.cancel_timer(vigil);
  engine.cancel_timer(kick);
  engine.remove_source(puller);
  std::vector<Message*> left;
  matcher.unexpected_table().for_each([&](MatchNode& node) { left.push_back(&Matcher::message_of(node)); });
  for (Message* message : left) {
    matcher.take(*message);
    pool.free(*message);
  }
}

Messenger::Messenger(engine::Engine& engine, std::uint64_t unexpected_limit)
    : state_(std::make_unique<State>(*this, engine, unexpected_limit)) {}
Messenger::~Messenger() = default;

void Messenger::set_network(net::Network& network) {
  state_->network = &network;
  state_->vigil_period = network.watch_after();
  state_->vigil_due = state_->vigil_period != 0;
  const Windows windows = windows_for(state_->unexpected_limit, network.size());
  state_->peers.reset(network.size(), [windows](std::size_t, Peer& peer) {
    for (int account = 0; account < kAccounts; ++account) peer.incoming[account].window = windows.units[account];
  });
}

void Messenger::start(SendRequest& send) noexcept {
  state_->start(send);
}
void Messenger::start(ReceiveRequest& receive) noexcept {
  state_->start(receive);
}
bool Messenger::send_now(const SendArguments& arguments) noexcept {
  return state_->send_now(arguments);
}
void Messenger::cancel(SendRequest& send) noexcept {
  state_->cancel(send);
}
void Messenger::cancel(ReceiveRequest& receive) noexcept {
  state_->cancel(receive);
}
AttachedBuffer& Messenger::process_buffer() noexcept {
  return state_->process_buffer;
}

int Messenger::take_partition_tags(int count) noexcept {
  if (state_->next_partition_tag > INT_MAX - count) state_->next_partition_tag = 0;
  const int first = state_->next_partition_tag;
  state_->next_partition_tag += count;
  return first;
}

RequestPool& Messenger::requests() noexcept {
  return state_->requests;
}

// ---- probes ---------------------------------------------------------------------------------------------------------

namespace {

void fill(Result& result, const Message& message, comm::Communicator& communicator, int source) noexcept {
  result = Result::empty();
  result.source = source == MPI_ANY_SOURCE ? communicator.peers().rank_of(message.peer()) : source;
  result.tag = message.tag();
  result.bytes = message.message_bytes;
}

}  // namespace

bool Messenger::probe(comm::Communicator& communicator, int source, int tag, Result& result) noexcept {
  const MatchKey key = key_of(communicator, source, tag);
  const Message* message = state_->matcher.find(key);
  if (message != nullptr) {
    fill(result, *message, communicator, source);
  } else {
    state_->relieve_for(key);
  }
  return message != nullptr;
}

Message* Messenger::matched_probe(comm::Communicator& communicator, int source, int tag, Result& result) noexcept {
  const MatchKey key = key_of(communicator, source, tag);
  Message* message = state_->matcher.find(key);
  if (message == nullptr) {
    state_->relieve_for(key);
    return nullptr;
  }
  fill(result, *message, communicator, source);
  state_->matcher.take(*message);
  message->communicator = &communicator;
  communicator.retain();
  return message;
}

void Messenger::start_matched(ReceiveRequest& receive, Message* message) noexcept {
  comm::Communicator* kept = std::exchange(message->communicator, nullptr);
  state_->start_matched(receive, *message);
  if (kept != nullptr) comm::Communicator::drop(kept);
}

void Messenger::watch(ProbeWatch& watch) noexcept {
  state_->probes.push_back(watch);
  if (state_->vigil_due) state_->begin_vigil();
  state_->relieve_for(watch.key_);
}

void Messenger::unwatch(ProbeWatch& watch) noexcept {
  if (watch.linked()) watch.unlink();
}

Status Messenger::reachable(comm::Communicator& communicator, int source) const {
  if (source == MPI_PROC_NULL) return {};
  if (source == MPI_ANY_SOURCE) {
    const Status* why = state_->failure_among(communicator.peers());
    return why != nullptr ? why->copy() : Status();
  }
  const Peer& peer = state_->peers[communicator.peers().member(source)];
  return peer.lost ? peer.why.copy() : Status();
}

// ---- the state of affairs -------------------------------------------------------------------------------------------

bool Messenger::quiet() const noexcept {
  return state_->sends_active == 0 && state_->controls_active == 0;
}

const MessengerCounters& Messenger::counters() const noexcept {
  state_->counters.unexpected_bytes_now = state_->pool.bytes_in_use();
  state_->counters.unexpected_bytes_peak = state_->pool.peak_bytes();
  return state_->counters;
}

std::string Messenger::describe() const {
  State& state = *state_;
  std::string text;
  add_line(text,
           "%zu posted receives, %zu unexpected messages in %" PRIu64 " bytes, %" PRIu64
           " sends under way, %zu of them waiting for their receiver",
           state.matcher.posted(), state.matcher.unexpected(), state.pool.bytes_in_use(), state.sends_active,
           state.sends.size());
  int left = kSpelledOut;
  state.matcher.posted_table().for_each([&](MatchNode& node) {
    if (left-- <= 0) return;
    const auto& arguments = static_cast<ReceiveRequest&>(node).arguments();
    add_line(text, "  receive: context %" PRIu64 ", source %d, tag %d, room for %" PRIu64 " elements", node.key.context,
             arguments.source, arguments.tag, arguments.count);
  });
  left = kSpelledOut;
  state.matcher.unexpected_table().for_each([&](MatchNode& node) {
    if (left-- <= 0) return;
    Message& message = Matcher::message_of(node);
    add_line(text, "  unexpected: context %" PRIu64 ", from %s, tag %d, %" PRIu64 " bytes", message.context(),
             state.network->describe(message.peer()).c_str(), message.tag(), message.message_bytes);
  });
  state.peers.for_each([&](std::size_t id, Peer& peer) {
    std::size_t held = 0;
    for (auto& list : peer.held) {
      for (auto at = list.begin(); at != list.end(); ++at) ++held;
    }
    if (held == 0) return;
    add_line(text, "  held back: %zu messages for %s, which must first receive what it has", held,
             state.network->describe(static_cast<net::PeerId>(id)).c_str());
  });
  return text;
}

// ---- net::FrameSink -------------------------------------------------------------------------------------------------

bool Messenger::on_whole(net::PeerId peer, const wire::FrameHeader& header, const std::byte* payload) noexcept {
  return state_->on_whole(peer, header, payload);
}
net::Landing Messenger::on_header(net::PeerId peer, const wire::FrameHeader& header) noexcept {
  return state_->on_header(peer, header);
}
void Messenger::on_frame(net::PeerId peer, const wire::FrameHeader& header, const net::Landing&) noexcept {
  state_->on_frame(peer, header);
}
void Messenger::on_peer_left(net::PeerId peer, const Status& why) noexcept {
  state_->on_peer_gone(peer, why, !State::kFailed);
}

void Messenger::on_peer_lost(net::PeerId peer, const Status& why, const net::Landing*) noexcept {
  state_->on_peer_gone(peer, why, State::kFailed);
}

}  // namespace lapwing::p2p
