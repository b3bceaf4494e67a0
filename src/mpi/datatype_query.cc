// MPI 5.0, chapter 5: what a datatype is, and how much of it a message held.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/status.h"
#include "datatype/datatype.h"
#include "datatype/elements.h"
#include "mpi/implementation.h"
#include "mpi/status_fields.h"

namespace lapwing::mpi {
namespace {

using datatype::Datatype;

Datatype& type_of(MPI_Datatype handle) {
  return *datatype::resolve(handle);
}

Status check_capacity(const char* what, std::size_t needed, MPI_Count capacity) {
  if (static_cast<MPI_Count>(needed) <= capacity) return {};
  return Status::error(MPI_ERR_ARG,
                       "There are %zu %s, more than the %lld that the array takes: ask MPI_Type_get_envelope", needed,
                       what, static_cast<long long>(capacity));
}

}  // namespace

Status type_size(MPI_Datatype datatype, MPI_Count* size) {
  const Datatype& type = type_of(datatype);
  *size = type.supported() ? type.size() : MPI_Count{MPI_UNDEFINED};
  return {};
}

Status type_size_x(MPI_Datatype datatype, MPI_Count* size) {
  return type_size(datatype, size);
}

Status type_get_extent(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent) {
  const Datatype& type = type_of(datatype);
  *lb = type.lb();
  *extent = type.extent();
  return {};
}

Status type_get_extent_x(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent) {
  return type_get_extent(datatype, lb, extent);
}

Status type_get_true_extent(MPI_Datatype datatype, MPI_Count* true_lb, MPI_Count* true_extent) {
  const Datatype& type = type_of(datatype);
  *true_lb = type.true_lb();
  *true_extent = type.true_extent();
  return {};
}

Status type_get_true_extent_x(MPI_Datatype datatype, MPI_Count* true_lb, MPI_Count* true_extent) {
  return type_get_true_extent(datatype, true_lb, true_extent);
}

Status type_get_envelope(MPI_Datatype datatype, MPI_Count* num_integers, MPI_Count* num_addresses,
                         MPI_Count* num_large_counts, MPI_Count* num_datatypes, int* combiner) {
  const datatype::Contents& contents = type_of(datatype).contents();
  *num_integers = static_cast<MPI_Count>(contents.integers.size());
  *num_addresses = static_cast<MPI_Count>(contents.addresses.size());
  *num_large_counts = static_cast<MPI_Count>(contents.counts.size());
  *num_datatypes = static_cast<MPI_Count>(contents.datatypes.size());
  *combiner = contents.combiner;
  return {};
}

Status type_get_contents(MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses,
                         MPI_Count max_large_counts, MPI_Count max_datatypes, int array_of_integers[],
                         MPI_Aint array_of_addresses[], MPI_Count array_of_large_counts[],
                         MPI_Datatype array_of_datatypes[]) {
  const Datatype& type = type_of(datatype);
  const datatype::Contents& contents = type.contents();
  if (contents.combiner == MPI_COMBINER_NAMED) {
    return Status::error(MPI_ERR_TYPE, "%s is predefined: no call with arguments made it", type.name().c_str());
  }
  LAPWING_TRY(check_capacity("integers", contents.integers.size(), max_integers));
  LAPWING_TRY(check_capacity("addresses", contents.addresses.size(), max_addresses));
  LAPWING_TRY(check_capacity("large counts", contents.counts.size(), max_large_counts));
  LAPWING_TRY(check_capacity("datatypes", contents.datatypes.size(), max_datatypes));
  std::transform(contents.integers.begin(), contents.integers.end(), array_of_integers,
                 [](std::int64_t value) { return static_cast<int>(value); });
  std::copy(contents.addresses.begin(), contents.addresses.end(), array_of_addresses);
  std::copy(contents.counts.begin(), contents.counts.end(), array_of_large_counts);
  // Each derived type comes with a reference of its own, which the caller frees.
  std::transform(contents.datatypes.begin(), contents.datatypes.end(), array_of_datatypes, [](Datatype* component) {
    if (!component->is_predefined()) component->retain();
    return datatype::handle_of(component);
  });
  return {};
}

Status type_set_name(MPI_Datatype datatype, const char* type_name) {
  type_of(datatype).set_name(std::string(type_name, strnlen(type_name, MPI_MAX_OBJECT_NAME - 1)));
  return {};
}

Status type_get_name(MPI_Datatype datatype, char* type_name, int* resultlen) {
  // MPI_DATATYPE_NULL has a name, too.
  const std::string name = datatype == MPI_DATATYPE_NULL ? "MPI_DATATYPE_NULL" : type_of(datatype).name();
  std::memcpy(type_name, name.c_str(), name.size() + 1);
  *resultlen = static_cast<int>(name.size());
  return {};
}

Status get_count(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count) {
  *count = datatype::count_of(type_of(datatype), status_bytes(*status));
  return {};
}

Status get_elements(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count) {
  *count = datatype::elements_of(type_of(datatype), status_bytes(*status));
  return {};
}

Status get_elements_x(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count) {
  return get_elements(status, datatype, count);
}

Status status_set_elements(MPI_Status* status, MPI_Datatype datatype, MPI_Count count) {
  if (count < 0) {
    return Status::error(MPI_ERR_COUNT, "count is %lld, it must not be negative", static_cast<long long>(count));
  }
  status_set_bytes(*status, datatype::bytes_of_elements(type_of(datatype), static_cast<std::uint64_t>(count)));
  return {};
}

Status status_set_elements_x(MPI_Status* status, MPI_Datatype datatype, MPI_Count count) {
  return status_set_elements(status, datatype, count);
}

Status get_address(const void* location, MPI_Aint* address) {
  *address = reinterpret_cast<MPI_Aint>(location);
  return {};
}

// The sums are of addresses: they wrap instead of overflowing.
MPI_Aint aint_add(MPI_Aint base, MPI_Aint disp) {
  return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(disp));
}

MPI_Aint aint_diff(MPI_Aint addr1, MPI_Aint addr2) {
  return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(addr1) - static_cast<std::uintptr_t>(addr2));
}

}  // namespace lapwing::mpi
