#include "mpi/collective.h"

#include "coll/execute.h"
#include "mpi/communicator_creation.h"
#include "mpi/handles.h"

namespace lapwing::mpi {

Status blocking(MPI_Comm comm, const coll::Call& call) {
  return coll::run(services(), *resolve(comm), call);
}

Status nonblocking(MPI_Comm comm, const coll::Call& call, MPI_Request* request) {
  request::Request* started = nullptr;
  LAPWING_TRY(coll::start(services(), *resolve(comm), call, &started));
  *request = reinterpret_cast<MPI_Request>(started);
  return {};
}

Status persistent(MPI_Comm comm, const coll::Call& call, MPI_Request* request) {
  request::Request* made = nullptr;
  LAPWING_TRY(coll::initialize(services(), *resolve(comm), call, &made));
  *request = reinterpret_cast<MPI_Request>(made);
  return {};
}

coll::Side even_side(const void* buffer, MPI_Count count, MPI_Datatype type) noexcept {
  coll::Side side;
  side.buffer = buffer;
  side.count = static_cast<std::uint64_t>(count);
  side.type = type;
  return side;
}

coll::Side uneven_side(const void* buffer, CountArray counts, CountArray displacements, MPI_Datatype type) noexcept {
  coll::Side side;
  side.buffer = buffer;
  side.type = type;
  side.counts = counts;
  side.displacements = displacements;
  return side;
}

coll::Side typed_side(const void* buffer, CountArray counts, CountArray displacements,
                      const MPI_Datatype* types) noexcept {
  coll::Side side;
  side.buffer = buffer;
  side.counts = counts;
  side.displacements = displacements;
  side.types = types;
  return side;
}

coll::Call exchange_call(coll::Collective what, const coll::Side& send, const coll::Side& receive) noexcept {
  coll::Call call;
  call.what = what;
  call.send = send;
  call.receive = receive;
  return call;
}

coll::Call rooted_call(coll::Collective what, const coll::Side& send, const coll::Side& receive, int root) noexcept {
  coll::Call call = exchange_call(what, send, receive);
  call.root = root;
  return call;
}

coll::Call reduction_call(coll::Collective what, const void* sendbuf, const coll::Side& receive, MPI_Op op,
                          int root) noexcept {
  coll::Call call;
  call.what = what;
  call.send.buffer = sendbuf;
  call.receive = receive;
  call.op = datatype::resolve_op(op);
  call.root = root;
  return call;
}

}  // namespace lapwing::mpi
