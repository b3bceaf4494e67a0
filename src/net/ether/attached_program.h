// Which XDP program an interface has, and what it consists of, asked from the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "net/bpf/bpf.h"

namespace lapwing::net::ether {

// The number that the kernel knows it by; 0: none is attached.
Status attached_program(unsigned interface, std::uint32_t& program);

struct AttachedProgram {
  bool gone = false;  // there is none (any more); nothing else is told
  std::string name;
  std::vector<bpf::Descriptor> maps;
  bpf::Descriptor link;  // not open: it is attached without one
};
Status open_attached(std::uint32_t program, AttachedProgram& attached);

// An administrator may detach what a process still holds; so does the kernel where the interface goes.
bool is_attached(const bpf::Descriptor& link, unsigned interface) noexcept;

Status map_type(const bpf::Descriptor& map, std::uint32_t& type);

}  // namespace lapwing::net::ether
