#include "mpiexec/error_tally.h"

#include <string_view>
#include <utility>

#include "mpi.h"

namespace lapwing::launch {
namespace {

std::string_view without_first_line(std::string_view block) {
  const std::size_t end = block.find('\n');
  return end == std::string_view::npos ? block : block.substr(end + 1);
}

}  // namespace

void ErrorTally::add(int rank, RankError error) {
  errors_.try_emplace(rank, std::move(error));
}

void ErrorTally::add_finding(int finder, int lost, std::string why) {
  findings_.try_emplace(lost, Finding{finder, std::move(why)});
}

std::string ErrorTally::text_of(int rank) const {
  const RankError& error = errors_.at(rank);
  const auto found = findings_.find(error.blamed_rank);
  if (!error.heard || found == findings_.end()) return error.block;
  return error.block + "  rank " + std::to_string(found->second.finder) + " found it: " + found->second.why + "\n";
}

int ErrorTally::cause_of(int rank) const {
  std::set<int> passed{rank};
  for (auto next = errors_.find(errors_.at(rank).blamed_rank); next != errors_.end();
       next = errors_.find(next->second.blamed_rank)) {
    rank = next->first;
    if (!passed.insert(rank).second) return finder(rank, passed);
  }
  return finder(rank, {rank});
}

int ErrorTally::finder(int rank, const std::set<int>& circle) const {
  if (!errors_.at(rank).heard) return rank;
  for (const auto& [other, error] : errors_) {
    const bool alike = error.blamed_rank == errors_.at(rank).blamed_rank || circle.count(other) != 0;
    if (alike && !error.heard) return other;
  }
  return rank;
}

std::string ErrorTally::others() const {
  int same = 0, losses = 0, own = 0;
  for (const auto& [rank, error] : errors_) {
    if (rank == shown_) continue;
    if (shown_ >= 0 && without_first_line(error.block) == without_first_line(errors_.at(shown_).block)) {
      ++same;
    } else if (error.code == MPI_ERR_PROC_ABORTED || error.blamed_rank >= 0) {
      losses += shown_ >= 0 ? 1 : 0;
    } else {
      ++own;
    }
  }
  std::string text;
  const auto append = [&text](int count, const char* one, const char* several) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + (count == 1 ? one : several);
  };
  append(same, " other rank ended with the same error", " other ranks ended with the same error");
  append(losses, " other rank ended because of a rank that is lost to it", " other ranks ended because of ranks that are lost to them");
  append(own, " other rank ended with an error of its own", " other ranks ended with errors of their own");
  if (losses + own > 0) text += "; LAPWING_LOG=info shows each";
  return text;
}

}  // namespace lapwing::launch
