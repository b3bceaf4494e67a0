#include "net/tcp/tcp_transport.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/settings.h"
#include "base/tuning.h"
#include "net/tcp/congestion_control.h"
#include "net/tcp/interfaces.h"
#include "wire/machine.h"

namespace lapwing::net {

namespace {

constexpr const char* kCardKey = "tcp";

// A program in the peer's kernel passes on what asks for an acknowledgement, and so the peer hears of it though it computes (net/kernel/area.h).
void mark(wire::FrameHeader& header, Delivery delivery) noexcept {
  if (delivery == Delivery::kUrgent) [[unlikely]]
    header.set_flags(wire::kFlagAcknowledge);
}

TcpOptions options_from(const NetworkConfig& config) {
  TcpOptions options;
  options.self = config.self;
  options.processes = config.processes;
  options.size = config.size;
  options.job_secret = config.job_secret;
  options.key_file = config.key_file;
  options.host_identity = config.host_identity;
  options.host_name = config.host_name;
  options.single_host = config.single_host;
  if (const Settings* settings = config.settings; settings != nullptr) {
    using std::chrono::nanoseconds;
    options.eager_limit = settings->eager_limit_tcp;
    if (!settings->is_given("eager_limit_tcp")) options.local_unasked = tuning().tcp_local_unasked;
    options.interfaces = settings->tcp_interface;
    options.congestion_control = settings->tcp_congestion;
    options.first_port = settings->tcp_ports.first;
    options.last_port = settings->tcp_ports.last;
    options.connect_timeout = nanoseconds(settings->connect_timeout).count();
    options.handshake_timeout = nanoseconds(settings->handshake_timeout).count();
    options.peer_timeout = nanoseconds(settings->peer_timeout).count();
    options.resume = settings->resume;
    options.wire = settings->wire;
    options.links = settings->tcp_links;
    options.receive = settings->receive;
    options.polls = settings->progress == Progress::kPolling;
    options.receive_memory = settings->receive_memory;
    options.receive_zone = settings->receive_zone;
    options.accelerator = settings->accelerator;
  }
  return options;
}

}  // namespace

TcpTransport::TcpTransport(engine::Engine& engine, const Sinks& sinks, const TcpOptions& options)
    : shared_(engine, sinks, options), acceptor_(shared_, *this), loading_(*this) {}

TcpTransport::TcpTransport(engine::Engine& engine, const Sinks& sinks, const NetworkConfig& config)
    : TcpTransport(engine, sinks, options_from(config)) {}

TcpTransport::~TcpTransport() {
  close();
}

Status TcpTransport::publish(wire::Card& card) {
  shared_.interfaces = tcp::list_interfaces();
  if (shared_.options.size < 2 || shared_.options.job_secret.empty()) return {};  // there is no peer to connect
  LAPWING_TRY(shared_.key.set(shared_.options.job_secret, shared_.options.key_file));
  log_info("tcp: frames are %s; a connection needs the job's secret%s", name_of(shared_.options.wire),
           shared_.options.key_file.empty() ? "" : " and the key file");
  LAPWING_TRY(tcp::check_congestion_control(shared_.options.congestion_control));
  std::vector<tcp::Interface> listened = tcp::loopback_interfaces(shared_.interfaces);
  if (listened.size() > 1) listened.resize(1);
  if (!shared_.options.single_host || listened.empty()) {
    std::vector<tcp::Interface> usable;
    LAPWING_TRY(tcp::usable_interfaces(shared_.interfaces, shared_.options.interfaces, usable));
    listened.insert(listened.end(), usable.begin(), usable.end());
  } else if (shared_.options.self.index == 0 && !shared_.options.interfaces.empty()) {
    std::vector<tcp::Interface> usable;
    if (const Status found = tcp::usable_interfaces(shared_.interfaces, shared_.options.interfaces, usable); !found.ok())
      log_warn("%s. All ranks run on this host and need none", found.text());
  }
  std::vector<tcp::Address> addresses;
  LAPWING_TRY(acceptor_.open(listened, addresses));
  for (const tcp::Address& address : addresses) acceptor_.expect(address);  // peers on this host
  shared_.addresses = addresses;
  card.set(kCardKey, tcp::encode_addresses(addresses));
  return {};
}

Status TcpTransport::attach(const wire::CardBook& cards) {
  shared_.cards = cards;
  links_.reset(cards.size());
  if (!shared_.options.single_host) LAPWING_TRY(read_offers());
  LAPWING_TRY(prepare_kernel());
  LAPWING_TRY(acceptor_.start());
  shared_.liveness_monitor.inspect_with([this] {
    bool under_way = acceptor_.inspect();
    links_.for_each([&](std::size_t, const std::unique_ptr<tcp::Link>& link) { under_way |= link && link->inspect(); });
    return under_way;
  });
  shared_.engine.add_source(*this);
  attached_ = true;
  return {};
}

// ---- receive in the kernel ------------------------------------------------------------------------------------------

// LAPWING_RECEIVE: what cannot be had is an error only where it was asked for by name. Otherwise MPI_Init does not wait for it either.
Status TcpTransport::prepare_kernel() {
  if (shared_.options.receive == Receive::kUser || !shared_.key.known()) return {};
  const TcpOptions& options = shared_.options;
  Status status = shared_.intakes.prepare(options.size - 1, options.receive_memory, options.receive_zone, options.accelerator);
  if (shared_.options.receive == Receive::kAuto) {
    if (status.ok()) status = shared_.engine.submit(loading_);
    loading_.under_way = status.ok();
    if (!status.ok()) kernel_prepared(std::move(status));
    return {};
  }
  if (status.ok()) status = shared_.intakes.load();
  if (status.ok()) status = let_links_join();
  return status.ok() ? Status() : Status::error(status.error_class(), "LAPWING_RECEIVE=kernel: %s", status.text());
}

TcpTransport::Loading::Loading(TcpTransport& owner) noexcept
    : Work(&Loading::load, &Loading::finish), transport(owner) {}

void TcpTransport::Loading::load(Work& work) noexcept {
  auto& self = static_cast<Loading&>(work);
  self.status = self.transport.shared_.intakes.load();
}

void TcpTransport::Loading::finish(Work& work) noexcept {
  auto& self = static_cast<Loading&>(work);
  self.under_way = false;
  if (self.transport.attached_) self.transport.kernel_prepared(std::move(self.status));
}

void TcpTransport::kernel_prepared(Status status) noexcept {
  if (status.ok()) status = let_links_join();
  if (status.ok()) return;
  shared_.intakes.release();
  log_info("going on without receive in the kernel: %s", status.text());
}

// Those that stand already join when they are read next.
Status TcpTransport::let_links_join() {
  LAPWING_TRY(shared_.engine.port().add(shared_.intakes.notices_fd(), EPOLLIN | EPOLLET, notice_handler_));
  shared_.intakes.open();
  log_info("messages over tcp are matched in the kernel, %s, of up to %u peers", shared_.intakes.by().c_str(), shared_.intakes.most());
  return {};
}

Status TcpTransport::read_offers() {
  offered_.assign(links_.size(), false);
  hosts_.reset(shared_.options.host_identity, links_.size());
  wire::Card card;
  std::vector<tcp::Address> addresses;
  const std::string_view kernel = wire::kernel_of(shared_.options.host_identity);
  bool one_kernel = !kernel.empty();
  for (PeerId peer; peer.index < links_.size(); ++peer.index) {
    LAPWING_TRY(shared_.cards.read(peer.index, card));
    const Status decoded = tcp::decode_addresses(card.get(kCardKey), addresses);
    if (!decoded.ok())
      return Status::error(decoded.error_class(), "the card of %s is damaged: %s", shared_.describe(peer).c_str(),
                           decoded.text());
    offered_[peer.index] = !addresses.empty();
    for (const tcp::Address& address : addresses) acceptor_.expect(address);
    hosts_.add(peer, card.get("host"));
    one_kernel &= wire::kernel_of(card.get("host")) == kernel;
  }
  // All hosts are containers or network namespaces of one machine.
  if (one_kernel && shared_.options.congestion_control.empty()) shared_.congestion_control = tcp::congestion_control_of_machine();
  return {};
}

bool TcpTransport::reaches(PeerId peer) const noexcept {
  return shared_.key.known() && peer != shared_.options.self && peer.index < links_.size() &&
         (offered_.empty() || offered_[peer.index]);
}

// On this host memory holds what is late, and no port congests.
Capabilities TcpTransport::capabilities(PeerId peer) const noexcept {
  Capabilities capabilities;
  capabilities.eager_limit = std::min<std::uint64_t>(shared_.options.eager_limit, wire::kLeastFrameLimit);
  if (is_on_this_host(peer)) capabilities.unasked = std::min<std::uint64_t>(shared_.options.local_unasked, wire::kLeastFrameLimit);
  capabilities.data_chunk = tuning().tcp_data_chunk;
  capabilities.urgent_bytes = tuning().tcp_rest_watermark;
  capabilities.answers_wait = shared_.engine.has_event_thread();
  capabilities.matches = may_match();
  return capabilities;
}

std::uint32_t TcpTransport::packets_resent(PeerId peer) const noexcept {
  const std::unique_ptr<tcp::Link>* link = links_.find(peer);
  return link != nullptr && *link ? (*link)->packets_resent() : 0;
}

std::uint64_t TcpTransport::frame_limit(PeerId peer) const noexcept {
  const std::unique_ptr<tcp::Link>* link = links_.find(peer);
  return link != nullptr && *link ? (*link)->frame_limit() : wire::kLeastFrameLimit;
}

std::shared_ptr<MessageMemory> TcpTransport::message_memory() const noexcept {
  return may_match() ? shared_.intakes.zone() : nullptr;
}

LentQueue* TcpTransport::lent_queue(PeerId peer, LentQueue::Key) noexcept {
  const std::unique_ptr<tcp::Link>* link = links_.find(peer);
  return link != nullptr && *link ? (*link)->lent_queue() : nullptr;
}

tcp::Link& TcpTransport::link(PeerId peer) noexcept {
  std::unique_ptr<tcp::Link>& link = links_[peer];
  if (!link) [[unlikely]]
    meet(peer, link);
  return *link;
}

bool TcpTransport::is_on_this_host(PeerId peer) const noexcept {
  wire::Card card;
  return shared_.options.single_host || (shared_.cards.read(peer.index, card).ok() && card.get("host") == shared_.options.host_identity);
}

// A card that cannot be read offers no address, and the link says so when a frame is posted.
void TcpTransport::meet(PeerId peer, std::unique_ptr<tcp::Link>& link) noexcept {
  wire::Card card;
  std::vector<tcp::Address> addresses;
  const bool readable =
      shared_.cards.read(peer.index, card).ok() && tcp::decode_addresses(card.get(kCardKey), addresses).ok();
  if (!readable) addresses.clear();
  const bool same_host = wire::machine_of(card.get("host")) == wire::machine_of(shared_.options.host_identity);
  link = std::make_unique<tcp::Link>(shared_, peer, std::move(addresses), same_host);
  hosts_.meet(peer);
  polls_dearly_ = true;  // sockets may become ready at any time
}

// Hosts vanish, and a rank of each is enough to notice.
bool TcpTransport::watch_over_host(PeerId peer) noexcept {
  PeerId representative;
  if (!hosts_.choose(peer, representative)) return false;
  const tcp::Link::State state = link_state(representative);
  const bool closed = state == tcp::Link::State::kFinished || state == tcp::Link::State::kLost;
  if (closed && !hosts_.replace(representative, peer)) return false;
  return watch_over(closed ? peer : representative);
}

void TcpTransport::give_up(PeerId peer, const Status& why) noexcept {
  if (link_state(peer) != tcp::Link::State::kIdle) link(peer).give_up(why);
}

void TcpTransport::abandon(PeerId peer, const Status& why) noexcept {
  const std::unique_ptr<tcp::Link>* link = links_.find(peer);
  if (link != nullptr && *link) (*link)->end_with(why);
}

// Among ranks of one host only processes end, and that is noticed elsewhere.
std::int64_t TcpTransport::watch_after() const noexcept {
  constexpr std::int64_t kPerPatience = 4;
  return shared_.options.single_host ? 0 : shared_.options.peer_timeout / kPerPatience;
}

tcp::Link::State TcpTransport::link_state(PeerId peer) const noexcept {
  const std::unique_ptr<tcp::Link>* link = links_.find(peer);
  return link != nullptr && *link ? (*link)->state() : tcp::Link::State::kIdle;
}

bool TcpTransport::post(PeerId peer, SendOp& op) noexcept {
  mark(op.header, op.delivery);
  return link(peer).post(op);
}

bool TcpTransport::send_now(PeerId peer, wire::FrameHeader& header, const std::byte* payload, Delivery delivery) noexcept {
  mark(header, delivery);
  return link(peer).send_now(header, payload);
}

void TcpTransport::admit(PeerId peer, std::unique_ptr<tcp::Connection> connection) noexcept {
  link(peer).addressed(connection->handshake().peer_terms())->open(std::move(connection));
}

wire::Verdict TcpTransport::judge(PeerId peer, const wire::Terms& theirs) noexcept {
  tcp::Link* addressed = link(peer).addressed(theirs);
  return addressed != nullptr ? addressed->judge(theirs) : wire::Verdict::kGone;
}

wire::Position TcpTransport::position(PeerId peer, const wire::Terms& theirs) noexcept {
  const tcp::Link* addressed = link(peer).addressed(theirs);
  return addressed != nullptr ? addressed->position() : wire::Position();
}

bool TcpTransport::arm() noexcept {
  if (has_work() || shared_.busy_links.input_expected()) return false;
  shared_.intakes.hear_notices();
  return shared_.busy_links.arm();
}

bool TcpTransport::rest() noexcept {
  if (has_work()) return false;
  shared_.intakes.hear_notices();
  return shared_.busy_links.rest();
}

// Which link it is of, the next poll finds.
void TcpTransport::NoticeHandler::on_ready(std::uint32_t) noexcept {
  shared.intakes.hear_notices();
  shared.busy_links.end_rest();
  shared.busy_links.expect_input();
}

bool TcpTransport::poll() noexcept {
  shared_.retired.clear();
  bool moved = false;
  while (!shared_.deferred.empty()) {
    tcp::Sender* sender = shared_.deferred.back();
    shared_.deferred.pop_back();
    sender->flush_deferred();
    moved = true;
  }
  moved |= shared_.busy_links.poll();
  wants_port_looked_at_ = shared_.busy_links.too_many();
  if (!shared_.owing.empty()) acknowledge(moved);
  return moved || copy_kept();
}

// When nothing else moves. The event thread takes the core from the computation for that only where something else goes on then.
bool TcpTransport::copy_kept() noexcept {
  const auto which = shared_.engine.event_thread_drives() ? tcp::SendQueue::Loans::kFollowed : tcp::SendQueue::Loans::kAll;
  for (std::size_t i = shared_.lending.size(); i-- > 0;) {
    if (shared_.lending[i]->copy_kept(which)) return true;
  }
  return false;
}

// When nothing else moves, so that it does not hold up what arrives; and before long in any case.
void TcpTransport::acknowledge(bool moved) noexcept {
  if (moved && ++polls_owing_ < tuning().tcp_polls_owing) return;
  polls_owing_ = 0;
  while (!shared_.owing.empty()) shared_.owing.back()->acknowledge();
}

bool TcpTransport::flushed() const noexcept {
  bool flushed = true;
  links_.for_each([&](std::size_t, const std::unique_ptr<tcp::Link>& link) { flushed &= !link || link->settled(); });
  return flushed;
}

void TcpTransport::ask_for_flush() noexcept {
  links_.for_each([](std::size_t, const std::unique_ptr<tcp::Link>& link) {
    if (link) link->ask();
  });
}

void TcpTransport::close() noexcept {
  shared_.liveness_monitor.stop();
  links_.for_each([](std::size_t, const std::unique_ptr<tcp::Link>& link) {
    if (link) link->close();
  });
  acceptor_.close();
  if (attached_) shared_.engine.remove_source(*this);
  if (attached_ && shared_.intakes.ready()) shared_.engine.port().remove(shared_.intakes.notices_fd());
  attached_ = false;
  shared_.retired.clear();
}

}  // namespace lapwing::net
