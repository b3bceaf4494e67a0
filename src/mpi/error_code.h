// Error classes and codes: the standard's and the program's (MPI 5.0, sections 9.4 and 9.5). Any thread, at any time.
#pragma once

#include <string>

#include "base/status.h"

namespace lapwing::mpi {

// The last error that was raised on this thread: MPI_Error_string adds its text to the class's sentence.
void remember_error(int code, std::string text);

// "MPI_ERR_RANK: invalid rank"; a program's own text for its own codes. False when there is no such code.
bool sentence_of(int code, std::string& sentence);

// What MPI_LASTUSEDCODE points at.
int* last_used_code() noexcept;

}  // namespace lapwing::mpi
