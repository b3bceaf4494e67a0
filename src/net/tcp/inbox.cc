#include "net/tcp/inbox.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "base/tuning.h"
#include "net/tcp/stream_position.h"

namespace lapwing::net::tcp {

namespace {

// The usual single buffer has the cheaper system call.
ssize_t receive_into(int fd, iovec* segments, std::size_t count) noexcept {
  if (count == 1) return ::recv(fd, segments[0].iov_base, segments[0].iov_len, MSG_DONTWAIT);
  msghdr message{};
  message.msg_iov = segments;
  message.msg_iovlen = count;
  return ::recvmsg(fd, &message, MSG_DONTWAIT);
}

}  // namespace

Inbox::Result Inbox::receive(int fd, std::span<std::byte> scratch, engine::SystemCalls& calls) noexcept {
  const bool collected = intake_ != nullptr && intake_->has_arrivals();
  if (const Result result = collected ? collect() : Result::kDrained; result != Result::kDrained) return result;
  const Result result = records_ != nullptr ? receive_records(fd, calls) : receive_frames(fd, scratch, calls);
  return collected && result == Result::kNothing ? Result::kDrained : result;
}

Inbox::Result Inbox::receive_frames(int fd, std::span<std::byte> scratch, engine::SystemCalls& calls) noexcept {
  std::uint64_t received = 0;
  for (unsigned read = 0; read < tuning().tcp_reads_per_turn && received < tuning().tcp_most_per_turn; ++read) {
    Room room;
    make_room(room, scratch);
    const ssize_t got = receive_into(fd, room.segments, room.count);
    ++calls.receives;
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return nothing_more(got, received != 0);
    const auto bytes = static_cast<std::uint64_t>(got);
    received += bytes;
    if (const Result result = place_read(fd); result != Result::kDrained) return result;  // what lies in the room now counts as not come
    if (!take(room, scratch.data(), bytes)) return Result::kViolation;
    // A stream socket that gave less than asked is empty; new bytes, or the end, will be announced (epoll(7)).
    if (bytes < room.bytes) return Result::kDrained;
  }
  return Result::kMore;
}

Inbox::Result Inbox::receive_records(int fd, engine::SystemCalls& calls) noexcept {
  std::uint64_t received = 0;
  for (unsigned read = 0; read < tuning().tcp_reads_per_turn && received < tuning().tcp_most_per_turn; ++read) {
    const std::span<std::byte> room = room_for_records();
    const ssize_t got = ::recv(fd, room.data(), room.size(), MSG_DONTWAIT);
    ++calls.receives;
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return nothing_more(got, received != 0);
    const auto bytes = static_cast<std::size_t>(got);
    received += bytes;
    if (const Result result = place_read(fd); result != Result::kDrained) return result;
    if (const Result result = fill_passed(bytes); result != Result::kDrained) return result;
    if (const Result result = take_records(); result != Result::kDrained) return result;
    if (intake_ != nullptr && !within_frame()) intake_->read_all();
    if (bytes < room.size()) return Result::kDrained;
  }
  return Result::kMore;
}

// Past a program what it has of a record comes in front.
std::span<std::byte> Inbox::room_for_records() noexcept {
  const std::span<std::byte> room = records_->room();
  return intake_ != nullptr && records_->empty() ? room.first(wire::kMostRecordBytes) : room;
}

Inbox::Result Inbox::take_records() noexcept {
  while (const std::size_t bytes = records_->next()) {
    std::byte* const landing = landing_of(bytes);
    const std::byte* const body = records_->open(landing);
    if (body == nullptr) return Result::kWrong;
    heard_ = true;
    if (landing == nullptr) {
      if (!parse(body, bytes)) return Result::kViolation;
    } else {
      assembly_.filled(bytes);
      copies_.twice += bytes;
      end_frame_if_complete();
    }
  }
  return records_->wrong() ? Result::kWrong : Result::kDrained;
}

// Where so many bytes of the frame that is being received land in one piece. Null: not all of them are its, or not in one piece.
std::byte* Inbox::landing_of(std::size_t bytes) noexcept {
  iovec segment;
  std::uint64_t direct = 0;
  const std::size_t count = assembly_.segments(&segment, 1, bytes, direct);
  return count == 1 && direct >= bytes ? static_cast<std::byte*>(segment.iov_base) : nullptr;
}

// What follows the payload, usually the next header, comes along with the same system call.
void Inbox::make_room(Room& room, std::span<std::byte> scratch) noexcept {
  room.count = assembly_.segments(room.segments, Room::kMostDirect, tuning().tcp_read_directly, room.direct);
  room.bytes = room.direct;
  if (room.count == Room::kMostDirect) return;
  const std::size_t ahead = std::min(scratch.size(), worth_reading_ahead(room.direct));
  room.segments[room.count++] = {scratch.data(), ahead};
  room.bytes += ahead;
}

// Of bytes that have been read past a program: whether they are where they should be.
Inbox::Result Inbox::place_read(int fd) noexcept {
  if (intake_ == nullptr) return Result::kDrained;
  if (intake_->torn()) return Result::kTorn;
  if (place(fd)) return Result::kDrained;
  return is_closed(fd) ? Result::kEnded : Result::kTorn;
}

// Only packets that come meanwhile have it ask again.
bool Inbox::place(int fd) noexcept {
  while (!intake_->is_placed()) {
    const std::uint32_t sequence = intake_->sequence();
    const std::uint64_t received = bytes_received(fd);
    if (intake_->sequence() == sequence && !intake_->place(sequence, received)) return false;
  }
  return true;
}

// False on a violation.
bool Inbox::take(const Room& room, const std::byte* scratch, std::uint64_t bytes) noexcept {
  heard_ = true;
  const std::uint64_t landed = std::min(bytes, room.direct);
  if (landed > 0) {
    assembly_.filled(landed);
    copies_.once += landed;
    end_frame_if_complete();
  }
  if (intake_ != nullptr) return take_passed(scratch, bytes, landed);
  return parse(scratch, static_cast<std::size_t>(bytes - landed));
}

// `result`: of the system call, 0 or an error.
Inbox::Result Inbox::nothing_more(ssize_t result, bool something_came) noexcept {
  if (result == 0) return Result::kEnded;
  if (errno == EAGAIN || errno == EWOULDBLOCK) return something_came ? Result::kDrained : Result::kNothing;
  error_ = errno;
  return Result::kBroken;
}

// Behind a long payload there is probably another one: of it only the header, because what is read ahead has to be copied. What a program has
// taken already is read to be left out.
std::size_t Inbox::worth_reading_ahead(std::uint64_t direct) const noexcept {
  if (intake_ != nullptr && intake_->next_is_taken()) return std::numeric_limits<std::size_t>::max();
  if (header_.payload_bytes() < tuning().tcp_read_directly) return std::numeric_limits<std::size_t>::max();
  const std::uint64_t rest = direct == 0 ? missing() : 0;
  return static_cast<std::size_t>(rest) + wire::kHeaderBytes;
}

bool Inbox::parse(const std::byte* bytes, std::size_t count) noexcept {
  while (count > 0) {
    const std::size_t taken = assembly_.under_way() ? take_payload(bytes, count) : take_header(bytes, count);
    if (!violation_.ok()) return false;
    bytes += taken;
    count -= taken;
  }
  return violation_.ok();
}

std::size_t Inbox::take_header(const std::byte* bytes, std::size_t count) noexcept {
  if (partial_bytes_ == 0 && count >= wire::kHeaderBytes) {
    return wire::kHeaderBytes + begin_frame(bytes, count - wire::kHeaderBytes);
  }
  const std::size_t taken = std::min(count, wire::kHeaderBytes - partial_bytes_);
  std::memcpy(partial_header_ + partial_bytes_, bytes, taken);
  partial_bytes_ += taken;
  if (partial_bytes_ == wire::kHeaderBytes) {
    partial_bytes_ = 0;
    begin_frame(partial_header_, 0);
  }
  return taken;
}

// `following` bytes are there behind the header; how many of them the frame took, if it was taken whole.
std::size_t Inbox::begin_frame(const std::byte* header, std::size_t following) noexcept {
  if (comes_again_) [[unlikely]]
    return resume_frame(header), 0;
  std::memcpy(header_.words, header, sizeof header_.words);
  if (!wire::is_sound(header_)) [[unlikely]]
    return take_channel_frame(), 0;
  if (Status broken = channel_.accept(header_); !broken.ok()) [[unlikely]] {
    violation_ = std::move(broken);
    return 0;
  }
  FrameSink& sink = sinks_.of(header_);
  if (rail_ && !sink.may_overtake(header_)) [[unlikely]]
    return refuse("a frame that must keep its order came by a rail"), 0;
  const std::uint64_t whole = header_.payload_bytes() + header_.trailer_bytes();
  if (whole <= following && sink.receive_now(peer_, header_, header + wire::kHeaderBytes)) {
    channel_.receive();
    copies_.twice += header_.payload_bytes();
    return static_cast<std::size_t>(whole);
  }
  Landing landing = sink.on_header(peer_, header_);
  if (landing.violation) {
    refuse(landing.reason);
    return 0;
  }
  landing.accepted = std::min(landing.accepted, header_.payload_bytes());
  assembly_.begin(landing, whole);  // a trailer is dropped
  end_frame_if_complete();
  return 0;
}

// What no sink sees: the end of this peer's frames, or bytes that are no frame.
void Inbox::take_channel_frame() noexcept {
  violation_ = wire::check(header_);
  if (violation_.ok()) violation_ = channel_.accept(header_);
  if (!violation_.ok()) return;
  channel_.receive();
  goodbye_ = header_.own(0) == static_cast<std::uint64_t>(wire::ChannelWord::kGoodbye);
}

Inbox::Result Inbox::refuse(const char* rule) noexcept {
  violation_ = Status::error(MPI_ERR_OTHER, "%s", rule);
  return Result::kViolation;
}

void Inbox::interrupt() noexcept {
  records_ = nullptr;
  partial_bytes_ = 0;
  error_ = 0;
  if (!assembly_.under_way()) return;
  assembly_.interrupt();
  comes_again_ = true;
}

// The sink has seen this frame's header: it must be the same.
void Inbox::resume_frame(const std::byte* header) noexcept {
  const wire::FrameHeader before = header_;
  std::memcpy(header_.words, header, sizeof header_.words);
  const bool same = wire::is_sound(header_) && header_.payload_bytes() == before.payload_bytes() &&
                    header_.trailer_bytes() == before.trailer_bytes() && header_.protocol() == before.protocol() &&
                    std::equal(header_.words + 2, header_.words + wire::FrameHeader::kWords, before.words + 2);
  violation_ = same ? channel_.accept(header_)
                    : Status::error(MPI_ERR_OTHER, "another frame came where one was half received");
  if (!violation_.ok()) {
    header_ = before;
    return;
  }
  comes_again_ = false;
  assembly_.resume();
}

// ---- past a program in the kernel -----------------------------------------------------------------------------------

Inbox::Result Inbox::collect() noexcept {
  LentQueue& queue = intake_->queue();
  while (intake_->has_arrivals()) {
    const kernel::Intake::Frame frame = intake_->take();
    const bool right = violation_.ok() && is_right(frame), matched = frame.position != kernel::kUnmatched;
    if (right && !matched) take_unmatched(frame);
    if (matched && !(right && land(frame))) queue.unclaim(frame.position);
    intake_->release(frame);
  }
  tell_of_landed();
  return judge();
}

Inbox::Result Inbox::judge() const noexcept {
  if (!violation_.ok()) return Result::kViolation;
  return records_ != nullptr && records_->wrong() ? Result::kWrong : Result::kDrained;
}

// Behind one that was not, none is.
bool Inbox::is_right(const kernel::Intake::Frame& frame) noexcept {
  return frame.record == nullptr || records_->open_elsewhere(frame.record, wire::kHeaderBytes + frame.header.payload_bytes());
}

bool Inbox::tell_of_landed() noexcept {
  if (const char* breach = sinks_.messages().on_landed(peer_, intake_->queue()); breach != nullptr) refuse(breach);
  return violation_.ok();
}

// As if it had been read, behind those before it.
void Inbox::take_unmatched(const kernel::Intake::Frame& frame) noexcept {
  heard_ = true;
  if (violation_.ok() && tell_of_landed()) parse(frame.payload - wire::kHeaderBytes, wire::kHeaderBytes + frame.header.payload_bytes());
}

// A frame that the program has matched is judged like any other, and copied to its receive unless it is there.
bool Inbox::land(const kernel::Intake::Frame& frame) noexcept {
  LentQueue& queue = intake_->queue();
  heard_ = true;
  header_ = frame.header;
  const auto bytes = static_cast<std::size_t>(header_.payload_bytes());
  if (!wire::is_sound(header_) || !queue.has_room(frame.position, bytes))
    return refuse("a program in the kernel has taken what it must not"), false;
  violation_ = channel_.accept(header_);
  if (!violation_.ok()) return false;
  if (bytes != 0 && !frame.in_place) bulk_copy(queue.room(frame.position).base, frame.payload, bytes);
  (frame.in_place ? copies_.once : copies_.twice) += bytes;
  wire::FrameHeader said = header_;
  if (!frame.acknowledged) said.set_flags(0);
  queue.land(frame.position, said);
  channel_.receive();
  return true;
}

// Of bytes that have just been read, those that are new, behind what the program has taken.
Inbox::Result Inbox::fill_passed(std::size_t bytes) noexcept {
  if (intake_ == nullptr) return records_->filled(bytes), Result::kDrained;
  if (intake_->has_arrivals()) {
    if (const Result result = collect(); result != Result::kDrained) return result;
  }
  const kernel::Intake::Begun begun = intake_->unfinished();
  const std::size_t begun_bytes = begun.header.size() + begun.payload.size(), skipped = intake_->skip(bytes);
  const bool right = begun_bytes <= wire::kMostRecordBytes && (begun_bytes == 0 || records_->empty());
  if (right) records_->filled(bytes, skipped, {begun.header.data(), begun_bytes});
  intake_->release_unfinished();
  return right ? Result::kDrained : Result::kWrong;
}

// What the program had of a frame when it began to pass on. Its receive is matched anew.
bool Inbox::take_unfinished() noexcept {
  const kernel::Intake::Begun begun = intake_->unfinished();
  if (begun.header.empty()) return violation_.ok();
  if (violation_.ok() && parse(begun.header.data(), begun.header.size())) parse(begun.payload.data(), begun.payload.size());
  intake_->release_unfinished();
  return violation_.ok();
}

// Bytes that the program has passed on: behind all that it has taken, and with some of it in front. Then none was read to `landed`.
bool Inbox::take_passed(const std::byte* scratch, std::uint64_t bytes, std::uint64_t landed) noexcept {
  if (intake_->has_arrivals() && collect() != Result::kDrained) return false;
  if (!take_unfinished()) return false;
  const std::size_t before = std::max(intake_->skip(bytes), static_cast<std::size_t>(landed));
  if (!parse(scratch + (before - landed), static_cast<std::size_t>(bytes) - before)) return false;
  if (!within_frame()) intake_->read_all();
  return true;
}

void Inbox::leave_program() noexcept {
  if (intake_ == nullptr) return;
  intake_->finish();
  collect();
  if (records_ == nullptr)
    take_unfinished();
  else
    intake_->unfinished();  // of which nothing may be believed
  intake_ = nullptr;
}

std::size_t Inbox::take_payload(const std::byte* bytes, std::size_t count) noexcept {
  const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(count, assembly_.missing()));
  std::uint64_t& copied = assembly_.are_there(bytes) ? copies_.once : copies_.twice;
  copied += assembly_.append(bytes, taken);
  end_frame_if_complete();
  return taken;
}

void Inbox::end_frame_if_complete() noexcept {
  if (!assembly_.complete()) return;
  assembly_.end();
  channel_.receive();
  sinks_.of(header_).on_frame(peer_, header_);
}

}  // namespace lapwing::net::tcp
