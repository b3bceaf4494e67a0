#include "datatype/op.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/internal_error.h"
#include "datatype/kernels.h"
#include "datatype/pack.h"

namespace lapwing::datatype {
namespace {

struct Row {
  MPI_Op handle;
  const char* name;
  std::uint32_t categories;  // bit per Category
};

constexpr std::uint32_t bit(Category category) {
  return 1u << static_cast<unsigned>(category);
}

constexpr std::uint32_t kIntegers =
    bit(Category::kCInteger) | bit(Category::kFortranInteger) | bit(Category::kMultiLanguage);
constexpr std::uint32_t kOrdered = kIntegers | bit(Category::kFloatingPoint);
constexpr std::uint32_t kNumbers = kOrdered | bit(Category::kComplex);
// The standard keeps logical operations from the multi-language types (MPI_AINT, MPI_OFFSET, MPI_COUNT); other
// libraries and programs do not.
constexpr std::uint32_t kLogicals = bit(Category::kCInteger) | bit(Category::kLogical) | bit(Category::kMultiLanguage);
constexpr std::uint32_t kBits = kIntegers | bit(Category::kByte);
constexpr std::uint32_t kPairs = bit(Category::kPair);

// MPI 5.0, section "predefined reduction operations": which groups of types each operation takes.
const Row kRows[] = {
    {MPI_SUM, "MPI_SUM", kNumbers},    {MPI_PROD, "MPI_PROD", kNumbers},   {MPI_MIN, "MPI_MIN", kOrdered},
    {MPI_MAX, "MPI_MAX", kOrdered},    {MPI_BAND, "MPI_BAND", kBits},      {MPI_BOR, "MPI_BOR", kBits},
    {MPI_BXOR, "MPI_BXOR", kBits},     {MPI_LAND, "MPI_LAND", kLogicals},  {MPI_LOR, "MPI_LOR", kLogicals},
    {MPI_LXOR, "MPI_LXOR", kLogicals}, {MPI_MINLOC, "MPI_MINLOC", kPairs}, {MPI_MAXLOC, "MPI_MAXLOC", kPairs},
    {MPI_REPLACE, "MPI_REPLACE", 0},   {MPI_NO_OP, "MPI_NO_OP", 0},
};

constexpr std::uintptr_t kFirstHandle = 0x20;
constexpr std::size_t kHandles = 0x20;

const Row* row_of(MPI_Op handle) noexcept {
  for (const Row& row : kRows) {
    if (row.handle == handle) return &row;
  }
  return nullptr;
}

// MPI_CHAR is for characters, and the standard has no reductions of them; MPICH and Open MPI take it as the integer that a char is
// in C, and programs reduce flags of that type.
Category category_in_reductions(const Datatype& type) noexcept {
  return type.handle() == MPI_CHAR ? Category::kCInteger : type.category();
}

Kernel kernel_for(MPI_Op op, const Datatype& type) noexcept {
  if (type.category() == Category::kPair) return pair_kernel(op, type.pair().value, type.pair().index);
  const Vectors vectors = vectors_here();
  if (const Kernel kernel = arithmetic_kernel(op, type.element(), vectors)) return kernel;
  return bit_kernel(op, type.element(), vectors);
}

// How a text speaks of a type: of one without a name by what it is.
const char* name_of(const Datatype& type) noexcept {
  if (!type.name().empty()) return type.name().c_str();
  if (!type.is_predefined()) return "given, which is derived: create an operation with MPI_Op_create";
  return type.category() == Category::kPair ? "given, a pair of a value and an index: MPI_MINLOC and MPI_MAXLOC take those"
                                            : "given, which has the precision or range that was asked for (MPI_Type_create_f90_...)";
}

// Calls the user's function in portions whose length fits its parameter.
template <typename Length, typename Function>
void apply_user(Function* function, const void* in, void* inout, std::uint64_t count, const Datatype& type) noexcept {
  const auto* left = static_cast<const std::byte*>(in);
  auto* right = static_cast<std::byte*>(inout);
  MPI_Datatype handle = type.handle();
  while (count > 0) {
    const std::uint64_t portion = std::min<std::uint64_t>(count, std::numeric_limits<Length>::max());
    Length length = static_cast<Length>(portion);
    function(const_cast<std::byte*>(left), right, &length, &handle);
    count -= portion;
    if (count > 0) {
      left += static_cast<std::int64_t>(portion) * type.extent();
      right += static_cast<std::int64_t>(portion) * type.extent();
    }
  }
}

}  // namespace

Op* resolve_op(MPI_Op handle) noexcept {
  if (!is_predefined(handle)) {
    auto* op = reinterpret_cast<Op*>(handle);
    return op->kind() == ObjectKind::kOp ? op : nullptr;
  }
  // Constants of the standard, like the predefined datatypes: one table for the process.
  static const auto table = [] {
    std::array<Op*, kHandles> ops{};
    for (const Row& row : kRows) ops[reinterpret_cast<std::uintptr_t>(row.handle) - kFirstHandle] = new Op(row.handle);
    return ops;
  }();
  const std::uintptr_t index = reinterpret_cast<std::uintptr_t>(handle) - kFirstHandle;
  return index < table.size() ? table[index] : nullptr;
}

void free(Op* op) noexcept {
  if (!op->is_user()) return;
  if (op->release()) delete op;
}

Status check(const Op& op, const Datatype& type) {
  if (op.is_user()) return {};
  const Row& row = *row_of(op.predefined_);
  const bool allowed = type.is_predefined() && (row.categories & bit(category_in_reductions(type))) != 0;
  if (allowed && kernel_for(op.predefined_, type) != nullptr) return {};
  if (row.categories == 0) {
    return Status::error(MPI_ERR_OP, "%s is for one-sided communication only, not for reductions", row.name);
  }
  return Status::error(MPI_ERR_OP, "%s is not defined for the datatype %s", row.name, name_of(type));
}

void apply(const Op& op, const void* in, void* inout, std::uint64_t count, const Datatype& type) noexcept {
  if (op.user_ != nullptr) return apply_user<int>(op.user_, in, inout, count, type);
  if (op.user_large_ != nullptr) return apply_user<MPI_Count>(op.user_large_, in, inout, count, type);
  if (op.predefined_ == MPI_NO_OP) return;
  if (op.predefined_ == MPI_REPLACE) {
    copy(in, count, type, inout, count, type);
    return;
  }
  combine(op, in, inout, inout, count, type);
}

void combine(const Op& op, const void* left, const void* right, void* result, std::uint64_t count, const Datatype& type) noexcept {
  const Kernel kernel = kernel_for(op.predefined_, type);
  LAPWING_CHECK(kernel != nullptr);
  kernel(left, right, result, count);
}

}  // namespace lapwing::datatype
