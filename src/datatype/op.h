// Reduction operations: the predefined ones with their kernels, and the user's functions.
//
// Predefined kernels run on any thread, the event thread included. User functions run only on application threads
// inside MPI calls (design: user callbacks); is_user() tells a schedule which of the two it has.
#pragma once

#include <cstdint>

#include "base/object.h"
#include "base/status.h"
#include "datatype/datatype.h"
#include "mpi.h"

namespace lapwing::datatype {

class Op final : public Object {
 public:
  Op(MPI_User_function* function, bool commutative) noexcept
      : Object(ObjectKind::kOp), user_(function), commutative_(commutative) {}
  Op(MPI_User_function_c* function, bool commutative) noexcept
      : Object(ObjectKind::kOp), user_large_(function), commutative_(commutative) {}

  bool commutative() const noexcept { return commutative_; }
  bool is_user() const noexcept { return user_ != nullptr || user_large_ != nullptr; }
  MPI_Op handle() const noexcept { return is_user() ? reinterpret_cast<MPI_Op>(const_cast<Op*>(this)) : predefined_; }

 private:
  friend void apply(const Op&, const void*, void*, std::uint64_t, const Datatype&) noexcept;
  friend void combine(const Op&, const void*, const void*, void*, std::uint64_t, const Datatype&) noexcept;
  friend Status check(const Op&, const Datatype&);
  friend Op* resolve_op(MPI_Op) noexcept;
  friend void free(Op*) noexcept;
  explicit Op(MPI_Op predefined) noexcept : Object(ObjectKind::kOp), predefined_(predefined), commutative_(true) {}
  ~Op() = default;

  MPI_Op predefined_ = MPI_OP_NULL;
  MPI_User_function* user_ = nullptr;
  MPI_User_function_c* user_large_ = nullptr;
  bool commutative_;
};

// The operation behind a handle; null when the handle is MPI_OP_NULL, unknown or freed.
Op* resolve_op(MPI_Op handle) noexcept;
inline MPI_Op handle_of(const Op* op) noexcept {
  return op ? op->handle() : MPI_OP_NULL;
}
// Drops one reference; operations in flight hold others. Predefined ones are never destroyed.
void free(Op* op) noexcept;

// Whether a collective may apply `op` to elements of `type`: MPI_ERR_OP with both names otherwise. Operations of
// one-sided communication (MPI_REPLACE, MPI_NO_OP) are refused here, although apply() knows them.
Status check(const Op& op, const Datatype& type);

// inout[i] = in[i] op inout[i] for `count` elements: `in` is the operand of the lower rank. The combination must have
// passed check(). The buffers do not overlap; they need no alignment.
void apply(const Op& op, const void* in, void* inout, std::uint64_t count, const Datatype& type) noexcept;
// result[i] = left[i] op right[i], of a predefined operation that check() accepts. The result may be where one of the operands is; nothing else overlaps.
void combine(const Op& op, const void* left, const void* right, void* result, std::uint64_t count, const Datatype& type) noexcept;

}  // namespace lapwing::datatype
