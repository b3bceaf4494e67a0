// One real ShmTransport among ranks played by the test, which writes into the shared memory whatever it likes.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/settings.h"
#include "net/shm/shm_transport.h"
#include "runtime/one_job_for_tests.h"
#include "wire/inline_frame.h"

namespace lapwing::net {

inline constexpr std::int64_t kMinute = 60'000'000'000;

struct CountedOp : SendOp {
  CountedOp() {
    header.describe(wire::Protocol::kMessages, 0);
    on_taken = [](SendOp& op, const Status& status) noexcept {
      auto& self = static_cast<CountedOp&>(op);
      (status.ok() ? self.sent : self.failed)++;
    };
  }
  void carry(const std::vector<std::byte>& bytes) {
    data = bytes.data();
    header.describe(wire::Protocol::kMessages, bytes.size());
  }
  int sent = 0;
  int failed = 0;
};

struct CountingSink final : FrameSink {
  Landing on_header(PeerId, const wire::FrameHeader& header) noexcept override {
    ++headers;
    Landing landing;
    landing.base = buffer.data();
    landing.accepted = std::min<std::uint64_t>(buffer.size(), header.payload_bytes());
    return landing;
  }
  void on_frame(PeerId peer, const wire::FrameHeader&) noexcept override {
    ++frames;
    last_peer = peer;
    if (after_frame) after_frame();
  }
  void on_peer_lost(PeerId peer, const Status& why, const Landing* landing) noexcept override {
    ++lost;
    last_peer = peer;
    lost_text = why.text();
    lost_within_frame = landing != nullptr;
  }
  std::vector<std::byte> buffer = std::vector<std::byte>(1 << 16);
  std::function<void()> after_frame;
  int frames = 0, lost = 0, headers = 0;
  PeerId last_peer;
  std::string lost_text;
  bool lost_within_frame = false;
};

inline NetworkConfig config_for(std::uint32_t rank, std::uint32_t size, const Settings& settings) {
  NetworkConfig config;
  config.self = {rank};
  config.size = size;
  config.processes = &runtime::one_job(size);
  config.host_identity = "this-host";
  config.settings = &settings;
  return config;
}

// A host of `ranks` ranks: number `me` is real, the others, the leader 0 among them, are the test's.
class ShmTransportTest : public testing::Test {
 protected:
  void open(std::uint32_t ranks, std::uint32_t me, std::uint64_t ring = 4096) {
    me_ = me;
    settings_.shm_ring = ring;
    engine::EngineOptions options;
    options.event_thread = false;
    ASSERT_TRUE(engine_.start(options).ok());
    ASSERT_TRUE(leader_.open().ok());
    ASSERT_TRUE(segment_.create(ranks, settings_.shm_ring, 0, files_.segment).ok());
    ASSERT_TRUE(shm::create_doorbells(ranks, files_.doorbells).ok());
    transport_ = std::make_unique<ShmTransport>(engine_, sink_, config_for(me, ranks, settings_));
    std::vector<wire::Card> cards(ranks);
    for (wire::Card& card : cards) {
      card.set("host", "this-host");
      card.set("shm", shm::Invitation{leader_.name(), leader_.token(), address_of_zero(), 1, {getpid()}}.encode());
    }
    if (me + 1 < ranks) cards[me + 1].set("shm", shm::Invitation{leader_.name(), leader_.token(), address_of_zero(), 1, watched_}.encode());
    ASSERT_TRUE(transport_->publish(cards[me]).ok());
    const std::int64_t deadline = clock_.now() + kMinute;
    std::vector<std::uint32_t> all(ranks);
    std::iota(all.begin(), all.end(), 0);
    shm::Agreement agreement(segment_.agreement(), ranks, files_.doorbells[0].get());
    std::thread serving([&] {
      agreement.join();
      const shm::Place place = shm::place_among(all, 0);
      EXPECT_TRUE(leader_.serve(place, files_, agreement, clock_, deadline, [] { return false; }).ok());
    });
    std::thread fetching([&] {
      for (std::uint32_t rank = 1; rank < ranks; ++rank) {
        shm::SharedFiles files;
        if (rank == me) continue;
        const shm::Place place = shm::place_among(all, rank);
        EXPECT_TRUE(shm::fetch(leader_.name(), leader_.token(), 0, place, clock_, deadline, files).ok());
        agreement.join();
      }
    });
    const Status attached = transport_->attach(cards);
    serving.join();
    fetching.join();
    ASSERT_TRUE(attached.ok()) << attached.text();
    rings(0);  // the end of the agreement
  }

  std::uint64_t address_of_zero() const { return reinterpret_cast<std::uintptr_t>(&zero_); }

  shm::RingWriter writer_of(std::uint32_t rank) {
    shm::RingWriter writer;
    writer.attach(segment_.ring_header(rank, me_), segment_.ring_bytes(rank, me_), segment_.layout().ring_bytes);
    return writer;
  }
  shm::RingReader reader_of(std::uint32_t rank) {
    shm::RingReader reader;
    reader.attach(segment_.ring_header(me_, rank), segment_.ring_bytes(me_, rank), segment_.layout().ring_bytes);
    return reader;
  }
  void set_pending(std::uint32_t sender) {
    segment_.pending(me_)[sender / 64].fetch_or(std::uint64_t{1} << (sender % 64));
  }
  bool pending(std::uint32_t sender) { return pending(sender, me_); }
  bool pending(std::uint32_t sender, std::uint32_t receiver) {
    return (segment_.pending(receiver)[sender / 64].load() >> (sender % 64) & 1) != 0;
  }
  void post(SendOp& op) {
    if (transport_->post({0}, op)) op.on_taken(op, Status());
  }
  // A frame without payload from `rank`.
  void send_from(std::uint32_t rank, shm::RingWriter& writer) {
    wire::FrameHeader header;
    header.describe(wire::Protocol::kMessages, 0);
    wire::store_around_stamp(header, writer.begin(wire::kHeaderBytes));
    writer.wipe_next();
    writer.publish_head();
    set_pending(rank);
  }
  // A frame of sevens from `rank`, in a cell; of a long one no more than the head is published.
  void send_in_cell(shm::RingWriter& writer, unsigned cell, std::uint64_t bytes, std::uint32_t rank = 0) {
    if (cell < segment_.layout().cells()) std::memset(segment_.cell(cell), 7, std::min(bytes, segment_.layout().cell_bytes()));
    wire::FrameHeader header;
    header.describe(wire::Protocol::kMessages, bytes);
    wire::store_around_stamp(header, writer.begin(wire::kHeaderBytes, shm::kInCell), static_cast<std::uint16_t>(cell));
    writer.wipe_next();
    writer.publish_head();
    set_pending(rank);
  }
  std::uint64_t rings(std::uint32_t rank) {
    std::uint64_t count = 0;
    return read(files_.doorbells[rank].get(), &count, sizeof count) == sizeof count ? count : 0;
  }

  const std::uint64_t zero_ = 0;
  std::uint32_t me_ = 1;
  shm::ProcessName watched_{getpid()};  // of rank me + 1
  SteadyClock clock_;
  Settings settings_;
  engine::Engine engine_{clock_};
  CountingSink sink_;
  shm::Listener leader_;
  shm::Segment segment_;
  shm::SharedFiles files_;
  std::unique_ptr<ShmTransport> transport_;
  std::vector<std::byte> payload_ = std::vector<std::byte>(10'000);
};

}  // namespace lapwing::net
