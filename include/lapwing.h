/* What Lapwing knows and the MPI standard has no words for. Include after mpi.h; link as usual. Programs that must also run on
   other MPI libraries look the function up with dlsym, or test the macro LAPWING when they are compiled. */
#ifndef LAPWING_H
#define LAPWING_H

#include <stdint.h>

#define LAPWING 1

#ifdef __cplusplus
extern "C" {
#endif

/* Counted since MPI_Init, in this process. Bytes are payload of messages between different ranks. */
typedef struct LAPWING_Progress {
  uint64_t bytes_moved;      /* sent and received */
  uint64_t bytes_overlapped; /* of these: moved by the event thread, while the application was outside MPI */
  uint64_t waits_spun;       /* blocking calls that ended while polling */
  uint64_t waits_slept;      /* times a blocking call went to sleep */
  uint64_t event_thread_wakeups;
} LAPWING_Progress;

/* MPI_SUCCESS, or MPI_ERR_OTHER outside MPI_Init .. MPI_Finalize. */
int LAPWING_Get_progress(LAPWING_Progress* progress);

#ifdef __cplusplus
}
#endif

#endif
