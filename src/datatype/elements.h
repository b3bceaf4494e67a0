// How much a byte count is, in elements of a datatype (MPI_Get_count, MPI_Get_elements, MPI_Status_set_elements).
#pragma once

#include <cstdint>

#include "datatype/datatype.h"

namespace lapwing::datatype {

// Whole elements of `type` in `bytes`; MPI_UNDEFINED when a part remains. Zero bytes are zero elements.
std::int64_t count_of(const Datatype& type, std::uint64_t bytes) noexcept;
// Basic elements in `bytes`; MPI_UNDEFINED when the last one is incomplete.
std::int64_t elements_of(const Datatype& type, std::uint64_t bytes) noexcept;
// Bytes taken by `elements` basic elements of `type` repeated as needed.
std::uint64_t bytes_of_elements(const Datatype& type, std::uint64_t elements) noexcept;

}  // namespace lapwing::datatype
