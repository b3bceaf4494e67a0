// MPI 5.0, section 3.9: persistent sends and receives. They begin with MPI_Start (request.cc).
#include "mpi/completion.h"
#include "mpi/implementation.h"
#include "mpi/message_arguments.h"
#include "p2p/request_pool.h"

namespace lapwing::mpi {
namespace {

template <typename Arguments>
Status make_persistent(const Arguments& arguments, MPI_Request* request) {
  engine::Visit visit(process().engine);
  *request = handle_of(process().messenger->requests().make(arguments, true));
  return {};
}

}  // namespace

Status send_init(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                 MPI_Request* request) {
  return make_persistent(to(buf, count, datatype, dest, tag, comm, p2p::SendMode::kStandard), request);
}
Status ssend_init(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  return make_persistent(to(buf, count, datatype, dest, tag, comm, p2p::SendMode::kSynchronous), request);
}
Status rsend_init(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  return make_persistent(to(buf, count, datatype, dest, tag, comm, p2p::SendMode::kReady), request);
}
Status bsend_init(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  return make_persistent(to(buf, count, datatype, dest, tag, comm, p2p::SendMode::kBuffered), request);
}
Status recv_init(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                 MPI_Request* request) {
  return make_persistent(from(buf, count, datatype, source, tag, comm), request);
}

}  // namespace lapwing::mpi
