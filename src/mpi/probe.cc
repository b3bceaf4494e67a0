// MPI 5.0, section 3.8: probes, and receives of messages that a matched probe has taken.
#include "engine/wait_reason.h"
#include "mpi/completion.h"
#include "mpi/implementation.h"
#include "mpi/message_arguments.h"
#include "mpi/status_fields.h"
#include "p2p/unexpected_message.h"
#include "p2p/probes.h"
#include "p2p/request_pool.h"
#include "wire/hang_report.h"

namespace lapwing::mpi {
namespace {

void fill_proc_null(MPI_Status* status) noexcept {
  if (status != MPI_STATUS_IGNORE) status_set_proc_null(*status);
}

// What a thread that waits for a message to be probed says in a report on a hang.
class ProbeWait final : public engine::WaitReason {
 public:
  ProbeWait(const char* call, comm::Communicator& communicator, int source, int tag) noexcept
      : WaitReason(call), communicator_(communicator), source_(source), tag_(tag) {}
  void describe(wire::HangWait& wait) const override {
    wait.items.push_back(p2p::Messenger::describe_probe(communicator_, source_, tag_));
  }

 private:
  comm::Communicator& communicator_;
  int source_;
  int tag_;
};

// Calls `look`, which says whether it found a message, until it does.
template <typename Look>
Status wait_for_message(const char* name, comm::Communicator& communicator, int source, int tag, Look look) {
  Process& process = mpi::process();
  p2p::Messenger& messenger = *process.messenger;
  while (!look()) {
    LAPWING_TRY(messenger.reachable(communicator, source));
    const ProbeWait reason(name, communicator, source, tag);
    engine::Waiter waiter(1, &reason);
    p2p::ProbeWatch watch(communicator, source, tag, waiter);
    messenger.watch(watch);
    process.engine.wait(waiter);
    messenger.unwatch(watch);
  }
  return {};
}

// The same, once, after one turn of progress if need be.
template <typename Look>
Status look_for_message(comm::Communicator& communicator, int source, int* flag, Look look) {
  engine::Engine& engine = process().engine;
  *flag = 1;
  if (look()) return {};
  engine.quick_turn();
  engine.run_application_tasklets();
  if (look()) return {};
  *flag = 0;
  return process().messenger->reachable(communicator, source);
}

Status no_message(MPI_Message handle) {
  if (handle == MPI_MESSAGE_NULL) return Status::error(MPI_ERR_REQUEST, "MPI_MESSAGE_NULL cannot be received");
  if (handle != MPI_MESSAGE_NO_PROC && reinterpret_cast<p2p::UnexpectedMessage*>(handle)->kind() != ObjectKind::kMessage)
    return Status::error(MPI_ERR_REQUEST, "the message handle names no message; it may have been received already");
  return {};
}

// The arguments of a receive whose message is known: any of the communicator that it came on.
p2p::ReceiveArguments into(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message message) {
  if (message == MPI_MESSAGE_NO_PROC) return from(buf, count, datatype, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD);
  p2p::ReceiveArguments arguments = from(buf, count, datatype, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD);
  arguments.communicator = reinterpret_cast<p2p::UnexpectedMessage*>(message)->communicator;
  return arguments;
}

void start_receive(p2p::ReceiveRequest& receive, MPI_Message message) {
  p2p::Messenger& messenger = *process().messenger;
  if (message == MPI_MESSAGE_NO_PROC) {
    messenger.start(receive);
  } else {
    messenger.start_matched(receive, reinterpret_cast<p2p::UnexpectedMessage*>(message));
  }
}

}  // namespace

Status probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    fill_proc_null(status);
    return {};
  }
  comm::Communicator& communicator = *resolve(comm);
  engine::Visit visit(process().engine);
  request::Result result;
  LAPWING_TRY(wait_for_message("MPI_Probe", communicator, source, tag,
                               [&] { return process().messenger->probe(communicator, source, tag, result); }));
  fill_status(result, status);
  return {};
}

Status iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    *flag = 1;
    fill_proc_null(status);
    return {};
  }
  comm::Communicator& communicator = *resolve(comm);
  engine::Visit visit(process().engine);
  request::Result result;
  LAPWING_TRY(look_for_message(communicator, source, flag,
                               [&] { return process().messenger->probe(communicator, source, tag, result); }));
  if (*flag) fill_status(result, status);
  return {};
}

Status mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    *message = MPI_MESSAGE_NO_PROC;
    fill_proc_null(status);
    return {};
  }
  comm::Communicator& communicator = *resolve(comm);
  engine::Visit visit(process().engine);
  request::Result result;
  p2p::UnexpectedMessage* found = nullptr;
  LAPWING_TRY(wait_for_message("MPI_Mprobe", communicator, source, tag, [&] {
    found = process().messenger->matched_probe(communicator, source, tag, result);
    return found != nullptr;
  }));
  *message = reinterpret_cast<MPI_Message>(found);
  fill_status(result, status);
  return {};
}

Status improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    *flag = 1;
    *message = MPI_MESSAGE_NO_PROC;
    fill_proc_null(status);
    return {};
  }
  comm::Communicator& communicator = *resolve(comm);
  engine::Visit visit(process().engine);
  request::Result result;
  p2p::UnexpectedMessage* found = nullptr;
  LAPWING_TRY(look_for_message(communicator, source, flag, [&] {
    found = process().messenger->matched_probe(communicator, source, tag, result);
    return found != nullptr;
  }));
  if (!*flag) return {};
  *message = reinterpret_cast<MPI_Message>(found);
  fill_status(result, status);
  return {};
}

// As a request from the pool, because that keeps the communicator.
Status mrecv(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message, MPI_Status* status) {
  MPI_Request request;
  LAPWING_TRY(imrecv(buf, count, datatype, message, &request));
  return wait(&request, status);
}

Status imrecv(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message, MPI_Request* request) {
  LAPWING_TRY(no_message(*message));
  engine::Visit visit(process().engine);
  p2p::UserReceive& receive = process().messenger->requests().make(into(buf, count, datatype, *message));
  receive.set_active(true);
  *request = handle_of(receive);
  start_receive(receive, *message);
  *message = MPI_MESSAGE_NULL;
  return {};
}

}  // namespace lapwing::mpi
