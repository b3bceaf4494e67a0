// The common head of everything a user holds a handle to (communicator, datatype, request, ...).
//
// A user's handle is the object's address; the standard's predefined handles are the small integers 1..4095, which each
// room resolves through a table (standard ABI, section "handle serialization"). `kind` lets the generated shims refuse
// a handle of the wrong sort, or a freed one, with a clear error instead of a crash.
#pragma once

#include <atomic>
#include <cstdint>

namespace lapwing {

enum class ObjectKind : std::uint32_t {
  kFreed = 0xdeadf4eeu,
  kCommunicator = 0x4c570001u,
  kDatatype,
  kGroup,
  kOp,
  kRequest,
  kInfo,
  kErrorHandler,
  kSession,
  kMessage,
  kWindow,
  kFile,
};

class Object {
 public:
  explicit Object(ObjectKind kind) noexcept : kind_(kind) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  ObjectKind kind() const noexcept { return kind_; }

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  // True when that was the last reference and the caller must destroy the object.
  // The only owner needs no atomic read-modify-write: no other thread can change the count.
  [[nodiscard]] bool release() noexcept {
    if (references_.load(std::memory_order_acquire) != 1) return references_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    references_.store(0, std::memory_order_relaxed);  // a cache that keeps the object for reuse retains it anew
    return true;
  }

 protected:
  // For objects that are kept for reuse: freed, as far as handles tell, and back, with one reference.
  void mark_freed() noexcept { kind_ = ObjectKind::kFreed; }
  void revive(ObjectKind kind) noexcept {
    kind_ = kind;
    references_.store(1, std::memory_order_relaxed);
  }

  // Not virtual: each kind is destroyed by its own room. Marks the memory so that a stale handle is noticed.
  ~Object() { kind_ = ObjectKind::kFreed; }

 private:
  volatile ObjectKind kind_;
  std::atomic<std::uint32_t> references_{1};
};

// The first 4096 handle values are predefined (standard ABI).
inline constexpr std::uintptr_t kFirstUserHandle = 4096;

// Linux maps nothing below (vm.mmap_min_addr), so that no object lies there.
inline constexpr std::intptr_t kLowestAddress = 65536;

// Whether the handle may be followed. Numbers that are no predefined handle are garbage, and so are addresses in the
// kernel's half, -1 above all: one signed comparison tells them.
inline bool is_address(const void* handle) noexcept {
  return reinterpret_cast<std::intptr_t>(handle) >= kLowestAddress;
}

template <typename Handle>
constexpr bool is_predefined(Handle handle) noexcept {
  return reinterpret_cast<std::uintptr_t>(handle) < kFirstUserHandle;
}

}  // namespace lapwing
