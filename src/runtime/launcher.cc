#include "runtime/launcher.h"

#include <utility>
#include <vector>

#include "base/log.h"
#include "runtime/pmi1_launcher.h"

namespace lapwing::runtime {

Status Launcher::exchange(const Place& place, std::string_view key, const std::string& mine, bool read,
                          wire::CardBook& all) {
  const std::string prefix(key);
  LAPWING_TRY(put(prefix + std::to_string(place.rank), mine));
  LAPWING_TRY(fence());
  if (!read) return {};
  std::vector<std::string> texts(static_cast<std::size_t>(place.size));
  for (std::size_t rank = 0; rank < texts.size(); ++rank) LAPWING_TRY(get(prefix + std::to_string(rank), texts[rank]));
  all = wire::CardBook(std::move(texts));
  return {};
}

Status Singleton::put(std::string_view key, std::string_view value) {
  values_.insert_or_assign(std::string(key), std::string(value));
  return {};
}

Status Singleton::get(std::string_view key, std::string& value) {
  const auto found = values_.find(key);
  if (found == values_.end())
    return Status::error(MPI_ERR_INTERN, "this job of one rank has not put '%s'", std::string(key).c_str());
  value = found->second;
  return {};
}

Status open_launcher(const FoundLauncher& found, std::unique_ptr<Launcher>& launcher) {
  switch (found.kind) {
    case FoundLauncher::Kind::kForeign:
      return Status::error(MPI_ERR_OTHER, "%s", found.text.c_str());
    case FoundLauncher::Kind::kOfAnother:
      log_warn("%s", found.text.c_str());
      break;
    case FoundLauncher::Kind::kDescriptor:
    case FoundLauncher::Kind::kPort:
      launcher = std::make_unique<Pmi1Launcher>(
          found.kind == FoundLauncher::Kind::kPort ? Pmi1Launcher::Way::kPort : Pmi1Launcher::Way::kDescriptor);
      return {};
    case FoundLauncher::Kind::kNone:
      break;
  }
  launcher = std::make_unique<Singleton>();
  return {};
}

}  // namespace lapwing::runtime
