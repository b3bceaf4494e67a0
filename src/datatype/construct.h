// The constructors of derived datatypes: arguments in, a described but uncommitted type out.
//
// Displacements and strides are 64-bit and bytes, except where a name says elements. Arguments are checked here for
// what only the whole can tell (a type too large to address, an array section outside its array); the shims have
// refused negative counts and invalid handles before. `large_form` says that the call was the large-count one, which
// MPI_Type_get_contents reports differently.
#pragma once

#include <cstdint>

#include "base/count_array.h"
#include "base/status.h"
#include "datatype/datatype.h"

namespace lapwing::datatype {

Status make_contiguous(std::int64_t count, Datatype& old_type, Datatype** result, bool large_form = false);
Status make_vector(std::int64_t count, std::int64_t block_length, std::int64_t stride_elements, Datatype& old_type,
                   Datatype** result, bool large_form = false);
Status make_hvector(std::int64_t count, std::int64_t block_length, std::int64_t stride, Datatype& old_type,
                    Datatype** result, bool large_form = false);
Status make_indexed(std::int64_t count, CountArray block_lengths, CountArray displacements_in_elements,
                    Datatype& old_type, Datatype** result, bool large_form = false);
Status make_hindexed(std::int64_t count, CountArray block_lengths, CountArray displacements, Datatype& old_type,
                     Datatype** result, bool large_form = false);
Status make_indexed_block(std::int64_t count, std::int64_t block_length, CountArray displacements_in_elements,
                          Datatype& old_type, Datatype** result, bool large_form = false);
Status make_hindexed_block(std::int64_t count, std::int64_t block_length, CountArray displacements, Datatype& old_type,
                           Datatype** result, bool large_form = false);
Status make_struct(std::int64_t count, CountArray block_lengths, CountArray displacements,
                   const MPI_Datatype* old_types, Datatype** result, bool large_form = false);
Status make_resized(Datatype& old_type, std::int64_t lb, std::int64_t extent, Datatype** result,
                    bool large_form = false);
Status make_dup(Datatype& old_type, Datatype** result);

// construct_array.cc: sections of a multi-dimensional array.
Status make_subarray(int dimensions, CountArray sizes, CountArray subsizes, CountArray starts, int order,
                     Datatype& old_type, Datatype** result, bool large_form = false);

// One process's part of an array distributed as in High Performance Fortran.
struct Distribution {
  int processes;
  int rank;
  int dimensions;
  CountArray global_sizes;
  const int* kinds;      // MPI_DISTRIBUTE_*
  const int* arguments;  // block sizes or MPI_DISTRIBUTE_DFLT_DARG
  const int* grid;       // processes in each dimension
  int order;
};
Status make_darray(const Distribution& distribution, Datatype& old_type, Datatype** result, bool large_form = false);

// predefined.cc: types that cannot be freed and have no name. Each call makes a new one; src/mpi keeps them.
Datatype* make_fortran_type(MPI_Datatype same_as, int combiner, int precision, int range);
// A pair for MPI_MINLOC and MPI_MAXLOC laid out as a C struct; null when the parts are no numbers that it can hold.
Datatype* make_pair_type(Datatype& value_type, Datatype& index_type);

}  // namespace lapwing::datatype
