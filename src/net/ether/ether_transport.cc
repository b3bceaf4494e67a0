#include "net/ether/ether_transport.h"

#include <sys/epoll.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/processor_list.h"
#include "base/settings.h"
#include "base/tuning.h"
#include "net/ether/framings.h"

namespace lapwing::net {
namespace {

constexpr const char* kCardKey = "ether";
constexpr std::int64_t kPerPatience = 4;
// A poll takes so many packets before others have their turn.
constexpr int kMostPerPoll = 64;
// Packets by the detour that wait to be taken; what comes beyond is lost, and sent again. A peer has credit for fewer.
constexpr std::size_t kMostDiverted = 4096;
// So many receive chunks are a peer's, however many there are.
constexpr std::size_t kLeastWindow = 32;

std::int64_t patience_of(const NetworkConfig& config) noexcept {
  return std::chrono::nanoseconds(config.settings->peer_timeout).count();
}

}  // namespace

EtherTransport::EtherTransport(engine::Engine& engine, const Sinks& sinks, const NetworkConfig& config)
    : engine_(engine),
      sinks_(sinks),
      config_(config),
      context_{sinks_, port_, patience_of(config), {}, config.processes->describe(config.self) + " on host " + config.host_name},
      refusals_(engine) {}

EtherTransport::~EtherTransport() {
  close();
}

// ---- the beginning --------------------------------------------------------------------------------------------------

Status EtherTransport::publish(wire::Card& card) {
  if (config_.size < 2 || config_.job_secret.empty()) return {};  // there is no peer
  port_.set_protection(config_.settings->wire);
  LAPWING_TRY(key_.set(config_.job_secret, config_.key_file));
  if (port_.protection() == Protection::kSealed) seals_.begin();
  ether::Interface interface;
  LAPWING_TRY(ether::choose_interface(config_.settings->ether_interface, interface));
  context_.own.tag = ether::endpoint_tag(key_, config_.self.index, port_.protection());
  services_ = ether::queue_services(interface, config_.settings->ether_queues);
  ether::Endpoint endpoint;
  LAPWING_TRY(ether::choose_framings(*config_.settings, interface, endpoint));
  endpoint.tag = context_.own.tag;
  endpoint.job = ether::job_tag(key_);
  LAPWING_TRY(port_.open(interface, ether::order_queues(services_, processors_of(0)), endpoint, config_.settings->accelerator));
  context_.own.endpoint = port_.contact().endpoint;
  open_ = true;
  card.set(kCardKey, ether::encode_contact(port_.contact()));
  card.set(ether::kPacketFramesKey, "1");
  if (seals_.on()) card.set(ether::kPacketKeyKey, wire::encode_packet_key(seals_.own()));
  log_info("receives on queue %u of %s (%s), %s%s%s", port_.socket().queue(), interface.name.c_str(), ether::text_of(interface.mac).c_str(),
           port_.socket().copies() ? "which the kernel copies" : "without a copy by the kernel", port_.by().empty() ? "" : ", ", port_.by().c_str());
  return {};
}

Status EtherTransport::attach(const wire::CardBook& cards) {
  cards_ = cards;
  links_.reset(cards.size());
  landing_.reset(cards.size());
  seals_.set_ranks(cards.size());
  if (!open_) return {};
  port_.begin();
  if (const std::uint32_t others = port_.socket().ranks() - 1; others != 0)
    log_info("shares receive queue %u of %s with %u other ranks of this host", port_.socket().queue(), port_.interface().name.c_str(), others);
  LAPWING_TRY(neighbours_.read(cards, config_.self, port_.contact(), key_, port_.protection()));
  port_.reset_ways(cards.size());
  neighbours_.probe(port_, config_.self, context_.own);
  port_.set_most_bytes(neighbours_.most_bytes());
  LAPWING_TRY(engine_.port().add(port_.socket().fd(), EPOLLIN | EPOLLET, *this));
  engine_.add_source(*this);
  attached_ = true;
  if (!neighbours_.early().empty()) due_ = 0;
  if (config_.settings->ether_bind) stay_at_queue();
  begin_busy_poll();
  return {};
}

// Peers have answered by then, so packets have come.
void EtherTransport::begin_busy_poll() {
  if (!config_.settings->ether_busy_poll) return;
  const Status begun = port_.begin_busy_poll();
  log_info("receive queue %u of %s is %spolled busily%s%s", port_.socket().queue(), port_.interface().name.c_str(), begun.ok() ? "" : "not ",
           begun.ok() ? "" : ": ", begun.ok() ? "" : begun.text());
}

// mpiexec sees no queues but those of its own host, and a command may have led the rank to another one.
void EtherTransport::tell_of_foreign_plan() const {
  const char* interface = std::getenv("LAPWING_INTERNAL_QUEUES_OF");
  const char* network = std::getenv("LAPWING_INTERNAL_NETWORK");
  if (interface == nullptr || network == nullptr || config_.host_identity.find("/" + std::string(network) + "/") != std::string::npos) return;
  log_warn("mpiexec has bound this rank by the receive queues of %s on the host where mpiexec runs, and this rank is on host %s, "
           "in another network: it keeps of its processors those that serve its own queue, if there are any. Run mpiexec there, or have ranks choose: "
           "--bind-to none with LAPWING_ETHER_BIND=1",
           interface, config_.host_name.c_str());
}

// The engine has counted its processors by then, and its event thread runs.
void EtherTransport::stay_at_queue() const {
  tell_of_foreign_plan();
  const std::uint32_t queue = port_.socket().queue();
  const std::string text = "receive queue " + std::to_string(queue) + " of " + port_.interface().name + ": " +
                           (port_.socket().place() == 0 ? ether::stay_where_served(services_, queue)
                                                        : "another rank came first, so this one stays where it is");
  if (std::getenv("LAPWING_INTERNAL_REPORT_BINDINGS") != nullptr) return log_warn("%s", text.c_str());
  log_info("%s", text.c_str());
}

Capabilities EtherTransport::capabilities(PeerId) const noexcept {
  Capabilities capabilities;
  capabilities.eager_limit = tuning().ether_eager_limit;
  capabilities.best_up_to = std::max(tuning().ether_best_up_to, tuning().ether_best_packets * port_.most_bytes());
  capabilities.data_chunk = tuning().ether_data_chunk;
  capabilities.at_once = port_.most_bytes() - wire::piece_overhead(0);
  return capabilities;
}

ether::Link& EtherTransport::link(PeerId peer) noexcept {
  std::unique_ptr<ether::Link>& link = links_[peer];
  if (!link) [[unlikely]]
    meet(peer, link);
  return *link;
}

void EtherTransport::meet(PeerId peer, std::unique_ptr<ether::Link>& link) noexcept {
  std::string name = config_.processes->describe(peer);
  wire::Card card;
  if (cards_.read(peer.index, card).ok() && card.has("name")) name += " on host " + card.get("name");
  const std::string place = neighbours_.place(peer) + " from " + port_.interface().name;
  wire::PacketSealer* const sealer = seals_.on() ? &seals_with(peer).out : nullptr;
  log_info("%s is at %s, with packets of up to %zu bytes, %s", name.c_str(), place.c_str(), port_.most_bytes(),
           sealer != nullptr ? sealer->describe() : name_of(port_.protection()));
  link = std::make_unique<ether::Link>(context_, peer, neighbours_.address(peer, config_.self), std::move(name), place, sealer, detour_to(peer));
  met_.push_back(link.get());
  share_memory();
  newly_met_.push_back(peer);
  if (!announcement_.linked()) engine_.defer(announcement_);
}

void EtherTransport::announce() noexcept {
  for (const PeerId peer : std::exchange(newly_met_, {})) {
    if (interface_lost_) link(peer).interface_lost(why_interface_lost());
    sinks_.peer_met(peer);
  }
  if (interface_lost_) due_ = 0;
}

// Each peer may fill its share of the receive chunks.
void EtherTransport::share_memory() noexcept {
  const std::size_t share = ether::PacketSocket::kReceiveChunks / port_.socket().ranks() / port_.chunks_per_packet() / met_.size();
  for (ether::Link* link : met_) link->packets().set_window(std::max(share, kLeastWindow));
}

// ---- frames out -----------------------------------------------------------------------------------------------------

bool EtherTransport::post(PeerId peer, SendOp& op) noexcept {
  ether::Link& to = link(peer);
  if (!to.packets().open()) {
    refusals_.add(op, to.packets().why().copy());
    return false;
  }
  const std::int64_t now = engine_.clock().now();
  const bool taken = to.packets().post(op, now);
  look_ahead(to, now);
  leave(now);
  return taken;
}

bool EtherTransport::send_now(PeerId peer, wire::FrameHeader& header, const std::byte* payload, Delivery) noexcept {
  ether::Link& to = link(peer);
  const std::int64_t now = engine_.clock().now();
  if (!to.packets().send_now(header, payload, now)) return false;
  look_ahead(to, now);
  leave(now);
  return true;
}

bool EtherTransport::loses_packets(PeerId peer) const noexcept {
  const std::unique_ptr<ether::Link>* link = links_.find(peer);
  return link != nullptr && *link && (*link)->packets().lossy() && !(*link)->diverted();
}

void EtherTransport::heed_resent(PeerId peer, std::uint32_t packets, std::uint64_t bytes) noexcept {
  const std::unique_ptr<ether::Link>* link = links_.find(peer);
  if (link != nullptr && *link) (*link)->packets().heed_resent(packets, bytes);
}

// What has been queued goes to the kernel.
void EtherTransport::leave(std::int64_t now) noexcept {
  constexpr std::int64_t kSoon = 50'000;
  if (!port_.flush(engine_.system_calls())) due_ = std::min(due_, now + kSoon);
}

// `due_` is never later than what a link wants.
void EtherTransport::look_ahead(const ether::Link& link, std::int64_t now) noexcept {
  due_ = std::min(due_, link.deadline(now));
}

bool EtherTransport::flushed() const noexcept {
  return std::all_of(met_.begin(), met_.end(), [](const ether::Link* link) { return !link->packets().open() || link->packets().flushed(); });
}

// ---- turns ----------------------------------------------------------------------------------------------------------

bool EtherTransport::poll() noexcept {
  if (!open_) return false;
  const bool came = port_.look(engine_.system_calls());
  if (!came && due_ == kNever) return false;
  const std::int64_t now = engine_.clock().now();
  bool moved = !neighbours_.early().empty() && take_early(now);
  moved |= came && receive(now);
  if (moved && !armed_ && !outside_ && !interface_lost_ && ++finds_ > tuning().ether_steady_polls) {
    engine_.port().leave(port_.socket().fd());
    outside_ = true;
  }
  if (now >= due_) moved |= work_due(now);
  leave(now);
  if (port_.gone()) lose_interface();
  return moved;
}

bool EtherTransport::receive(std::int64_t now) noexcept {
  for (int count = 0; count < kMostPerPoll && open_ && port_.has_received(); ++count) {
    take(port_.received().packet, now);
    port_.pop();
  }
  port_.return_memory();
  work_touched(now);
  return true;
}

bool EtherTransport::take_early(std::int64_t now) noexcept {
  for (const std::vector<std::byte>& packet : neighbours_.early()) take(packet, now);
  neighbours_.forget_early();
  return work_touched(now);
}

// The program in the kernel lets nothing pass that is not for this endpoint and its job.
void EtherTransport::take(std::span<const std::byte> packet, std::int64_t now) noexcept {
  wire::PacketHeader header;
  if (!wire::decode_header(packet.data(), packet.size(), header).ok() || header.to.tag != context_.own.tag) return;
  const std::byte* const own = neighbours_.known({header.to.source}) ? unprotect(header, packet) : nullptr;
  if (own == nullptr || !wire::check_body(header, own).ok()) return;
  ether::Link& from = link({header.to.source});
  from.take(header, own, now);
  touch(from);
}

// The packet as its sender had it before it was protected; null: it is worth nothing.
const std::byte* EtherTransport::unprotect(const wire::PacketHeader& header, std::span<const std::byte> packet) noexcept {
  switch (port_.protection()) {
    case Protection::kPlain:
      break;
    case Protection::kChecked:
      if (wire::check_holds(header, packet.data(), packet.size())) break;
      note_damage();
      return nullptr;
    case Protection::kSealed:
      return unseal(header, packet);
  }
  return packet.data();
}

// A kernel seals nothing. What it answers to a probe anybody can have made up: that a rank is there is believed, for whoever can say so could as well
// hold packets back; that it is not, which would end the link, is not.
const std::byte* EtherTransport::unseal(const wire::PacketHeader& header, std::span<const std::byte> packet) noexcept {
  if (!wire::is_of_ranks(header.kind)) return header.kind == wire::PacketKind::kGone ? nullptr : packet.data();
  switch (seals_with({header.to.source}).in.open(header, packet.data(), packet.size(), opened_.data())) {
    case wire::PacketOpener::Outcome::kOpened:
      return opened_.data();
    case wire::PacketOpener::Outcome::kAgain:
      return nullptr;
    case wire::PacketOpener::Outcome::kWrong:
      break;
  }
  note_damage();
  return nullptr;
}

// It counts as lost, and is sent again.
void EtherTransport::note_damage() noexcept {
  const std::uint64_t count = ++damaged_;
  if ((count & (count - 1)) == 0)
    log_warn("%llu packets came by %s with a wrong check or seal; they are sent again", static_cast<unsigned long long>(count),
             port_.interface().name.c_str());
}

void EtherTransport::touch(ether::Link& link) noexcept {
  if (std::exchange(link.touched, true)) return;
  touched_.push_back(&link);
}

bool EtherTransport::work_touched(std::int64_t now) noexcept {
  bool moved = false;
  while (!touched_.empty()) {
    ether::Link* link = touched_.back();
    touched_.pop_back();
    link->touched = false;
    moved |= link->work(now);
    if (!engine_.has_event_thread()) link->packets().acknowledge(now);
    look_ahead(*link, now);
  }
  return moved;
}

bool EtherTransport::work_due(std::int64_t now) noexcept {
  bool moved = false;
  due_ = kNever;
  for (ether::Link* link : met_) {
    if (link->deadline(now) <= now) moved |= link->work(now);
    look_ahead(*link, now);
  }
  return moved;
}

// ---- packets by the detour ------------------------------------------------------------------------------------------

Transport* EtherTransport::detour_to(PeerId peer) const noexcept {
  return detour_ != nullptr && neighbours_.takes_frames(peer) && detour_->reaches(peer) ? detour_ : nullptr;
}

Landing EtherTransport::on_header(PeerId peer, const wire::FrameHeader& header) noexcept {
  Landing landing;
  const char* const wrong = open_ && neighbours_.known(peer) ? wire::wrong_packet_frame(header)
                                                             : "a frame with a packet, for which this rank has no endpoint";
  if (wrong != nullptr) {
    landing.violation = true;
    landing.reason = wrong;
    return landing;
  }
  landing_[peer].resize(header.payload_bytes());
  landing.base = landing_[peer].data();
  landing.accepted = header.payload_bytes();
  return landing;
}

void EtherTransport::on_frame(PeerId peer, const wire::FrameHeader&) noexcept {
  if (diverted_.size() < kMostDiverted) diverted_.push_back({peer, std::exchange(landing_[peer], {})});
  if (!arrival_.linked()) engine_.defer(arrival_);
}

// The messages' sink has all transports abandon the peer.
void EtherTransport::on_peer_lost(PeerId, const Status&, const Landing*) noexcept {}

// Perhaps its packets wait for the detour.
void EtherTransport::on_peer_met(PeerId peer) noexcept {
  if (is_met(peer)) due_ = 0;
}

void EtherTransport::take_diverted() noexcept {
  const std::int64_t now = engine_.clock().now();
  for (const auto& [peer, packet] : std::exchange(diverted_, {})) {
    if (!open_) return;
    wire::PacketHeader header;
    const Status sound = wire::decode_framed(packet.data(), packet.size(), context_.own.tag, peer.index, header);
    ether::Link& from = link(peer);
    if (sound.ok())
      from.take_diverted(header, packet.data(), now);
    else
      from.refuse(sound.text());
    touch(from);
  }
  work_touched(now);
  leave(now);
}

// ---- sleep ----------------------------------------------------------------------------------------------------------

void EtherTransport::on_ready(std::uint32_t events) noexcept {
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) return lose_interface();
  poll();
}

