#include "net/network.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "net/registry.h"
#include "wire/machine.h"

namespace lapwing::net {
namespace {

constexpr std::uint64_t kEverything = Capabilities().best_up_to;

const TransportKind& kind_of(const Transport& transport) noexcept {
  const std::span<const TransportKind> kinds = transport_kinds();
  return *std::find_if(kinds.begin(), kinds.end(), [&](const TransportKind& kind) { return std::string_view(kind.name) == transport.name(); });
}

}  // namespace

Network::Network(engine::Engine& engine, const Sinks& sinks, const NetworkConfig& config)
    : engine_(engine), config_(config) {
  Sinks all = sinks;  // with those of transports before, for those after them
  const std::span<const TransportKind> kinds = transport_kinds();
  const auto wanted = [&](const TransportKind& kind) {
    return kind.always || (config.size > 1 && config.allows(kind.name));
  };
  for (auto kind = kinds.begin(); kind != kinds.end(); ++kind) {
    const bool another = std::any_of(kind + 1, kinds.end(), wanted);
    if (!wanted(*kind) || !kind->suits(config, another)) continue;
    transports_.push_back(kind->make(engine, all, config));
    if (transports_.back()->packet_sink() != nullptr) all.add(wire::Protocol::kPackets, packets_);
  }
}

Network::~Network() {
  packets_.set(nullptr);
}

// A name that no transport has.
Status Network::check_names() const {
  const std::span<const TransportKind> kinds = transport_kinds();
  std::string all;
  for (const TransportKind& kind : kinds) all += (all.empty() ? "" : ", ") + std::string(kind.name);
  for (const std::string& name : config_.transports) {
    const auto is_it = [&](const TransportKind& kind) { return name == kind.name; };
    if (std::any_of(kinds.begin(), kinds.end(), is_it)) continue;
    return Status::error(MPI_ERR_ARG, "LAPWING_TRANSPORTS names \"%s\", which is no transport: there are %s", name.c_str(), all.c_str());
  }
  return {};
}

Status Network::publish(wire::Card& card) {
  LAPWING_TRY(check_names());
  card.set("version", std::to_string(wire::kVersion));
  card.set("host", config_.host_identity);
  card.set("name", config_.host_name);
  card.set("pid", std::to_string(::getpid()));
  for (auto transport = transports_.begin(); transport != transports_.end();) {
    Status published = (*transport)->publish(card);
    if (published.ok()) {
      ++transport;
      continue;
    }
    // Without the card's entry no peer will try this transport. Another one may do; attach() finds out.
    const bool only_way = transports_.size() <= 2;
    if (transport == transports_.begin() || only_way) return published;
    if (kind_of(**transport).may_lack) {
      say_without((*transport)->name(), published, false);
    } else {
      refused_ = (*transport)->name();
      why_refused_ = std::move(published);
    }
    transport = transports_.erase(transport);
  }
  return {};
}

Status Network::attach(const wire::CardBook& cards) {
  if (cards.size() != config_.size)
    return Status::error(MPI_ERR_INTERN, "%u cards for %u ranks", cards.size(), config_.size);
  cards_ = cards;
  hosts_.set(cards, config_.single_host);
  if (!config_.single_host) LAPWING_TRY(check_cards());
  if (!why_refused_.ok()) say_without(refused_, why_refused_, first_of_host(refused_));
  LAPWING_TRY(attach_transports(cards));
  for (std::size_t i = 1; i < transports_.size(); ++i) {
    if (FrameSink* sink = transports_[i - 1]->packet_sink(); sink != nullptr) packets_.set(sink);
    transports_[i - 1]->take_detour(*transports_[i]);
  }
  routes_.reset(size(),
                [this](std::size_t index, Route& route) { find_route({static_cast<std::uint32_t>(index)}, route); });
  for (PeerId peer; peer.index < config_.size; ++peer.index) {
    const auto reaches = [peer](const auto& transport) { return transport->reaches(peer); };
    if (std::none_of(transports_.begin(), transports_.end(), reaches)) return no_route(peer);
  }
  return {};
}

// Shared memory that cannot be had is done without, if there is another way: then all ranks of the host do without it.
Status Network::attach_transports(const wire::CardBook& cards) {
  for (auto transport = transports_.begin(); transport != transports_.end();) {
    Status attached = (*transport)->attach(cards);
    const std::vector<PeerId> doubles = (*transport)->doubles();
    doubles_.insert(doubles_.end(), doubles.begin(), doubles.end());
    if (attached.ok()) {
      ++transport;
      continue;
    }
    if (std::next(transport) == transports_.end() || transport == transports_.begin()) return attached;
    say_without((*transport)->name(), attached, !kind_of(**transport).may_lack && first_of_host(nullptr));
    transport = transports_.erase(transport);
  }
  return {};
}

// Of the ranks of a host, which usually have the trouble in common, one warns.
void Network::say_without(const char* transport, const Status& why, bool warn) const {
  (warn ? log_warn : log_info)("going on without transport %s: %s", transport, why.text());
}

// Whether no lower rank is on this host, or none whose card lacks an entry called `lacking`.
bool Network::first_of_host(const char* lacking) const {
  wire::Card card;
  for (PeerId peer; peer < config_.self; ++peer.index) {
    const bool has_it = lacking != nullptr && read_card(peer, card).ok() && card.has(lacking);
    if (same_host(peer) && !has_it) return false;
  }
  return true;
}

void Network::find_route(PeerId peer, Route& route) const {
  Transport* const first = next_to(peer, nullptr);
  if (first == nullptr) return;
  route = {first, first->capabilities(peer), first};
  const std::uint64_t best_up_to = route.capabilities.best_up_to;
  Transport* const second = best_up_to < kEverything ? next_to(peer, first) : nullptr;
  if (second != nullptr) {
    route.data = second;
    route.capabilities.eager_limit = std::min(route.capabilities.eager_limit, best_up_to);
    route.capabilities.first_bytes = route.capabilities.at_once;  // the fewest that cost nothing more
    const Capabilities by_second = second->capabilities(peer);
    route.capabilities.data_chunk = by_second.data_chunk;
    route.capabilities.long_chunk = by_second.long_chunk;
  }
  if (log_enabled(LogLevel::kInfo)) tell_route(peer, route);
}

// The next transport in their order that reaches the peer; `before` null: the first. Null: there is none.
Transport* Network::next_to(PeerId peer, const Transport* before) const noexcept {
  bool behind = before == nullptr;
  for (const auto& transport : transports_) {
    if (behind && transport->reaches(peer)) return transport.get();
    behind |= transport.get() == before;
  }
  return nullptr;
}

void Network::tell_route(PeerId peer, const Route& route) const {
  if (peer == config_.self) return;
  const Transport& chosen = *route.transport;
  const std::string longer = route.data != route.transport ? std::string(", and longer ones by ") + route.data->name() : "";
  log_info("%s: reached by %s%s; messages of up to %llu bytes travel without asking first%s", describe(peer).c_str(), chosen.name(),
           why_none_before(peer, chosen).c_str(), static_cast<unsigned long long>(route.capabilities.longest_unasked()), longer.c_str());
}

// Why the first transport that the job could have used does not reach this peer; empty when that is the chosen one.
std::string Network::why_none_before(PeerId peer, const Transport& chosen) const {
  for (const TransportKind& kind : transport_kinds()) {
    const std::string name = kind.name;
    if (kind.always) continue;
    if (name == chosen.name()) break;
    if (!config_.allows(kind.name)) return ", because LAPWING_TRANSPORTS leaves out " + name;
    if (kind.one_host && !same_host(peer)) return ", being on another host";
    const std::string namespaces = kind.one_host ? ", or the two are in different network namespaces" : "";
    return ", because " + name + " is not to be had here (a line above says why" + namespaces + ")";
  }
  return {};
}

// Ranks of one host that one mpiexec started find out when they meet.
Status Network::check_cards() {
  wire::Card card;
  for (PeerId peer; peer.index < config_.size; ++peer.index) {
    LAPWING_TRY(read_card(peer, card));
    if (card.get("version") == std::to_string(wire::kVersion)) continue;
    return Status::error(
        MPI_ERR_OTHER,
        "%s speaks version %s of Lapwing's wire format and %s version %u; run all ranks with the same Lapwing",
        describe(peer).c_str(), card.has("version") ? card.get("version").c_str() : "?", describe(config_.self).c_str(),
        static_cast<unsigned>(wire::kVersion));
  }
  return {};
}

Status Network::read_card(PeerId peer, wire::Card& card) const {
  if (config_.processes->is_own_job(peer)) return cards_.read(peer.index, card);
  return Status::error(MPI_ERR_OTHER, "%s has given no card", config_.processes->describe(peer).c_str());
}

bool Network::same_host(PeerId peer) const {
  if (config_.single_host && config_.processes->is_own_job(peer)) return true;
  wire::Card card;
  return read_card(peer, card).ok() && card.get("host") == config_.host_identity &&
         std::find(doubles_.begin(), doubles_.end(), peer) == doubles_.end();
}

std::uint64_t Network::host_key() const {
  const std::uint64_t key = std::hash<std::string>{}(config_.host_identity);
  if (doubles_.empty()) return key;
  PeerId first;
  while (first < config_.self && !same_host(first)) ++first.index;
  return key + 1 + first.index;
}

Status Network::no_route(PeerId peer) const {
  std::string names;
  for (const auto& transport : transports_) names += (names.empty() ? "" : ", ") + std::string(transport->name());
  std::string between_hosts;
  bool has_one = false;
  for (const TransportKind& kind : transport_kinds()) {
    if (kind.one_host) continue;
    between_hosts += (between_hosts.empty() ? "" : " or ") + std::string(kind.name);
    has_one |= std::any_of(transports_.begin(), transports_.end(), [&](const auto& transport) { return transport->name() == std::string_view(kind.name); });
  }
  wire::Card card;
  const std::string why_apart = read_card(peer, card).ok() ? wire::why_apart(config_.host_identity, card.get("host")) : "";
  std::string remedy = same_host(peer) ? "" : ", and only " + between_hosts + " reaches other hosts";
  if (!why_apart.empty())
    remedy += " (" + why_apart + ")";
  else if (!same_host(peer) && has_one)
    remedy += ", which that rank does not offer, or not the same as this one";
  return Status::error(
      MPI_ERR_OTHER, "%s has no way to %s: the transports in use are %s%s; see LAPWING_TRANSPORTS and `lapwing doctor`",
      describe(config_.self).c_str(), describe(peer).c_str(), names.c_str(), remedy.c_str());
}

std::string Network::describe(PeerId peer) const {
  std::string text = config_.processes->describe(peer);
  wire::Card card;
  if (read_card(peer, card).ok() && card.has("name")) text += " on host " + card.get("name");
  return text;
}

std::int64_t Network::watch_after() const noexcept {
  std::int64_t after = 0;
  for (const auto& transport : transports_) after = std::max(after, transport->watch_after());
  return after;
}

std::shared_ptr<MessageMemory> Network::message_memory() const noexcept {
  for (const auto& transport : transports_) {
    if (std::shared_ptr<MessageMemory> memory = transport->message_memory()) return memory;
  }
  return nullptr;
}

PathCounters Network::paths() const noexcept {
  PathCounters sum;
  for (const auto& transport : transports_) sum.add(transport->paths());
  return sum;
}

CopyCounters Network::copies() const noexcept {
  CopyCounters sum;
  for (const auto& transport : transports_) sum.add(transport->copies());
  return sum;
}

DetourCounters Network::detours() const noexcept {
  DetourCounters sum;
  for (const auto& transport : transports_) sum.add(transport->detours());
  return sum;
}

std::uint64_t Network::connections_resumed() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& transport : transports_) sum += transport->connections_resumed();
  return sum;
}

std::uint64_t Network::records_wrong() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& transport : transports_) sum += transport->records_wrong();
  return sum;
}

void Network::abandon(PeerId peer, const Status& why) noexcept {
  for (const auto& transport : transports_) transport->abandon(peer, why);
}

bool Network::flushed() const noexcept {
  for (const auto& transport : transports_) {
    if (!transport->flushed()) return false;
  }
  return true;
}

void Network::ask_for_flush() noexcept {
  for (const auto& transport : transports_) transport->ask_for_flush();
}

void Network::expect_goodbye() noexcept {
  for (const auto& transport : transports_) transport->expect_goodbye();
}

// A peer whose route was never asked for may have connected to this rank all the same.
bool Network::is_met(PeerId peer) const noexcept {
  const auto knows = [peer](const auto& transport) { return transport->is_met(peer); };
  return std::any_of(transports_.begin(), transports_.end(), knows);
}

void Network::close() noexcept {
  for (const auto& transport : transports_) transport->close();
}

}  // namespace lapwing::net
