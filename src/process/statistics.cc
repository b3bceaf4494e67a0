#include "process/statistics.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace lapwing::process {
namespace {

// Every number, in the order of the line that encode() writes.
template <typename Numbers, typename Visit>
void for_each_number(Numbers& s, Visit visit) {
  for (auto* number : {&s.messages.eager_sends,
                       &s.messages.rendezvous_sends,
                       &s.messages.held_back_sends,
                       &s.messages.messages_received,
                       &s.messages.messages_landed,
                       &s.messages.bytes_landed,
                       &s.messages.unexpected_messages,
                       &s.messages.unexpected_bytes,
                       &s.messages.unexpected_bytes_peak,
                       &s.messages.bytes_moved,
                       &s.messages.bytes_received,
                       &s.messages.bytes_overlapped,
                       &s.paths.in_frames,
                       &s.paths.pulled,
                       &s.paths.shared,
                       &s.paths.streamed,
                       &s.paths.trials,
                       &s.paths.changes,
                       &s.connections_resumed,
                       &s.records_wrong,
                       &s.engine.waits_spun,
                       &s.engine.waits_slept,
                       &s.engine.waits_predicted,
                       &s.engine.predictions_right,
                       &s.engine.event_thread_wakeups,
                       &s.engine.event_thread_turns,
                       &s.calls.sends,
                       &s.calls.receives,
                       &s.calls.copies,
                       &s.calls.polls,
                       &s.calls.sleeps,
                       &s.calls.watches,
                       &s.calls.notifications,
                       &s.calls.timers,
                       &s.calls.yields})
    visit(*number);
}

}  // namespace

Statistics Statistics::of(Process& process) {
  return {process.engine.counters(), process.engine.system_calls(), process.messenger->counters(),
          process.network->paths(), process.network->connections_resumed(), process.network->records_wrong()};
}

void Statistics::add(const Statistics& other) noexcept {
  const std::uint64_t peak = std::max(messages.unexpected_bytes_peak, other.messages.unexpected_bytes_peak);
  std::uint64_t theirs[64];
  std::size_t count = 0;
  for_each_number(other, [&](const std::uint64_t& number) { theirs[count++] = number; });
  count = 0;
  for_each_number(*this, [&](std::uint64_t& number) { number += theirs[count++]; });
  messages.unexpected_bytes_peak = peak;
}

std::string Statistics::encode() const {
  std::string text;
  for_each_number(*this, [&](const std::uint64_t& number) { text += std::to_string(number) + ','; });
  return text;
}

bool Statistics::decode(const std::string& text) {
  const char* at = text.c_str();
  bool sound = true;
  for_each_number(*this, [&](std::uint64_t& number) {
    char* end = nullptr;
    number = std::strtoull(at, &end, 10);
    sound = sound && end != at && *end == ',';
    if (sound) at = end + 1;
  });
  return sound && *at == '\0';
}

std::string Statistics::report(const std::string& whose) const {
  const std::uint64_t sent = messages.eager_sends + messages.rendezvous_sends;
  const std::uint64_t all = sent + messages.messages_received;
  const double per_message = all == 0 ? 0.0 : static_cast<double>(calls.total()) / static_cast<double>(all);
  char lines[5][400];
  std::snprintf(lines[0], sizeof lines[0],
                "%" PRIu64 " messages sent (%" PRIu64 " eager, %" PRIu64 " rendezvous, %" PRIu64
                " held back for credit), %" PRIu64 " received, %" PRIu64 " of them matched in the kernel (%" PRIu64 " bytes)",
                sent, messages.eager_sends, messages.rendezvous_sends, messages.held_back_sends,
                messages.messages_received, messages.messages_landed, messages.bytes_landed);
  std::snprintf(lines[1], sizeof lines[1],
                "%" PRIu64 " bytes moved, %" PRIu64 " of them while the application computed; unexpected: %" PRIu64
                " messages, %" PRIu64 " bytes, at most %" PRIu64 " at a time",
                messages.bytes_moved, messages.bytes_overlapped, messages.unexpected_messages,
                messages.unexpected_bytes, messages.unexpected_bytes_peak);
  std::snprintf(lines[2], sizeof lines[2],
                "%" PRIu64 " waits spun, %" PRIu64 " waits slept, %" PRIu64 " predicted (%" PRIu64
                " rightly); event thread: %" PRIu64 " wake-ups, %" PRIu64 " useful turns",
                engine.waits_spun, engine.waits_slept, engine.waits_predicted, engine.predictions_right,
                engine.event_thread_wakeups, engine.event_thread_turns);
  std::snprintf(lines[3], sizeof lines[3],
                "%" PRIu64 " system calls, %.2f per message: %" PRIu64 " sendmsg, %" PRIu64 " recvmsg, %" PRIu64
                " process_vm_readv, %" PRIu64 " epoll_wait that return at once, %" PRIu64 " that sleep, %" PRIu64
                " epoll_ctl, %" PRIu64 " eventfd, %" PRIu64 " timerfd_settime, %" PRIu64 " sched_yield; %" PRIu64
                " connections resumed, %" PRIu64 " records wrong",
                calls.total(), per_message, calls.sends, calls.receives, calls.copies, calls.polls, calls.sleeps,
                calls.watches, calls.notifications, calls.timers, calls.yields, connections_resumed, records_wrong);
  std::snprintf(lines[4], sizeof lines[4],
                "rendezvous on this host: %" PRIu64 " through shared memory, %" PRIu64
                " by one copy of the receiver, %" PRIu64 " by both sides; %" PRIu64 " frames past the caches; %" PRIu64
                " trials of other paths, %" PRIu64 " changes",
                paths.in_frames, paths.pulled, paths.shared, paths.streamed, paths.trials, paths.changes);
  std::string text;
  for (const char* line : lines) text += "lapwing: " + whose + ": " + line + "\n";
  return text;
}

}  // namespace lapwing::process
