#include "net/ether/steering.h"

#include <arpa/inet.h>
#include <linux/if_link.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <thread>

#include "base/settings.h"
#include "net/ether/attached_program.h"
#include "net/ether/interface.h"
#include "net/ether/steering_maps.h"

// Linux 5.18; headers may be older.
#ifndef BPF_F_XDP_HAS_FRAGS
#define BPF_F_XDP_HAS_FRAGS (1U << 5)
#endif

namespace lapwing::net::ether {
namespace {

#include "ether_program.inc"

// How this version's is known among programs. A change of the program or its maps changes the number.
constexpr char kProgramName[] = "lapwing_steer3";
static_assert(sizeof kProgramName <= BPF_OBJ_NAME_LEN);
static_assert(settings::EtherPortKind::kPorts == LAPWING_MOST_ENDPOINTS);  // each has a port

// Ranks come and go while others look.
constexpr int kTries = 20;
constexpr std::chrono::milliseconds kPauseBetweenTries(1);

endpoint entry_of(std::uint32_t number, std::uint32_t queue, const Endpoint& taken) noexcept {
  const wire::UdpAddress udp = taken.udp_of(number);
  endpoint entry{};
  entry.tag = taken.tag;
  entry.address = htonl(udp.address);
  entry.ether_type = htons(taken.ether_type);
  entry.port = htons(udp.port);
  entry.queue = queue;
  return entry;
}

Status not_noted() {
  return bpf::refused("does not note a socket of raw Ethernet");
}

// How it is attached: by the driver, before the kernel has made a packet of its own of each; where the driver cannot, after that. A driver takes it on an
// interface of jumbo frames only if it says that it sees no more of them than their first piece (Linux 5.18), which costs a small packet 0.2 us after
// the driver, and nothing is gained there.
constexpr struct {
  std::uint32_t mode, program_flags;
} kAttachments[] = {{XDP_FLAGS_DRV_MODE, 0}, {XDP_FLAGS_DRV_MODE, BPF_F_XDP_HAS_FRAGS}, {XDP_FLAGS_SKB_MODE, 0}};

}  // namespace

bool Steering::built() noexcept {
  return !kImage.instructions.empty();
}

std::uint64_t Steering::fingerprint() noexcept {
  return kFingerprint;
}

bool Steering::is_own(const std::string& name) noexcept {
  return name == kProgramName;
}

Status Steering::join(unsigned interface, const std::string& name) {
  if (!built()) return Status::error(MPI_ERR_OTHER, "this library was built without raw Ethernet (no clang for bpf, or not x86-64)");
  for (int tried = 0; tried < kTries; ++tried) {
    std::uint32_t program = 0;
    LAPWING_TRY(attached_program(interface, program));
    bool again = false;
    Status status = program != 0 ? share(program, name, again) : attach(interface, name, again);
    if (!again) return status;
    std::this_thread::sleep_for(kPauseBetweenTries);
  }
  return Status::error(MPI_ERR_OTHER, "the programs attached to %s change all the time", name.c_str());
}

// `taken`: another has attached one meanwhile.
Status Steering::attach(unsigned interface, const std::string& name, bool& taken) {
  constexpr bpf::MapKind kEndpoints{BPF_MAP_TYPE_ARRAY, 4, sizeof(endpoint), 0};
  constexpr bpf::MapKind kSockets{BPF_MAP_TYPE_XSKMAP, 4, 4, 0};
  constexpr const char* kRefused = "gives no map for raw Ethernet";
  LAPWING_TRY(bpf::create_map(kEndpoints, LAPWING_MOST_ENDPOINTS, kRefused, endpoints_));
  LAPWING_TRY(bpf::create_map(kSockets, LAPWING_MOST_ENDPOINTS, kRefused, sockets_));
  bpf_attr kind{};
  kind.prog_type = BPF_PROG_TYPE_XDP;
  kind.expected_attach_type = BPF_XDP;
  std::memcpy(kind.prog_name, kProgramName, sizeof kProgramName);
  const bpf::NamedMap maps[] = {{"endpoints", endpoints_}, {"sockets", sockets_}};
  // A veth pair's driver drops the answers to probes unless its other end has a program too. With several queues it has to be: after the driver a
  // packet of queue N is taken for one of queue N - 1.
  const bool pair = driver_of(name) == "veth" && receive_queues(name) == 1;
  for (const auto& [mode, program_flags] : kAttachments) {
    if (pair && mode != XDP_FLAGS_SKB_MODE) continue;
    bpf::Descriptor program;
    kind.prog_flags = program_flags;
    Status loaded = bpf::load_program(kImage, maps, kind, "does not take the program of raw Ethernet", program);
    if (!loaded.ok() && program_flags == 0) return loaded;
    if (!loaded.ok()) continue;
    bpf_attr attributes{};
    attributes.link_create.prog_fd = static_cast<std::uint32_t>(program.fd());
    attributes.link_create.target_ifindex = interface;
    attributes.link_create.attach_type = BPF_XDP;
    attributes.link_create.flags = mode;
    const long fd = bpf::call(BPF_LINK_CREATE, attributes);
    if (fd >= 0) {
      link_ = bpf::Descriptor(static_cast<int>(fd));
      return {};
    }
    taken = errno == EBUSY || errno == EEXIST;
    if (taken) return {};
  }
  return bpf::refused(("does not let the program of raw Ethernet see " + name).c_str());
}

// `gone`: its last holder has closed it meanwhile.
Status Steering::share(std::uint32_t program, const std::string& name, bool& gone) {
  AttachedProgram attached;
  LAPWING_TRY(open_attached(program, attached));
  gone = attached.gone;
  if (gone) return {};
  // The kernel forgets an attachment before the program that it held.
  gone = is_own(attached.name) && !attached.link.open();
  if (gone) return {};
  if (!is_own(attached.name))
    return Status::error(MPI_ERR_OTHER, "%s has an XDP program already (\"%s\"), which is left alone", name.c_str(), attached.name.c_str());
  link_ = std::move(attached.link);
  for (bpf::Descriptor& map : attached.maps) {
    std::uint32_t type = 0;
    LAPWING_TRY(map_type(map, type));
    (type == BPF_MAP_TYPE_XSKMAP ? sockets_ : endpoints_) = std::move(map);
  }
  return {};
}

Status Steering::add(std::uint32_t queue, int socket, const Endpoint& taken, const Offer& offer) {
  endpoint entry = entry_of(queue, queue, taken);
  entry.job = offer.socket >= 0 ? taken.job : 0;
  entry.process = offer.process;
  entry.socket = offer.socket;
  entry.memory = offer.memory;
  entry.cookie = offer.cookie;
  if (bpf::update(endpoints_, &queue, &entry) && bpf::update(sockets_, &queue, &socket)) return {};
  return not_noted();
}

// Who has put its socket there has the number, until that is closed.
Status Steering::add_sharing(std::uint32_t queues, std::uint32_t queue, int socket, const Endpoint& taken, std::uint32_t& number) {
  for (number = queue + queues; number < LAPWING_MOST_ENDPOINTS; number += queues) {
    const endpoint entry = entry_of(number, queue, taken);
    if (bpf::insert(sockets_, &number, &socket)) return bpf::update(endpoints_, &number, &entry) ? Status() : not_noted();
    if (errno != EEXIST) return not_noted();
  }
  return Status::error(MPI_ERR_OTHER, "receive queue %u has no number for an endpoint more", queue);
}

bool Steering::find_offer(std::uint32_t queue, std::uint64_t job, Offer& offer) const noexcept {
  endpoint entry{};
  if (job == 0 || !bpf::look_up(endpoints_, &queue, &entry) || entry.job != job) return false;
  offer = {entry.process, entry.socket, entry.memory, entry.cookie};
  return true;
}

void Steering::remove(std::uint32_t number) noexcept {
  const endpoint none{};
  if (endpoints_.open()) bpf::update(endpoints_, &number, &none);
}

}  // namespace lapwing::net::ether
