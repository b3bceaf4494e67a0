// MPI 5.0, section 3.6: buffers for buffered sends, on the process, a communicator or a session.
// Which one a send uses: p2p::buffer_for().
#include "mpi/buffer.h"

#include "comm/session.h"
#include "mpi/completion.h"
#include "mpi/handles.h"
#include "mpi/implementation.h"
#include "p2p/attached_buffer.h"
#include "request/waiting.h"

namespace lapwing::mpi {
namespace {

using p2p::AttachedBuffer;

// Made when it is first spoken of; stays with its object. Under the lock, because any thread may speak first.
AttachedBuffer& in(std::unique_ptr<comm::Extra>& place) {
  if (place == nullptr) place = std::make_unique<AttachedBuffer>(process().engine);
  return static_cast<AttachedBuffer&>(*place);
}

Status attach(AttachedBuffer& buffer, void* memory, MPI_Count size) {
  return buffer.attach(memory, static_cast<std::uint64_t>(size));
}

Status flush(engine::Visit& visit, AttachedBuffer& buffer) {
  p2p::FlushRequest& flush = buffer.flush();
  wait_in("MPI_Buffer_flush or MPI_Buffer_detach", visit, flush);
  flush.destroy();
  return {};
}

Status flush_later(AttachedBuffer& buffer, MPI_Request* request) {
  *request = handle_of(buffer.flush());
  return {};
}

// Other threads may send while this one waits: what they send is not in the flush, but it is in the memory that the program gets back.
Status wait_until_empty(engine::Visit& visit, AttachedBuffer& buffer) {
  while (!buffer.empty()) LAPWING_TRY(flush(visit, buffer));
  return {};
}

// `buffer_addr` points at the user's pointer.
Status detach(engine::Visit& visit, AttachedBuffer& buffer, void* buffer_addr, MPI_Count* size) {
  LAPWING_TRY(wait_until_empty(visit, buffer));
  void* memory;
  std::uint64_t bytes;
  buffer.detach(memory, bytes);
  *static_cast<void**>(buffer_addr) = memory;
  *size = static_cast<MPI_Count>(bytes);
  return {};
}

}  // namespace

Status detach_at_end(std::unique_ptr<comm::Extra>& buffer) {
  if (buffer == nullptr) return {};
  engine::Visit visit(process().engine);
  LAPWING_TRY(wait_until_empty(visit, in(buffer)));
  buffer.reset();
  return {};
}

Status buffer_attach(void* buffer, MPI_Count size) {
  engine::Visit visit(process().engine);
  return attach(process().messenger->process_buffer(), buffer, size);
}
Status buffer_detach(void* buffer_addr, MPI_Count* size) {
  engine::Visit visit(process().engine);
  return detach(visit, process().messenger->process_buffer(), buffer_addr, size);
}
Status buffer_flush() {
  engine::Visit visit(process().engine);
  return flush(visit, process().messenger->process_buffer());
}
Status buffer_iflush(MPI_Request* request) {
  engine::Visit visit(process().engine);
  return flush_later(process().messenger->process_buffer(), request);
}

Status comm_attach_buffer(MPI_Comm comm, void* buffer, MPI_Count size) {
  engine::Visit visit(process().engine);
  return attach(in(resolve(comm)->buffer), buffer, size);
}
Status comm_detach_buffer(MPI_Comm comm, void* buffer_addr, MPI_Count* size) {
  engine::Visit visit(process().engine);
  return detach(visit, in(resolve(comm)->buffer), buffer_addr, size);
}
Status comm_flush_buffer(MPI_Comm comm) {
  engine::Visit visit(process().engine);
  return flush(visit, in(resolve(comm)->buffer));
}
Status comm_iflush_buffer(MPI_Comm comm, MPI_Request* request) {
  engine::Visit visit(process().engine);
  return flush_later(in(resolve(comm)->buffer), request);
}

Status session_attach_buffer(MPI_Session session, void* buffer, MPI_Count size) {
  engine::Visit visit(process().engine);
  return attach(in(resolve(session)->buffer), buffer, size);
}
Status session_detach_buffer(MPI_Session session, void* buffer_addr, MPI_Count* size) {
  engine::Visit visit(process().engine);
  return detach(visit, in(resolve(session)->buffer), buffer_addr, size);
}
Status session_flush_buffer(MPI_Session session) {
  engine::Visit visit(process().engine);
  return flush(visit, in(resolve(session)->buffer));
}
Status session_iflush_buffer(MPI_Session session, MPI_Request* request) {
  engine::Visit visit(process().engine);
  return flush_later(in(resolve(session)->buffer), request);
}

}  // namespace lapwing::mpi
