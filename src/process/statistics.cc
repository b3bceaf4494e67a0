#include "process/statistics.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "base/plain_text.h"

namespace lapwing::process {
namespace {

#define LAPWING_STATISTIC(member, name, meaning, ...) \
  { name, meaning, [](Statistics& s) -> std::uint64_t& { return s.member; }, ##__VA_ARGS__ }
using Kind = StatisticDescription::Kind;
constexpr StatisticDescription kStatistics[] = {
    LAPWING_STATISTIC(messages.eager_sends, "messages_sent_eager", "messages that were sent whole, without asking the receiver"),
    LAPWING_STATISTIC(messages.rendezvous_sends, "messages_sent_rendezvous", "messages that were announced to the receiver first"),
    LAPWING_STATISTIC(messages.held_back_sends, "messages_held_back", "messages that waited for credit of the receiver"),
    LAPWING_STATISTIC(messages.messages_received, "messages_received", "messages that were received"),
    LAPWING_STATISTIC(messages.messages_landed, "messages_matched_in_kernel",
                      "messages received that a program in the kernel had matched (LAPWING_RECEIVE)"),
    LAPWING_STATISTIC(messages.bytes_landed, "bytes_matched_in_kernel", "bytes of them", Kind::kSum),
    LAPWING_STATISTIC(messages.requests_answered, "requests_answered_in_kernel",
                      "announced messages that a program in the kernel had asked for (LAPWING_RECEIVE)"),
    LAPWING_STATISTIC(copies.once, "bytes_copied_once",
                      "payload over TCP that was copied once, from where it arrived to its receive or to the store of unexpected messages", Kind::kSum),
    LAPWING_STATISTIC(copies.twice, "bytes_copied_twice", "payload over TCP that was copied twice, by way of memory of the library", Kind::kSum),
    LAPWING_STATISTIC(messages.unexpected_messages, "unexpected_messages", "messages that arrived before their receive was posted"),
    LAPWING_STATISTIC(messages.unexpected_bytes, "unexpected_bytes", "bytes of them that were stored", Kind::kSum),
    LAPWING_STATISTIC(messages.unexpected_bytes_peak, "unexpected_bytes_peak", "bytes of unexpected messages, the most at a time", Kind::kPeak),
    LAPWING_STATISTIC(messages.bytes_moved, "bytes_moved", "payload that was sent and received", Kind::kSum),
    LAPWING_STATISTIC(messages.bytes_received, "bytes_received", "payload that was received", Kind::kSum),
    LAPWING_STATISTIC(messages.bytes_overlapped, "bytes_overlapped", "payload that moved while the application computed", Kind::kSum),
    LAPWING_STATISTIC(paths.in_frames, "rendezvous_in_frames", "long messages between ranks of this host that came through shared memory"),
    LAPWING_STATISTIC(paths.pulled, "rendezvous_pulled", "long messages between ranks of this host that the receiver copied once"),
    LAPWING_STATISTIC(paths.shared, "rendezvous_by_both", "long messages between ranks of this host that both sides copied"),
    LAPWING_STATISTIC(paths.streamed, "frames_past_caches", "frames in shared memory that were written past the caches"),
    LAPWING_STATISTIC(paths.in_cells, "frames_in_cells", "frames in shared memory that came by memory that changes hands"),
    LAPWING_STATISTIC(paths.trials, "path_trials", "trials of other ways for long messages on this host"),
    LAPWING_STATISTIC(paths.changes, "path_changes", "changes of that way"),
    LAPWING_STATISTIC(connections_resumed, "connections_resumed", "connections that took the place of one that broke"),
    LAPWING_STATISTIC(records_wrong, "records_wrong", "records of checked or sealed connections that were not as they had been sent"),
    LAPWING_STATISTIC(detours.begun, "detours_begun", "times that packets of raw Ethernet to a peer began to travel by TCP"),
    LAPWING_STATISTIC(detours.ended, "detours_ended", "times that they came back from there"),
    LAPWING_STATISTIC(detours.packets, "packets_by_detour", "packets of raw Ethernet that were sent by TCP"),
    LAPWING_STATISTIC(engine.waits_spun, "waits_spun", "waits that ended while they polled"),
    LAPWING_STATISTIC(engine.waits_slept, "waits_slept", "waits that slept"),
    LAPWING_STATISTIC(engine.waits_predicted, "waits_predicted", "waits that slept at once, because they were expected to be long"),
    LAPWING_STATISTIC(engine.predictions_right, "predictions_right", "of them: rightly"),
    LAPWING_STATISTIC(engine.event_thread_wakeups, "event_thread_wakeups", "wake-ups of the event thread"),
    LAPWING_STATISTIC(engine.event_thread_turns, "event_thread_turns", "turns in which the event thread moved something"),
    LAPWING_STATISTIC(calls.sends, "calls_sendmsg", "system calls that send"),
    LAPWING_STATISTIC(calls.receives, "calls_recvmsg", "system calls that receive"),
    LAPWING_STATISTIC(calls.copies, "calls_process_vm_readv", "system calls that copy from another process"),
    LAPWING_STATISTIC(calls.polls, "calls_epoll_wait_at_once", "system calls that look at the event port"),
    LAPWING_STATISTIC(calls.sleeps, "calls_epoll_wait_asleep", "system calls that sleep in the event port"),
    LAPWING_STATISTIC(calls.watches, "calls_epoll_ctl", "system calls that change what the event port watches"),
    LAPWING_STATISTIC(calls.notifications, "calls_eventfd", "system calls that notify, or take notice"),
    LAPWING_STATISTIC(calls.timers, "calls_timerfd_settime", "system calls that set a timer"),
    LAPWING_STATISTIC(calls.yields, "calls_sched_yield", "system calls that yield the processor"),
};
#undef LAPWING_STATISTIC

}  // namespace

std::span<const StatisticDescription> all_statistics() noexcept {
  return kStatistics;
}

Statistics Statistics::of(Process& process) {
  return {process.engine.counters(), process.engine.system_calls(), process.messenger->counters(),
          process.network->paths(), process.network->copies(), process.network->detours(), process.network->connections_resumed(),
          process.network->records_wrong()};
}

void Statistics::add(const Statistics& other) noexcept {
  Statistics copy = other;
  for (const StatisticDescription& statistic : kStatistics) {
    std::uint64_t& number = statistic.of(*this);
    const std::uint64_t theirs = statistic.of(copy);
    number = statistic.kind == Kind::kPeak ? std::max(number, theirs) : number + theirs;
  }
}

std::string Statistics::encode() const {
  std::string text;
  Statistics copy = *this;
  for (const StatisticDescription& statistic : kStatistics) text += std::to_string(statistic.of(copy)) + ',';
  return text;
}

bool Statistics::decode(const std::string& text) {
  const char* at = text.c_str();
  bool sound = true;
  for (const StatisticDescription& statistic : kStatistics) {
    char* end = nullptr;
    statistic.of(*this) = std::strtoull(at, &end, 10);
    sound = sound && end != at && *end == ',';
    if (sound) at = end + 1;
  }
  return sound && *at == '\0';
}

std::string Statistics::report(const std::string& whose) const {
  const std::uint64_t sent = messages.eager_sends + messages.rendezvous_sends;
  const std::uint64_t all = sent + messages.messages_received;
  const double per_message = all == 0 ? 0.0 : static_cast<double>(calls.total()) / static_cast<double>(all);
  char lines[5][500];
  std::snprintf(lines[0], sizeof lines[0],
                "%" PRIu64 " messages sent (%" PRIu64 " eager, %" PRIu64 " rendezvous, %" PRIu64
                " held back for credit), %" PRIu64 " received, %" PRIu64 " of them matched in the kernel (%" PRIu64
                " bytes), %" PRIu64 " asked for there; over TCP %" PRIu64 " bytes copied once, %" PRIu64 " twice",
                sent, messages.eager_sends, messages.rendezvous_sends, messages.held_back_sends,
                messages.messages_received, messages.messages_landed, messages.bytes_landed, messages.requests_answered, copies.once,
                copies.twice);
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
                "%" PRIu64 " system calls, %s per message: %" PRIu64 " sendmsg, %" PRIu64 " recvmsg, %" PRIu64
                " process_vm_readv, %" PRIu64 " epoll_wait that return at once, %" PRIu64 " that sleep, %" PRIu64
                " epoll_ctl, %" PRIu64 " eventfd, %" PRIu64 " timerfd_settime, %" PRIu64 " sched_yield; %" PRIu64
                " connections resumed, %" PRIu64 " records wrong; %" PRIu64 " detours begun, %" PRIu64 " ended, %" PRIu64
                " packets by them",
                calls.total(), number_text(per_message, 2, std::chars_format::fixed).c_str(), calls.sends, calls.receives, calls.copies, calls.polls, calls.sleeps,
                calls.watches, calls.notifications, calls.timers, calls.yields, connections_resumed, records_wrong, detours.begun,
                detours.ended, detours.packets);
  std::snprintf(lines[4], sizeof lines[4],
                "rendezvous on this host: %" PRIu64 " through shared memory, %" PRIu64
                " by one copy of the receiver, %" PRIu64 " by both sides; %" PRIu64 " frames past the caches, %" PRIu64
                " in cells; %" PRIu64 " trials of other paths, %" PRIu64 " changes",
                paths.in_frames, paths.pulled, paths.shared, paths.streamed, paths.in_cells, paths.trials, paths.changes);
  std::string text;
  for (const char* line : lines) text += "lapwing: " + whose + ": " + line + "\n";
  return text;
}

}  // namespace lapwing::process
