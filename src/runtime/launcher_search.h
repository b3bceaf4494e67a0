// Which launcher started this process, and whether a word can be had with it: judged by the environment, by the descriptor
// that it names and by this process's ancestors, before a byte is written.
//
// Variables are inherited by everything that a rank starts, and the launcher's connection by everything that its shell starts. So
// neither says that this process is a rank. Three cases are told apart:
//
//   a rank           the connection is open, its other end is there, and no living process speaks on it. That is so for the
//                    second program of `mpiexec -n 2 sh -c './a; ./b'` too: the b's are the ranks of a second job
//   a rank's child   the connection is closed here, or in use by another process: a job of its own, with a word
//   a stray          a launcher started several processes, and this one has no way to speak to it, or it has closed the
//                    connection: an error, because each of them would silently be a job of its own
//
// A process marks the connection that it speaks on as its own (fcntl F_SETOWN, which belongs to the open file, not to the
// descriptor): every holder of a duplicate sees the mark, and it ends with the process.
#pragma once

#include <string>

namespace lapwing::runtime {

struct FoundLauncher {
  enum class Kind {
    kNone,        // nothing speaks of a launcher
    kDescriptor,  // PMI_FD is its connection
    kPort,        // PMI_PORT is where it listens
    kOfAnother,   // it started another process, whose variables this one inherited; `text` says which
    kForeign      // it started several processes and cannot be spoken to; `text` says what was seen and what to do
  };
  Kind kind = Kind::kNone;
  std::string text;
};

// `environment` as ::environ.
FoundLauncher find_launcher(char** environment);

// What a launcher is that serves one program per connection, when this process is not the first: a job of its own where it started one process, and an
// error where it started several.
FoundLauncher served_another(char** environment);

// Whether our mpiexec, which set the LAPWING_INTERNAL_ variables of this process, is at the other end of this connection, or of the one that PMI_FD
// names. Where a rank has started another launcher, the variables speak of another job.
bool served_by_mpiexec(int fd, char** environment) noexcept;
bool served_by_mpiexec(char** environment) noexcept;

// Marks an open connection as this process's own, and takes the mark away.
void claim_connection(int fd) noexcept;
void release_connection(int fd) noexcept;

}  // namespace lapwing::runtime
