/* A box of points cut into equal blocks, one for each rank, with a layer of ghost points around each: what stencil
   programs do. For halo.c and conjugate_gradient.c. */
#ifndef LAPWING_BENCH_GRID_H
#define LAPWING_BENCH_GRID_H
#include "ranks.h"

#include <string.h>

/* A point of a block is field[x + width[0] * (y + width[1] * z)], counted from the ghosts: own points begin at 1. */
typedef struct {
  MPI_Comm comm;
  bool periodic;
  int ranks[3];                 /* the blocks in each dimension */
  int at[3];                    /* this block among them */
  int points[3];                /* own points of the block in each dimension */
  int width[3];                 /* with both ghosts */
  int neighbour[3][2];          /* below and above; MPI_PROC_NULL at the border of the box */
  double *out[3][2], *in[3][2]; /* a layer each */
  MPI_Request requests[12];
  int active; /* of the requests */
} Grid;

static inline size_t grid_size(const Grid* grid) {
  return (size_t)grid->width[0] * (size_t)grid->width[1] * (size_t)grid->width[2];
}

static inline size_t layer_size(const Grid* grid, int dimension) {
  return grid_size(grid) / (size_t)grid->width[dimension];
}

static inline size_t place(const Grid* grid, int x, int y, int z) {
  return (size_t)x + (size_t)grid->width[0] * ((size_t)y + (size_t)grid->width[1] * (size_t)z);
}

/* The number of a block; those of a periodic box go round. */
static inline int block(const Grid* grid, const int* at) {
  int number = 0;
  for (int d = 2; d >= 0; --d) {
    const int count = grid->ranks[d];
    if (!grid->periodic && (at[d] < 0 || at[d] >= count)) return MPI_PROC_NULL;
    number = number * count + (at[d] + count) % count;
  }
  return number;
}

/* Cuts `points` times `blocks` points into the blocks of the communicator's ranks, one each. */
static inline Grid make_grid(MPI_Comm comm, const int* blocks, const int* points, bool periodic) {
  Grid grid = {.comm = comm, .periodic = periodic};
  int own;
  MPI_Comm_rank(comm, &own);
  for (int d = 0, left = own; d < 3; ++d) {
    grid.ranks[d] = blocks[d];
    grid.at[d] = left % blocks[d], left /= blocks[d];
    grid.points[d] = points[d];
    grid.width[d] = points[d] + 2;
  }
  for (int d = 0; d < 3; ++d) {
    for (int side = 0; side < 2; ++side) {
      int at[3];
      memcpy(at, grid.at, sizeof at);
      at[d] += side == 0 ? -1 : 1;
      grid.neighbour[d][side] = block(&grid, at);
      grid.out[d][side] = allocate(sizeof(double) * layer_size(&grid, d));
      grid.in[d][side] = allocate(sizeof(double) * layer_size(&grid, d));
    }
  }
  return grid;
}

static inline void free_grid(Grid* grid) {
  for (int d = 0; d < 3; ++d)
    for (int side = 0; side < 2; ++side) free(grid->out[d][side]), free(grid->in[d][side]);
}

static inline double* make_field(const Grid* grid) {
  return allocate(sizeof(double) * grid_size(grid));
}

/* ---- Layers ---- */

/* Copies a layer, with the ghosts at its rim, out of a field or into it. */
static inline void copy_layer(const Grid* grid, double* field, int d, int index, double* layer, bool into) {
  int from[3] = {0, 0, 0}, to[3] = {grid->width[0], grid->width[1], grid->width[2]};
  from[d] = index, to[d] = index + 1;
  for (int z = from[2]; z < to[2]; ++z)
    for (int y = from[1]; y < to[1]; ++y)
      for (int x = from[0]; x < to[0]; ++x, ++layer) {
        if (into)
          field[place(grid, x, y, z)] = *layer;
        else
          *layer = field[place(grid, x, y, z)];
      }
}

static inline void pack(Grid* grid, double* field, int d, int side) {
  copy_layer(grid, field, d, side == 0 ? 1 : grid->points[d], grid->out[d][side], false);
}

static inline void unpack(Grid* grid, double* field, int d, int side) {
  if (grid->neighbour[d][side] == MPI_PROC_NULL) return; /* ghosts outside the box stay as they are */
  copy_layer(grid, field, d, side == 0 ? 0 : grid->points[d] + 1, grid->in[d][side], true);
}

static inline bool alone_in(const Grid* grid, int d) {
  return grid->ranks[d] == 1;
}

/* A block that is its own neighbour needs no message. */
static inline void wrap(Grid* grid, double* field, int d) {
  if (!grid->periodic) return;
  for (int side = 0; side < 2; ++side) {
    pack(grid, field, d, side);
    copy_layer(grid, field, d, side == 0 ? grid->points[d] + 1 : 0, grid->out[d][side], true);
  }
}

/* The side that a layer is sent to tells it from the other one where both go to the same rank. */
static inline int layer_tag(int d, int side) {
  return 2 * d + side;
}

/* ---- Exchange of ghosts ---- */

/* One dimension with two MPI_Sendrecv: all layers go down, then all go up. */
static inline void exchange_in_turn(Grid* grid, double* field, int d) {
  const int count = (int)layer_size(grid, d);
  if (alone_in(grid, d)) {
    wrap(grid, field, d);
    return;
  }
  for (int side = 0; side < 2; ++side) {
    pack(grid, field, d, side);
    MPI_Sendrecv(grid->out[d][side], count, MPI_DOUBLE, grid->neighbour[d][side], layer_tag(d, side),
                 grid->in[d][1 - side], count, MPI_DOUBLE, grid->neighbour[d][1 - side], layer_tag(d, side), grid->comm,
                 MPI_STATUS_IGNORE);
    unpack(grid, field, d, 1 - side);
  }
}

/* Posts what one dimension receives and sends; finish_exchange() waits for it. */
static inline void start_exchange(Grid* grid, double* field, int d) {
  const int count = (int)layer_size(grid, d);
  if (alone_in(grid, d)) {
    wrap(grid, field, d);
    return;
  }
  for (int side = 0; side < 2; ++side)
    MPI_Irecv(grid->in[d][side], count, MPI_DOUBLE, grid->neighbour[d][side], layer_tag(d, 1 - side), grid->comm,
              &grid->requests[grid->active++]);
  for (int side = 0; side < 2; ++side) {
    pack(grid, field, d, side);
    MPI_Isend(grid->out[d][side], count, MPI_DOUBLE, grid->neighbour[d][side], layer_tag(d, side), grid->comm,
              &grid->requests[grid->active++]);
  }
}

/* Dimensions `first` to `last` have been started. */
static inline void finish_exchange(Grid* grid, double* field, int first, int last) {
  MPI_Waitall(grid->active, grid->requests, MPI_STATUSES_IGNORE);
  grid->active = 0;
  for (int d = first; d <= last; ++d)
    for (int side = 0; side < 2 && !alone_in(grid, d); ++side) unpack(grid, field, d, side);
}

#endif
