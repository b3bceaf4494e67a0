// external32: big-endian, fixed sizes, no gaps.
//
// Two things run in step: the signature says which basic type comes next, the walk yields (or takes) its bytes. Basic elements of one type that
// follow each other are one item of the signature, in an array too, and are converted by one loop.
#include <algorithm>
#include <bit>
#include <cfloat>
#include <cstring>
#include <type_traits>

#include "datatype/basic_type.h"
#include "datatype/numbers.h"
#include "datatype/pack.h"
#include "datatype/walk.h"

namespace lapwing::datatype {
namespace {

// Bytes that are converted at a time, as they lie in memory.
constexpr std::size_t kBatchBytes = 4096;
// Without the padding of the x87 format.
constexpr std::size_t kLongDoubleBytes = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double);

struct Wide {
  std::uint64_t halves[2];
};

std::uint16_t swapped(std::uint16_t value) noexcept {
  return __builtin_bswap16(value);
}
std::uint32_t swapped(std::uint32_t value) noexcept {
  return __builtin_bswap32(value);
}
std::uint64_t swapped(std::uint64_t value) noexcept {
  return __builtin_bswap64(value);
}
Wide swapped(Wide value) noexcept {
  return {{swapped(value.halves[1]), swapped(value.halves[0])}};
}

template <typename T>
T big_endian(T value) noexcept {
  return std::endian::native == std::endian::little ? swapped(value) : value;
}

// Converts so many numbers. Says whether all of them fit; bits that do not are lost.
using Conversion = bool (*)(const std::byte* in, std::byte* out, std::size_t numbers) noexcept;
struct Conversions {
  Conversion to_external;
  Conversion from_external;
};

// The loops have constant sizes and no branch, so that compilers make them of plain moves and swaps.
template <typename T>
bool swap_all(const std::byte* in, std::byte* out, std::size_t numbers) noexcept {
  for (std::size_t i = 0; i < numbers; ++i) {
    T value;
    std::memcpy(&value, in + i * sizeof value, sizeof value);
    value = big_endian(value);
    std::memcpy(out + i * sizeof value, &value, sizeof value);
  }
  return true;
}

template <typename Native, typename External>
bool narrow_all(const std::byte* in, std::byte* out, std::size_t numbers) noexcept {
  bool fit = true;
  for (std::size_t i = 0; i < numbers; ++i) {
    Native value;
    std::memcpy(&value, in + i * sizeof value, sizeof value);
    const auto narrow = static_cast<External>(value);
    fit &= static_cast<Native>(narrow) == value;
    const auto stored = big_endian(static_cast<std::make_unsigned_t<External>>(narrow));
    std::memcpy(out + i * sizeof stored, &stored, sizeof stored);
  }
  return fit;
}

template <typename Native, typename External>
bool widen_all(const std::byte* in, std::byte* out, std::size_t numbers) noexcept {
  for (std::size_t i = 0; i < numbers; ++i) {
    std::make_unsigned_t<External> stored;
    std::memcpy(&stored, in + i * sizeof stored, sizeof stored);
    const Native value = static_cast<External>(big_endian(stored));
    std::memcpy(out + i * sizeof value, &value, sizeof value);
  }
  return true;
}

bool long_doubles_to_external(const std::byte* in, std::byte* out, std::size_t numbers) noexcept {
  for (std::size_t i = 0; i < numbers; ++i) {
    long double value;
    std::memcpy(&value, in + i * sizeof value, sizeof value);
    const auto stored = big_endian(std::bit_cast<Wide>(static_cast<Quad>(value)));
    std::memcpy(out + i * sizeof stored, &stored, sizeof stored);
  }
  return true;
}

bool long_doubles_from_external(const std::byte* in, std::byte* out, std::size_t numbers) noexcept {
  for (std::size_t i = 0; i < numbers; ++i) {
    Wide stored;
    std::memcpy(&stored, in + i * sizeof stored, sizeof stored);
    const auto value = static_cast<long double>(std::bit_cast<Quad>(big_endian(stored)));
    std::memset(out + i * sizeof value, 0, sizeof value);
    std::memcpy(out + i * sizeof value, &value, kLongDoubleBytes);
  }
  return true;
}

// How many independent numbers an element consists of: the two parts of a complex number are swapped apart.
std::size_t parts_of(const BasicType& basic) noexcept {
  return basic.category == Category::kComplex ? 2 : 1;
}

bool is_x87(const BasicType& basic) noexcept {
  const bool long_double = basic.element == Element::kLongDouble || basic.element == Element::kComplexLongDouble;
  return long_double && !std::is_same_v<Quad, long double>;
}

template <typename Native, typename External>
constexpr Conversions kOfTwoWidths = {narrow_all<Native, External>, widen_all<Native, External>};
template <typename T>
constexpr Conversions kOfOneWidth = {swap_all<T>, swap_all<T>};

// Of a type whose numbers have more than one byte.
Conversions conversions_of(const BasicType& basic) noexcept {
  if (is_x87(basic)) return {long_doubles_to_external, long_doubles_from_external};
  if (basic.external_size < basic.size) {
    if (basic.element == Element::kInt64) return kOfTwoWidths<std::int64_t, std::int32_t>;
    if (basic.element == Element::kUint64) return kOfTwoWidths<std::uint64_t, std::uint32_t>;
    return kOfTwoWidths<std::uint32_t, std::uint16_t>;  // MPI_WCHAR
  }
  switch (basic.size / parts_of(basic)) {
    case 2:
      return kOfOneWidth<std::uint16_t>;
    case 4:
      return kOfOneWidth<std::uint32_t>;
    case 8:
      return kOfOneWidth<std::uint64_t>;
    default:
      return kOfOneWidth<Wide>;
  }
}

Status does_not_fit(const BasicType& basic) {
  return Status::error(MPI_ERR_CONVERSION, "A value of %s does not fit into the %u bytes that the type has in external32", basic.name,
                       static_cast<unsigned>(basic.external_size));
}

// Converts between a walk and a packed stream, in the order of the signature.
class Converter {
 public:
  Converter(Walk& walk, std::byte* external, bool to_external) noexcept
      : walk_(walk), external_(external), to_external_(to_external) {}

