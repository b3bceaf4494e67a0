/* Collective operations, to be run with more ranks than cores: a library that spins while it waits takes the core
   from the rank it waits for. So does a program that waits by testing in a loop, unless the library gives the core away. */
#include "ranks.h"

static const Option options[] = {{0}};
static const Program program = {"oversubscribe", "Time of MPI_Barrier, MPI_Allreduce, MPI_Alltoall and loops of tests, by ranks.",
                                options};

typedef struct {
  int count; /* of elements */
  double *out, *in;
} Buffers;

static void barrier(void* context, int times) {
  (void)context;
  for (int i = 0; i < times; ++i) MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(void* context, int times) {
  const Buffers* buffers = context;
  for (int i = 0; i < times; ++i)
    MPI_Allreduce(buffers->out, buffers->in, buffers->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoall(void* context, int times) {
  const Buffers* buffers = context;
  for (int i = 0; i < times; ++i)
    MPI_Alltoall(buffers->out, buffers->count, MPI_DOUBLE, buffers->in, buffers->count, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void ring_by_testall(void* context, int times) {
  const Buffers* buffers = context;
  for (int i = 0; i < times; ++i) {
    MPI_Request requests[2];
    int done = 0;
    MPI_Irecv(buffers->in, buffers->count, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(buffers->out, buffers->count, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
    while (!done) MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
  }
}

static void ring_by_iprobe(void* context, int times) {
  const Buffers* buffers = context;
  for (int i = 0; i < times; ++i) {
    MPI_Request request;
    int arrived = 0;
    MPI_Isend(buffers->out, buffers->count, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD, &request);
    while (!arrived) MPI_Iprobe((rank + size - 1) % size, 0, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
    MPI_Recv(buffers->in, buffers->count, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

/* Element j for rank i is i + j, from every rank; around the ring it is j. */
static void check(const Buffers* buffers, int parts, void (*run)(void*, int)) {
  for (int part = 0; part < parts; ++part) {
    for (int j = 0; j < buffers->count; ++j) {
      const double expected = run == allreduce ? (double)size * j : run == alltoall ? (double)rank + j : j;
      if (buffers->in[part * buffers->count + j] == expected) continue;
      fprintf(stderr, "rank %d: element %d of part %d is wrong\n", rank, j, part);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

static void answer_for(const char* series, void (*run)(void*, int), size_t bytes) {
  const int parts = run == alltoall ? size : 1;
  Buffers buffers = {(int)(bytes / sizeof(double)), allocate(bytes * (size_t)parts), allocate(bytes * (size_t)parts)};
  for (int part = 0; part < parts; ++part)
    for (int j = 0; j < buffers.count; ++j) buffers.out[part * buffers.count + j] = (run == alltoall ? part : 0) + j;
  Samples times = {0};
  measure_in(MPI_COMM_WORLD, run, &buffers, quick ? 0.4 : 1.2, 5e-3, &times);
  if (run != barrier) check(&buffers, parts, run);
  scale_samples(&times, 1e6);
  report(&program, (Figure){series, "us", "lower", size, "ranks", ""}, &times);
  free(buffers.out);
  free(buffers.in);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 1 << 22);
  answer_for("barrier", barrier, 0);
  answer_for("allreduce 8 B", allreduce, 8);
  answer_for("allreduce 64 KiB", allreduce, 64 << 10);
  answer_for("alltoall 1 KiB", alltoall, 1 << 10);
  answer_for("ring by Testall", ring_by_testall, 8);
  answer_for("ring by Iprobe", ring_by_iprobe, 8);
  return MPI_Finalize();
}
