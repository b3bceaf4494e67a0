// Where on its host this process may run, for MPI_Comm_split_type and MPI_Get_hw_resource_info.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lapwing::mpi {

// From the widest to the narrowest. The names are those of hwloc, as the standard suggests; the first is the
// standard's.
inline constexpr std::array<const char*, 5> kResourceTypes = {"mpi_shared_memory", "hwloc://Package",
                                                              "hwloc://NUMANode", "hwloc://L3Cache", "hwloc://Core"};
inline constexpr std::size_t kResourceLevels = kResourceTypes.size();

// With or without the prefix "hwloc://". -1 when there is no such type.
int resource_level(std::string_view type) noexcept;

// The one instance of each type that contains all CPUs of this process's affinity mask; -1 when there is none.
// Instances are numbered within the host, and level 0 is the host itself: always 0.
std::array<std::int32_t, kResourceLevels> own_resources();

}  // namespace lapwing::mpi
