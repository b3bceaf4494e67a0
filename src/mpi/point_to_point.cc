// MPI 5.0, sections 3.2, 3.4, 3.7.2 and 3.10: sends and receives, blocking and not.
#include <memory>

#include "datatype/pack.h"
#include "mpi/completion.h"
#include "mpi/implementation.h"
#include "mpi/message_arguments.h"
#include "p2p/attached_buffer.h"
#include "p2p/exchange_request.h"
#include "p2p/request_pool.h"
#include "request/waiting.h"

namespace lapwing::mpi {
namespace {

using p2p::SendMode;

const char* name_of(SendMode mode) noexcept {
  return mode == SendMode::kSynchronous ? "MPI_Ssend" : mode == SendMode::kReady ? "MPI_Rsend" : "MPI_Send";
}

// The arguments come by value: those of the short way then need not lie in memory.
[[gnu::noinline]] Status start_and_wait(const char* call, engine::Visit& visit, p2p::Messenger& messenger, p2p::SendArguments arguments) {
  arguments.waits = true;
  p2p::SendRequest send(arguments);
  messenger.start(send);
  wait_in(call, visit, send);
  return std::move(send.result().status);
}

// Inlined, so that of the arguments only what the short way needs is ever put together.
[[gnu::always_inline]] inline Status send_and_wait(const p2p::SendArguments& arguments) {
  Process& process = mpi::process();
  engine::Visit visit(process.engine);
  if (arguments.mode != SendMode::kSynchronous && process.messenger->send_now(arguments)) return {};
  return start_and_wait(name_of(arguments.mode), visit, *process.messenger, arguments);
}

Status send_later(const p2p::SendArguments& arguments, MPI_Request* request) {
  Process& process = mpi::process();
  engine::Visit visit(process.engine);
  if (arguments.mode != SendMode::kSynchronous && process.messenger->send_now(arguments)) {
    *request = handle_of(process.messenger->requests().sent());
    return {};
  }
  p2p::UserSend& send = process.messenger->requests().make(arguments);
  send.set_active(true);
  *request = handle_of(send);
  process.messenger->start(send);
  return {};
}

Status send_buffered(const p2p::SendArguments& arguments) {
  Process& process = mpi::process();
  return p2p::buffer_for(*arguments.communicator, *process.messenger).send(*process.messenger, arguments);
}

// A packed copy, for the functions that send from the buffer they receive into. Nothing is read for MPI_PROC_NULL.
std::unique_ptr<std::byte[]> packed_copy(p2p::SendArguments& arguments) {
  if (arguments.destination == MPI_PROC_NULL) return nullptr;
  const std::uint64_t bytes = datatype::packed_size(*arguments.type, arguments.count);
  std::unique_ptr<std::byte[]> copy(new std::byte[bytes]);
  if (bytes != 0) datatype::pack(arguments.buffer, arguments.count, *arguments.type, copy.get());
  arguments.buffer = copy.get();
  arguments.count = bytes;
  arguments.type = datatype::resolve(MPI_BYTE);
  return copy;
}

Status exchange_and_wait(const p2p::SendArguments& to, const p2p::ReceiveArguments& from, MPI_Status* status) {
  constexpr const char* kCall = "MPI_Sendrecv";
  Process& process = mpi::process();
  p2p::Messenger& messenger = *process.messenger;
  engine::Visit visit(process.engine);
  p2p::UserReceive& receive = messenger.requests().lend(from);
  messenger.start(receive);
  Status sent;
  if (!messenger.send_now(to)) sent = start_and_wait(kCall, visit, messenger, to);
  wait_in(kCall, visit, receive);
  fill_status(receive.result(), status);
  Status received = std::move(receive.result().status);
  messenger.requests().put_back(receive);
  return received.ok() ? std::move(sent) : std::move(received);
}

Status exchange_later(const p2p::SendArguments& to, const p2p::ReceiveArguments& from,
                      std::unique_ptr<std::byte[]> replaced, MPI_Request* request) {
  Process& process = mpi::process();
  auto* exchange = new p2p::ExchangeRequest(process.engine, *process.messenger, to, from, std::move(replaced));
  engine::Visit visit(process.engine);
  exchange->set_active(true);
  *request = handle_of(*exchange);
  return exchange->start();
}

}  // namespace

Status send(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_and_wait(to(buf, count, datatype, dest, tag, comm, SendMode::kStandard));
}
Status ssend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_and_wait(to(buf, count, datatype, dest, tag, comm, SendMode::kSynchronous));
}
Status rsend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send_and_wait(to(buf, count, datatype, dest, tag, comm, SendMode::kReady));
}
Status bsend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  engine::Visit visit(process().engine);
  return send_buffered(to(buf, count, datatype, dest, tag, comm, SendMode::kBuffered));
}

