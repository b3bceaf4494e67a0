// Numbers for handles: what MPI_X_toint returns and MPI_X_fromint takes (MPI 5.0, chapter 20).
//
// A predefined handle is its own number. A user's handle, a pointer, gets one outside 0..4095 when first asked for and
// keeps it: the pair stays for the life of the process, so an object that is later made at the same address has the
// same number, which then means the new object. That needs no word from those who free objects, and costs a pair per
// address. Any thread may call.
#pragma once

namespace lapwing::mpi {

int number_of_handle(const void* handle);

// The handle with that number; null when there is none.
void* handle_of_number(int number);

}  // namespace lapwing::mpi
