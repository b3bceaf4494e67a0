// MPI 5.0, section 6.9: reduction operations of the user, and the local reduction.
#include "datatype/op.h"

#include "base/status.h"
#include "mpi/handle_numbers.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {

using datatype::Op;

Status op_create(MPI_User_function* user_fn, int commute, MPI_Op* op) {
  *op = datatype::handle_of(new Op(user_fn, commute != 0));
  return {};
}

Status op_create_c(MPI_User_function_c* user_fn, int commute, MPI_Op* op) {
  *op = datatype::handle_of(new Op(user_fn, commute != 0));
  return {};
}

Status op_free(MPI_Op* op) {
  Op* operation = datatype::resolve_op(*op);
  if (!operation->is_user()) return Status::error(MPI_ERR_OP, "A predefined operation cannot be freed");
  forget_handle_number(*operation);
  datatype::free(operation);
  *op = MPI_OP_NULL;
  return {};
}

Status op_commutative(MPI_Op op, int* commute) {
  *commute = datatype::resolve_op(op)->commutative() ? 1 : 0;
  return {};
}

Status reduce_local(const void* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op) {
  const Op& operation = *datatype::resolve_op(op);
  const datatype::Datatype& type = *datatype::resolve(datatype);
  LAPWING_TRY(datatype::check(operation, type));
  if (inbuf == inoutbuf && count > 0 && type.size() > 0) {
    return Status::error(MPI_ERR_BUFFER, "inbuf and inoutbuf are the same memory: the operation needs two operands");
  }
  datatype::apply(operation, inbuf, inoutbuf, static_cast<std::uint64_t>(count), type);
  return {};
}

}  // namespace lapwing::mpi
