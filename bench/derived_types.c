/* What it takes to send data that do not lie together, and to pack and unpack them, by the shapes in which programs have them: faces and the inside
   of a grid, columns of a matrix, arrays of structures, numbers and triples at any distance. A library may be quick with a vector and slow with an
   indexed type. Sizes are those of the data. */
#include <math.h>

#include "ranks.h"

static Sizes sizes;
static const Option options[] = {{"--sizes", "LIST", "bytes of data (2K,32K,128K); 40 at least", .sizes = &sizes}, {0}};
static const Program program = {"derived_types", "Time to send, pack and unpack data of a derived type.", options};

enum { kNumber = 8, kLeast = 5 * kNumber }; /* every shape has an element of it */

/* ---- Shapes ---- */

/* So many doubles, about, in `count` elements. */
typedef MPI_Datatype Make(int numbers, int* count);

/* A part of a cube of doubles. */
static MPI_Datatype part_of_cube(int side, int deep, int high, int wide) {
  const int whole[] = {side, side, side}, part[] = {deep, high, wide}, from[] = {0, 0, 0};
  MPI_Datatype type;
  MPI_Type_create_subarray(3, whole, part, from, MPI_ORDER_C, MPI_DOUBLE, &type);
  return type;
}
static int side_of_face(int numbers) { return (int)sqrt(numbers); }

static MPI_Datatype across(int numbers, int* count) {
  const int side = side_of_face(numbers);
  *count = 1;
  return part_of_cube(side, side, side, 1);
}
static MPI_Datatype rows(int numbers, int* count) {
  const int side = side_of_face(numbers);
  *count = 1;
  return part_of_cube(side, side, 1, side);
}
static MPI_Datatype inside(int numbers, int* count) {
  const int side = (int)cbrt(numbers);
  *count = 1;
  return part_of_cube(2 * side, side, side, side);
}
/* A row of a grid with five numbers at each place, along the slower index. */
static MPI_Datatype fives(int numbers, int* count) {
  MPI_Datatype type;
  MPI_Type_vector(numbers / 5, 5, 5 * 64, MPI_DOUBLE, &type);
  *count = 1;
  return type;
}
/* A matrix that is transposed on its way: column after column. */
static MPI_Datatype columns(int numbers, int* count) {
  const int side = side_of_face(numbers);
  MPI_Datatype column, type;
  MPI_Type_vector(side, 1, side, MPI_DOUBLE, &column);
  MPI_Type_create_resized(column, 0, kNumber, &type);
  MPI_Type_free(&column);
  *count = side;
  return type;
}
static MPI_Datatype structures(int numbers, int* count) {
  typedef struct {
    int kind;
    double place[3];
    char flag;
  } Particle;
  const int lengths[] = {1, 3, 1};
  const MPI_Aint displacements[] = {offsetof(Particle, kind), offsetof(Particle, place), offsetof(Particle, flag)};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype all, type;
  MPI_Type_create_struct(3, lengths, displacements, types, &all);
  MPI_Type_create_resized(all, 0, sizeof(Particle), &type);
  MPI_Type_free(&all);
  *count = numbers * kNumber / 29; /* an int, three doubles, a char */
  return type;
}
/* Places that one picks out of a list, from 1 to 5 apart. */
static int* picked(int count) {
  int* places = allocate(sizeof(int) * (size_t)count);
  unsigned seed = 1;
  for (int i = 1; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    places[i] = places[i - 1] + 1 + (int)(seed >> 16) % 5;
  }
  return places;
}
static MPI_Datatype indexed(int blocks, MPI_Datatype of) {
  int* places = picked(blocks);
  MPI_Datatype type;
  MPI_Type_create_indexed_block(blocks, 1, places, of, &type);
  free(places);
  return type;
}
static MPI_Datatype singles(int numbers, int* count) {
  *count = 1;
  return indexed(numbers, MPI_DOUBLE);
}
static MPI_Datatype triples(int numbers, int* count) {
  MPI_Datatype triple;
  MPI_Type_contiguous(3, MPI_DOUBLE, &triple);
  const MPI_Datatype type = indexed(numbers / 3, triple);
  MPI_Type_free(&triple);
  *count = 1;
  return type;
}
/* The same places of an array of integers and of one of doubles. */
static MPI_Datatype two_arrays(int numbers, int* count) {
  const int blocks = numbers * kNumber / 12, lengths[] = {1, 1};
  MPI_Datatype parts[] = {indexed(blocks, MPI_INT), indexed(blocks, MPI_DOUBLE)}, type;
  const MPI_Aint displacements[] = {0, (MPI_Aint)blocks * 5 * kNumber};
  MPI_Type_create_struct(2, lengths, displacements, parts, &type);
  MPI_Type_free(&parts[0]);
  MPI_Type_free(&parts[1]);
  *count = 1;
  return type;
}

