#include "wire/accelerator.h"

#include <algorithm>
#include <utility>

#include "wire/little_endian.h"

namespace lapwing::wire {
namespace {

using Kind = AcceleratorRequest::Kind;

constexpr std::uint32_t kMagic = 0x4341'574c;  // "LWAC"
constexpr std::uint16_t kAnswerKind = 0x100;
constexpr std::size_t kHeadBytes = 8;

bool names_connection(Kind kind) noexcept {
  return kind == Kind::kJoin || kind == Kind::kLeave || kind == Kind::kWay || kind == Kind::kForget;
}

class Writer {
 public:
  explicit Writer(std::uint16_t kind) {
    put(kMagic);
    put(kAcceleratorVersion);
    put(kind);
  }
  template <typename Integer>
  void put(Integer value) {
    std::byte bytes[sizeof value];
    store_little(bytes, value);
    text_.append(reinterpret_cast<const char*>(bytes), sizeof bytes);
  }
  void put_text(std::string_view text) { text_ += text; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Reads only what is there: the caller has checked the length.
class Reader {
 public:
  explicit Reader(std::string_view message) : next_(reinterpret_cast<const std::byte*>(message.data())) {}
  template <typename Integer>
  Integer get() noexcept {
    const auto value = load_little<Integer>(next_);
    next_ += sizeof value;
    return value;
  }

 private:
  const std::byte* next_;
};

std::size_t length_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::kHello:
      return kHeadBytes + 24;
    case Kind::kLoad:
    case Kind::kMemory:
      return kHeadBytes;
    case Kind::kBind:
      return kHeadBytes + 40;
    case Kind::kJoin:
    case Kind::kLeave:
    case Kind::kWay:
    case Kind::kForget:
      return kHeadBytes + 4;
  }
  return 0;
}

Status read_head(std::string_view message, std::uint16_t& kind) {
  if (message.size() < kHeadBytes) return Status::error(MPI_ERR_OTHER, "a message of %zu bytes is too short", message.size());
  Reader reader(message);
  if (reader.get<std::uint32_t>() != kMagic) return Status::error(MPI_ERR_OTHER, "this is no message between a rank and the accelerator");
  const auto version = reader.get<std::uint16_t>();
  kind = reader.get<std::uint16_t>();
  if (version != kAcceleratorVersion && kind != kAnswerKind)
    return Status::error(MPI_ERR_OTHER, "the rank speaks version %u, the accelerator %u: both must be of one release", unsigned{version},
                         unsigned{kAcceleratorVersion});
  return {};
}

}  // namespace

std::string AcceleratorRequest::encode() const {
  Writer writer(static_cast<std::uint16_t>(kind));
  if (kind == Kind::kHello) {
    writer.put(purpose);
    writer.put(connections);
    writer.put(fingerprint);
    writer.put(zone_bytes);
  } else if (kind == Kind::kBind) {
    writer.put(interface);
    writer.put(index);
    writer.put(ether_type);
    writer.put(address);
    writer.put(port);
    writer.put(tag);
    writer.put(network);
    writer.put(in_pieces);
  } else if (names_connection(kind)) {
    writer.put(index);
  }
  return writer.take();
}

Status AcceleratorRequest::decode(std::string_view message, AcceleratorRequest& request) {
  std::uint16_t number = 0;
  LAPWING_TRY(read_head(message, number));
  AcceleratorRequest read;
  read.kind = static_cast<Kind>(number);
  const std::size_t expected = length_of(read.kind);
  if (expected == 0) return Status::error(MPI_ERR_OTHER, "there is no request of kind %u", unsigned{number});
  if (message.size() != expected)
    return Status::error(MPI_ERR_OTHER, "a request of kind %u has %zu bytes, and not %zu", unsigned{number}, expected, message.size());
  Reader reader(message.substr(kHeadBytes));
  if (read.kind == Kind::kHello) {
    read.purpose = reader.get<std::uint32_t>();
    read.connections = reader.get<std::uint32_t>();
    read.fingerprint = reader.get<std::uint64_t>();
    read.zone_bytes = reader.get<std::uint64_t>();
  } else if (read.kind == Kind::kBind) {
    read.interface = reader.get<std::uint32_t>();
    read.index = reader.get<std::uint32_t>();
    read.ether_type = reader.get<std::uint32_t>();
    read.address = reader.get<std::uint32_t>();
    read.port = reader.get<std::uint32_t>();
    read.tag = reader.get<std::uint64_t>();
    read.network = reader.get<std::uint64_t>();
    read.in_pieces = reader.get<std::uint32_t>();
  } else if (names_connection(read.kind)) {
    read.index = reader.get<std::uint32_t>();
  }
  request = read;
  return {};
}

std::string AcceleratorAnswer::encode() const {
  Writer writer(kAnswerKind);
  writer.put(static_cast<std::uint16_t>(granted));
  writer.put(descriptors);
  writer.put_text(std::string_view(text).substr(0, kMaxText));
  return writer.take();
}

// Whatever a terminal would take for a command becomes '?'.
Status AcceleratorAnswer::decode(std::string_view message, AcceleratorAnswer& answer) {
  std::uint16_t kind = 0;
  LAPWING_TRY(read_head(message, kind));
  if (kind != kAnswerKind) return Status::error(MPI_ERR_OTHER, "this is no answer");
  if (message.size() < kMaxBytes - kMaxText || message.size() > kMaxBytes)
    return Status::error(MPI_ERR_OTHER, "an answer of %zu bytes", message.size());
  Reader reader(message.substr(kHeadBytes));
  AcceleratorAnswer read;
  const auto granted = reader.get<std::uint16_t>();
  read.granted = granted == 1;
  read.descriptors = reader.get<std::uint16_t>();
  read.text = message.substr(kMaxBytes - kMaxText);
  if (granted > 1 || read.descriptors > kMaxDescriptors || (!read.granted && read.descriptors != 0))
    return Status::error(MPI_ERR_OTHER, "an answer that no accelerator gives");
  std::replace_if(read.text.begin(), read.text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  answer = std::move(read);
  return {};
}

}  // namespace lapwing::wire
