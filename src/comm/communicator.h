// Communicators: which processes may speak to each other, in which context (MPI 5.0, chapter 7).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/object.h"
#include "comm/context_ids.h"
#include "comm/group.h"
#include "mpi.h"

namespace lapwing::comm {

// What a message belongs to inside one communicator: the two low bits of its wire context, or the two highest.
enum class Plane : std::uint64_t {
  kPointToPoint = 0,
  kCollective = 1,       // between the groups of an inter-communicator, or inside an intra-communicator
  kLocalCollective = 2,  // inside the local group of an inter-communicator
  kManagement = 3,       // creation of communicators from groups (in contexts that names give), finalize
  // Partitioned communication matches apart from messages (p2p/partitioned.h). Upper bits, which no rank reaches.
  kPartitionedSetup = std::uint64_t{1} << 63,
  kPartitioned = std::uint64_t{1} << 62,
};

// Something a room above keeps with a communicator and wants destroyed with it (attributes, topology, the state of its collectives).
class Extra {
 public:
  virtual ~Extra() = default;
};

class Communicator : public Object {
 public:
  // Takes over one reference to each group. `remote` is null for an intra-communicator. `context` may be 0 = not agreed
  // yet.
  Communicator(std::uint64_t context, Group* local, Group* remote) noexcept;

  bool is_inter() const noexcept { return remote_ != nullptr; }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return local_->size(); }
  // The number of ranks that a destination or source may name.
  int remote_size() const noexcept { return peers().size(); }

  Group& local_group() const noexcept { return *local_; }
  Group* remote_group() const noexcept { return remote_; }
  // The group that destinations name: the remote one of an inter-communicator, else the local one.
  const Group& peers() const noexcept { return *peers_; }
  // The group that a plane's ranks name: the local one for kLocalCollective, else peers().
  const Group& peers(Plane plane) const noexcept { return plane == Plane::kLocalCollective ? *local_ : *peers_; }

  std::uint64_t context() const noexcept { return context_; }
  std::uint64_t wire_context(Plane plane) const noexcept { return context_ | static_cast<std::uint64_t>(plane); }
  // Once, when an agreement ends.
  void set_context(std::uint64_t context) noexcept { context_ = context; }

  // References of requests, which come and go with every message: counted under the endpoint's lock, without atomic operations, and
  // one reference of the common sort stands for all of them.
  void borrow() noexcept {
    if (borrowed_++ == 0) retain();
  }
  static void give_back(Communicator& communicator) noexcept {
    if (--communicator.borrowed_ == 0) drop(&communicator);
  }

  MPI_Errhandler error_handler() const noexcept { return error_handler_; }
  // Takes over one reference to `handler`, and gives the one to the handler before to the caller.
  MPI_Errhandler exchange_error_handler(MPI_Errhandler handler) noexcept {
    return std::exchange(error_handler_, handler);
  }

  bool oversubscribed = false;  // of a job with more ranks than cores on its one host; the same on all ranks
  // Of an inter-communicator: its local group goes first where the two must decide alike. On the other side it is the other way round.
  bool leads = true;
  std::string name;
  // Kept for rooms above; each casts its own back.
  std::unique_ptr<Extra> attributes;
  std::unique_ptr<Extra> topology;
  std::unique_ptr<Extra> info;
  std::unique_ptr<Extra> collectives;  // coll/communicator_state.h
  std::unique_ptr<Extra> buffer;       // MPI_Comm_attach_buffer

  // Set for the predefined ones, whose handles are small integers.
  MPI_Comm predefined_handle = MPI_COMM_NULL;
  MPI_Comm handle() noexcept {
    return predefined_handle != MPI_COMM_NULL ? predefined_handle : reinterpret_cast<MPI_Comm>(this);
  }

  // Releases one reference; the last one destroys. Pending operations hold references, so MPI_Comm_free never pulls a
  // communicator from under them.
  static void drop(Communicator* communicator) noexcept;

 private:
  ~Communicator();
  std::uint64_t context_;
  const int rank_;
  Group* local_;
  Group* remote_;
  const Group* const peers_;  // one of the two
  MPI_Errhandler error_handler_ = MPI_ERRORS_ARE_FATAL;
  std::uint64_t borrowed_ = 0;
};

}  // namespace lapwing::comm
