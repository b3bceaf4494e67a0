#include "runtime/job.h"

#include <sodium.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/exit_code.h"
#include "base/flush_streams.h"
#include "runtime/host_identity.h"
#include "runtime/launcher_search.h"
#include "runtime/process_table.h"
#include "wire/machine.h"

namespace lapwing::runtime {
namespace {

constexpr std::size_t kSecretBytes = 32;

void write_whole(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

Status Job::join(char** environment, bool alone) {
  const FoundLauncher found = alone ? FoundLauncher() : find_launcher(environment);
  std::unique_ptr<Launcher> launcher;
  LAPWING_TRY(open_launcher(found, launcher));
  Status joined = join(std::move(launcher));
  // The launcher was still about to close the connection when this process looked.
  if (joined.ok() || !launcher_->closed_unheard()) return joined;
  LAPWING_TRY(open_launcher(served_another(environment), launcher));
  return join(std::move(launcher));
}

Status Job::join(std::unique_ptr<Launcher> launcher) {
  launcher_ = std::move(launcher);
  host_name_ = runtime::host_name();
  host_identity_ = runtime::host_identity();
  if (sodium_init() < 0)
    return Status::error(MPI_ERR_INTERN, "libsodium cannot start: no source of randomness on this system");
  LAPWING_TRY(launcher_->join(place_));
  emulate_hosts();
  constexpr int kMostRanks = ProcessTable::kMostRanks;
  if (size() > kMostRanks)
    return Status::error(MPI_ERR_OTHER,
                         "the job has %d ranks, and this version of Lapwing takes at most %d: start fewer", size(),
                         kMostRanks);
  LAPWING_TRY(share_secret());
  draw();
  return {};
}

// What the launcher knows of its one machine would give the hosts away that this one plays.
void Job::emulate_hosts() {
  const std::string host = emulated_host(rank());
  if (host.empty()) return;
  host_identity_ += wire::kEmulatedHost + host;
  emulated_ = true;
}

// From the secret, of which it gives nothing away.
void Job::draw() noexcept {
  if (secret().empty()) return randombytes_buf(&drawn_, sizeof drawn_);
  constexpr unsigned char kPurpose[] = "number of the job";
  unsigned char hash[crypto_generichash_BYTES_MIN];
  static_assert(sizeof kPurpose >= crypto_generichash_KEYBYTES_MIN && sizeof hash >= sizeof drawn_);
  crypto_generichash(hash, sizeof hash, reinterpret_cast<const unsigned char*>(secret().data()), secret().size(),
                     kPurpose, sizeof kPurpose);
  std::memcpy(&drawn_, hash, sizeof drawn_);
}

// A launcher of ours makes the secret; elsewhere rank 0 does, and the others read it from the launcher.
Status Job::share_secret() {
  if (size() == 1 || place_.secret.size() == kSecretBytes) return {};
  std::string bytes(kSecretBytes, '\0');
  if (rank() == 0) {
    randombytes_buf(bytes.data(), bytes.size());
    LAPWING_TRY(launcher_->put("lapwing-secret", bytes));
  }
  LAPWING_TRY(launcher_->fence());
  if (rank() != 0) LAPWING_TRY(launcher_->get("lapwing-secret", bytes));
  if (bytes.size() != kSecretBytes)
    return Status::error(
        MPI_ERR_OTHER,
        "rank %d: rank 0's job secret arrived with %zu bytes instead of %zu; do all ranks run the same Lapwing?",
        rank(), bytes.size(), kSecretBytes);
  place_.secret = std::move(bytes);
  return {};
}

Status Job::exchange(const wire::Card& mine, wire::CardBook& cards) {
  return launcher_->exchange(place_, "lapwing-card-", mine.encode(), true, cards);
}

Status Job::fence_and_tell(const std::string& mine, wire::CardBook& all) {
  return launcher_->exchange(place_, "lapwing-statistics-", mine, rank() == 0, all);
}

Status Job::fence() {
  return launcher_->fence();
}

Status Job::leave() {
  const std::unique_ptr<Launcher> launcher = std::move(launcher_);
  return launcher != nullptr ? launcher->leave() : Status();
}

void Job::abort(const LastWords& words) noexcept {
  static std::atomic<bool> ending{false};
  while (ending.exchange(true)) ::pause();  // another thread ends the process at this moment: its words count
  flush_streams();  // what the program has written stands before the block
  const bool shown = launcher_shows_last_words();
  if (!shown) write_whole(STDERR_FILENO, words.block);
  const bool told = launcher_ != nullptr && launcher_->abort(words);
  if (shown && !told) write_whole(STDERR_FILENO, words.block);
  _exit(exit_code_of(words.code));
}

int Job::cores() const noexcept { return place_.cores > 0 ? place_.cores : usable_cores(); }

int Job::ranks_per_core(int local_ranks) const noexcept {
  if (place_.bound || local_ranks <= usable_cores()) return 1;
  return std::max((local_ranks + cores() - 1) / cores(), 2);
}

}  // namespace lapwing::runtime
