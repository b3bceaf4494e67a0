// MPI 5.0, chapter 5: making, committing, copying and freeing datatypes.
#include "base/status.h"
#include "datatype/construct.h"
#include "datatype/datatype.h"
#include "mpi/attribute.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {
namespace {

using datatype::Datatype;

// Runs a constructor on the old type and turns its result into a handle.
template <typename Make>
Status create(MPI_Datatype* newtype, Make make) {
  Datatype* type = nullptr;
  LAPWING_TRY(make(&type));
  *newtype = datatype::handle_of(type);
  return {};
}

Datatype& type_of(MPI_Datatype handle) {
  return *datatype::resolve(handle);
}

}  // namespace

Status type_contiguous(MPI_Count count, MPI_Datatype oldtype, MPI_Datatype* newtype, bool large_count) {
  return create(newtype,
                [&](Datatype** type) { return datatype::make_contiguous(count, type_of(oldtype), type, large_count); });
}

Status type_vector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                   MPI_Datatype* newtype, bool large_count) {
  return create(newtype, [&](Datatype** type) {
    return datatype::make_vector(count, blocklength, stride, type_of(oldtype), type, large_count);
  });
}

Status type_create_hvector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                           MPI_Datatype* newtype, bool large_count) {
  return create(newtype, [&](Datatype** type) {
    return datatype::make_hvector(count, blocklength, stride, type_of(oldtype), type, large_count);
  });
}

Status type_indexed(MPI_Count count, CountArray array_of_blocklengths, CountArray array_of_displacements,
                    MPI_Datatype oldtype, MPI_Datatype* newtype, bool large_count) {
  return create(newtype, [&](Datatype** type) {
    return datatype::make_indexed(count, array_of_blocklengths, array_of_displacements, type_of(oldtype), type,
                                  large_count);
  });
}

Status type_create_hindexed(MPI_Count count, CountArray array_of_blocklengths, CountArray array_of_displacements,
                            MPI_Datatype oldtype, MPI_Datatype* newtype, bool large_count) {
  return create(newtype, [&](Datatype** type) {
    return datatype::make_hindexed(count, array_of_blocklengths, array_of_displacements, type_of(oldtype), type,
                                   large_count);
  });
}

Status type_create_indexed_block(MPI_Count count, MPI_Count blocklength, CountArray array_of_displacements,
                                 MPI_Datatype oldtype, MPI_Datatype* newtype, bool large_count) {
  return create(newtype, [&](Datatype** type) {
    return datatype::make_indexed_block(count, blocklength, array_of_displacements, type_of(oldtype), type,
                                        large_count);
  });
}

Status type_create_hindexed_block(MPI_Count count, MPI_Count blocklength, CountArray array_of_displacements,
                                  MPI_Datatype oldtype, MPI_Datatype* newtype, bool large_count) {
  return create(newtype, [&](Datatype** type) {
    return datatype::make_hindexed_block(count, blocklength, array_of_displacements, type_of(oldtype), type,
                                         large_count);
  });
}

Status type_create_struct(MPI_Count count, CountArray array_of_blocklengths, CountArray array_of_displacements,
                          const MPI_Datatype array_of_types[], MPI_Datatype* newtype, bool large_count) {
  return create(newtype, [&](Datatype** type) {
    return datatype::make_struct(count, array_of_blocklengths, array_of_displacements, array_of_types, type,
                                 large_count);
  });
}

Status type_create_subarray(int ndims, CountArray array_of_sizes, CountArray array_of_subsizes,
                            CountArray array_of_starts, int order, MPI_Datatype oldtype, MPI_Datatype* newtype,
                            bool large_count) {
  return create(newtype, [&](Datatype** type) {
    return datatype::make_subarray(ndims, array_of_sizes, array_of_subsizes, array_of_starts, order, type_of(oldtype),
                                   type, large_count);
  });
}

Status type_create_darray(int size, int rank, int ndims, CountArray array_of_gsizes, const int array_of_distribs[],
                          const int array_of_dargs[], const int array_of_psizes[], int order, MPI_Datatype oldtype,
                          MPI_Datatype* newtype, bool large_count) {
  const datatype::Distribution distribution{
      size, rank, ndims, array_of_gsizes, array_of_distribs, array_of_dargs, array_of_psizes, order};
  return create(newtype, [&](Datatype** type) {
    return datatype::make_darray(distribution, type_of(oldtype), type, large_count);
  });
}

Status type_create_resized(MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent, MPI_Datatype* newtype,
                           bool large_count) {
  return create(newtype, [&](Datatype** type) {
    return datatype::make_resized(type_of(oldtype), lb, extent, type, large_count);
  });
}

Status type_dup(MPI_Datatype oldtype, MPI_Datatype* newtype) {
  Datatype& original = type_of(oldtype);
  Datatype* copy = nullptr;
  LAPWING_TRY(datatype::make_dup(original, &copy));
  if (Status status = copy_attributes(original, *copy); !status.ok()) {
    datatype::free(copy);
    *newtype = MPI_DATATYPE_NULL;
    return status;
  }
  *newtype = datatype::handle_of(copy);
  return {};
}

Status type_commit(MPI_Datatype* datatype) {
  type_of(*datatype).commit();
  return {};
}

Status type_free(MPI_Datatype* datatype) {
  Datatype& type = type_of(*datatype);
  if (type.is_predefined()) {
    return Status::error(MPI_ERR_TYPE, "%s is predefined and cannot be freed",
                         type.name().empty() ? "The datatype" : type.name().c_str());
  }
  LAPWING_TRY(delete_attributes(type));
  datatype::free(&type);
  *datatype = MPI_DATATYPE_NULL;
  return {};
}

}  // namespace lapwing::mpi
