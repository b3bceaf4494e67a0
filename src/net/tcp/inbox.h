// The frames of one link on their way in. Headers and small payloads go through a scratch buffer; large payloads are
// read straight to where the sink wants them. Everything about the bytes is checked here: header, length, sequence. Where the connection is checked
// or sealed, they come out of records, which are opened into the same places.
//
// The sink's on_header and on_frame are called from receive(); for every on_header exactly one on_frame follows, unless
// the link ends in between: half_received() then says what the sink had given. When another connection takes the place of one that broke, the
// frame that was half here comes once more, and lands where it landed before.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "net/assembly.h"
#include "net/channel.h"
#include "net/kernel/intake.h"
#include "net/tcp/record_reader.h"
#include "net/transport.h"

namespace lapwing::net::tcp {

class Inbox {
 public:
  // `rail`: takes only frames that may overtake others.
  Inbox(const Sinks& sinks, Channel& channel, PeerId peer, CopyCounters& copies, bool rail = false) noexcept
      : sinks_(sinks), channel_(channel), peer_(peer), copies_(copies), rail_(rail) {}

  // The first two are usual.
  enum class Result {
    kNothing,    // nothing has come
    kDrained,    // something has, and nothing more is there now
    kMore,       // enough for one turn; more may be there, and no readiness will announce it
    kEnded,      // the peer has closed its side
    kBroken,     // error() says why
    kWrong,      // a record is not as it was sent: nothing that follows can be had
    kUncertain,  // whether a program sees what comes is not known (net/kernel/loader.h); a receiver's, never this class's
    kTorn,       // the kernel has given its program bytes twice: nothing that follows can be had
    kViolation,  // violation() says which rule was broken
  };
  Result receive(int fd, std::span<std::byte> scratch, engine::SystemCalls& calls) noexcept;
  // The parsing alone, for tests and the fuzzer: takes bytes as they come. False on a violation.
  bool parse(const std::byte* bytes, std::size_t count) noexcept;

  // A connection stands. `records`: out of which its bytes come; null: as they are.
  void begin(RecordReader* records) noexcept { records_ = records; }

  // ---- past a program in the kernel (net/kernel/area.h), on a connection that it sees ----

  // From now on. Not within a frame.
  void receive_past(kernel::Intake& intake) noexcept { intake_ = &intake; }
  bool past_program() const noexcept { return intake_ != nullptr; }
  // What the program has taken, which receive() finds as well. kDrained, kWrong or kViolation.
  Result collect() noexcept;
  // The connection is given up: what the program has taken has come, a half frame too, and it takes no more.
  void leave_program() noexcept;
  // Part of a frame or of a record is here; or a frame that was half here when a connection broke is to come again.
  bool within_frame() const noexcept {
    return assembly_.under_way() || partial_bytes_ != 0 || comes_again_ || (records_ != nullptr && !records_->empty());
  }

  // What has come breaks a rule that is not about its bytes.
  Result refuse(const char* rule) noexcept;

  int error() const noexcept { return error_; }
  const Status& violation() const noexcept { return violation_; }
  // The peer has said goodbye: its end is no error.
  bool goodbye() const noexcept { return goodbye_; }
  const Landing* half_received() const noexcept {
    return assembly_.under_way() || comes_again_ ? &assembly_.landing() : nullptr;
  }
  // The connection broke, and another one may take its place.
  void interrupt() noexcept;
  // Of the frame that came last, or the one of half_received().
  const wire::FrameHeader& header() const noexcept { return header_; }
  // Of the frame that is being received: nothing else on this link can be had before the connection has given so many bytes.
  std::uint64_t missing() const noexcept {
    const std::uint64_t of_frame = assembly_.under_way() ? assembly_.missing() : 0;
    return records_ == nullptr ? of_frame : records_->missing(of_frame);
  }
  // Something has ever arrived.
  bool heard() const noexcept { return heard_; }

 private:
  // Where the next bytes go: `direct` of them to where the sink wants them, what follows to the scratch buffer.
  struct Room {
    static constexpr std::size_t kMostDirect = 64;
    iovec segments[kMostDirect + 1];
    std::size_t count;
    std::uint64_t direct, bytes;
  };
  void make_room(Room& room, std::span<std::byte> scratch) noexcept;
  bool take(const Room& room, const std::byte* scratch, std::uint64_t bytes) noexcept;
  Result receive_frames(int fd, std::span<std::byte> scratch, engine::SystemCalls& calls) noexcept;
  Result receive_records(int fd, engine::SystemCalls& calls) noexcept;
  std::span<std::byte> room_for_records() noexcept;
  Result take_records() noexcept;
  std::byte* landing_of(std::size_t bytes) noexcept;
  Result nothing_more(ssize_t result, bool something_came) noexcept;
  std::size_t worth_reading_ahead(std::uint64_t direct) const noexcept;
  std::size_t take_header(const std::byte* bytes, std::size_t count) noexcept;
  std::size_t begin_frame(const std::byte* header, std::size_t following) noexcept;
  void take_channel_frame() noexcept;
  void resume_frame(const std::byte* header) noexcept;
  std::size_t take_payload(const std::byte* bytes, std::size_t count) noexcept;
  Result judge() const noexcept;
  bool is_right(const kernel::Intake::Frame& frame) noexcept;
  bool land(const kernel::Intake::Frame& frame) noexcept;
  void take_unmatched(const kernel::Intake::Frame& frame) noexcept;
  bool tell_of_landed() noexcept;
  bool take_unfinished() noexcept;
  Result place_read(int fd) noexcept;
  bool place(int fd) noexcept;
  Result fill_passed(std::size_t bytes) noexcept;
  bool take_passed(const std::byte* scratch, std::uint64_t bytes, std::uint64_t landed) noexcept;
  void end_frame_if_complete() noexcept;

  const Sinks& sinks_;
  Channel& channel_;
  PeerId peer_;
  CopyCounters& copies_;
  RecordReader* records_ = nullptr;
  const bool rail_;
  kernel::Intake* intake_ = nullptr;
  bool heard_ = false;
  std::byte partial_header_[wire::kHeaderBytes];
  std::size_t partial_bytes_ = 0;
  bool goodbye_ = false;
  bool comes_again_ = false;  // the frame of header_, which was half here when the connection broke
  int error_ = 0;
  wire::FrameHeader header_;
  Assembly assembly_;
  Status violation_;
};

}  // namespace lapwing::net::tcp
