/* What the test programs share: CHECK prints where and what failed and ends the job with an error. */
#ifndef LAPWING_TEST_CHECK_H
#define LAPWING_TEST_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      int check_rank_ = -1;                                                                                  \
      MPI_Comm_rank(MPI_COMM_WORLD, &check_rank_);                                                           \
      fprintf(stderr, "%s:%d: rank %d: failed: %s\n", __FILE__, __LINE__, check_rank_, #condition);          \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                                          \
    }                                                                                                        \
  } while (0)

/* The call must succeed. */
#define OK(call) CHECK((call) == MPI_SUCCESS)

/* The call must fail with this error class (the error handler must be MPI_ERRORS_RETURN). */
#define FAILS(call, wanted)                                                                                  \
  do {                                                                                                       \
    int check_code_ = (call), check_class_ = -1;                                                             \
    MPI_Error_class(check_code_, &check_class_);                                                             \
    if (check_class_ != (wanted)) {                                                                          \
      char check_text_[MPI_MAX_ERROR_STRING];                                                                \
      int check_length_;                                                                                     \
      MPI_Error_string(check_code_, check_text_, &check_length_);                                            \
      fprintf(stderr, "%s:%d: %s gave class %d (%s), not %s\n", __FILE__, __LINE__, #call, check_class_,     \
              check_text_, #wanted);                                                                         \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                                          \
    }                                                                                                        \
  } while (0)

/* The byte at `position` of the message that `seed` names: cheap, and different for neighbours. */
static inline unsigned char pattern(size_t position, unsigned seed) {
  return (unsigned char)((position * 2654435761u + seed * 40503u) >> 8);
}
static inline void fill_pattern(void* buffer, size_t bytes, unsigned seed) {
  unsigned char* p = (unsigned char*)buffer;
  for (size_t i = 0; i < bytes; ++i) p[i] = pattern(i, seed);
}
static inline int is_pattern(const void* buffer, size_t bytes, unsigned seed) {
  const unsigned char* p = (const unsigned char*)buffer;
  for (size_t i = 0; i < bytes; ++i)
    if (p[i] != pattern(i, seed)) return 0;
  return 1;
}

#endif