// Peers learn what has come before this thread stops looking.
bool EtherTransport::arm() noexcept {
  if (!open_) return true;
  armed_ = true;
  finds_ = 0;
  const std::int64_t now = engine_.clock().now();
  for (ether::Link* link : met_) link->packets().acknowledge(now);
  due_ = neighbours_.early().empty() ? kNever : 0;
  for (const ether::Link* link : met_) look_ahead(*link, now);
  leave(now);
  if (due_ <= now || !come_back_to_port() || port_.has_received()) return false;
  if (due_ != kNever && (!timer_.pending() || due_ < timer_at_)) {
    timer_at_ = due_;
    engine_.set_timer(timer_, due_);
  }
  return true;
}

bool EtherTransport::come_back_to_port() noexcept {
  if (outside_ && !engine_.port().come_back(port_.socket().fd(), EPOLLIN | EPOLLET)) return false;
  outside_ = false;
  return true;
}

// ---- whether a peer is there ----------------------------------------------------------------------------------------

bool EtherTransport::watch_over(PeerId peer) noexcept {
  ether::Link& watched = link(peer);
  watched.watch();
  look_ahead(watched, engine_.clock().now());
  return false;
}

std::int64_t EtherTransport::watch_after() const noexcept {
  return open_ ? patience_of(config_) / kPerPatience : 0;
}

