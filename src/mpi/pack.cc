// MPI 5.0, section 5.2 and 5.3: packing into a buffer of the user, native and external32.
//
// The native packed form is the bytes of the type map in order and nothing else, so MPI_Pack_size is exact.
#include "datatype/pack.h"

#include <cstring>

#include "base/status.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {
namespace {

using datatype::Datatype;

const Datatype& type_of(MPI_Datatype handle) {
  return *datatype::resolve(handle);
}

Status check_room(const char* what, std::uint64_t needed, MPI_Count size, MPI_Count position) {
  if (position < 0 || position > size) {
    return Status::error(MPI_ERR_ARG, "position is %lld, outside the buffer of %lld bytes",
                         static_cast<long long>(position), static_cast<long long>(size));
  }
  if (needed <= static_cast<std::uint64_t>(size - position)) return {};
  return Status::error(MPI_ERR_TRUNCATE, "%llu bytes are to be %s, but the buffer of %lld bytes has %lld left",
                       static_cast<unsigned long long>(needed), what, static_cast<long long>(size),
                       static_cast<long long>(size - position));
}

// The packed side is a plain place in memory: NULL is no MPI_BOTTOM there, whatever the position.
Status check_packed(const char* parameter, const void* buffer, std::uint64_t bytes) {
  if (buffer != nullptr || bytes == 0) return {};
  return Status::error(MPI_ERR_BUFFER, "%s is a null pointer, but %llu bytes of packed data are to be there", parameter,
                       static_cast<unsigned long long>(bytes));
}

Status check_representation(const char* datarep) {
  if (std::strcmp(datarep, "external32") == 0) return {};
  return Status::error(MPI_ERR_ARG, "The data representation \"%.128s\" is unknown: only \"external32\" is supported",
                       datarep);
}

}  // namespace

Status pack_size(MPI_Count incount, MPI_Datatype datatype, MPI_Comm, MPI_Count* size) {
  const Datatype& type = type_of(datatype);
  *size = datatype::countable(type, incount) ? static_cast<MPI_Count>(datatype::packed_size(type, incount)) : MPI_UNDEFINED;
  return {};
}

Status pack(const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf, MPI_Count outsize,
            MPI_Count* position, MPI_Comm) {
  const Datatype& type = type_of(datatype);
  const std::uint64_t bytes = datatype::packed_size(type, incount);
  LAPWING_TRY(check_room("packed", bytes, outsize, *position));
  LAPWING_TRY(check_packed("outbuf", outbuf, bytes));
  datatype::pack(inbuf, incount, type, static_cast<std::byte*>(outbuf) + *position);
  *position += static_cast<MPI_Count>(bytes);
  return {};
}

Status unpack(const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf, MPI_Count outcount,
              MPI_Datatype datatype, MPI_Comm) {
  const Datatype& type = type_of(datatype);
  const std::uint64_t bytes = datatype::packed_size(type, outcount);
  LAPWING_TRY(check_room("unpacked", bytes, insize, *position));
  LAPWING_TRY(check_packed("inbuf", inbuf, bytes));
  datatype::unpack(static_cast<const std::byte*>(inbuf) + *position, outbuf, outcount, type);
  *position += static_cast<MPI_Count>(bytes);
  return {};
}

Status pack_external_size(const char* datarep, MPI_Count incount, MPI_Datatype datatype, MPI_Count* size) {
  LAPWING_TRY(check_representation(datarep));
  const Datatype& type = type_of(datatype);
  if (__builtin_mul_overflow(datatype::external_size(type, 1), incount, size)) *size = MPI_UNDEFINED;
  return {};
}

Status pack_external(const char* datarep, const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf,
                     MPI_Count outsize, MPI_Count* position) {
  LAPWING_TRY(check_representation(datarep));
  const Datatype& type = type_of(datatype);
  const std::uint64_t bytes = datatype::external_size(type, incount);
  LAPWING_TRY(check_room("packed", bytes, outsize, *position));
  LAPWING_TRY(check_packed("outbuf", outbuf, bytes));
  LAPWING_TRY(datatype::pack_external(inbuf, incount, type, static_cast<std::byte*>(outbuf) + *position));
  *position += static_cast<MPI_Count>(bytes);
  return {};
}

Status unpack_external(const char* datarep, const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf,
                       MPI_Count outcount, MPI_Datatype datatype) {
  LAPWING_TRY(check_representation(datarep));
  const Datatype& type = type_of(datatype);
  const std::uint64_t bytes = datatype::external_size(type, outcount);
  LAPWING_TRY(check_room("unpacked", bytes, insize, *position));
  LAPWING_TRY(check_packed("inbuf", inbuf, bytes));
  datatype::unpack_external(static_cast<const std::byte*>(inbuf) + *position, outbuf, outcount, type);
  *position += static_cast<MPI_Count>(bytes);
  return {};
}

}  // namespace lapwing::mpi