static const struct {
  const char* name;
  Make* make;
} shapes[] = {
    {"a face across the rows", across}, {"a face of rows", rows},          {"the inside of a cube", inside},
    {"five numbers at a time", fives},  {"columns of a matrix", columns},  {"structures", structures},
    {"single numbers", singles},        {"triples", triples},              {"two arrays", two_arrays},
};
enum { kShapes = sizeof shapes / sizeof *shapes };

/* ---- What is done with them ---- */

typedef struct {
  MPI_Datatype type;
  int count;
  int bytes; /* of data */
  char *out, *in, *packed;
} Data;

static void send_and_receive(void* context, int times) {
  const Data* data = context;
  const int peer = 1 - rank;
  for (int i = 0; i < times; ++i) {
    if (rank == 0) MPI_Send(data->out, data->count, data->type, peer, kDataTag, MPI_COMM_WORLD);
    MPI_Recv(data->in, data->count, data->type, peer, kDataTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(data->out, data->count, data->type, peer, kDataTag, MPI_COMM_WORLD);
  }
}
static void pack(void* context, int times) {
  const Data* data = context;
  for (int i = 0; i < times; ++i) {
    int position = 0;
    MPI_Pack(data->out, data->count, data->type, data->packed, data->bytes, &position, MPI_COMM_WORLD);
  }
}
static void unpack(void* context, int times) {
  const Data* data = context;
  for (int i = 0; i < times; ++i) {
    int position = 0;
    MPI_Unpack(data->packed, data->bytes, &position, data->in, data->count, data->type, MPI_COMM_WORLD);
  }
}

static const struct {
  const char* name;
  void (*run)(void*, int);
  double per_call; /* of the figure: so many in one run */
} uses[] = {{"one way", send_and_receive, 2}, {"MPI_Pack", pack, 1}, {"MPI_Unpack", unpack, 1}};
enum { kUses = sizeof uses / sizeof *uses };

static Data make_data(Make* make, size_t bytes, size_t* room) {
  Data data = {0};
  data.type = make((int)(bytes / kNumber), &data.count);
  MPI_Type_commit(&data.type);
  int element;
  MPI_Type_size(data.type, &element);
  data.bytes = element * data.count;
  MPI_Aint low, extent, end;
  MPI_Type_get_extent(data.type, &low, &extent);
  MPI_Type_get_true_extent(data.type, &low, &end);
  *room = (size_t)(low + end + extent * (data.count - 1));
  data.out = allocate(*room);
  data.in = allocate(*room);
  data.packed = allocate((size_t)data.bytes);
  fill(data.out, *room, 1);
  return data;
}

static void free_data(Data* data) {
  free(data->out);
  free(data->in);
  free(data->packed);
  MPI_Type_free(&data->type);
}

/* Aborts unless the data, and nothing else, are in the place of those that were received. */
static void check(const Data* data, size_t room) {
  char* expected = allocate(room);
  int position = 0;
  MPI_Pack(data->out, data->count, data->type, data->packed, data->bytes, &position, MPI_COMM_WORLD);
  position = 0;
  MPI_Unpack(data->packed, data->bytes, &position, expected, data->count, data->type, MPI_COMM_WORLD);
  if (memcmp(expected, data->in, room) != 0) {
    fprintf(stderr, "rank %d: %d bytes of a derived type arrived with other content, or elsewhere, than they were sent\n", rank, data->bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  free(expected);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 2);
  default_sizes(&sizes, "2K,32K,128K", "2K,32K");
  for (int s = 0; s < sizes.count; ++s)
    if (sizes.values[s] < kLeast) leave("derived_types: --sizes takes 40 bytes and more, because a shape has five numbers at a time\n", 2);
  Samples times = {0};
  for (int shape = 0; shape < kShapes; ++shape) {
    for (int s = 0; s < sizes.count; ++s) {
      size_t room;
      Data data = make_data(shapes[shape].make, sizes.values[s], &room);
      for (int use = 0; use < kUses; ++use) {
        memset(data.in, 0, room);
        measure_in(MPI_COMM_WORLD, uses[use].run, &data, 0.06, 50e-6, &times);
        if (uses[use].run != pack) check(&data, room);
        scale_samples(&times, 1e6 / uses[use].per_call);
        char series[64];
        snprintf(series, sizeof series, "%s, %s", shapes[shape].name, uses[use].name);
        report(&program, (Figure){series, "us", "lower", (double)sizes.values[s], "bytes of data", "B"}, &times);
      }
      free_data(&data);
    }
  }
  return MPI_Finalize();
}
