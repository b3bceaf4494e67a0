// The states that a checker has met, each once. They lie one after the other in the order in which they came, and an open hash table
// of their numbers finds them again: the states of a model are millions, and a node of its own for each (std::unordered_map) took
// more time, and more memory, than the steps of the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace lapwing::model {

template <typename State>
class StateSet {
 public:
  using Index = std::uint32_t;
  static_assert(std::is_trivially_copyable_v<State> && std::has_unique_object_representations_v<State>,
                "states are compared as memory");

  std::size_t size() const { return size_; }
  // Stays where it is when others are added.
  const State& operator[](Index i) const { return chunks_[i / kPerChunk][i % kPerChunk]; }

  // Its number, and whether it is new.
  std::pair<Index, bool> add(const State& state) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    const std::uint32_t hash = hash_of(state);
    std::size_t at = first_slot(hash);
    for (; slots_[at].number != 0; at = next_slot(at)) {
      if (slots_[at].hash == hash && std::memcmp(&(*this)[slots_[at].number - 1], &state, sizeof state) == 0)
        return {slots_[at].number - 1, false};
    }
    const auto index = static_cast<Index>(size_++);
    if (index % kPerChunk == 0) chunks_.push_back(std::make_unique_for_overwrite<State[]>(kPerChunk));
    std::memcpy(&chunks_.back()[index % kPerChunk], &state, sizeof state);
    slots_[at] = {hash, index + 1};
    return {index, true};
  }

 private:
  static constexpr std::size_t kPerChunk = 4096;
  struct Slot {
    std::uint32_t hash, number;  // number: the state's and 1; 0 in a free slot
  };

  static std::uint32_t hash_of(const State& state) {
    std::uint64_t words[(sizeof(State) + 7) / 8] = {};
    std::memcpy(words, &state, sizeof state);
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const std::uint64_t word : words) hash = (hash ^ word ^ (hash >> 29)) * 0x9e3779b97f4a7c15u;
    return static_cast<std::uint32_t>(hash >> 32);
  }
  // The table's size is a power of two.
  std::size_t first_slot(std::uint32_t hash) const { return hash & (slots_.size() - 1); }
  std::size_t next_slot(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 1024 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number == 0) continue;
      std::size_t at = first_slot(slot.hash);
      while (slots_[at].number != 0) at = next_slot(at);
      slots_[at] = slot;
    }
  }

  std::vector<std::unique_ptr<State[]>> chunks_;
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace lapwing::model
