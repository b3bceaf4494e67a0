#include "comm/info.h"

#include <algorithm>

namespace lapwing::comm {

namespace {

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

void Info::drop(Info* info) noexcept {
  if (info != nullptr && info->release()) delete info;
}

Info* Info::duplicate() const {
  Info* copy = make();
  copy->entries_ = entries();
  return copy;
}

Status Info::check_key(std::string_view key) {
  const std::string_view bare = trimmed(key);
  if (bare.empty()) return Status::error(MPI_ERR_INFO_KEY, "an info key must not be empty");
  if (bare.size() >= MPI_MAX_INFO_KEY) {
    return Status::error(MPI_ERR_INFO_KEY, "the info key has %zu characters; at most %d are allowed", bare.size(),
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
    entries_.emplace_back(trimmed(key), value);
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
  const std::string_view bare = trimmed(key);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.first == bare; });
  return static_cast<std::size_t>(found - entries_.begin());
}

}  // namespace lapwing::comm
