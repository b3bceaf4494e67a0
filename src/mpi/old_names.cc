// The functions of earlier standards that mpi.h gives to programs as inlines, once more as functions of the library. Programs
// compiled with mpi.h never call these; they are for configure scripts that link against a name without including mpi.h.
#define LAPWING_OLD_NAME
#pragma GCC visibility push(default)
#include "mpi.h"
#pragma GCC visibility pop
