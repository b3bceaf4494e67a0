#include "net/registry.h"

#include "net/ether/ether_transport.h"
#include "net/self/self_transport.h"
#include "net/shm/shm_transport.h"
#include "net/tcp/tcp_transport.h"

namespace lapwing::net {
namespace {

template <typename T>
std::unique_ptr<Transport> make(engine::Engine& engine, const Sinks& sinks, const NetworkConfig& config) {
  return std::make_unique<T>(engine, sinks, config);
}

bool suits_all(const NetworkConfig&, bool) {
  return true;
}

constexpr TransportKind kKinds[] = {
    {"self", false, true, true, false, &suits_all, &make<SelfTransport>},
    {"shm", false, false, true, false, &ShmTransport::suits, &make<ShmTransport>},
    {"ether", true, false, false, true, &suits_all, &make<EtherTransport>},
    {"tcp", true, false, false, false, &suits_all, &make<TcpTransport>},
};

}  // namespace

std::span<const TransportKind> transport_kinds() noexcept {
  return kKinds;
}

}  // namespace lapwing::net
