#include "datatype/op.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "datatype/basic_type.h"
#include "datatype/construct.h"
#include "datatype/kernels.h"
#include "datatype/numbers.h"

namespace lapwing::datatype {
namespace {

constexpr int kCount = 19;  // odd: vector loops have a remainder

// One row of the standard's table per type: what it allows. (Beyond it: logical operations on multi-language types, and MPI_CHAR as
// a C integer.)
struct Allowed {
  bool arithmetic, order, logical, bits, location;
};

Allowed allowed_for(Category category) {
  switch (category) {
    case Category::kCInteger:
      return {true, true, true, true, false};
    case Category::kMultiLanguage:
      return {true, true, true, true, false};
    case Category::kFortranInteger:
      return {true, true, false, true, false};
    case Category::kFloatingPoint:
      return {true, true, false, false, false};
    case Category::kLogical:
      return {false, false, true, false, false};
    case Category::kComplex:
      return {true, false, false, false, false};
    case Category::kByte:
      return {false, false, false, true, false};
    case Category::kPair:
      return {false, false, false, false, true};
    default:
      return {};
  }
}

bool ok(MPI_Op op, MPI_Datatype type) {
  return check(*resolve_op(op), *resolve(type)).ok();
}

void expect_allowed(MPI_Datatype handle) {
  const Datatype& type = *resolve(handle);
  const Allowed allowed = allowed_for(handle == MPI_CHAR ? Category::kCInteger : type.category());
  for (const MPI_Op op : {MPI_SUM, MPI_PROD}) EXPECT_EQ(ok(op, handle), allowed.arithmetic) << type.name();
  for (const MPI_Op op : {MPI_MIN, MPI_MAX}) EXPECT_EQ(ok(op, handle), allowed.order) << type.name();
  for (const MPI_Op op : {MPI_LAND, MPI_LOR, MPI_LXOR}) EXPECT_EQ(ok(op, handle), allowed.logical) << type.name();
  for (const MPI_Op op : {MPI_BAND, MPI_BOR, MPI_BXOR}) EXPECT_EQ(ok(op, handle), allowed.bits) << type.name();
  for (const MPI_Op op : {MPI_MINLOC, MPI_MAXLOC}) EXPECT_EQ(ok(op, handle), allowed.location) << type.name();
  EXPECT_FALSE(ok(MPI_REPLACE, handle));
  EXPECT_FALSE(ok(MPI_NO_OP, handle));
}

TEST(Op, AllowsWhatTheStandardAllows) {
  const BasicTypeTable basics = basic_types();
  for (std::size_t i = 0; i < basics.count; ++i) expect_allowed(basics.rows[i].handle);
  const PairTypeTable pairs = pair_types();
  for (std::size_t i = 0; i < pairs.count; ++i) expect_allowed(pairs.rows[i].handle);
  EXPECT_EQ(resolve(MPI_CHAR)->category(), Category::kNone);
  EXPECT_EQ(resolve(MPI_SIGNED_CHAR)->category(), Category::kCInteger);
  EXPECT_EQ(resolve(MPI_OFFSET)->category(), Category::kMultiLanguage);
  EXPECT_EQ(resolve(MPI_LOGICAL)->category(), Category::kLogical);
}

TEST(Op, ErrorsNameOperationAndType) {
  const Status status = check(*resolve_op(MPI_BAND), *resolve(MPI_DOUBLE));
  EXPECT_EQ(status.error_class(), MPI_ERR_OP);
  EXPECT_NE(std::string(status.text()).find("MPI_BAND"), std::string::npos);
  EXPECT_NE(std::string(status.text()).find("MPI_DOUBLE"), std::string::npos);
  Datatype* derived = nullptr;
  ASSERT_TRUE(make_contiguous(2, *resolve(MPI_INT), &derived).ok());
  EXPECT_EQ(check(*resolve_op(MPI_SUM), *derived).error_class(), MPI_ERR_OP);
  free(derived);
}

// But for the last bytes of each long double, which mean nothing.
template <typename T>
bool same(const char* bytes, const std::vector<T>& expected) {
  constexpr bool kGaps = std::is_same_v<T, long double> || std::is_same_v<T, Complex<long double>>;
  constexpr std::size_t kEach = kGaps ? sizeof(long double) : sizeof(T), kTold = kGaps ? 10 : kEach;
  const auto* other = reinterpret_cast<const char*>(expected.data());
  for (std::size_t at = 0; at < expected.size() * sizeof(T); at += kEach)
    if (std::memcmp(bytes + at, other + at, kTold) != 0) return false;
  return true;
}

// The buffers start at an odd address: no kernel may rely on alignment.
template <typename T>
std::vector<T> applied(MPI_Op op, MPI_Datatype type, const std::vector<T>& in, const std::vector<T>& inout) {
  std::vector<char> left(in.size() * sizeof(T) + 1);
  std::vector<char> right(in.size() * sizeof(T) + 1);
  std::memcpy(left.data() + 1, in.data(), in.size() * sizeof(T));
  std::memcpy(right.data() + 1, inout.data(), in.size() * sizeof(T));
  apply(*resolve_op(op), left.data() + 1, right.data() + 1, in.size(), *resolve(type));
  std::vector<T> result(in.size());
  std::memcpy(result.data(), right.data() + 1, in.size() * sizeof(T));
  std::memcpy(right.data() + 1, inout.data(), in.size() * sizeof(T));
  std::vector<char> elsewhere(right.size());
  std::memcpy(elsewhere.data() + 1, inout.data(), in.size() * sizeof(T));  // gaps, which stay
  combine(*resolve_op(op), left.data() + 1, right.data() + 1, elsewhere.data() + 1, in.size(), *resolve(type));
  EXPECT_TRUE(same(elsewhere.data() + 1, result)) << "the result in a buffer of its own";
  combine(*resolve_op(op), left.data() + 1, right.data() + 1, left.data() + 1, in.size(), *resolve(type));
  EXPECT_TRUE(same(left.data() + 1, result)) << "the result where the left operand is";
  return result;
}

template <typename T, typename Expected>
void expect_each(MPI_Op op, MPI_Datatype type, const std::vector<T>& in, const std::vector<T>& inout,
                 Expected expected) {
  const std::vector<T> result = applied(op, type, in, inout);
  for (int i = 0; i < kCount; ++i) {
    ASSERT_TRUE(result[i] == static_cast<T>(expected(in[i], inout[i]))) << resolve(type)->name() << " entry " << i;
  }
}

// Values that stay exact in every type; some of them equal, some zero.
template <typename T>
void make_operands(std::vector<T>* in, std::vector<T>* inout) {
  for (int i = 0; i < kCount; ++i) {
    in->push_back(static_cast<T>(i % 7));
    inout->push_back(static_cast<T>((i * 5) % 6));
  }
}

template <typename T>
void check_arithmetic(MPI_Datatype type) {
  ASSERT_EQ(resolve(type)->size(), static_cast<std::int64_t>(sizeof(T)));
  std::vector<T> in, inout;
  make_operands(&in, &inout);
  expect_each(MPI_SUM, type, in, inout, [](T a, T b) { return a + b; });
  expect_each(MPI_PROD, type, in, inout, [](T a, T b) { return a * b; });
}

template <typename T>
void check_ordered(MPI_Datatype type) {
  check_arithmetic<T>(type);
  std::vector<T> in, inout;
  make_operands(&in, &inout);
  in[3] = static_cast<T>(-3);  // large when unsigned
  expect_each(MPI_MIN, type, in, inout, [](T a, T b) { return a < b ? a : b; });
  expect_each(MPI_MAX, type, in, inout, [](T a, T b) { return a > b ? a : b; });
}

template <typename T>
void check_bits(MPI_Datatype type) {
  ASSERT_EQ(resolve(type)->size(), static_cast<std::int64_t>(sizeof(T)));
  std::vector<T> in, inout;
  make_operands(&in, &inout);
  in[2] = static_cast<T>(~T{0});
  expect_each(MPI_BAND, type, in, inout, [](T a, T b) { return a & b; });
  expect_each(MPI_BOR, type, in, inout, [](T a, T b) { return a | b; });
  expect_each(MPI_BXOR, type, in, inout, [](T a, T b) { return a ^ b; });
}

template <typename T>
void check_logical(MPI_Datatype type) {
  ASSERT_EQ(resolve(type)->size(), static_cast<std::int64_t>(sizeof(T)));
  std::vector<T> in, inout;
  make_operands(&in, &inout);
  expect_each(MPI_LAND, type, in, inout, [](T a, T b) { return a != 0 && b != 0; });
  expect_each(MPI_LOR, type, in, inout, [](T a, T b) { return a != 0 || b != 0; });
  expect_each(MPI_LXOR, type, in, inout, [](T a, T b) { return (a != 0) != (b != 0); });
}

template <typename T>
void check_c_integer(MPI_Datatype type) {
  check_ordered<T>(type);
  check_bits<T>(type);
  check_logical<T>(type);
}

template <typename T>
void check_fortran_integer(MPI_Datatype type) {
  check_ordered<T>(type);
  check_bits<T>(type);
}

TEST(Kernels, CIntegers) {
  check_c_integer<signed char>(MPI_SIGNED_CHAR);
  check_c_integer<unsigned char>(MPI_UNSIGNED_CHAR);
  check_c_integer<short>(MPI_SHORT);
  check_c_integer<unsigned short>(MPI_UNSIGNED_SHORT);
  check_c_integer<int>(MPI_INT);
  check_c_integer<unsigned>(MPI_UNSIGNED);
  check_c_integer<long>(MPI_LONG);
  check_c_integer<unsigned long>(MPI_UNSIGNED_LONG);
  check_c_integer<long long>(MPI_LONG_LONG);
  check_c_integer<unsigned long long>(MPI_UNSIGNED_LONG_LONG);
  check_c_integer<std::int8_t>(MPI_INT8_T);
  check_c_integer<std::int16_t>(MPI_INT16_T);
  check_c_integer<std::int32_t>(MPI_INT32_T);
  check_c_integer<std::int64_t>(MPI_INT64_T);
  check_c_integer<std::uint8_t>(MPI_UINT8_T);
  check_c_integer<std::uint16_t>(MPI_UINT16_T);
  check_c_integer<std::uint32_t>(MPI_UINT32_T);
  check_c_integer<std::uint64_t>(MPI_UINT64_T);
}

TEST(Kernels, FortranAndMultiLanguageIntegers) {
  check_fortran_integer<int>(MPI_INTEGER);
  check_fortran_integer<std::int8_t>(MPI_INTEGER1);
  check_fortran_integer<std::int16_t>(MPI_INTEGER2);
  check_fortran_integer<std::int32_t>(MPI_INTEGER4);
  check_fortran_integer<std::int64_t>(MPI_INTEGER8);
  check_fortran_integer<Int128>(MPI_INTEGER16);
  check_fortran_integer<MPI_Aint>(MPI_AINT);
  check_fortran_integer<MPI_Offset>(MPI_OFFSET);
  check_fortran_integer<MPI_Count>(MPI_COUNT);
}

TEST(Kernels, FloatingPoint) {
  check_ordered<float>(MPI_FLOAT);
  check_ordered<double>(MPI_DOUBLE);
  check_ordered<long double>(MPI_LONG_DOUBLE);
  check_ordered<float>(MPI_REAL);
  check_ordered<double>(MPI_DOUBLE_PRECISION);
  check_ordered<Half>(MPI_REAL2);
  check_ordered<float>(MPI_REAL4);
  check_ordered<double>(MPI_REAL8);
  check_ordered<Quad>(MPI_REAL16);
}

template <typename T>
void check_complex(MPI_Datatype type) {
  ASSERT_EQ(resolve(type)->size(), static_cast<std::int64_t>(2 * sizeof(T)));
  std::vector<Complex<T>> in, inout;
  for (int i = 0; i < kCount; ++i) {
    in.push_back({static_cast<T>(i % 5 - 2), static_cast<T>(i % 3)});
    inout.push_back({static_cast<T>(i % 4), static_cast<T>(1 - i % 6)});
  }
  const auto sums = applied(MPI_SUM, type, in, inout);
  const auto products = applied(MPI_PROD, type, in, inout);
  for (int i = 0; i < kCount; ++i) {
    const std::complex<double> a(static_cast<double>(in[i].real), static_cast<double>(in[i].imaginary));
    const std::complex<double> b(static_cast<double>(inout[i].real), static_cast<double>(inout[i].imaginary));
    EXPECT_EQ(static_cast<double>(sums[i].real), (a + b).real()) << resolve(type)->name();
    EXPECT_EQ(static_cast<double>(sums[i].imaginary), (a + b).imag());
    EXPECT_EQ(static_cast<double>(products[i].real), (a * b).real());
    EXPECT_EQ(static_cast<double>(products[i].imaginary), (a * b).imag());
  }
}

TEST(Kernels, ComplexNumbers) {
  check_complex<float>(MPI_C_FLOAT_COMPLEX);
  check_complex<double>(MPI_C_DOUBLE_COMPLEX);
  check_complex<long double>(MPI_C_LONG_DOUBLE_COMPLEX);
  check_complex<float>(MPI_CXX_FLOAT_COMPLEX);
  check_complex<double>(MPI_CXX_DOUBLE_COMPLEX);
  check_complex<long double>(MPI_CXX_LONG_DOUBLE_COMPLEX);
  check_complex<float>(MPI_COMPLEX);
  check_complex<double>(MPI_DOUBLE_COMPLEX);
  check_complex<Half>(MPI_COMPLEX4);
  check_complex<float>(MPI_COMPLEX8);
  check_complex<double>(MPI_COMPLEX16);
  check_complex<Quad>(MPI_COMPLEX32);
}

TEST(Kernels, LogicalsAndBytes) {
  check_logical<unsigned char>(MPI_C_BOOL);
  check_logical<unsigned char>(MPI_CXX_BOOL);
  check_logical<int>(MPI_LOGICAL);
  check_logical<std::int8_t>(MPI_LOGICAL1);
  check_logical<std::int16_t>(MPI_LOGICAL2);
  check_logical<std::int32_t>(MPI_LOGICAL4);
  check_logical<std::int64_t>(MPI_LOGICAL8);
  check_logical<Int128>(MPI_LOGICAL16);
  check_bits<unsigned char>(MPI_BYTE);
}

template <typename Value, typename Index>
void check_pair(const Datatype& type) {
  struct Pair {
    Value value;
    Index index;
  };
  ASSERT_EQ(type.extent(), static_cast<std::int64_t>(sizeof(Pair)));
  for (const bool minimum : {true, false}) {
    std::vector<Pair> in(kCount), inout(kCount), result;
    for (int i = 0; i < kCount; ++i) {
      in[i].value = static_cast<Value>(i % 3);
      in[i].index = static_cast<Index>(i % 5);
      inout[i].value = static_cast<Value>(i % 4);
      inout[i].index = static_cast<Index>(i % 7);
    }
    result = inout;
    apply(*resolve_op(minimum ? MPI_MINLOC : MPI_MAXLOC), in.data(), result.data(), kCount, type);
    for (int i = 0; i < kCount; ++i) {
      const Pair& a = in[i];
      const Pair& b = inout[i];
      const bool first = a.value == b.value ? a.index <= b.index : (a.value < b.value) == minimum;
      EXPECT_TRUE(result[i].value == (first ? a.value : b.value)) << type.name();
      EXPECT_TRUE(result[i].index == (first ? a.index : b.index)) << type.name();
    }
  }
}

TEST(Kernels, Pairs) {
  check_pair<float, int>(*resolve(MPI_FLOAT_INT));
  check_pair<double, int>(*resolve(MPI_DOUBLE_INT));
  check_pair<long, int>(*resolve(MPI_LONG_INT));
  check_pair<int, int>(*resolve(MPI_2INT));
  check_pair<short, int>(*resolve(MPI_SHORT_INT));
  check_pair<long double, int>(*resolve(MPI_LONG_DOUBLE_INT));
  check_pair<float, float>(*resolve(MPI_2REAL));
  check_pair<double, double>(*resolve(MPI_2DOUBLE_PRECISION));
  check_pair<int, int>(*resolve(MPI_2INTEGER));
}

// Such types are never freed; the code that makes them keeps them.
Datatype* kept_pair(MPI_Datatype value, MPI_Datatype index) {
  static auto& kept = *new std::vector<Datatype*>;
  kept.push_back(make_pair_type(*resolve(value), *resolve(index)));
  return kept.back();
}

TEST(Kernels, UnnamedPairs) {
  const Datatype* type = kept_pair(MPI_DOUBLE, MPI_INT64_T);
  ASSERT_NE(type, nullptr);
  EXPECT_TRUE(type->is_predefined());
  EXPECT_EQ(type->contents().combiner, MPI_COMBINER_VALUE_INDEX);
  EXPECT_TRUE(check(*resolve_op(MPI_MAXLOC), *type).ok());
  check_pair<double, std::int64_t>(*type);
  EXPECT_NE(std::string(check(*resolve_op(MPI_SUM), *type).text()).find("a pair of a value and an index"), std::string::npos);
  check_pair<std::uint8_t, std::uint16_t>(*kept_pair(MPI_UINT8_T, MPI_UINT16_T));
  EXPECT_EQ(kept_pair(MPI_C_DOUBLE_COMPLEX, MPI_INT), nullptr);
  EXPECT_EQ(kept_pair(MPI_INT, MPI_DOUBLE), nullptr);
}

// What MPI_Type_get_value_index gives can be reduced.
TEST(Kernels, EveryPairHasOne) {
  const BasicTypeTable table = basic_types();
  for (const BasicType* value = table.rows; value != table.rows + table.count; ++value) {
    for (const BasicType* index = table.rows; index != table.rows + table.count; ++index) {
      const Datatype* type = kept_pair(value->handle, index->handle);
      if (type == nullptr) continue;
      EXPECT_TRUE(check(*resolve_op(MPI_MINLOC), *type).ok()) << value->name << " " << index->name;
      EXPECT_TRUE(check(*resolve_op(MPI_MAXLOC), *type).ok()) << value->name << " " << index->name;
    }
  }
  check_pair<double, Int128>(*kept_pair(MPI_DOUBLE, MPI_INTEGER16));
}

// The same bits with any vectors: ranks of one job may run on different processors.
TEST(Kernels, WideVectorsGiveTheSameBits) {
  if (vectors_here() != Vectors::kWide) GTEST_SKIP() << "this processor has no AVX2";
  constexpr std::size_t kLength = 67;  // whole vectors of all kinds, and a remainder
  std::vector<unsigned char> in(kLength * 32), narrow(kLength * 32);
  unsigned state = 5;
  // As floating point: numbers between 0 and 2.
  const auto next = [&state] {
    return static_cast<unsigned char>((state = state * 1664525u + 1013904223u) >> 24 & 0x3f);
  };
  const auto compare = [&](Kernel any, Kernel with_wide) {
    ASSERT_EQ(any == nullptr, with_wide == nullptr);
    if (any == nullptr) return;
    for (auto& byte : in) byte = next();
    for (auto& byte : narrow) byte = next();
    std::vector<unsigned char> wide = narrow;
    any(in.data(), narrow.data(), narrow.data(), kLength);
    with_wide(in.data(), wide.data(), wide.data(), kLength);
    EXPECT_EQ(narrow, wide);
  };
  for (int element = 0; element < kElementKinds; ++element) {
    const auto kind = static_cast<Element>(element);
    if (kind == Element::kLongDouble || kind == Element::kComplexLongDouble) continue;  // in no vectors, and with gaps
    SCOPED_TRACE(element);
    for (const MPI_Op op : {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX})
      compare(arithmetic_kernel(op, kind, Vectors::kNarrow), arithmetic_kernel(op, kind, Vectors::kWide));
    for (const MPI_Op op : {MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR})
      compare(bit_kernel(op, kind, Vectors::kNarrow), bit_kernel(op, kind, Vectors::kWide));
  }
}

TEST(Kernels, EveryAllowedCombinationHasOne) {
  const BasicTypeTable basics = basic_types();
  std::vector<std::byte> buffer(64);
  for (std::size_t i = 0; i < basics.count; ++i) {
    for (std::uintptr_t value = 0x21; value < 0x3d; ++value) {
      const Op* op = resolve_op(reinterpret_cast<MPI_Op>(value));
      if (op == nullptr || !check(*op, *resolve(basics.rows[i].handle)).ok()) continue;
      apply(*op, buffer.data(), buffer.data() + 32, 1, *resolve(basics.rows[i].handle));
    }
  }
}

TEST(Op, SignedOverflowWraps) {
  const std::vector<int> result = applied<int>(MPI_SUM, MPI_INT, {0x7fffffff}, {1});
  EXPECT_EQ(result[0], static_cast<int>(0x80000000u));
}

TEST(Half, ConvertsAsTheStandardSays) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const float value = std::bit_cast<Half>(pattern);
    if (std::isnan(value)) continue;
    ASSERT_EQ(std::bit_cast<std::uint16_t>(Half(value)), pattern);
  }
  EXPECT_EQ(static_cast<float>(Half(1.0f + 0x1p-11f)), 1.0f);  // a tie goes to even
  EXPECT_EQ(static_cast<float>(Half(1.0f + 3 * 0x1p-11f)), 1.0f + 0x1p-9f);
  EXPECT_EQ(static_cast<float>(Half(65519.0f)), 65504.0f);
  EXPECT_TRUE(std::isinf(static_cast<float>(Half(65520.0f))));
}

