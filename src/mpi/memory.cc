// MPI 5.0, section 9.2: memory for messages. Any memory is as good as any other, and only its alignment can be asked for, unless a transport has
// some that it would rather receive into (net/message_memory.h): then that, while there is some.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "mpi/handles.h"
#include "mpi/implementation.h"
#include "net/message_memory.h"

namespace lapwing::mpi {

namespace {

constexpr std::size_t kAlignment = 64;  // a cache line

Status wanted_alignment(MPI_Info info, std::size_t* alignment) {
  *alignment = kAlignment;
  std::string text;
  if (info == MPI_INFO_NULL || !resolve(info)->get("mpi_minimum_memory_alignment", text)) return {};
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text.c_str(), &end, 10);
  if (*end != '\0' || value == 0 || (value & (value - 1)) != 0 || value > (1ull << 30)) {
    return Status::error(MPI_ERR_INFO_VALUE, "mpi_minimum_memory_alignment is '%s'; it must be a power of two",
                         text.c_str());
  }
  if (value > kAlignment) *alignment = static_cast<std::size_t>(value);
  return {};
}

// The blocks that are a transport's. The program may free one after the transport has ended, in another session.
class BlocksOfTransports {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) {
    const std::shared_ptr<net::MessageMemory> memory = memory_of_transports();
    void* const block = memory != nullptr ? memory->allocate(bytes, alignment) : nullptr;
    if (block == nullptr) return nullptr;
    const std::lock_guard guard(mutex_);
    owners_.emplace(block, memory);
    return block;
  }
  // False: it is none of them.
  bool free(void* block) {
    const std::lock_guard guard(mutex_);
    const auto found = owners_.find(block);
    if (found == owners_.end()) return false;
    found->second->free(block);
    owners_.erase(found);
    return true;
  }

 private:
  static std::shared_ptr<net::MessageMemory> memory_of_transports() {
    Process* process = process_or_null();
    if (process == nullptr) return nullptr;
    const engine::Visit visit(process->engine);
    return process->network->message_memory();
  }

  std::mutex mutex_;
  std::map<void*, std::shared_ptr<net::MessageMemory>> owners_;
};

BlocksOfTransports blocks_of_transports;

}  // namespace

Status alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) {
  if (size < 0) return Status::error(MPI_ERR_ARG, "size is %lld; it cannot be negative", static_cast<long long>(size));
  std::size_t alignment = 0;
  LAPWING_TRY(wanted_alignment(info, &alignment));
  void* memory = blocks_of_transports.allocate(static_cast<std::size_t>(size), alignment);
  if (memory == nullptr && posix_memalign(&memory, alignment, size > 0 ? static_cast<std::size_t>(size) : 1) != 0) {
    return Status::error(MPI_ERR_NO_MEM, "there are no %lld bytes of memory", static_cast<long long>(size));
  }
  *static_cast<void**>(baseptr) = memory;
  return {};
}

Status free_mem(void* base) {
  if (!blocks_of_transports.free(base)) std::free(base);
  return {};
}

}  // namespace lapwing::mpi
