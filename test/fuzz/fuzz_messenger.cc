// A peer inside the job that sends whatever frames it likes, in any order, while rank 0 sends, receives, probes, cancels and sets up
// partitioned receives. Rank 0 must stay whole: what it stores is bounded, each request ends exactly once, at the latest with the peer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/internal_error.h"
#include "p2p/messages_for_tests.h"
#include "p2p/partitioned.h"

namespace {

using namespace lapwing;
using namespace lapwing::p2p;

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : next_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *next_++;
  }
  // Small ones mostly; and those at the edges of their types.
  std::uint64_t number() {
    const std::uint8_t first = byte();
    switch (first >> 6) {
      case 0:
        return first;
      case 1:
        return first << 8 | byte();
      case 2:
        return std::uint64_t{1} << (first & 63);
      default:
        return ~std::uint64_t{0} - (first & 63);
    }
  }

 private:
  const std::uint8_t* next_;
  std::size_t left_;
};

class Scene {
 public:
  explicit Scene(unsigned seed) : job_(options(seed)) {
    job_.pulls_until_failure = 0;
    job_.deaf = 1;
  }

  static LoopJob::Options options(unsigned seed) {
    LoopJob::Options options;
    options.seed = seed;
    options.unexpected_limit = 1 << 16;
    return options;
  }

  void act(Input& input) {
    switch (input.byte() % 8) {
      case 0:
      case 1:
      case 2:
        return send_frame(input);
      case 3:
        return receive(input);
      case 4:
        return send(input);
      case 5:
        return cancel(input);
      case 6:
        return partitioned(input);
      default:
        for (int steps = input.byte() % 16; steps > 0; --steps) job_.step();
    }
  }

  void end() {
    job_.run();
    const MessengerCounters& counters = job_[0].messenger.counters();
    LAPWING_CHECK(counters.unexpected_bytes_now <= 1 << 18);
    if (job_.violations.empty()) job_.lose(1);
    job_.run();
    for (Receive& each : receives_) {
      if (!each.done()) job_[0].messenger.cancel(each);
      LAPWING_CHECK(each.done());
    }
    for (Send& each : sends_) LAPWING_CHECK(each.done());
    for (PartitionedReceive* each : partitioned_) {
      LAPWING_CHECK(each->done());
      each->destroy();
    }
    LAPWING_CHECK(job_[0].messenger.quiet());
  }

 private:
  bool lost() const { return !job_.violations.empty(); }

  void send_frame(Input& input) {
    if (lost()) return;
    wire::MessageHeader header;
    header.kind = static_cast<wire::MessageKind>(input.byte() % 10 + 1);
    header.flags = input.byte() % 4 == 0 ? 1 : 0;
    header.credit = static_cast<std::uint32_t>(input.number());
    header.context = comm::ContextIds::kWorld | (input.byte() & 3);
    if (input.byte() % 4 == 0) header.context = setup_context();
    header.source = static_cast<std::int32_t>(input.number() % 3) == 2 ? 0 : 1;
    header.tag = static_cast<std::int32_t>(input.number());
    header.message_bytes = header.offset = input.number();
    header.sender_token = input.number() | (input.byte() % 2 == 0 ? std::uint64_t{1} << 32 : 0);
    header.receiver_token = input.number() | (input.byte() % 2 == 0 ? std::uint64_t{1} << 32 : 0);
    std::vector<std::byte> payload(input.number() % 2048);
    for (std::size_t i = 0; i < std::min<std::size_t>(payload.size(), 24); ++i) payload[i] = std::byte{input.byte()};
    job_.inject(1, 0, header, std::move(payload));
  }
  std::uint64_t setup_context() { return job_[0].world->wire_context(comm::Plane::kPartitionedSetup); }

  void receive(Input& input) {
    const std::uint8_t how = input.byte();
    Bytes& room = buffers_.emplace_back(input.number() % 5000);
    const int source = how % 4 == 0 ? MPI_ANY_SOURCE : 1;
    const int tag = how % 8 < 2 ? MPI_ANY_TAG : static_cast<int>(input.number() & 0x7fffffff);
    receives_.emplace_back(from(job_[0], source, tag, room));
    job_[0].messenger.start(receives_.back());
  }

  void send(Input& input) {
    const SendMode mode = input.byte() % 2 == 0 ? SendMode::kStandard : SendMode::kSynchronous;
    const int tag = input.byte();
    sends_.emplace_back(to(job_[0], 1, tag, buffers_.emplace_back(input.number() % 20000), mode));
    job_[0].messenger.start(sends_.back());
  }

  void cancel(Input& input) {
    const std::uint8_t which = input.byte();
    if (which % 2 == 0 && !sends_.empty()) {
      Send& send = sends_[which / 2 % sends_.size()];
      if (!send.done()) job_[0].messenger.cancel(send);
    } else if (!receives_.empty()) {
      Receive& receive = receives_[which / 2 % receives_.size()];
      if (!receive.done()) job_[0].messenger.cancel(receive);
    }
  }

  void partitioned(Input& input) {
    if (partitioned_.size() >= 4) return;
    const int partitions = input.byte() % 5;
    Bytes& room = buffers_.emplace_back(static_cast<std::size_t>(partitions) * 100);
    ReceiveArguments arguments = from(job_[0], 1, input.byte(), room);
    arguments.count = 100;
    partitioned_.push_back(new PartitionedReceive(job_[0].engine, job_[0].messenger, arguments, partitions));
    (void)partitioned_.back()->start().ok();
  }

  std::deque<Bytes> buffers_;
  LoopJob job_;
  std::deque<Send> sends_;
  std::deque<Receive> receives_;
  std::vector<PartitionedReceive*> partitioned_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ::testing::GTEST_FLAG(throw_on_failure) = true;  // the loop network's own assertions
  Input input(data, std::min<std::size_t>(size, 2000));
  Scene scene(input.byte());
  while (!input.empty()) scene.act(input);
  scene.end();
  return 0;
}
