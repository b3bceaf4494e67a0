#include "runtime/pmi1_launcher.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "runtime/host_identity.h"

namespace lapwing::runtime {
namespace {

constexpr int kCoresOfItsOwn = 1;  // in LAPWING_INTERNAL_BOUND; 2: bound to cores that it shares with other ranks
constexpr useconds_t kTimeToBeRead = 100'000;  // microseconds

int number_from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : 0;
}

// mpiexec starts all ranks on its own host, but the program may be a script that takes its rank into a container.
bool in_network_of_launcher() {
  const char* network = std::getenv("LAPWING_INTERNAL_NETWORK");
  return network != nullptr && network == network_namespace();
}

// What our mpiexec says beside PMI.
void read_variables(Place& place) {
  if (place.size > 1 && in_network_of_launcher()) place.local_size = number_from_environment("LAPWING_INTERNAL_LOCAL_SIZE");
  place.bound = number_from_environment("LAPWING_INTERNAL_BOUND") == kCoresOfItsOwn;
  place.cores = number_from_environment("LAPWING_INTERNAL_CORES");
}

// The texts as one table that all ranks map.
Status map_table(int table, int size, wire::CardBook& all) {
  Status mapped = wire::CardBook::map(table, static_cast<std::uint32_t>(size), all);
  ::close(table);
  return mapped;
}

}  // namespace

Status Pmi1Launcher::join(Place& place) {
  LAPWING_TRY(way_ == Way::kPort ? client_.connect_to_port() : client_.connect_to_descriptor());
  place.rank = client_.rank();
  place.size = client_.size();
  place.appnum = client_.appnum();
  place.universe_size = client_.universe_size();
  place.local_size = place.size == 1 ? 1 : 0;
  if (client_.served_by_mpiexec()) read_variables(place);
  place.oversubscribed = client_.oversubscribed();
  place.started_by = client_.offers_extensions() ? "Lapwing's mpiexec" : "a launcher that speaks PMI-1";
  place.secret = client_.secret();
  return {};
}

// A job of one rank need not ask.
Status Pmi1Launcher::fence() {
  return client_.size() > 1 ? client_.fence() : Status();
}

Status Pmi1Launcher::exchange(const Place& place, std::string_view key, const std::string& mine, bool read,
                              wire::CardBook& all) {
  if (place.size == 1) {
    all = wire::CardBook(std::vector<std::string>{mine});
    return {};
  }
  int table = -1;
  if (client_.offers_table()) {
    LAPWING_TRY(client_.exchange(key, mine, table));
  } else {
    LAPWING_TRY(client_.put(std::string(key) + std::to_string(place.rank), mine));
    LAPWING_TRY(client_.fence());
  }
  client_.have_met();
  if (table >= 0) return map_table(table, place.size, all);
  if (!read) return {};
  std::vector<std::string> texts;
  LAPWING_TRY(client_.get_all(key, place.size, texts));
  all = wire::CardBook(std::move(texts));
  return {};
}

bool Pmi1Launcher::abort(const LastWords& words) noexcept {
  // Other launchers end the job at once and forget what they have not yet read of our output: the reason above all.
  if (!client_.offers_extensions()) ::usleep(kTimeToBeRead);
  if (words.error && client_.shows_errors() && client_.abort_by_error(words.code, words.block, words.blame.rank, words.blame.heard)) return true;
  const bool told = client_.abort(words.code, words.reason);
  return told && !words.error;
}

}  // namespace lapwing::runtime
