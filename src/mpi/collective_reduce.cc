// MPI 5.0, chapter 6: the collectives that reduce, in their three forms.
#include "mpi/collective.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {

namespace {

using coll::Call;
using coll::Collective;

Call allreduce_call(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op) {
  return reduction_call(Collective::kAllreduce, sendbuf, even_side(recvbuf, count, datatype), op);
}

Call reduce_call(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root) {
  return reduction_call(Collective::kReduce, sendbuf, even_side(recvbuf, count, datatype), op, root);
}

Call reduce_scatter_block_call(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                               MPI_Op op) {
  return reduction_call(Collective::kReduceScatterBlock, sendbuf, even_side(recvbuf, recvcount, datatype), op);
}

Call reduce_scatter_call(const void* sendbuf, void* recvbuf, CountArray recvcounts, MPI_Datatype datatype, MPI_Op op) {
  return reduction_call(Collective::kReduceScatter, sendbuf, uneven_side(recvbuf, recvcounts, {}, datatype), op);
}

Call scan_call(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op) {
  return reduction_call(Collective::kScan, sendbuf, even_side(recvbuf, count, datatype), op);
}

Call exscan_call(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op) {
  return reduction_call(Collective::kExscan, sendbuf, even_side(recvbuf, count, datatype), op);
}

}  // namespace

Status allreduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return blocking(comm, allreduce_call(sendbuf, recvbuf, count, datatype, op));
}
Status iallreduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                  MPI_Request* request) {
  return nonblocking(comm, allreduce_call(sendbuf, recvbuf, count, datatype, op), request);
}
Status allreduce_init(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                      MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return persistent(comm, allreduce_call(sendbuf, recvbuf, count, datatype, op), request);
}

Status reduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
              MPI_Comm comm) {
  return blocking(comm, reduce_call(sendbuf, recvbuf, count, datatype, op, root));
}
Status ireduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
               MPI_Comm comm, MPI_Request* request) {
  return nonblocking(comm, reduce_call(sendbuf, recvbuf, count, datatype, op, root), request);
}
Status reduce_init(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                   MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return persistent(comm, reduce_call(sendbuf, recvbuf, count, datatype, op, root), request);
}

Status reduce_scatter_block(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op,
                            MPI_Comm comm) {
  return blocking(comm, reduce_scatter_block_call(sendbuf, recvbuf, recvcount, datatype, op));
}
Status ireduce_scatter_block(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op,
                             MPI_Comm comm, MPI_Request* request) {
  return nonblocking(comm, reduce_scatter_block_call(sendbuf, recvbuf, recvcount, datatype, op), request);
}
Status reduce_scatter_block_init(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                                 MPI_Op op, MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return persistent(comm, reduce_scatter_block_call(sendbuf, recvbuf, recvcount, datatype, op), request);
}

Status reduce_scatter(const void* sendbuf, void* recvbuf, CountArray recvcounts, MPI_Datatype datatype, MPI_Op op,
                      MPI_Comm comm) {
  return blocking(comm, reduce_scatter_call(sendbuf, recvbuf, recvcounts, datatype, op));
}
Status ireduce_scatter(const void* sendbuf, void* recvbuf, CountArray recvcounts, MPI_Datatype datatype, MPI_Op op,
                       MPI_Comm comm, MPI_Request* request) {
  return nonblocking(comm, reduce_scatter_call(sendbuf, recvbuf, recvcounts, datatype, op), request);
}
Status reduce_scatter_init(const void* sendbuf, void* recvbuf, CountArray recvcounts, MPI_Datatype datatype, MPI_Op op,
                           MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return persistent(comm, reduce_scatter_call(sendbuf, recvbuf, recvcounts, datatype, op), request);
}

Status scan(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return blocking(comm, scan_call(sendbuf, recvbuf, count, datatype, op));
}
Status iscan(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
             MPI_Request* request) {
  return nonblocking(comm, scan_call(sendbuf, recvbuf, count, datatype, op), request);
}
Status scan_init(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                 MPI_Info, MPI_Request* request) {
  return persistent(comm, scan_call(sendbuf, recvbuf, count, datatype, op), request);
}

Status exscan(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return blocking(comm, exscan_call(sendbuf, recvbuf, count, datatype, op));
}
Status iexscan(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
               MPI_Request* request) {
  return nonblocking(comm, exscan_call(sendbuf, recvbuf, count, datatype, op), request);
}
Status exscan_init(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                   MPI_Info, MPI_Request* request) {
  return persistent(comm, exscan_call(sendbuf, recvbuf, count, datatype, op), request);
}

}  // namespace lapwing::mpi
