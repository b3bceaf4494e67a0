// What the files of the tools' interface share (MPI 5.0, chapter 15).
//
//   tools.cc               its start and end, categories, enumerations (there are none)
//   tools_control.cc       control variables: the settings
//   tools_performance.cc   performance variables: the statistics
//
// The functions return codes and never call an error handler. Any thread may call them at any time. There are no events yet.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace lapwing::mpi {

// Fails before MPI_T_init_thread, and after the last MPI_T_finalize.
Status check_tools_running();
Status check_tool_index(const char* what, int index, std::size_t count);

// A result that the caller may not want.
template <typename T>
void give(const T& value, T* to) noexcept {
  if (to != nullptr) *to = value;
}
// A string (section 15.3.3): what fits of it, with an end, in `*length` bytes; and then its own length, the end included.
void give_text(std::string_view text, char* buffer, int* length) noexcept;

// Objects that tools hold by handles of this type, which is a pointer. What is not one of them is found to be none.
template <typename Handle, typename Object>
class ToolObjects {
 public:
  Handle add(Object object) {
    auto owned = std::make_unique<Object>(std::move(object));
    const auto handle = reinterpret_cast<Handle>(owned.get());
    objects_.emplace(handle, std::move(owned));
    return handle;
  }
  // Null: there is none.
  Object* find(Handle handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second.get();
  }
  void remove(Handle handle) { objects_.erase(handle); }
  template <typename Condition>
  void remove_if(Condition condition) {
    std::erase_if(objects_, [&](const auto& entry) { return condition(*entry.second); });
  }
  void clear() { objects_.clear(); }

 private:
  std::map<Handle, std::unique_ptr<Object>> objects_;
};

// The last MPI_T_finalize: the handles are no more.
void forget_control_handles();
void forget_performance_handles();

}  // namespace lapwing::mpi