// ---- The user's functions.

std::vector<std::int64_t> lengths_seen;
MPI_Datatype type_seen;

void concatenate(void* in, void* inout, int* length, MPI_Datatype* type) {
  lengths_seen.push_back(*length);
  type_seen = *type;
  for (int i = 0; i < *length; ++i) {
    static_cast<int*>(inout)[i] = 10 * static_cast<int*>(in)[i] + static_cast<int*>(inout)[i];
  }
}

void concatenate_large(void* in, void* inout, MPI_Count* length, MPI_Datatype* type) {
  lengths_seen.push_back(*length);
  int small = static_cast<int>(*length);
  if (in != nullptr) concatenate(in, inout, &small, type);
}

void note_length(void*, void*, int* length, MPI_Datatype*) {
  lengths_seen.push_back(*length);
}

TEST(UserOp, GetsOperandsInOrder) {
  Op* op = new Op(concatenate, false);
  EXPECT_EQ(resolve_op(op->handle()), op);
  EXPECT_FALSE(op->commutative());
  const int in[] = {1, 2};
  int inout[] = {3, 4};
  ASSERT_TRUE(check(*op, *resolve(MPI_INT)).ok());
  apply(*op, in, inout, 2, *resolve(MPI_INT));
  EXPECT_EQ(inout[0], 13);
  EXPECT_EQ(inout[1], 24);
  EXPECT_EQ(type_seen, MPI_INT);
  free(op);
}

TEST(UserOp, LargeCountsAreCutForTheIntForm) {
  const std::uint64_t count = (std::uint64_t{1} << 32) + 5;
  Op* narrow = new Op(note_length, true);
  Datatype* empty = nullptr;
  ASSERT_TRUE(make_resized(*resolve(MPI_INT), 0, 0, &empty).ok());
  int value = 0;
  lengths_seen.clear();
  apply(*narrow, &value, &value, count, *empty);
  std::uint64_t sum = 0;
  for (const std::int64_t length : lengths_seen) sum += length;
  EXPECT_EQ(sum, count);
  EXPECT_EQ(lengths_seen.size(), 3u);
  free(narrow);

  Op* wide = new Op(concatenate_large, true);
  lengths_seen.clear();
  apply(*wide, nullptr, nullptr, count, *empty);
  EXPECT_EQ(lengths_seen, (std::vector<std::int64_t>{static_cast<std::int64_t>(count)}));
  free(wide);
  free(empty);
}

}  // namespace
}  // namespace lapwing::datatype
