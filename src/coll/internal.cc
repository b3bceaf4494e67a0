// The collectives of coll.h, for the library's own use.
#include <cstring>

#include "base/bulk_copy.h"
#include "base/outer_call.h"
#include "base/tuning.h"
#include "coll/algorithms.h"
#include "coll/coll.h"
#include "coll/communicator_state.h"
#include "coll/compile.h"
#include "coll/description.h"
#include "coll/execute.h"
#include "coll/tag.h"

namespace lapwing::coll {

namespace {

std::vector<ProcessId> processes(const comm::Group& group, const std::vector<int>& ranks) {
  std::vector<ProcessId> processes;
  processes.reserve(ranks.size());
  for (const int rank : ranks) processes.push_back(group.member(rank));
  return processes;
}

// A request whose schedule is set to the team; the caller adds the steps and owns it. With the lock held.
CollectiveRequest* request_for(const Services& services, const Team& team, const char* name) {
  comm::Communicator& communicator = team.communicator;
  auto* request = new CollectiveRequest(services, communicator, name, false);
  const comm::Group& group = communicator.peers(team.plane);
  Schedule& schedule = request->schedule();
  if (team.members != nullptr) {
    int place = 0;
    while ((*team.members)[static_cast<std::size_t>(place)] != group.rank()) ++place;
    schedule.set_team(team.plane, *team.members, place);
    request->set_members(processes(group, *team.members));
    request->set_description(kManagingCommunicators);
    request->set_tag(collective_tag(team.tag, true));
  } else {
    CommunicatorState& state = state_of(communicator);
    schedule.set_team(team.plane, communicator.rank(), group.size());
    request->set_description(with_history(kManagingCommunicators, state.add_to_history(kManagingCommunicators)));
    request->set_tag(collective_tag(state.next_number(), false));
  }
  return request;
}

Status finish(engine::Visit& visit, CollectiveRequest& request) {
  request.schedule().seal();
  const char* outer = OuterCall::name();
  return run_to_end(visit, request, outer != nullptr ? outer : request.name());
}

// Rank 0 of each group of an inter-communicator sends `mine` to the other, and all of its group get what came in
// `theirs`.
void add_exchange(Schedule& schedule, const comm::Communicator& inter, const Block& mine, const Block& theirs) {
  if (inter.rank() == 0) {
    schedule.set_team(comm::Plane::kCollective, 0, inter.remote_size());
    schedule.send(mine, 0);
    schedule.receive(theirs, 0);
    schedule.fence();
  }
  schedule.set_team(comm::Plane::kLocalCollective, inter.rank(), inter.size());
  bcast_knomial(schedule, theirs, 0);
}

// An agreement as steps on a number in the schedule's scratch memory; returns where the outcome will be.
const std::uint64_t* add_agreement(Schedule& schedule, const Team& team, std::uint64_t proposed) {
  auto* number = reinterpret_cast<std::uint64_t*>(schedule.scratch(sizeof(std::uint64_t)));
  *number = proposed;
  const Block mine = bytes_block(number, sizeof(*number));
  const comm::Communicator& communicator = team.communicator;
  const bool across = communicator.is_inter() && team.plane == comm::Plane::kCollective;
  if (!across) {
    bcast_knomial(schedule, mine, 0);
    return number;
  }
  // The leading group spreads its own number inside, and its first rank tells the other's.
  if (communicator.rank() == 0) {
    schedule.set_team(comm::Plane::kCollective, 0, communicator.remote_size());
    if (communicator.leads) {
      schedule.send(mine, 0);
    } else {
      schedule.receive(mine, 0);
    }
    schedule.fence();
  }
  schedule.set_team(comm::Plane::kLocalCollective, communicator.rank(), communicator.size());
  bcast_knomial(schedule, mine, 0);
  return number;
}

}  // namespace

Status barrier(const Services& services, const Team& team) {
  engine::Visit visit(services.engine);
  CollectiveRequest* request = request_for(services, team, "a barrier");
  barrier_dissemination(request->schedule(), static_cast<int>(tuning().coll_barrier_radix));
  return finish(visit, *request);
}

Status bcast_bytes(const Services& services, const Team& team, void* data, std::size_t bytes, int root) {
  engine::Visit visit(services.engine);
  CollectiveRequest* request = request_for(services, team, "a broadcast");
  compile_bcast(request->schedule(), bytes_block(data, bytes), root);
  return finish(visit, *request);
}

Status allgather_bytes(const Services& services, const Team& team, const void* mine, std::size_t bytes, void* all) {
  engine::Visit visit(services.engine);
  CollectiveRequest* request = request_for(services, team, "an allgather");
  Schedule& schedule = request->schedule();
  const Blocks blocks = uniform_blocks(all, bytes, *datatype::resolve(MPI_BYTE), schedule.size());
  const Block own = blocks[static_cast<std::size_t>(schedule.rank())];
  if (own.address != mine) plain_copy(own.address, mine, bytes);
  compile_allgather(schedule, blocks);
  return finish(visit, *request);
}

Status agree_context(const Services& services, const Team& team, std::uint64_t proposed, std::uint64_t* agreed) {
  engine::Visit visit(services.engine);
  CollectiveRequest* request = request_for(services, team, "agreeing on a communicator");
  const std::uint64_t* outcome = add_agreement(request->schedule(), team, proposed);
  request->on_success([](void* context, std::uint64_t value) { *static_cast<std::uint64_t*>(context) = value; }, agreed,
                      outcome);
  return finish(visit, *request);
}

Status start_context_agreement(const Services& services, const Team& team, std::uint64_t proposed, OnAgreed on_agreed,
                               void* context, request::Request** request) {
  engine::Visit visit(services.engine);
  CollectiveRequest* made = request_for(services, team, "agreeing on a communicator");
  const std::uint64_t* outcome = add_agreement(made->schedule(), team, proposed);
  made->on_success(on_agreed, context, outcome);
  made->schedule().seal();
  *request = made;
  return made->start();
}

Status compare_last_calls(comm::Communicator& communicator) {
  return state_of(communicator).place.compare_last_calls(communicator);
}

void stop_draining(comm::Communicator& communicator) noexcept {
  if (communicator.collectives) state_of(communicator).drain.stop();
}

Status exchange_bytes(const Services& services, comm::Communicator& inter, const void* mine, std::size_t bytes,
                      void* theirs) {
  engine::Visit visit(services.engine);
  CollectiveRequest* request = request_for(services, {inter}, "an exchange between groups");
  add_exchange(request->schedule(), inter, bytes_block(const_cast<void*>(mine), bytes), bytes_block(theirs, bytes));
  return finish(visit, *request);
}

}  // namespace lapwing::coll
