// MPI 5.0, chapter 6: the collectives in which all send to all, in their three forms.
#include "mpi/collective.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {

namespace {

using coll::Call;
using coll::Collective;

Call allgather_call(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype) {
  return exchange_call(Collective::kAllgather, even_side(sendbuf, sendcount, sendtype),
                       even_side(recvbuf, recvcount, recvtype));
}

Call allgatherv_call(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     CountArray recvcounts, CountArray displs, MPI_Datatype recvtype) {
  return exchange_call(Collective::kAllgatherv, even_side(sendbuf, sendcount, sendtype),
                       uneven_side(recvbuf, recvcounts, displs, recvtype));
}

Call alltoall_call(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                   MPI_Datatype recvtype) {
  return exchange_call(Collective::kAlltoall, even_side(sendbuf, sendcount, sendtype),
                       even_side(recvbuf, recvcount, recvtype));
}

Call alltoallv_call(const void* sendbuf, CountArray sendcounts, CountArray sdispls, MPI_Datatype sendtype,
                    void* recvbuf, CountArray recvcounts, CountArray rdispls, MPI_Datatype recvtype) {
  return exchange_call(Collective::kAlltoallv, uneven_side(sendbuf, sendcounts, sdispls, sendtype),
                       uneven_side(recvbuf, recvcounts, rdispls, recvtype));
}

Call alltoallw_call(const void* sendbuf, CountArray sendcounts, CountArray sdispls, const MPI_Datatype sendtypes[],
                    void* recvbuf, CountArray recvcounts, CountArray rdispls, const MPI_Datatype recvtypes[]) {
  return exchange_call(Collective::kAlltoallw, typed_side(sendbuf, sendcounts, sdispls, sendtypes),
                       typed_side(recvbuf, recvcounts, rdispls, recvtypes));
}

}  // namespace

Status allgather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(comm, allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}
Status iallgather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                  MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(comm, allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype), request);
}
Status allgather_init(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return persistent(comm, allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype), request);
}

Status allgatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, CountArray recvcounts,
                  CountArray displs, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(comm, allgatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}
Status iallgatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                   CountArray recvcounts, CountArray displs, MPI_Datatype recvtype, MPI_Comm comm,
                   MPI_Request* request) {
  return nonblocking(comm, allgatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype),
                     request);
}
Status allgatherv_init(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       CountArray recvcounts, CountArray displs, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info,
                       MPI_Request* request) {
  return persistent(comm, allgatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype),
                    request);
}

Status alltoall(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(comm, alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}
Status ialltoall(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(comm, alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype), request);
}
Status alltoall_init(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                     MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return persistent(comm, alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype), request);
}

Status alltoallv(const void* sendbuf, CountArray sendcounts, CountArray sdispls, MPI_Datatype sendtype, void* recvbuf,
                 CountArray recvcounts, CountArray rdispls, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(comm, alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}
Status ialltoallv(const void* sendbuf, CountArray sendcounts, CountArray sdispls, MPI_Datatype sendtype, void* recvbuf,
                  CountArray recvcounts, CountArray rdispls, MPI_Datatype recvtype, MPI_Comm comm,
                  MPI_Request* request) {
  return nonblocking(
      comm, alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype), request);
}
Status alltoallv_init(const void* sendbuf, CountArray sendcounts, CountArray sdispls, MPI_Datatype sendtype,
                      void* recvbuf, CountArray recvcounts, CountArray rdispls, MPI_Datatype recvtype, MPI_Comm comm,
                      MPI_Info, MPI_Request* request) {
  return persistent(
      comm, alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype), request);
}

Status alltoallw(const void* sendbuf, CountArray sendcounts, CountArray sdispls, const MPI_Datatype sendtypes[],
                 void* recvbuf, CountArray recvcounts, CountArray rdispls, const MPI_Datatype recvtypes[],
                 MPI_Comm comm) {
  return blocking(comm,
                  alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}
Status ialltoallw(const void* sendbuf, CountArray sendcounts, CountArray sdispls, const MPI_Datatype sendtypes[],
                  void* recvbuf, CountArray recvcounts, CountArray rdispls, const MPI_Datatype recvtypes[],
                  MPI_Comm comm, MPI_Request* request) {
  return nonblocking(
      comm, alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes), request);
}
Status alltoallw_init(const void* sendbuf, CountArray sendcounts, CountArray sdispls, const MPI_Datatype sendtypes[],
                      void* recvbuf, CountArray recvcounts, CountArray rdispls, const MPI_Datatype recvtypes[],
                      MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return persistent(
      comm, alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes), request);
}

}  // namespace lapwing::mpi
