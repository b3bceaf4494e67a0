// Programs in the kernel and their maps, by bpf(2) alone, so that the library needs no other for it. What is general; a program's own folder knows
// its maps. Everything here needs CAP_BPF, and programs that see packets CAP_NET_ADMIN.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/status.h"

namespace lapwing::net::bpf {

class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  int fd() const noexcept { return fd_; }
  bool open() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// The system call. A negative result is an error, and errno says which.
long call(bpf_cmd command, bpf_attr& attributes) noexcept;

// Of the last system call: "the kernel `what`: ...".
Status refused(const char* what);

// ---- maps -----------------------------------------------------------------------------------------------------------

struct MapKind {
  bpf_map_type type;
  std::uint32_t key_bytes, value_bytes, flags;
};
// `what` as for refused().
Status create_map(const MapKind& kind, std::uint32_t entries, const char* what, Descriptor& map);
bool update(const Descriptor& map, const void* key, const void* value) noexcept;
// False, with EEXIST: there is one already.
bool insert(const Descriptor& map, const void* key, const void* value) noexcept;
bool look_up(const Descriptor& map, const void* key, void* value) noexcept;
void erase(const Descriptor& map, const void* key) noexcept;

// ---- programs -------------------------------------------------------------------------------------------------------

// What was compiled: instructions, and those of them that load the address of a map.
struct MapLoad {
  std::size_t index;
  const char* name;
};
struct Image {
  std::span<const std::uint64_t> instructions;  // empty: this library was built without
  std::span<const MapLoad> loads;
};
struct NamedMap {
  const char* name;
  const Descriptor& map;
};
// `kind` says of what type the program is, and how it will be attached.
Status load_program(const Image& image, std::span<const NamedMap> maps, bpf_attr kind, const char* what, Descriptor& program);

}  // namespace lapwing::net::bpf
