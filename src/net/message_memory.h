// Memory that a transport would rather have messages in: what MPI_Alloc_mem hands out where there is such memory.
//
// A block outlives its transport: whoever holds the object may free it later. Any thread, at any time.
#pragma once

#include <cstddef>

namespace lapwing::net {

class MessageMemory {
 public:
  virtual ~MessageMemory() = default;

  // `alignment` is a power of two. Null: there is no such block any more; other memory serves as well.
  virtual void* allocate(std::size_t bytes, std::size_t alignment) noexcept = 0;
  // What allocate() gave.
  virtual void free(void* block) noexcept = 0;
};

}  // namespace lapwing::net
