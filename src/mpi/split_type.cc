// MPI 5.0, section 7.4.2: MPI_Comm_split_type, and what it knows of the hardware. Get_processor_name is here as well.
//
// Each rank tells all where it runs; then each finds its colour alone, and an ordinary split follows.
#include <strings.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "mpi/communicator_creation.h"
#include "mpi/handles.h"
#include "mpi/hardware.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {

namespace {

constexpr const char* kTypeKey = "mpi_hw_resource_type";
constexpr const char* kSetKey = "mpi_pset_name";

struct Place {
  std::uint64_t host;  // net::Network::host_key()
  std::int32_t resources[kResourceLevels];
  std::int32_t takes_part;
  bool same_instance(const Place& other, std::size_t level) const noexcept {
    return host == other.host && resources[level] == other.resources[level];
  }
};

Place own_place(bool takes_part) {
  Place place{process().network->host_key(), {}, takes_part};
  const auto resources = own_resources();
  std::copy(resources.begin(), resources.end(), place.resources);
  return place;
}

// The rank of the first member that shares this process's instance, or MPI_UNDEFINED when it is in none.
int color_at(const std::vector<Place>& places, int own, std::size_t level) {
  const Place& mine = places[static_cast<std::size_t>(own)];
  if (mine.takes_part == 0 || mine.resources[level] < 0) return MPI_UNDEFINED;
  for (int rank = 0; rank < own; ++rank) {
    const Place& other = places[static_cast<std::size_t>(rank)];
    if (other.takes_part != 0 && mine.same_instance(other, level)) return rank;
  }
  return own;
}

// Whether a split at this level leaves no new communicator as large as the old one.
bool divides(const std::vector<Place>& places, std::size_t level) {
  const bool some = std::any_of(places.begin(), places.end(), [&](const Place& place) {
    return place.takes_part != 0 && place.resources[level] >= 0;
  });
  const bool all_together = std::all_of(places.begin(), places.end(), [&](const Place& place) {
    return place.takes_part != 0 && place.resources[level] >= 0 && place.same_instance(places[0], level);
  });
  return some && !all_together;
}

int unguided_color(const std::vector<Place>& places, int own, MPI_Info info) {
  for (std::size_t level = 0; level < kResourceLevels; ++level) {
    if (!divides(places, level)) continue;
    const int color = color_at(places, own, level);
    if (color != MPI_UNDEFINED && info != MPI_INFO_NULL) (void)resolve(info)->set(kTypeKey, kResourceTypes[level]).ok();
    return color;
  }
  return MPI_UNDEFINED;
}

int guided_color(const std::vector<Place>& places, int own, MPI_Info info, bool by_set) {
  std::string value;
  if (info == MPI_INFO_NULL) return MPI_UNDEFINED;
  if (by_set && resolve(info)->get(kSetKey, value)) {
    if (strcasecmp(value.c_str(), "mpi://WORLD") == 0) return 0;
    return strcasecmp(value.c_str(), "mpi://SELF") == 0 ? own : MPI_UNDEFINED;
  }
  if (!resolve(info)->get(kTypeKey, value)) return MPI_UNDEFINED;
  const int level = resource_level(value);
  return level < 0 ? MPI_UNDEFINED : color_at(places, own, static_cast<std::size_t>(level));
}

// The places of all, in an order that both groups of an inter-communicator agree on, and this process's index in it.
Status gather_places(comm::Communicator& parent, const Place& mine, std::vector<Place>& places, int& own) {
  own = parent.rank();
  if (!parent.is_inter()) {
    places.resize(static_cast<std::size_t>(parent.size()));
    return coll::allgather_bytes(services(), {parent}, &mine, sizeof mine, places.data());
  }
  const comm::Group& local = parent.local_group();
  const comm::Group& remote = *parent.remote_group();
  // Both groups exchange as many places as the larger one has; the padding is cut off.
  const auto count = static_cast<std::size_t>(std::max(local.size(), remote.size()));
  std::vector<Place> ours(count), theirs(count);
  LAPWING_TRY(
      coll::allgather_bytes(services(), {parent, comm::Plane::kLocalCollective}, &mine, sizeof mine, ours.data()));
  LAPWING_TRY(coll::exchange_bytes(services(), parent, ours.data(), count * sizeof mine, theirs.data()));
  ours.resize(static_cast<std::size_t>(local.size()));
  theirs.resize(static_cast<std::size_t>(remote.size()));
  const bool ours_first = parent.leads;
  if (!ours_first) own += remote.size();
  places = ours_first ? ours : theirs;
  const std::vector<Place>& others = ours_first ? theirs : ours;
  places.insert(places.end(), others.begin(), others.end());
  return {};
}

Status find_color(comm::Communicator& parent, int split_type, MPI_Info info, int* color) {
  int own = 0;
  std::vector<Place> places;
  LAPWING_TRY(gather_places(parent, own_place(split_type != MPI_UNDEFINED), places, own));
  switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
      *color = color_at(places, own, 0);
      return {};
    case MPI_COMM_TYPE_HW_UNGUIDED:
      *color = unguided_color(places, own, info);
      return {};
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      *color = guided_color(places, own, info, split_type == MPI_COMM_TYPE_RESOURCE_GUIDED);
      return {};
    default:
      *color = MPI_UNDEFINED;
      return {};
  }
}

bool is_split_type(int split_type) noexcept {
  return split_type == MPI_UNDEFINED ||
         (split_type >= MPI_COMM_TYPE_SHARED && split_type <= MPI_COMM_TYPE_RESOURCE_GUIDED);
}

}  // namespace

Status comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm) {
  comm::Communicator& parent = *resolve(comm);
  if (!is_split_type(split_type))
    return Status::error(MPI_ERR_ARG, "split_type %d is none of MPI_COMM_TYPE_*", split_type);
  int color = MPI_UNDEFINED;
  LAPWING_TRY(find_color(parent, split_type, info, &color));
  comm::Communicator* made = nullptr;
  LAPWING_TRY(split(parent, color, key, &made));
  if (made != nullptr) set_hints(*made, info);
  *newcomm = handle_of(made);
  return {};
}

Status get_hw_resource_info(MPI_Info* hw_info) {
  comm::Info* info = comm::Info::make();
  *hw_info = handle_of(info);
  const auto resources = own_resources();
  for (std::size_t level = 0; level < kResourceLevels; ++level) {
    LAPWING_TRY(info->set(kResourceTypes[level], resources[level] >= 0 ? "true" : "false"));
  }
  return {};
}

Status get_processor_name(char* name, int* resultlen) {
  const std::size_t length = process().job.host_name().copy(name, MPI_MAX_PROCESSOR_NAME - 1);
  name[length] = '\0';
  *resultlen = static_cast<int>(length);
  return {};
}

}  // namespace lapwing::mpi
