#include "wire/loss_found.h"

#include <algorithm>

#include "mpi.h"
#include "wire/pmi.h"

namespace lapwing::wire {

std::string LossFound::encode() const {
  return PmiMessage("lost").add("rank", rank).add("why", pmi_escape(std::string_view(why).substr(0, kMaxText))).encode();
}

// Whatever a terminal would take for a command becomes '?'.
Status LossFound::decode(std::string_view packet, LossFound& found) {
  if (packet.empty() || packet.back() != '\n') return Status::error(MPI_ERR_OTHER, "a loss that was found is told in one line");
  PmiMessage line;
  LAPWING_TRY(line.parse(packet.substr(0, packet.size() - 1)));
  int rank = 0;
  const std::string* why = line.find("why");
  if (line.command() != "lost" || !line.find("rank", rank) || rank < 0 || why == nullptr)
    return Status::error(MPI_ERR_OTHER, "this does not tell of a loss that was found");
  std::string text = pmi_unescape(*why);
  if (text.size() > kMaxText) return Status::error(MPI_ERR_OTHER, "the text of a loss that was found has more than %zu bytes", kMaxText);
  std::replace_if(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  found = {rank, std::move(text)};
  return {};
}

}  // namespace lapwing::wire
