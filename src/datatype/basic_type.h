// The basic types of the standard: what a signature is spelled in. One row per predefined datatype that is not a pair.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datatype/element.h"
#include "mpi.h"

namespace lapwing::datatype {

struct BasicType {
  MPI_Datatype handle;
  const char* name;
  std::uint32_t size;
  std::uint32_t alignment;
  Element element;
  Category category;
  std::uint32_t external_size;  // in external32
};

// A pair type for MPI_MINLOC and MPI_MAXLOC: laid out like the C struct of its two parts.
struct PairType {
  MPI_Datatype handle;
  const char* name;
  MPI_Datatype value;
  MPI_Datatype index;
};

struct BasicTypeTable {
  const BasicType* rows;
  std::size_t count;
};
struct PairTypeTable {
  const PairType* rows;
  std::size_t count;
};

BasicTypeTable basic_types() noexcept;
PairTypeTable pair_types() noexcept;

}  // namespace lapwing::datatype
