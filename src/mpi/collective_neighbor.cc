// MPI 5.0, section 8.6: neighborhood collectives, in their three forms.
#include "mpi/collective.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {

namespace {

using coll::Call;
using coll::Collective;

Call neighbor_allgather_call(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                             MPI_Count recvcount, MPI_Datatype recvtype) {
  return exchange_call(Collective::kNeighborAllgather, even_side(sendbuf, sendcount, sendtype),
                       even_side(recvbuf, recvcount, recvtype));
}

Call neighbor_allgatherv_call(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                              CountArray recvcounts, CountArray displs, MPI_Datatype recvtype) {
  return exchange_call(Collective::kNeighborAllgatherv, even_side(sendbuf, sendcount, sendtype),
                       uneven_side(recvbuf, recvcounts, displs, recvtype));
}

Call neighbor_alltoall_call(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                            MPI_Count recvcount, MPI_Datatype recvtype) {
  return exchange_call(Collective::kNeighborAlltoall, even_side(sendbuf, sendcount, sendtype),
                       even_side(recvbuf, recvcount, recvtype));
}

Call neighbor_alltoallv_call(const void* sendbuf, CountArray sendcounts, CountArray sdispls, MPI_Datatype sendtype,
                             void* recvbuf, CountArray recvcounts, CountArray rdispls, MPI_Datatype recvtype) {
  return exchange_call(Collective::kNeighborAlltoallv, uneven_side(sendbuf, sendcounts, sdispls, sendtype),
                       uneven_side(recvbuf, recvcounts, rdispls, recvtype));
}

Call neighbor_alltoallw_call(const void* sendbuf, CountArray sendcounts, const MPI_Aint sdispls[],
                             const MPI_Datatype sendtypes[], void* recvbuf, CountArray recvcounts,
                             const MPI_Aint rdispls[], const MPI_Datatype recvtypes[]) {
  return exchange_call(Collective::kNeighborAlltoallw, typed_side(sendbuf, sendcounts, sdispls, sendtypes),
                       typed_side(recvbuf, recvcounts, rdispls, recvtypes));
}

}  // namespace

Status neighbor_allgather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                          MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(comm, neighbor_allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}
Status ineighbor_allgather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                           MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(comm, neighbor_allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),
                     request);
}
Status neighbor_allgather_init(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                               MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info,
                               MPI_Request* request) {
  return persistent(comm, neighbor_allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype), request);
}

Status neighbor_allgatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                           CountArray recvcounts, CountArray displs, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(comm, neighbor_allgatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype));
}
Status ineighbor_allgatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                            CountArray recvcounts, CountArray displs, MPI_Datatype recvtype, MPI_Comm comm,
                            MPI_Request* request) {
  return nonblocking(
      comm, neighbor_allgatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype), request);
}
Status neighbor_allgatherv_init(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                CountArray recvcounts, CountArray displs, MPI_Datatype recvtype, MPI_Comm comm,
                                MPI_Info, MPI_Request* request) {
  return persistent(comm, neighbor_allgatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype),
                    request);
}

Status neighbor_alltoall(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                         MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return blocking(comm, neighbor_alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype));
}
Status ineighbor_alltoall(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                          MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(comm, neighbor_alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype), request);
}
Status neighbor_alltoall_init(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                              MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info,
                              MPI_Request* request) {
  return persistent(comm, neighbor_alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype), request);
}

Status neighbor_alltoallv(const void* sendbuf, CountArray sendcounts, CountArray sdispls, MPI_Datatype sendtype,
                          void* recvbuf, CountArray recvcounts, CountArray rdispls, MPI_Datatype recvtype,
                          MPI_Comm comm) {
  return blocking(
      comm, neighbor_alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype));
}
Status ineighbor_alltoallv(const void* sendbuf, CountArray sendcounts, CountArray sdispls, MPI_Datatype sendtype,
                           void* recvbuf, CountArray recvcounts, CountArray rdispls, MPI_Datatype recvtype,
                           MPI_Comm comm, MPI_Request* request) {
  return nonblocking(
      comm, neighbor_alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype),
      request);
}
Status neighbor_alltoallv_init(const void* sendbuf, CountArray sendcounts, CountArray sdispls, MPI_Datatype sendtype,
                               void* recvbuf, CountArray recvcounts, CountArray rdispls, MPI_Datatype recvtype,
                               MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return persistent(
      comm, neighbor_alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype),
      request);
}

Status neighbor_alltoallw(const void* sendbuf, CountArray sendcounts, const MPI_Aint sdispls[],
                          const MPI_Datatype sendtypes[], void* recvbuf, CountArray recvcounts,
                          const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  return blocking(
      comm, neighbor_alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes));
}
Status ineighbor_alltoallw(const void* sendbuf, CountArray sendcounts, const MPI_Aint sdispls[],
                           const MPI_Datatype sendtypes[], void* recvbuf, CountArray recvcounts,
                           const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                           MPI_Request* request) {
  return nonblocking(
      comm, neighbor_alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes),
      request);
}
Status neighbor_alltoallw_init(const void* sendbuf, CountArray sendcounts, const MPI_Aint sdispls[],
                               const MPI_Datatype sendtypes[], void* recvbuf, CountArray recvcounts,
                               const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info,
                               MPI_Request* request) {
  return persistent(
      comm, neighbor_alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes),
      request);
}

}  // namespace lapwing::mpi
