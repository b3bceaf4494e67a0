// MPI 5.0, chapter 4: partitioned communication. Rounds begin with MPI_Start and end like any request's (request.cc).
#include "p2p/partitioned.h"

#include <climits>
#include <utility>

#include "mpi/completion.h"
#include "mpi/implementation.h"
#include "mpi/message_arguments.h"

namespace lapwing::mpi {
namespace {

Status check_partitions(int partitions) {
  if (partitions >= 0) return {};
  return Status::error(MPI_ERR_ARG, "partitions is %d; it cannot be negative", partitions);
}

Status other_sort(MPI_Request handle, const char* wanted) {
  Status failure = Status::error(MPI_ERR_REQUEST, "the request is no partitioned %s", wanted);
  return handle == MPI_REQUEST_NULL ? std::move(failure) : noted(*request_of(handle), std::move(failure));
}

p2p::PartitionedSend* sending(MPI_Request handle) noexcept {
  return dynamic_cast<p2p::PartitionedSend*>(request_of(handle));
}

Status mark_ready(MPI_Request handle, int low, int high) {
  p2p::PartitionedSend* send = sending(handle);
  if (send == nullptr) return other_sort(handle, "send");
  return noted(*send, send->ready(low, high));
}

}  // namespace

Status psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Info, MPI_Request* request) {
  LAPWING_TRY(check_partitions(partitions));
  Process& process = mpi::process();
  engine::Visit visit(process.engine);
  *request = handle_of(*new p2p::PartitionedSend(process.engine, *process.messenger,
                                                 to(buf, count, datatype, dest, tag, comm, p2p::SendMode::kStandard),
                                                 partitions));
  return {};
}

Status precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                  MPI_Info, MPI_Request* request) {
  LAPWING_TRY(check_partitions(partitions));
  if (source == MPI_ANY_SOURCE) return Status::error(MPI_ERR_RANK, "a partitioned receive must name its source");
  if (tag == MPI_ANY_TAG) return Status::error(MPI_ERR_TAG, "a partitioned receive must name its tag");
  Process& process = mpi::process();
  engine::Visit visit(process.engine);
  *request = handle_of(*new p2p::PartitionedReceive(process.engine, *process.messenger,
                                                    from(buf, count, datatype, source, tag, comm), partitions));
  return {};
}

Status pready(int partition, MPI_Request request) {
  engine::Visit visit(process().engine);
  return mark_ready(request, partition, partition);
}

Status pready_range(int partition_low, int partition_high, MPI_Request request) {
  engine::Visit visit(process().engine);
  return mark_ready(request, partition_low, partition_high);
}

Status pready_list(int length, const int partitions[], MPI_Request request) {
  engine::Visit visit(process().engine);
  int begin = 0;
  for (int i = 1; i <= length; ++i) {
    if (i < length && partitions[i - 1] != INT_MAX && partitions[i] == partitions[i - 1] + 1) continue;
    LAPWING_TRY(mark_ready(request, partitions[begin], partitions[i - 1]));
    begin = i;
  }
  return {};
}

Status parrived(MPI_Request handle, int partition, int* flag) {
  *flag = 1;
  auto* receive = dynamic_cast<p2p::PartitionedReceive*>(request_of(handle));
  if (receive == nullptr) {
    if (handle == MPI_REQUEST_NULL) return {};
    return other_sort(handle, "receive");
  }
  if (partition < 0 || partition >= receive->partitions())
    return noted(*receive, Status::error(MPI_ERR_ARG, "partition %d is not among the %d of this operation", partition,
                                         receive->partitions()));
  if (!receive->active()) return {};
  engine::Engine& engine = process().engine;
  engine::Visit visit(engine);
  if (!receive->arrived(partition)) {
    engine.quick_turn();
    engine.run_application_tasklets();
  }
  *flag = receive->arrived(partition);
  return {};
}

}  // namespace lapwing::mpi