  void convert_signature(const Signature& signature) noexcept {
    for (std::uint64_t i = 0; i < signature.repeat; ++i) {
      for (const SignatureItem& item : signature.items) {
        if (item.nested != nullptr) {
          convert_signature(*item.nested);
        } else {
          convert_elements(*item.basic, item.count);
        }
      }
    }
  }

  // A type of which a value did not fit into external32, or null.
  const BasicType* lossy() const noexcept { return lossy_; }

 private:
  void convert_elements(const BasicType& basic, std::uint64_t count) noexcept {
    if (basic.size == 1) return move_bytes(count);
    const Conversions conversions = conversions_of(basic);
    std::byte native[kBatchBytes];
    while (count > 0) {
      const std::size_t batch = std::min<std::uint64_t>(count, kBatchBytes / basic.size);
      const std::size_t numbers = batch * parts_of(basic);
      if (to_external_) {
        walk_.gather(native, batch * basic.size);
        if (!conversions.to_external(native, external_, numbers)) lossy_ = &basic;
      } else {
        conversions.from_external(external_, native, numbers);
        walk_.scatter(native, batch * basic.size);
      }
      external_ += batch * basic.external_size;
      count -= batch;
    }
  }

  void move_bytes(std::uint64_t bytes) noexcept {
    if (to_external_)
      walk_.gather(external_, bytes);
    else
      walk_.scatter(external_, bytes);
    external_ += bytes;
  }

  Walk& walk_;
  std::byte* external_;
  bool to_external_;
  const BasicType* lossy_ = nullptr;
};

}  // namespace

std::uint64_t external_size(const Datatype& type, std::uint64_t count) noexcept {
  return type.signature()->external_bytes * count;
}

Status pack_external(const void* buffer, std::uint64_t count, const Datatype& type, void* out) {
  Walk walk(type, buffer, count);
  Converter converter(walk, static_cast<std::byte*>(out), true);
  converter.convert_signature(*repeated(type.signature(), count));
  return converter.lossy() != nullptr ? does_not_fit(*converter.lossy()) : Status();
}

void unpack_external(const void* in, void* buffer, std::uint64_t count, const Datatype& type) {
  Walk walk(type, buffer, count);
  auto* external = const_cast<std::byte*>(static_cast<const std::byte*>(in));  // only read in this direction
  Converter(walk, external, false).convert_signature(*repeated(type.signature(), count));
}

}  // namespace lapwing::datatype