Status isend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
             MPI_Request* request) {
  return send_later(to(buf, count, datatype, dest, tag, comm, SendMode::kStandard), request);
}
Status issend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return send_later(to(buf, count, datatype, dest, tag, comm, SendMode::kSynchronous), request);
}
Status irsend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return send_later(to(buf, count, datatype, dest, tag, comm, SendMode::kReady), request);
}

// Complete as soon as the copy is made.
Status ibsend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  engine::Visit visit(process().engine);
  const p2p::SendArguments arguments = to(buf, count, datatype, dest, tag, comm, SendMode::kBuffered);
  p2p::UserSend& send = process().messenger->requests().make(arguments);
  if (Status status = send.start(); !status.ok()) {
    send.destroy();
    return status;
  }
  send.set_active(true);
  *request = handle_of(send);
  return {};
}

Status recv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  Process& process = mpi::process();
  engine::Visit visit(process.engine);
  p2p::UserReceive& receive = process.messenger->requests().lend(from(buf, count, datatype, source, tag, comm));
  process.messenger->start(receive);
  wait_in("MPI_Recv", visit, receive);
  fill_status(receive.result(), status);
  Status outcome = std::move(receive.result().status);
  process.messenger->requests().put_back(receive);
  return outcome;
}

Status irecv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Request* request) {
  Process& process = mpi::process();
  engine::Visit visit(process.engine);
  p2p::UserReceive& receive = process.messenger->requests().make(from(buf, count, datatype, source, tag, comm));
  receive.set_active(true);
  *request = handle_of(receive);
  process.messenger->start(receive);
  return {};
}

Status sendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
                MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                MPI_Status* status) {
  return exchange_and_wait(to(sendbuf, sendcount, sendtype, dest, sendtag, comm, SendMode::kStandard),
                           from(recvbuf, recvcount, recvtype, source, recvtag, comm), status);
}

Status sendrecv_replace(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source,
                        int recvtag, MPI_Comm comm, MPI_Status* status) {
  p2p::SendArguments arguments = to(buf, count, datatype, dest, sendtag, comm, SendMode::kStandard);
  const std::unique_ptr<std::byte[]> copy = packed_copy(arguments);
  return exchange_and_wait(arguments, from(buf, count, datatype, source, recvtag, comm), status);
}

Status isendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
                 MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                 MPI_Request* request) {
  return exchange_later(to(sendbuf, sendcount, sendtype, dest, sendtag, comm, SendMode::kStandard),
                        from(recvbuf, recvcount, recvtype, source, recvtag, comm), nullptr, request);
}

Status isendrecv_replace(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source,
                         int recvtag, MPI_Comm comm, MPI_Request* request) {
  p2p::SendArguments arguments = to(buf, count, datatype, dest, sendtag, comm, SendMode::kStandard);
  std::unique_ptr<std::byte[]> copy = packed_copy(arguments);
  return exchange_later(arguments, from(buf, count, datatype, source, recvtag, comm), std::move(copy), request);
}

}  // namespace lapwing::mpi
