#include "comm/attributes.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lapwing::comm {

template <typename Handle>
int KeyvalTable<Handle>::create(typename Keyval<Handle>::CopyFunction* copy,
                                typename Keyval<Handle>::DeleteFunction* remove, void* extra_state) {
  const std::lock_guard guard(mutex_);
  const int number = ++next_;
  keyvals_.emplace(number, std::make_shared<const Keyval<Handle>>(Keyval<Handle>{number, copy, remove, extra_state}));
  return number;
}

template <typename Handle>
bool KeyvalTable<Handle>::free(int number) {
  const std::lock_guard guard(mutex_);
  const auto found = keyvals_.find(number);
  if (found == keyvals_.end()) {
    const auto freed = freed_.find(number);
    return freed != freed_.end() && !freed->second.expired();
  }
  const std::weak_ptr<const Keyval<Handle>> keyval = found->second;
  keyvals_.erase(found);
  if (!keyval.expired()) keep_while_in_use(number, keyval);
  return true;
}

// Sweeping when the table has doubled keeps it in proportion to what is in use, at a constant cost per keyval.
template <typename Handle>
void KeyvalTable<Handle>::keep_while_in_use(int number, std::weak_ptr<const Keyval<Handle>> keyval) {
  if (freed_.size() >= sweep_at_) {
    std::erase_if(freed_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = 2 * freed_.size() + 16;
  }
  freed_.emplace(number, std::move(keyval));
}

template <typename Handle>
std::shared_ptr<const Keyval<Handle>> KeyvalTable<Handle>::find(int number) const {
  const std::lock_guard guard(mutex_);
  if (const auto found = keyvals_.find(number); found != keyvals_.end()) return found->second;
  const auto freed = freed_.find(number);
  return freed == freed_.end() ? nullptr : freed->second.lock();
}

template <typename Handle>
std::size_t AttributeSet<Handle>::index_of(int number) const noexcept {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return !entry.going && entry.keyval->number == number; });
  return static_cast<std::size_t>(found - entries_.begin());
}

template <typename Handle>
bool AttributeSet<Handle>::get(int number, void** value) const {
  const std::lock_guard guard(mutex_);
  const auto last = std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& entry) { return entry.keyval->number == number; });
  if (last == entries_.rend()) return false;
  *value = last->value;
  return true;
}

template <typename Handle>
std::size_t AttributeSet<Handle>::size() const {
  const std::lock_guard guard(mutex_);
  return entries_.size();
}

template <typename Handle>
Status AttributeSet<Handle>::call_delete(Handle owner, const Entry& entry) const {
  const auto& keyval = *entry.keyval;
  if (keyval.remove == nullptr) return {};
  const int code = keyval.remove(owner, keyval.number, entry.value, keyval.extra_state);
  if (code == MPI_SUCCESS) return {};
  return Status::error(code, "the program's delete callback of keyval %d returned %d", keyval.number, code);
}

template <typename Handle>
bool AttributeSet<Handle>::add_where_none_is(const Keys& keyval, void* value) {
  const std::lock_guard guard(mutex_);
  if (index_of(keyval->number) < entries_.size()) return false;
  entries_.push_back({keyval, value});
  return true;
}

template <typename Handle>
Status AttributeSet<Handle>::set(Handle owner, Keys keyval, void* value) {
  bool found = false;
  while (!add_where_none_is(keyval, value)) LAPWING_TRY(remove(owner, keyval->number, found));
  return {};
}

template <typename Handle>
Status AttributeSet<Handle>::remove(Handle owner, int number) {
  bool found = false;
  LAPWING_TRY(remove(owner, number, found));
  return found ? Status() : Status::error(MPI_ERR_KEYVAL, "there is no attribute under keyval %d", number);
}

// Where the callback refuses, and another value has been set meanwhile, that one stays.
template <typename Handle>
Status AttributeSet<Handle>::remove(Handle owner, int number, bool& found) {
  Entry entry;
  {
    const std::lock_guard guard(mutex_);
    const std::size_t index = index_of(number);
    found = index < entries_.size();
    if (!found) return {};
    entry = entries_[index];
    entries_[index].going = true;
  }
  Status allowed = call_delete(owner, entry);
  const std::lock_guard guard(mutex_);
  const auto gone = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) { return each.going && each.keyval->number == number; });
  if (!allowed.ok() && index_of(number) == entries_.size()) {
    gone->going = false;
  } else {
    entries_.erase(gone);
  }
  return allowed;
}

template <typename Handle>
Status AttributeSet<Handle>::copy_to(Handle owner, AttributeSet& target) const {
  std::vector<Entry> snapshot;
  {
    const std::lock_guard guard(mutex_);
    std::copy_if(entries_.begin(), entries_.end(), std::back_inserter(snapshot), [](const Entry& entry) { return !entry.going; });
  }
  for (const Entry& entry : snapshot) {
    const auto& keyval = *entry.keyval;
    if (keyval.copies_nothing()) continue;
    Entry copy = entry;
    if (!keyval.copies_value()) {
      int wanted = 0;
      const int code = keyval.copy(owner, keyval.number, keyval.extra_state, entry.value, &copy.value, &wanted);
      if (code != MPI_SUCCESS) {
        return Status::error(code, "the program's copy callback of keyval %d returned %d", keyval.number, code);
      }
      if (wanted == 0) continue;
    }
    const std::lock_guard guard(target.mutex_);
    target.entries_.push_back(std::move(copy));
  }
  return {};
}

template <typename Handle>
Status AttributeSet<Handle>::clear(Handle owner) {
  for (;;) {
    int number = MPI_KEYVAL_INVALID;
    {
      const std::lock_guard guard(mutex_);
      const auto last = std::find_if(entries_.rbegin(), entries_.rend(), [](const Entry& entry) { return !entry.going; });
      if (last == entries_.rend()) return {};
      number = last->keyval->number;
    }
    bool found = false;
    LAPWING_TRY(remove(owner, number, found));
  }
}

template class KeyvalTable<MPI_Comm>;
template class KeyvalTable<MPI_Datatype>;
template class KeyvalTable<MPI_Win>;
template class AttributeSet<MPI_Comm>;
template class AttributeSet<MPI_Datatype>;
template class AttributeSet<MPI_Win>;

}  // namespace lapwing::comm
