// What the files collective_*.cc share. Each function of MPI comes in three forms; one Call serves them all.
#pragma once

#include "base/count_array.h"
#include "base/status.h"
#include "coll/call.h"
#include "mpi.h"

namespace lapwing::mpi {

Status blocking(MPI_Comm comm, const coll::Call& call);
Status nonblocking(MPI_Comm comm, const coll::Call& call, MPI_Request* request);
Status persistent(MPI_Comm comm, const coll::Call& call, MPI_Request* request);

// The data of one side, with one count and type; with arrays of counts and displacements; with types as well.
coll::Side even_side(const void* buffer, MPI_Count count, MPI_Datatype type) noexcept;
coll::Side uneven_side(const void* buffer, CountArray counts, CountArray displacements, MPI_Datatype type) noexcept;
coll::Side typed_side(const void* buffer, CountArray counts, CountArray displacements,
                      const MPI_Datatype* types) noexcept;

coll::Call exchange_call(coll::Collective what, const coll::Side& send, const coll::Side& receive) noexcept;
coll::Call rooted_call(coll::Collective what, const coll::Side& send, const coll::Side& receive, int root) noexcept;
// `receive` has the count and type of both sides.
coll::Call reduction_call(coll::Collective what, const void* sendbuf, const coll::Side& receive, MPI_Op op,
                          int root = 0) noexcept;

}  // namespace lapwing::mpi
