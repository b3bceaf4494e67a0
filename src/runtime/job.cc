#include "runtime/job.h"

#include <sodium.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/log.h"
#include "runtime/host_identity.h"
#include "runtime/launcher.h"

namespace lapwing::runtime {
namespace {

constexpr std::size_t kSecretBytes = 32;
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

}  // namespace

Status Job::join(char** environment, bool alone) {
  host_name_ = runtime::host_name();
  host_identity_ = runtime::host_identity();
  if (sodium_init() < 0)
    return Status::error(MPI_ERR_INTERN, "libsodium cannot start: no source of randomness on this system");
  const Launcher launcher = alone ? Launcher() : find_launcher(environment);
  if (launcher.kind == Launcher::Kind::kForeign) return Status::error(MPI_ERR_OTHER, "%s", launcher.text.c_str());
  if (launcher.kind == Launcher::Kind::kOfAnother) log_warn("%s", launcher.text.c_str());
  if (launcher.kind != Launcher::Kind::kDescriptor && launcher.kind != Launcher::Kind::kPort) {
    local_size_ = 1;
    return {};
  }
  launched_ = true;
  LAPWING_TRY(pmi_.connect());
  rank_ = pmi_.rank();
  size_ = pmi_.size();
  local_size_ = size_ == 1 ? 1 : in_network_of_launcher() ? number_from_environment("LAPWING_INTERNAL_LOCAL_SIZE") : 0;
  bound_ = number_from_environment("LAPWING_INTERNAL_BOUND") != 0;
  return share_secret();
}

// Our own mpiexec makes the secret; elsewhere rank 0 does, and the others read it from the launcher's key-value space.
Status Job::share_secret() {
  if (size_ == 1) return {};
  if (pmi_.secret().size() == kSecretBytes) {
    secret_ = pmi_.secret();
    return {};
  }
  std::string bytes(kSecretBytes, '\0');
  if (rank_ == 0) {
    randombytes_buf(bytes.data(), bytes.size());
    LAPWING_TRY(pmi_.put("lapwing-secret", bytes));
  }
  LAPWING_TRY(pmi_.fence());
  if (rank_ != 0) LAPWING_TRY(pmi_.get("lapwing-secret", bytes));
  if (bytes.size() != kSecretBytes)
    return Status::error(
        MPI_ERR_OTHER,
        "rank %d: rank 0's job secret arrived with %zu bytes instead of %zu; do all ranks run the same Lapwing?", rank_,
        bytes.size(), kSecretBytes);
  secret_ = std::move(bytes);
  return {};
}

Status Job::exchange(const wire::Card& mine, wire::CardBook& cards) {
  return share("lapwing-card-", mine.encode(), true, cards);
}

Status Job::fence_and_tell(const std::string& mine, wire::CardBook& all) {
  return share("lapwing-statistics-", mine, rank_ == 0, all);
}

Status Job::share(const char* key, const std::string& mine, bool read, wire::CardBook& all) {
  if (size_ == 1) {
    all = wire::CardBook(std::vector<std::string>{mine});
    return {};
  }
  int table = -1;
  if (pmi_.offers_table()) {
    LAPWING_TRY(pmi_.exchange(key, mine, table));
  } else {
    LAPWING_TRY(pmi_.put(key + std::to_string(rank_), mine));
    LAPWING_TRY(pmi_.fence());
  }
  if (table >= 0) {
    Status mapped = wire::CardBook::map(table, static_cast<std::uint32_t>(size_), all);
    ::close(table);
    return mapped;
  }
  if (!read) return {};
  std::vector<std::string> texts;
  LAPWING_TRY(pmi_.get_all(key, size_, texts));
  all = wire::CardBook(std::move(texts));
  return {};
}

Status Job::fence() {
  return size_ > 1 ? pmi_.fence() : Status();
}

Status Job::leave() {
  if (!launched_) return {};
  launched_ = false;
  return pmi_.finalize();
}

void Job::abort(int code, const char* text) noexcept {
  std::fflush(nullptr);
  // Other launchers end the job at once and forget what they have not yet read of our output: the reason above all.
  if (launched_ && !pmi_.offers_extensions()) ::usleep(kTimeToBeRead);
  if (launched_) pmi_.abort(code, text);
  _exit(code);
}

bool Job::oversubscribed(int local_ranks) const noexcept {
  if (bound_) return false;
  return local_ranks > usable_cores();
}

}  // namespace lapwing::runtime
