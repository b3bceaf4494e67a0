// How communicators come about: the steps that the functions of chapters 7 and 8 share.
//
// Everything here is called on an application thread without the endpoint's lock, and everything that talks to others
// is collective over the communicator it is given. A failing step leaves no object behind.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "coll/area_place.h"
#include "coll/coll.h"
#include "comm/communicator.h"
#include "comm/group.h"
#include "mpi.h"

namespace lapwing::mpi {

coll::Services services() noexcept;

// A context id of this process, for a communicator that it might lead, and with it a shared area where there is one. The
// area goes back with the proposal, unless the members agreed on this one.
class Proposal {
 public:
  Proposal() noexcept;
  Proposal(const Proposal&) = delete;
  Proposal& operator=(const Proposal&) = delete;

  std::uint64_t context() const noexcept { return context_; }
  // `made` has the context that was agreed on.
  void settle(comm::Communicator& made) noexcept;
  // The same for a communicator whose context is still to be agreed on: settle_later() now, settled() then.
  void settle_later(comm::Communicator& made) noexcept;
  static void settled(comm::Communicator& made) noexcept;

 private:
  std::uint64_t context_;
  coll::AreaClaim area_;
};

// A context id for a communicator that two groups agree on: it has no area.
std::uint64_t take_context() noexcept;

// The error handler is inherited from `parent`; null: the default one. `remote` empty: an intra-communicator.
comm::Communicator* make_communicator(std::uint64_t context, const std::vector<ProcessId>& local,
                                      const std::vector<ProcessId>& remote, comm::Communicator* parent);
// The same over the groups of `parent`.
comm::Communicator* make_alike(std::uint64_t context, comm::Communicator& parent);

// Members with the same colour come together, ordered by key and then by old rank. `made` is null with colour
// MPI_UNDEFINED, and, between two groups, where the other side has no member of this colour.
Status split(comm::Communicator& parent, int color, int key, comm::Communicator** made);

// The same groups in a new context; nothing else is copied.
Status duplicate(comm::Communicator& parent, comm::Communicator** made);

// For a new communicator without parent. MPI_ERRHANDLER_NULL stands for the default.
void adopt_error_handler(comm::Communicator& communicator, MPI_Errhandler handler) noexcept;

// The error handler of a communicator, with one more reference: another thread may set another one meanwhile (error.cc).
MPI_Errhandler retained_handler(comm::Communicator& communicator);

// Of a communicator or null.
MPI_Comm handle_of(comm::Communicator* communicator) noexcept;

Status check_intra(comm::Communicator& communicator);

// Hints (MPI 5.0, section 7.4.4): takes those that Lapwing knows from `info`; MPI_INFO_NULL has none.
void set_hints(comm::Communicator& communicator, MPI_Info info);

// In which processes that make a communicator exchange messages, apart from all others that do so at the same time: that of a communicator over the
// groups of `among`, for as long as that takes, which a name gives. The name is a tag or a text of the program's, for what it is used, and the members of the group
// where the messages are among them; 60 bits of its hash tell two names apart. Nothing but internal messages comes here (Plane::kManagement).
class NamedContext {
 public:
  enum class Use : unsigned char { kOneGroup, kOneOfTwoGroups, kLeaders };
  NamedContext(comm::Communicator& among, Use use, std::string_view name, const std::vector<ProcessId>& members = {});
  NamedContext(comm::Communicator& among, Use use, int tag, const std::vector<ProcessId>& members = {});
  ~NamedContext();
  NamedContext(const NamedContext&) = delete;
  NamedContext& operator=(const NamedContext&) = delete;

  comm::Communicator& communicator() const noexcept { return *communicator_; }
  // Of those with these ranks in `among`.
  coll::Team team(const std::vector<int>& ranks) const noexcept { return {*communicator_, comm::Plane::kManagement, &ranks}; }

 private:
  comm::Communicator* communicator_;
};

}  // namespace lapwing::mpi
