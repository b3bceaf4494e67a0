#include "p2p/messenger.h"

#include <cinttypes>
#include <climits>
#include <cstdarg>
#include <cstdio>

namespace lapwing::p2p {
namespace {

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

// A sixteenth of what unexpected messages may take is for free blocks.
Messenger::Messenger(engine::Engine& engine, std::uint64_t unexpected_limit)
    : Parts(engine),
      SendPath(Parts::common, Parts::outgoing),
      ReceivePath(static_cast<Parts&>(*this), unexpected_limit / 16),
      FrameReceiver(*this, *this, *this),
      unexpected_limit_(unexpected_limit),
      requests_(*this),
      process_buffer_(engine) {}

void Messenger::set_network(net::Network& network) {
  common.network = &network;
  vigil.prepare();
  owed.begin();
  const Windows windows = windows_for(unexpected_limit_, network.size());
  common.peers.reset(network.size(), [windows](std::size_t, Peer& peer) {
    for (int account = 0; account < kAccounts; ++account) peer.incoming[account].window = windows.units[account];
  });
}

void Messenger::on_processes_added() {
  common.peers.grow(common.network->size());
}

void Messenger::cancel_what_is_aside() noexcept {
  for (ReceiveRequest* receive : std::vector(aside_)) cancel(*receive);
}

int Messenger::take_partition_tags(int count) noexcept {
  if (next_partition_tag_ > INT_MAX - count) next_partition_tag_ = 0;
  const int first = next_partition_tag_;
  next_partition_tag_ += count;
  return first;
}

// ---- the state of affairs -------------------------------------------------------------------------------------------

const MessengerCounters& Messenger::counters() noexcept {
  common.counters.unexpected_bytes_now = pool().bytes_in_use();
  common.counters.unexpected_bytes_peak = pool().peak_bytes();
  return common.counters;
}

std::string Messenger::describe() {
  std::string text;
  add_line(text,
           "%zu posted receives, %zu unexpected messages in %" PRIu64 " bytes, %" PRIu64
           " sends under way, %zu of them waiting for their receiver",
           matcher.posted(), matcher.unexpected(), pool().bytes_in_use(), outgoing.active(),
           outgoing.awaiting_answer().size());
  int left = kSpelledOut;
  matcher.posted_table().for_each([&](MatchNode& node) {
    if (left-- <= 0) return;
    const auto& arguments = static_cast<ReceiveRequest&>(node).arguments();
    add_line(text, "  receive: context %" PRIu64 ", source %d, tag %d, room for %" PRIu64 " elements", node.key.context,
             arguments.source, arguments.tag, arguments.count);
  });
  left = kSpelledOut;
  matcher.unexpected_table().for_each([&](MatchNode& node) {
    if (left-- <= 0) return;
    UnexpectedMessage& message = Matcher::message_of(node);
    add_line(text, "  unexpected: context %" PRIu64 ", from %s, tag %d, %" PRIu64 " bytes", message.context(),
             common.network->describe(message.peer()).c_str(), message.tag(), message.message_bytes);
  });
  common.peers.for_each([&](std::size_t id, Peer& peer) {
    std::size_t held = 0;
    for (auto& list : peer.held) {
      for (auto at = list.begin(); at != list.end(); ++at) ++held;
    }
    if (held == 0) return;
    add_line(text, "  held back: %zu messages for %s, which must first receive what it has", held,
             common.network->describe({static_cast<std::uint32_t>(id)}).c_str());
  });
  return text;
}

}  // namespace lapwing::p2p
