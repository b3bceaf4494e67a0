#include "datatype/basic_type.h"

#include <complex>
#include <iterator>
#include <type_traits>

#include "datatype/numbers.h"

namespace lapwing::datatype {
namespace {

template <typename T>
constexpr std::uint32_t size_of = sizeof(T);
template <typename T>
constexpr std::uint32_t align_of = alignof(T);

// Name, C type of the same representation, kind, category; the size in external32 is the own size unless given.
#define BASIC(name, type, element, category) \
  { name, #name, size_of<type>, align_of<type>, Element::element, Category::category, size_of<type> }
#define BASIC_EXTERNAL(name, type, element, category, external) \
  { name, #name, size_of<type>, align_of<type>, Element::element, Category::category, external }

constexpr Element kCharElement = std::is_signed_v<char> ? Element::kInt8 : Element::kUint8;
constexpr Element kLongElement = sizeof(long) == 8 ? Element::kInt64 : Element::kInt32;
constexpr Element kUnsignedLongElement = sizeof(long) == 8 ? Element::kUint64 : Element::kUint32;
using Float = float;
using Double = double;
using LongDouble = long double;
using LongLong = long long;
using UnsignedLong = unsigned long;
using UnsignedLongLong = unsigned long long;
using Bool = bool;
using Wide = wchar_t;

const BasicType kBasicTypes[] = {
    // Characters and bytes.
    {MPI_CHAR, "MPI_CHAR", 1, 1, kCharElement, Category::kNone, 1},
    BASIC(MPI_SIGNED_CHAR, signed char, kInt8, kCInteger),
    BASIC(MPI_UNSIGNED_CHAR, unsigned char, kUint8, kCInteger),
    BASIC(MPI_BYTE, unsigned char, kUint8, kByte),
    BASIC(MPI_PACKED, unsigned char, kUint8, kNone),
    BASIC_EXTERNAL(MPI_WCHAR, Wide, kUint32, kNone, 2),  // a code point, which has no sign even where wchar_t has one
    // C integers. MPI_LONG has 4 bytes in external32, whatever the machine.
    BASIC(MPI_SHORT, std::int16_t, kInt16, kCInteger),
    BASIC(MPI_INT, std::int32_t, kInt32, kCInteger),
    {MPI_LONG, "MPI_LONG", size_of<long>, align_of<long>, kLongElement, Category::kCInteger, 4},
    BASIC(MPI_LONG_LONG, LongLong, kInt64, kCInteger),
    BASIC(MPI_UNSIGNED_SHORT, std::uint16_t, kUint16, kCInteger),
    BASIC(MPI_UNSIGNED, std::uint32_t, kUint32, kCInteger),
    {MPI_UNSIGNED_LONG, "MPI_UNSIGNED_LONG", size_of<UnsignedLong>, align_of<UnsignedLong>, kUnsignedLongElement,
     Category::kCInteger, 4},
    BASIC(MPI_UNSIGNED_LONG_LONG, UnsignedLongLong, kUint64, kCInteger),
    BASIC(MPI_INT8_T, std::int8_t, kInt8, kCInteger),
    BASIC(MPI_INT16_T, std::int16_t, kInt16, kCInteger),
    BASIC(MPI_INT32_T, std::int32_t, kInt32, kCInteger),
    BASIC(MPI_INT64_T, std::int64_t, kInt64, kCInteger),
    BASIC(MPI_UINT8_T, std::uint8_t, kUint8, kCInteger),
    BASIC(MPI_UINT16_T, std::uint16_t, kUint16, kCInteger),
    BASIC(MPI_UINT32_T, std::uint32_t, kUint32, kCInteger),
    BASIC(MPI_UINT64_T, std::uint64_t, kUint64, kCInteger),
    BASIC(MPI_AINT, MPI_Aint, kInt64, kMultiLanguage),
    BASIC(MPI_OFFSET, MPI_Offset, kInt64, kMultiLanguage),
    BASIC(MPI_COUNT, MPI_Count, kInt64, kMultiLanguage),
    // C and C++ floating point, complex, logical.
    BASIC(MPI_FLOAT, Float, kFloat32, kFloatingPoint),
    BASIC(MPI_DOUBLE, Double, kFloat64, kFloatingPoint),
    BASIC_EXTERNAL(MPI_LONG_DOUBLE, LongDouble, kLongDouble, kFloatingPoint, 16),
    BASIC(MPI_C_FLOAT_COMPLEX, std::complex<float>, kComplex32, kComplex),
    BASIC(MPI_C_DOUBLE_COMPLEX, std::complex<double>, kComplex64, kComplex),
    BASIC_EXTERNAL(MPI_C_LONG_DOUBLE_COMPLEX, std::complex<long double>, kComplexLongDouble, kComplex, 32),
    BASIC(MPI_CXX_FLOAT_COMPLEX, std::complex<float>, kComplex32, kComplex),
    BASIC(MPI_CXX_DOUBLE_COMPLEX, std::complex<double>, kComplex64, kComplex),
    BASIC_EXTERNAL(MPI_CXX_LONG_DOUBLE_COMPLEX, std::complex<long double>, kComplexLongDouble, kComplex, 32),
    BASIC(MPI_C_BOOL, Bool, kUint8, kLogical),
    BASIC(MPI_CXX_BOOL, Bool, kUint8, kLogical),
    // Fortran.
    BASIC(MPI_CHARACTER, char, kInt8, kNone),
    BASIC(MPI_LOGICAL, std::int32_t, kInt32, kLogical),
    BASIC(MPI_INTEGER, std::int32_t, kInt32, kFortranInteger),
    BASIC(MPI_REAL, Float, kFloat32, kFloatingPoint),
    BASIC(MPI_DOUBLE_PRECISION, Double, kFloat64, kFloatingPoint),
    BASIC(MPI_COMPLEX, std::complex<float>, kComplex32, kComplex),
    BASIC(MPI_DOUBLE_COMPLEX, std::complex<double>, kComplex64, kComplex),
    BASIC(MPI_LOGICAL1, std::int8_t, kInt8, kLogical),
    BASIC(MPI_LOGICAL2, std::int16_t, kInt16, kLogical),
    BASIC(MPI_LOGICAL4, std::int32_t, kInt32, kLogical),
    BASIC(MPI_LOGICAL8, std::int64_t, kInt64, kLogical),
    BASIC(MPI_LOGICAL16, Int128, kInt128, kLogical),
    BASIC(MPI_INTEGER1, std::int8_t, kInt8, kFortranInteger),
    BASIC(MPI_INTEGER2, std::int16_t, kInt16, kFortranInteger),
    BASIC(MPI_INTEGER4, std::int32_t, kInt32, kFortranInteger),
    BASIC(MPI_INTEGER8, std::int64_t, kInt64, kFortranInteger),
    BASIC(MPI_INTEGER16, Int128, kInt128, kFortranInteger),
    BASIC(MPI_REAL2, Half, kFloat16, kFloatingPoint),
    BASIC(MPI_REAL4, Float, kFloat32, kFloatingPoint),
    BASIC(MPI_REAL8, Double, kFloat64, kFloatingPoint),
    BASIC(MPI_REAL16, Quad, kFloat128, kFloatingPoint),
    BASIC(MPI_COMPLEX4, Complex<Half>, kComplex16, kComplex),
    BASIC(MPI_COMPLEX8, std::complex<float>, kComplex32, kComplex),
    BASIC(MPI_COMPLEX16, std::complex<double>, kComplex64, kComplex),
    BASIC(MPI_COMPLEX32, Complex<Quad>, kComplex128, kComplex),
};

#undef BASIC
#undef BASIC_EXTERNAL

const PairType kPairTypes[] = {
    {MPI_FLOAT_INT, "MPI_FLOAT_INT", MPI_FLOAT, MPI_INT},
    {MPI_DOUBLE_INT, "MPI_DOUBLE_INT", MPI_DOUBLE, MPI_INT},
    {MPI_LONG_INT, "MPI_LONG_INT", MPI_LONG, MPI_INT},
    {MPI_2INT, "MPI_2INT", MPI_INT, MPI_INT},
    {MPI_SHORT_INT, "MPI_SHORT_INT", MPI_SHORT, MPI_INT},
    {MPI_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT", MPI_LONG_DOUBLE, MPI_INT},
    {MPI_2REAL, "MPI_2REAL", MPI_REAL, MPI_REAL},
    {MPI_2DOUBLE_PRECISION, "MPI_2DOUBLE_PRECISION", MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION},
    {MPI_2INTEGER, "MPI_2INTEGER", MPI_INTEGER, MPI_INTEGER},
};

}  // namespace

BasicTypeTable basic_types() noexcept {
  return {kBasicTypes, std::size(kBasicTypes)};
}
PairTypeTable pair_types() noexcept {
  return {kPairTypes, std::size(kPairTypes)};
}

}  // namespace lapwing::datatype
