// external32: big-endian, fixed sizes, no gaps.
//
// Two things run in step: the signature says which basic type comes next, the walk yields (or takes) its bytes.
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

// Basic elements converted at a time.
constexpr std::size_t kBatch = 64;
constexpr std::size_t kLargestElement = 32;
// Without the padding of the x87 format.
constexpr std::size_t kLongDoubleBytes = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double);

// How many independent numbers an element consists of: the two parts of a complex number are swapped apart.
std::size_t parts_of(const BasicType& basic) noexcept {
  return basic.category == Category::kComplex ? 2 : 1;
}

bool is_signed(const BasicType& basic) noexcept {
  return basic.element == Element::kInt32 || basic.element == Element::kInt64;
}

bool is_x87(const BasicType& basic) noexcept {
  const bool long_double = basic.element == Element::kLongDouble || basic.element == Element::kComplexLongDouble;
  return long_double && !std::is_same_v<Quad, long double>;
}

// Copies one number between byte orders of possibly different widths; `wide` sides are sign- or zero-extended. Says whether it fits.
bool convert_number(const std::byte* in, std::size_t in_bytes, std::byte* out, std::size_t out_bytes, bool to_external,
                    bool sign_extended) noexcept {
  constexpr bool kLittle = std::endian::native == std::endian::little;
  const bool in_little = kLittle && to_external;
  const bool out_little = kLittle && !to_external;
  const std::byte top = in[in_little ? in_bytes - 1 : 0];
  const std::byte fill = sign_extended && (top & std::byte{0x80}) != std::byte{0} ? std::byte{0xff} : std::byte{0};
  for (std::size_t i = 0; i < out_bytes; ++i) {  // i counts from the least significant byte
    const std::byte value = i < in_bytes ? in[in_little ? i : in_bytes - 1 - i] : fill;
    out[out_little ? i : out_bytes - 1 - i] = value;
  }
  const std::byte out_top = out[out_little ? out_bytes - 1 : 0];
  const bool kept_sign = !sign_extended || ((out_top ^ fill) & std::byte{0x80}) == std::byte{0};
  bool fits = out_bytes >= in_bytes || kept_sign;
  for (std::size_t i = out_bytes; i < in_bytes; ++i) fits &= in[in_little ? i : in_bytes - 1 - i] == fill;
  return fits;
}

void long_double_to_external(const std::byte* in, std::byte* out) noexcept {
  long double value;
  std::memcpy(&value, in, sizeof value);
  const Quad quad = value;
  convert_number(reinterpret_cast<const std::byte*>(&quad), sizeof quad, out, 16, true, false);
}

void long_double_from_external(const std::byte* in, std::byte* out) noexcept {
  Quad quad;
  convert_number(in, 16, reinterpret_cast<std::byte*>(&quad), sizeof quad, false, false);
  const long double value = static_cast<long double>(quad);
  std::memset(out, 0, sizeof value);
  std::memcpy(out, &value, kLongDoubleBytes);
}

bool convert(const BasicType& basic, const std::byte* in, std::byte* out, std::size_t elements,
             bool to_external) noexcept {
  const std::size_t parts = parts_of(basic);
  const std::size_t native = basic.size / parts;
  const std::size_t external = basic.external_size / parts;
  const std::size_t in_bytes = to_external ? native : external;
  const std::size_t out_bytes = to_external ? external : native;
  if (in_bytes == 1 && out_bytes == 1) {
    std::memcpy(out, in, elements);
    return true;
  }
  bool fits = true;
  for (std::size_t i = 0; i < elements * parts; ++i, in += in_bytes, out += out_bytes) {
    if (!is_x87(basic)) {
      fits &= convert_number(in, in_bytes, out, out_bytes, to_external, is_signed(basic));
    } else if (to_external) {
      long_double_to_external(in, out);
    } else {
      long_double_from_external(in, out);
    }
  }
  return fits;
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

  void convert_signature(const Signature& signature, std::uint64_t times) noexcept {
    for (std::uint64_t i = 0; i < signature.repeat * times; ++i) {
      for (const SignatureItem& item : signature.items) {
        if (item.nested != nullptr) {
          convert_signature(*item.nested, 1);
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
    std::byte native[kBatch * kLargestElement];
    while (count > 0) {
      const std::size_t batch = std::min<std::uint64_t>(count, kBatch);
      if (to_external_) {
        walk_.gather(native, batch * basic.size);
        if (!convert(basic, native, external_, batch, true)) lossy_ = &basic;
      } else {
        convert(basic, external_, native, batch, false);
        walk_.scatter(native, batch * basic.size);
      }
      external_ += batch * basic.external_size;
      count -= batch;
    }
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
  converter.convert_signature(*type.signature(), count);
  return converter.lossy() != nullptr ? does_not_fit(*converter.lossy()) : Status();
}

void unpack_external(const void* in, void* buffer, std::uint64_t count, const Datatype& type) noexcept {
  Walk walk(type, buffer, count);
  auto* external = const_cast<std::byte*>(static_cast<const std::byte*>(in));  // only read in this direction
  Converter(walk, external, false).convert_signature(*type.signature(), count);
}

}  // namespace lapwing::datatype