bool EtherTransport::is_met(PeerId peer) const noexcept {
  const std::unique_ptr<ether::Link>* const link = links_.find(peer);
  return link != nullptr && *link && (*link)->packets().open();
}

void EtherTransport::give_up(PeerId peer, const Status& why) noexcept {
  if (!is_met(peer)) return;
  poll();  // what has come already
  link(peer).give_up(why);
}

// The other transport that has lost the peer may have noticed first that this host's own interface is gone: nothing was on its way by packets.
void EtherTransport::abandon(PeerId peer, const Status& why) noexcept {
  if (!is_met(peer)) return;
  link(peer).abandon(why);
  if (!interface_lost_ && !ether::is_there(port_.interface())) lose_interface();
}

// ---- the end --------------------------------------------------------------------------------------------------------

void EtherTransport::lose_interface() noexcept {
  if (std::exchange(interface_lost_, true)) return;
  port_.note_gone();
  engine_.port().remove(port_.socket().fd());
  outside_ = false;
  log_warn("%s", why_interface_lost().text());
  for (ether::Link* link : met_) link->interface_lost(why_interface_lost());
  due_ = 0;
}

Status EtherTransport::why_interface_lost() const noexcept {
  return Status::error(MPI_ERR_OTHER, "%s has lost its network interface %s: it has been taken away or given to another network namespace",
                       context_.self.c_str(), port_.interface().name.c_str());
}

void EtherTransport::close() noexcept {
  if (!open_) return;
  open_ = false;
  for (ether::Link* link : met_) link->close();
  port_.flush(engine_.system_calls());
  engine_.cancel_timer(timer_);
  if (attached_) {
    if (!interface_lost_) engine_.port().remove(port_.socket().fd());
    engine_.remove_source(*this);
  }
  port_.close();
}

}  // namespace lapwing::net
