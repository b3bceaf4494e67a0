#include "net/reliable/frame_intake.h"

#include <cstring>

namespace lapwing::net::reliable {

bool FrameIntake::take(const wire::Piece& piece) noexcept {
  const std::uint32_t ahead = piece.frame - static_cast<std::uint32_t>(frame_);
  if (ahead > wire::kMostPacketsUnderWay) return refuse("a piece of a frame that has come whole, or is far away");
  if (!due(frame_ + ahead, piece.offset)) {
    keep(frame_ + ahead, piece);
    return true;
  }
  return land(piece) && (kept_.empty() || land_kept());
}

bool FrameIntake::refuse(const char* rule) noexcept {
  violation_ = Status::error(MPI_ERR_OTHER, "%s", rule);
  return false;
}

bool FrameIntake::land(const wire::Piece& piece) noexcept {
  if (piece.offset == 0) {
    if (assembly_.under_way()) return refuse("a frame that begins twice");
    const std::uint64_t before = frame_;
    if (!begin(piece)) return false;
    if (frame_ != before) return true;
  }
  if (!assembly_.place(piece.offset, piece.payload, piece.payload_bytes)) return refuse("a piece beyond the end of its frame");
  return end_if_complete();
}

// One that is here whole may be taken in one step.
bool FrameIntake::begin(const wire::Piece& piece) noexcept {
  std::memcpy(header_.words, piece.header, sizeof header_.words);
  if (!wire::is_sound(header_)) return refuse("a frame of no protocol that there is, or too long");
  FrameSink& sink = sinks_.of(header_);
  if (header_.payload_bytes() == piece.payload_bytes && sink.receive_now(peer_, header_, piece.payload)) {
    ++frame_;
    return true;
  }
  const Landing landing = sink.on_header(peer_, header_);
  if (landing.violation) return refuse(landing.reason);
  assembly_.begin(landing, header_.payload_bytes());
  return true;
}

bool FrameIntake::end_if_complete() noexcept {
  if (!assembly_.complete()) return true;
  assembly_.end();
  ++frame_;
  sinks_.of(header_).on_frame(peer_, header_);
  return true;
}

void FrameIntake::keep(std::uint64_t frame, const wire::Piece& piece) {
  Kept& kept = kept_[{frame, piece.offset}];
  kept.begins = piece.header != nullptr;
  const std::byte* from = kept.begins ? piece.header : piece.payload;
  kept.bytes.assign(from, piece.payload + piece.payload_bytes);
  kept_bytes_ += kept.bytes.size();
}

bool FrameIntake::land_kept() noexcept {
  while (!kept_.empty() && due(kept_.begin()->first.first, kept_.begin()->first.second)) {
    const auto node = kept_.extract(kept_.begin());
    const Kept& kept = node.mapped();
    kept_bytes_ -= kept.bytes.size();
    const std::size_t header = kept.begins ? wire::kHeaderBytes : 0;
    wire::Piece piece;
    piece.offset = node.key().second;
    piece.header = kept.begins ? kept.bytes.data() : nullptr;
    piece.payload = kept.bytes.data() + header;
    piece.payload_bytes = kept.bytes.size() - header;
    if (!land(piece)) return false;
  }
  // What is due and lies before it came in another packet, or breaks a rule.
  return kept_.empty() || kept_.begin()->first.first >= frame_ || refuse("a piece of a frame that has come whole");
}

}  // namespace lapwing::net::reliable
