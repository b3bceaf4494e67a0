#include "runtime/job.h"

#include <sodium.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/host_identity.h"

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

Status Job::join(char** environment) {
  host_name_ = runtime::host_name();
  host_identity_ = runtime::host_identity();
  if (sodium_init() < 0)
    return Status::error(MPI_ERR_INTERN, "libsodium cannot start: no source of randomness on this system");
  if (!PmiClient::available(environment)) {
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

// Rank 0 makes the secret; the others read it from the launcher's key-value space.
Status Job::share_secret() {
  if (size_ == 1) return {};
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

Status Job::exchange(const wire::Card& mine, std::vector<wire::Card>& cards) {
  cards.assign(static_cast<std::size_t>(size_), {});
  if (size_ == 1) {
    cards[0] = mine;
    return {};
  }
  LAPWING_TRY(pmi_.put("lapwing-card-" + std::to_string(rank_), mine.encode()));
  LAPWING_TRY(pmi_.fence());
  std::vector<std::string> texts;
  LAPWING_TRY(pmi_.get_all("lapwing-card-", size_, texts));
  for (int rank = 0; rank < size_; ++rank) {
    if (Status status =
            wire::Card::decode(texts[static_cast<std::size_t>(rank)], cards[static_cast<std::size_t>(rank)]);
        !status.ok())
      return Status::error(MPI_ERR_OTHER, "rank %d: the card of rank %d is unreadable: %s", rank_, rank, status.text());
  }
  return {};
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
