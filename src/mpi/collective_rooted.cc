// MPI 5.0, chapter 6: barrier, and the collectives with a root that move data, in their three forms.
#include "mpi/collective.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {

namespace {

using coll::Call;
using coll::Collective;

Call barrier_call() {
  return Call{};
}

Call bcast_call(void* buffer, MPI_Count count, MPI_Datatype datatype, int root) {
  return rooted_call(Collective::kBcast, {}, even_side(buffer, count, datatype), root);
}

Call gather_call(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                 MPI_Datatype recvtype, int root) {
  return rooted_call(Collective::kGather, even_side(sendbuf, sendcount, sendtype),
                     even_side(recvbuf, recvcount, recvtype), root);
}

Call gatherv_call(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, CountArray recvcounts,
                  CountArray displs, MPI_Datatype recvtype, int root) {
  return rooted_call(Collective::kGatherv, even_side(sendbuf, sendcount, sendtype),
                     uneven_side(recvbuf, recvcounts, displs, recvtype), root);
}

Call scatter_call(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                  MPI_Datatype recvtype, int root) {
  return rooted_call(Collective::kScatter, even_side(sendbuf, sendcount, sendtype),
                     even_side(recvbuf, recvcount, recvtype), root);
}

Call scatterv_call(const void* sendbuf, CountArray sendcounts, CountArray displs, MPI_Datatype sendtype, void* recvbuf,
                   MPI_Count recvcount, MPI_Datatype recvtype, int root) {
  return rooted_call(Collective::kScatterv, uneven_side(sendbuf, sendcounts, displs, sendtype),
                     even_side(recvbuf, recvcount, recvtype), root);
}

}  // namespace

Status barrier(MPI_Comm comm) {
  return blocking(comm, barrier_call());
}
Status ibarrier(MPI_Comm comm, MPI_Request* request) {
  return nonblocking(comm, barrier_call(), request);
}
Status barrier_init(MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return persistent(comm, barrier_call(), request);
}

Status bcast(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  return blocking(comm, bcast_call(buffer, count, datatype, root));
}
Status ibcast(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(comm, bcast_call(buffer, count, datatype, root), request);
}
Status bcast_init(void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info,
                  MPI_Request* request) {
  return persistent(comm, bcast_call(buffer, count, datatype, root), request);
}

Status gather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
              MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return blocking(comm, gather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root));
}
Status igather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
               MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(comm, gather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root), request);
}
Status gather_init(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                   MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return persistent(comm, gather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root), request);
}

Status gatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, CountArray recvcounts,
               CountArray displs, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return blocking(comm, gatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root));
}
Status igatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, CountArray recvcounts,
                CountArray displs, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(comm, gatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root),
                     request);
}
Status gatherv_init(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    CountArray recvcounts, CountArray displs, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info,
                    MPI_Request* request) {
  return persistent(comm, gatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root),
                    request);
}

Status scatter(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
               MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return blocking(comm, scatter_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root));
}
Status iscatter(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(comm, scatter_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root), request);
}
Status scatter_init(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return persistent(comm, scatter_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root), request);
}

Status scatterv(const void* sendbuf, CountArray sendcounts, CountArray displs, MPI_Datatype sendtype, void* recvbuf,
                MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return blocking(comm, scatterv_call(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root));
}
Status iscatterv(const void* sendbuf, CountArray sendcounts, CountArray displs, MPI_Datatype sendtype, void* recvbuf,
                 MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(comm, scatterv_call(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root),
                     request);
}
Status scatterv_init(const void* sendbuf, CountArray sendcounts, CountArray displs, MPI_Datatype sendtype,
                     void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info,
                     MPI_Request* request) {
  return persistent(comm, scatterv_call(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root),
                    request);
}

}  // namespace lapwing::mpi
