// Pieces of frames, as packets bring them in any order, each once; frames go to their sinks in order. Pieces of the frame that is due land in place
// as they come. What belongs to later ones, or comes before the header that says where it goes, is copied and kept until its turn: it is there only
// where packets were lost or reordered, and the receiver's credit bounds it.
//
// The sinks are called from take(); for every on_header exactly one on_frame follows, unless the peer is lost in between: half_received() then says
// what the sink had given.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "net/assembly.h"
#include "net/transport.h"
#include "wire/packet.h"

namespace lapwing::net::reliable {

class FrameIntake {
 public:
  FrameIntake(const Sinks& sinks, PeerId peer) noexcept : sinks_(sinks), peer_(peer) {}

  // Of a packet that had not come before. False: it breaks a rule, violation() says which, and nothing more may be given.
  bool take(const wire::Piece& piece) noexcept;
  const Status& violation() const noexcept { return violation_; }

  const Landing* half_received() const noexcept { return assembly_.under_way() ? &assembly_.landing() : nullptr; }
  const wire::FrameHeader& header() const noexcept { return header_; }
  // Bytes that are kept.
  std::uint64_t kept() const noexcept { return kept_bytes_; }

 private:
  using Place = std::pair<std::uint64_t, std::uint32_t>;  // frame, offset
  struct Kept {
    bool begins;
    std::vector<std::byte> bytes;  // the header, if it begins a frame, and the payload
  };

  bool due(std::uint64_t frame, std::uint32_t offset) const noexcept { return frame == frame_ && (offset == 0 || assembly_.under_way()); }
  bool land(const wire::Piece& piece) noexcept;
  bool begin(const wire::Piece& piece) noexcept;
  bool end_if_complete() noexcept;
  void keep(std::uint64_t frame, const wire::Piece& piece);
  bool land_kept() noexcept;
  bool refuse(const char* rule) noexcept;

  const Sinks& sinks_;
  const PeerId peer_;
  std::uint64_t frame_ = 0;  // the one that is due
  wire::FrameHeader header_;
  Assembly assembly_;
  std::map<Place, Kept> kept_;
  std::uint64_t kept_bytes_ = 0;
  Status violation_;
};

}  // namespace lapwing::net::reliable
