// The program of receive in the kernel, loaded with its maps (net/bpf/bpf.h) by a process that may: it needs CAP_BPF and CAP_NET_ADMIN.
//
//   areas      array, a ConnectionArea each; pinned memory of the kernel's: 400 KiB each
//   indices    hash: a socket's cookie to its index in `areas`
//   zone       memory of the rank that payloads are put into (zone.h)
//   sockets    those whose packets the program sees
//   answers    those by which it answers
//   overlaps   the program that it calls for packets that overlap others
//   notices    ring buffer of its notices (notices.h)
//
// Nothing is mapped here: the service (launch/accelerator/) has it for ranks, and looks at none of their memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "net/kernel/loader.h"

namespace lapwing::net::kernel {

class OwnLoader final : public Loader {
 public:
  // Whether this build has the program, and of which sources it is.
  static bool built() noexcept;
  static std::uint64_t fingerprint() noexcept;
  // Pinned by so much.
  static std::uint64_t memory(std::uint32_t connections, std::uint32_t zone_blocks) noexcept;

  Status prepare(std::uint32_t connections, std::uint32_t zone_blocks) override;
  Status load() override;
  const Descriptor& areas() const noexcept override { return areas_; }
  const Descriptor& zone() const noexcept override { return zone_; }
  const Descriptor& notices() const noexcept override { return notices_; }
  Joining join(std::uint32_t index, int socket) override;
  void leave(std::uint32_t index) noexcept override;
  Permission answer_by(std::uint32_t index, int socket) override;
  Permission permission(std::uint32_t) override { return {}; }  // none is asked
  void forget(std::uint32_t index) noexcept override;
  std::string by() const override { return "by this process's own rights"; }

  std::uint32_t connections() const noexcept { return connections_; }
  // As long as it is open, sockets that have joined go on as they are, although this object is gone. Without it the kernel would take the program
  // away from them, and with it what it has passed on and nobody has read. It gives no rights: a map that cannot be written, and holds that of the
  // sockets. Of a map's end an event port can tell (launch/accelerator/remains.h): as long as it is open the kernel keeps all that the program uses.
  Status make_keeper(Descriptor& keeper) const;

 private:
  Status load_instructions();
  Status load_overlap();

  std::uint32_t connections_ = 0;
  Descriptor areas_, indices_, sockets_, answers_, zone_, overlaps_, notices_, program_;
  std::unique_ptr<std::uint64_t[]> cookies_;  // of the sockets that have joined
};

}  // namespace lapwing::net::kernel
