// One rank at the accelerator: what it has asked for lives as long as this object, on a thread of its own. So a rank that sends something that
// cannot be closed in time (a socket that lingers, a file of a file system that does not answer) makes nobody wait but itself.
//
//   new        the rank has said nothing. It has some seconds for it
//   prepared   it has its zone
//   loaded     it has its areas, and its sockets may join
//
// or, for raw Ethernet,
//
//   greeted    its memory may come
//   has socket it may be bound to a queue
//   bound      it has the queue
//
// Of receive in the kernel nothing is shared between ranks, of one job or of several: each has maps and a program of its own, and no message names
// those of another. What raw Ethernet shares is ether_endpoint.h's matter.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <string>

#include "accelerator/accounts.h"
#include "accelerator/ether_endpoint.h"
#include "base/status.h"
#include "net/bpf/bpf.h"
#include "net/kernel/local_message.h"
#include "net/kernel/own_loader.h"
#include "wire/accelerator.h"

namespace lapwing::launch {

class Session {
 public:
  // Of a rank that has been admitted.
  Session(net::bpf::Descriptor connection, uid_t user, Accounts& accounts, Ledger::Id id, EtherPrograms& programs) noexcept;
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Until the rank goes, or breaks a rule.
  void run();

 private:
  enum class State { kNew, kPrepared, kLoaded, kGreeted, kHasSocket, kBound };

  static State state_for(wire::AcceleratorRequest::Kind kind) noexcept;  // leave: or bound
  bool serve(const net::kernel::LocalMessage& message);
  Status check_order(const wire::AcceleratorRequest& request) const;
  // Sends what is granted.
  Status grant(const wire::AcceleratorRequest& request, const net::kernel::LocalMessage& message);
  Status prepare(const wire::AcceleratorRequest& hello);
  Status load();
  Status join(std::uint32_t index, int socket);
  Status answer_by(std::uint32_t index, int socket);
  Status greet(const wire::AcceleratorRequest& hello);
  Status take_memory(int file);
  Status bind(const wire::AcceleratorRequest& bind);
  Status leave(std::uint32_t index);
  Status forget(std::uint32_t index);
  bool goes_on() const noexcept { return state_ == State::kLoaded || state_ == State::kHasSocket || state_ == State::kBound; }
  Status answer(std::span<const int> descriptors = {});
  void refuse(const Status& why);

  net::bpf::Descriptor connection_;
  const uid_t user_;
  Accounts& accounts_;
  const Ledger::Id id_;
  State state_ = State::kNew;
  bool answered_ = false;  // the request that is being served
  net::kernel::OwnLoader loader_;
  net::bpf::Descriptor keeper_;
  EtherEndpoint ether_;
};

// Says why to a rank that is not admitted.
void turn_away(int connection, const Status& why);

}  // namespace lapwing::launch
