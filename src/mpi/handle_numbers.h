// Numbers for handles: what MPI_X_toint returns and MPI_X_fromint takes (MPI 5.0, chapter 20).
//
// A predefined handle is its own number. A user's handle, a pointer, gets one outside 0..4095 when first asked for and
// keeps it. The code that frees a handle may take its number out of use; where it does not, as for datatypes and requests, a later object at the same
// address has the same number, which then means the new object. Any thread may call.
#pragma once

#include "base/object.h"

namespace lapwing::mpi {

int number_of_handle(const void* handle);

// The handle with that number; null when there is none.
void* handle_of_number(int number);

// The object is about to go: its number, if it has one, names nothing from now on, until another handle is given it.
void forget_handle_number(const Object& object);

// For objects of which the program may have several handles, which are equal and have one number (groups, error handlers): it has been given one, or
// has freed one. With the last one the number goes, though the library may keep the object.
void count_handle(const Object& object);
void uncount_handle(const Object& object);

}  // namespace lapwing::mpi
