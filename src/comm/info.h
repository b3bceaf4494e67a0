// Info objects: (key, value) texts in the order in which the keys were first set (MPI 5.0, chapter 10).
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/object.h"
#include "base/status.h"
#include "mpi.h"

namespace lapwing::comm {

class Info : public Object {
 public:
  Info() noexcept : Object(ObjectKind::kInfo) {}

  static Info* make() { return new Info; }
  static void drop(Info* info) noexcept;  // releases one reference

  // A new object with the same entries.
  Info* duplicate() const;

  // A key is taken as it is, blanks included. Fails with MPI_ERR_INFO_KEY or MPI_ERR_INFO_VALUE when empty or too long.
  Status set(std::string_view key, std::string_view value);
  // Fails with MPI_ERR_INFO_NOKEY.
  Status remove(std::string_view key);
  // False when there is no such key.
  bool get(std::string_view key, std::string& value) const;
  int size() const;
  // `n` counts from 0. Fails with MPI_ERR_ARG.
  Status nth_key(int n, std::string& key) const;
  // All entries at this moment.
  std::vector<std::pair<std::string, std::string>> entries() const;

  // Fails with MPI_ERR_INFO_KEY when empty or longer than the standard allows.
  static Status check_key(std::string_view key);

 private:
  ~Info() = default;
  std::size_t index_of(std::string_view key) const noexcept;

  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, std::string>> entries_;
};

}  // namespace lapwing::comm
