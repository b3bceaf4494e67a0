// Attributes: values that a program keeps with a communicator, a datatype or a window under a key (MPI 5.0,
// section 7.7).
//
// A Keyval is shared: attributes that use it keep it, its number and its callbacks, alive after it was freed. An
// AttributeSet belongs to one object. Callbacks run on the calling application thread without any lock of Lapwing, so
// they may call MPI, this very set included; one callback runs for each copy and each deletion, exactly once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "mpi.h"

namespace lapwing::comm {

// `Handle` is MPI_Comm, MPI_Datatype or MPI_Win.
template <typename Handle>
struct Keyval {
  using CopyFunction = int(Handle, int, void*, void*, void*, int*);
  using DeleteFunction = int(Handle, int, void*, void*);

  int number = MPI_KEYVAL_INVALID;
  CopyFunction* copy = nullptr;  // may be a sentinel, see is_null and is_dup
  DeleteFunction* remove = nullptr;
  void* extra_state = nullptr;

  // The standard's predefined callbacks are the numbers 0 and 1, which must not be called.
  bool copies_nothing() const noexcept { return copy == nullptr; }
  bool copies_value() const noexcept { return reinterpret_cast<std::uintptr_t>(copy) == 1; }
};

// The keyvals of one kind of object. Numbers are never reused.
template <typename Handle>
class KeyvalTable {
 public:
  // Numbers start behind `base`, which tells the kinds apart.
  explicit KeyvalTable(int base) noexcept : next_(base) {}

  int create(typename Keyval<Handle>::CopyFunction* copy, typename Keyval<Handle>::DeleteFunction* remove,
             void* extra_state);
  // False when there is no such keyval. One that was freed and is in use still may be freed again, as by a delete callback that frees its keyval.
  bool free(int number);
  // Null when there is no such keyval: never made, or freed and no longer in use by any attribute.
  std::shared_ptr<const Keyval<Handle>> find(int number) const;

 private:
  void keep_while_in_use(int number, std::weak_ptr<const Keyval<Handle>> keyval);

  mutable std::mutex mutex_;
  int next_;
  std::unordered_map<int, std::shared_ptr<const Keyval<Handle>>> keyvals_;
  std::unordered_map<int, std::weak_ptr<const Keyval<Handle>>> freed_;  // in use when they were freed
  std::size_t sweep_at_ = 16;  // entries of freed_ at which those that are no longer in use go
};

template <typename Handle>
class AttributeSet {
 public:
  // True, and `value` set, when there is an attribute under that key.
  bool get(int number, void** value) const;
  // Replaces an attribute; the old value's delete callback runs first and may refuse. Of several threads that set or remove at the same time, each value's
  // callback runs on one. `owner` is what callbacks are
  // told.
  Status set(Handle owner, std::shared_ptr<const Keyval<Handle>> keyval, void* value);
  // Error MPI_ERR_KEYVAL when there is none; when the callback refuses, the attribute stays.
  Status remove(Handle owner, int number);
  // Copies in the order of setting. When a callback refuses, `target` keeps what was copied so far.
  Status copy_to(Handle owner, AttributeSet& target) const;
  // Removes all, the last one set first. Stops at the first callback that refuses; that attribute stays.
  Status clear(Handle owner);
  std::size_t size() const;

 private:
  struct Entry {
    std::shared_ptr<const Keyval<Handle>> keyval;
    void* value;
    bool going = false;  // a thread is in its delete callback: may be read until that has ended, but not be deleted again
  };
  using Keys = std::shared_ptr<const Keyval<Handle>>;
  Status call_delete(Handle owner, const Entry& entry) const;
  std::size_t index_of(int number) const noexcept;  // entries_.size() when absent or going
  bool add_where_none_is(const Keys& keyval, void* value);
  // `found`: whether there was one.
  Status remove(Handle owner, int number, bool& found);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

extern template class KeyvalTable<MPI_Comm>;
extern template class KeyvalTable<MPI_Datatype>;
extern template class KeyvalTable<MPI_Win>;
extern template class AttributeSet<MPI_Comm>;
extern template class AttributeSet<MPI_Datatype>;
extern template class AttributeSet<MPI_Win>;

}  // namespace lapwing::comm
