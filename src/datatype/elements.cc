#include "datatype/elements.h"

namespace lapwing::datatype {

std::int64_t count_of(const Datatype& type, std::uint64_t bytes) noexcept {
  if (bytes == 0) return 0;
  const auto size = static_cast<std::uint64_t>(type.size());
  if (size == 0 || bytes % size != 0) return MPI_UNDEFINED;
  return static_cast<std::int64_t>(bytes / size);
}

std::int64_t elements_of(const Datatype& type, std::uint64_t bytes) noexcept {
  std::uint64_t rest = 0;
  const std::uint64_t elements = elements_in(*type.signature(), bytes, &rest);
  return rest == 0 ? static_cast<std::int64_t>(elements) : std::int64_t{MPI_UNDEFINED};
}

std::uint64_t bytes_of_elements(const Datatype& type, std::uint64_t elements) noexcept {
  return bytes_of(*type.signature(), elements);
}

}  // namespace lapwing::datatype
