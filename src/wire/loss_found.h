// What a rank tells its launcher when it has found by itself that another rank is lost: one packet, a line of the form that PMI-1 has (wire/pmi.h):
//
//   lost rank= why=
//
// On the socket of the questions about a hang (hang_report.h), told from the answers by its command. The launcher checks and bounds what it takes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace lapwing::wire {

struct LossFound {
  static constexpr std::size_t kMaxText = 4096;  // bytes of `why`

  int rank = 0;     // in MPI_COMM_WORLD
  std::string why;  // for a person: in one line

  // What is too long is cut off.
  std::string encode() const;
  // On an error `found` is as it was.
  static Status decode(std::string_view packet, LossFound& found);
};

}  // namespace lapwing::wire
