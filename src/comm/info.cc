#include "comm/info.h"

#include <algorithm>

namespace lapwing::comm {

void Info::drop(Info* info) noexcept {
  if (info != nullptr && info->release()) delete info;
}

Info* Info::duplicate() const {
  Info* copy = make();
  copy->entries_ = entries();
  return copy;
}

Status Info::check_key(std::string_view key) {
  if (key.empty()) return Status::error(MPI_ERR_INFO_KEY, "an info key must not be empty");
  if (key.size() >= MPI_MAX_INFO_KEY) {
    return Status::error(MPI_ERR_INFO_KEY, "the info key has %zu characters; at most %d are allowed", key.size(),
                         MPI_MAX_INFO_KEY - 1);
  }
  return {};
}

Status Info::set(std::string_view key, std::string_view value) {
  LAPWING_TRY(check_key(key));
  if (value.size() >= MPI_MAX_INFO_VAL) {
    return Status::error(MPI_ERR_INFO_VALUE, "the value for info key '%s' has %zu characters; at most %d are allowed",
                         std::string(key).c_str(), value.size(), MPI_MAX_INFO_VAL - 1);
  }
  const std::lock_guard guard(mutex_);
  const std::size_t index = index_of(key);
  if (index < entries_.size()) {
    entries_[index].second = value;
  } else {
    entries_.emplace_back(key, value);
  }
  return {};
}

Status Info::remove(std::string_view key) {
  LAPWING_TRY(check_key(key));
  const std::lock_guard guard(mutex_);
  const std::size_t index = index_of(key);
  if (index == entries_.size()) {
    return Status::error(MPI_ERR_INFO_NOKEY, "the info object has no key '%s'", std::string(key).c_str());
  }
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(index));
  return {};
}

bool Info::get(std::string_view key, std::string& value) const {
  const std::lock_guard guard(mutex_);
  const std::size_t index = index_of(key);
  if (index == entries_.size()) return false;
  value = entries_[index].second;
  return true;
}

int Info::size() const {
  const std::lock_guard guard(mutex_);
  return static_cast<int>(entries_.size());
}

Status Info::nth_key(int n, std::string& key) const {
  const std::lock_guard guard(mutex_);
  if (n < 0 || static_cast<std::size_t>(n) >= entries_.size()) {
    return Status::error(MPI_ERR_ARG, "the info object has no key number %d; it has %zu keys", n, entries_.size());
  }
  key = entries_[static_cast<std::size_t>(n)].first;
  return {};
}

std::vector<std::pair<std::string, std::string>> Info::entries() const {
  const std::lock_guard guard(mutex_);
  return entries_;
}

std::size_t Info::index_of(std::string_view key) const noexcept {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.first == key; });
  return static_cast<std::size_t>(found - entries_.begin());
}

}  // namespace lapwing::comm
