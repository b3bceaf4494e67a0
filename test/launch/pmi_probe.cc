// A program that speaks PMI-1 as MPI_Init would, for the tests of mpiexec and of the client under foreign launchers.
//
//   pmi_probe exchange            put, fence, get everything twice over, finalize
//   pmi_probe exit RANK CODE      after a fence RANK exits without finalize; the others wait for ever
//   pmi_probe signal RANK NUMBER  the same, RANK ends by a signal
//   pmi_probe abort RANK CODE     the same, RANK asks the launcher to end the job
//   pmi_probe late RANK CODE      all finalize, then RANK exits with CODE
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/pmi_client.h"

namespace {

using lapwing::Status;
using lapwing::runtime::PmiClient;

void require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "pmi_probe: %s\n", status.text());
  std::exit(99);
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "pmi_probe: wrong: %s\n", what);
  std::exit(98);
}

// Lengths from empty to far beyond what one key takes.
std::string card(int rank, int round) {
  const std::size_t length = rank % 3 == 0 ? 20 : rank % 3 == 1 ? 900 : 5000;
  std::string text = "r" + std::to_string(round) + "/" + std::to_string(rank) + ":";
  while (text.size() < length) text += static_cast<char>((text.size() * 7 + static_cast<std::size_t>(rank)) % 256);
  return text;
}

void exchange(PmiClient& client) {
  for (int round = 0; round < 2; ++round) {
    const std::string prefix = "card" + std::to_string(round) + "-";
    require(client.put(prefix + std::to_string(client.rank()), card(client.rank(), round)));
    require(client.fence());
    std::vector<std::string> cards;
    require(client.get_all(prefix, client.size(), cards));
    for (int rank = 0; rank < client.size(); ++rank) {
      require(cards[static_cast<std::size_t>(rank)] == card(rank, round), "a value from get_all");
      std::string one;
      require(client.get(prefix + std::to_string(rank), one));
      require(one == card(rank, round), "a value from get");
    }
    std::string nothing;
    require(!client.get("no-such-key", nothing).ok(), "a missing key must be an error");
  }
  std::string mapping;
  require(client.get("PMI_process_mapping", mapping));
  std::printf("rank %d of %d app %d mapping %s\n", client.rank(), client.size(), client.appnum(), mapping.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string action = argc > 1 ? argv[1] : "exchange";
  const int chosen = argc > 2 ? std::atoi(argv[2]) : 0;
  const int number = argc > 3 ? std::atoi(argv[3]) : 0;

  PmiClient client;
  require(client.connect_to_descriptor());
  if (action == "exchange") exchange(client);
  require(client.fence());
  if (action == "exit" || action == "signal" || action == "abort") {
    if (client.rank() == chosen) {
      if (action == "exit") std::_Exit(number);
      if (action == "signal") ::raise(number);
      if (action == "abort") client.abort(number, "the probe was asked to");
    }
    while (true) ::pause();
  }
  require(client.finalize());
  return action == "late" && client.rank() == chosen ? number : 0;
}
