// What messages, memory and reductions cost on a machine: the parameters of LogGP (Culler et al., "LogP", PPoPP 1993; Alexandrov et al.,
// "LogGP", SPAA 1995), with what it leaves out: a processor that moves bytes itself spends time on each (O of LogGOPS: Hoefler et al.,
// "LogGOPSim", HPDC 2010), and ranks of one host share memory.
//
// Times are in nanoseconds, costs per byte in nanoseconds too. Plain values without a lock: those of a job are set before its first
// collective, and only read afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lapwing::coll::model {

// What carries the messages between the ranks of a communicator: the slowest of its pairs.
enum class LinkKind : std::uint8_t {
  kShared,    // memory of one host
  kLocalTcp,  // TCP within one host
  kHosts,     // between hosts
};
inline constexpr int kLinkKinds = 3;

// For one message.
struct Link {
  double latency = 0;            // L: from the sender's last instruction to the receiver's first
  double overhead = 0;           // o: of the processor, at either end
  double gap = 0;                // g: between the beginnings of two short messages of one rank
  double per_byte = 0;           // G: between two bytes of a long message
  double overhead_per_byte = 0;  // O: of the processor, at either end, while the bytes move
  double long_share = 1;         // of G and O, where a message has kLong bytes or more: ranks of one host then copy it once instead of twice

  static constexpr double kLong = 48 * 1024;
};

struct Memory {
  double copy = 0;    // C: to copy a byte that another core reads or has written
  double reduce = 0;  // y: to combine a byte with another
  double post = 0;    // l: a cache line from core to core
  double wakeup = 0;  // w: of a rank that sleeps
  double turn = 0;    // W: until one other rank has had the core, where they share it
  double call = 0;    // c: of a system call that copies from another process's memory or to it
  double direct = 0;  // D: for each byte of it
};

struct Parameters {
  Link links[kLinkKinds];
  Memory memory;

  const Link& link(LinkKind kind) const noexcept { return links[static_cast<int>(kind)]; }
  Link& link(LinkKind kind) noexcept { return links[static_cast<int>(kind)]; }

  // In force where nothing was measured.
  static const Parameters& defaults() noexcept;
};

// One parameter, as files name it: "shared.latency".
struct ParameterName {
  std::string name;
  std::string symbol;
  std::string meaning;
  double value;
};
std::vector<ParameterName> describe(const Parameters& parameters);
const char* name(LinkKind kind) noexcept;     // "shared"
const char* meaning(LinkKind kind) noexcept;  // "shared memory"
// False where no kind is called so.
bool parse(std::string_view text, LinkKind& kind) noexcept;

// As lines of "name value", which read() understands on every machine alike. The first one is the version.
std::string print(const Parameters& parameters);
// Lines that begin with # are passed over, and what is not named is as it was. An error names the line and says what would have been right;
// nothing is changed then.
Status read(std::string_view text, Parameters& parameters);

inline constexpr int kVersion = 1;

}  // namespace lapwing::coll::model
