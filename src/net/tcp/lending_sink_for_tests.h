// A sink that lends receives to a program in the kernel (net/kernel/area.h) as the messenger does, and messages for it.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "net/tcp/tcp_pair_for_tests.h"
#include "wire/message_header.h"

namespace lapwing::net::tcp::tests {

inline constexpr std::uint64_t kContext = 4;
// Tags: of messages that receives are posted for, of such as match none, and of such as no program takes, for they are requests.
inline constexpr int kPassedOn = 0, kLent = 1, kNeverLent = 2;

inline wire::FrameHeader message(int tag, int number, std::size_t bytes) {
  wire::MessageHeader header;
  header.kind = tag == kPassedOn ? wire::MessageKind::kRts : wire::MessageKind::kEager;
  header.context = kContext;
  header.tag = tag;
  header.receiver_token = static_cast<std::uint64_t>(number);  // a note, which no transport reads
  header.payload_bytes = bytes;
  return wire::pack(header);
}

// The frame with this number of the channel.
inline std::vector<std::byte> bytes_of(std::uint64_t sequence, int tag, int number, std::size_t payload) {
  wire::FrameHeader header = message(tag, number, payload);
  header.number(static_cast<std::uint32_t>(sequence), 0);
  std::vector<std::byte> bytes(wire::kHeaderBytes + payload);
  std::memcpy(bytes.data(), header.words, sizeof header.words);
  fill_with_pattern(std::span(bytes).subspan(wire::kHeaderBytes), tag * 1000 + number);
  return bytes;
}

// One that asks for an answer at once.
inline wire::FrameHeader request(int number, std::uint64_t bytes) {
  wire::MessageHeader header;
  header.kind = wire::MessageKind::kRts;
  header.flags = wire::kFlagAtOnce;
  header.context = kContext;
  header.tag = kLent;
  header.message_bytes = bytes;
  header.sender_token = 1000 + static_cast<std::uint64_t>(number);
  header.receiver_token = static_cast<std::uint64_t>(number);
  return wire::pack(header);
}

// A message of this tag, and its number among them.
struct MessageOp : SendOp {
  MessageOp(int tag, int number, std::size_t bytes) : payload(bytes) {
    fill_with_pattern(payload, tag * 1000 + number);
    header = message(tag, number, bytes);
    data = payload.data();
    on_taken = [](SendOp& op, const Status& status) noexcept {
      auto& self = static_cast<MessageOp&>(op);
      ++self.completions;
      self.failed = !status.ok();
    };
  }
  std::vector<std::byte> payload;
  int completions = 0;
  bool failed = false;
};

// A posted receive for messages with kLent, in `memory` if that is not null.
struct PostedReceive {
  PostedReceive(std::size_t bytes, MessageMemory* memory)
      : capacity(bytes) {
    if (memory == nullptr)
      heap.resize(bytes);
    else
      block = std::shared_ptr<void>(memory->allocate(bytes, 1), [memory](void* block) { memory->free(block); });
  }
  std::byte* data() { return block != nullptr ? static_cast<std::byte*>(block.get()) : heap.data(); }

  std::size_t capacity;
  std::shared_ptr<void> block;
  std::vector<std::byte> heap;
  LentQueue* lent_to = nullptr;
  std::uint64_t position = 0;
  bool landed = false;
};

class LendingSink final : public FrameSink {
 public:
  int next[3] = {0, 0, 0};  // of each tag: the number of the message that is due
  int landed = 0, passed = 0, lost = 0, acknowledged = 0;  // by the program
  bool in_order = true, intact = true, lost_within_frame = false;
  std::string lost_text;
  std::uint64_t token = 0;  // of receives that are posted
  int answers_lost = 0;

  // The messenger's side, in little: matching in order of receives, of messages, or kept.
  void post(LentQueue* queue, std::size_t capacity, bool unattended = false, MessageMemory* memory = nullptr) {
    if (kept_ > 0) return void(--kept_);
    PostedReceive& receive = receives_.emplace_back(capacity, memory);
    if (queue == nullptr || queue->full()) return;
    // None is lent behind one that is not.
    const bool behind = std::any_of(receives_.begin(), receives_.end() - 1, [](const PostedReceive& other) { return other.lent_to == nullptr; });
    if (behind) return;
    receive.lent_to = queue;
    receive.position = queue->lend({kContext, kLent}, capacity, {receive.data(), &receive, unattended, token});
  }
  bool all_taken_back() const {
    return std::all_of(receives_.begin(), receives_.end(), [](const PostedReceive& receive) {
      return receive.lent_to == nullptr || receive.lent_to->take_back(receive.position);
    });
  }

  const char* on_landed(PeerId, LentQueue& queue) noexcept override {
    queue.collect([&](const LentRoom& room, const wire::FrameHeader& frame) {
      auto& receive = *static_cast<PostedReceive*>(room.receive);
      acknowledged += frame.trailer_bytes() != 0;
      in_order &= &receive == &receives_.front();
      take(frame, receive.data());
      ++landed;
      receives_.pop_front();
    });
    return nullptr;
  }
  Landing on_header(PeerId, const wire::FrameHeader& header) noexcept override {
    const auto bytes = static_cast<std::size_t>(header.payload_bytes());
    if (static_cast<int>(header.own(2) >> 32) != kLent || !match() || matched_->capacity < bytes)
      matched_ = std::make_unique<PostedReceive>(bytes, nullptr);
    Landing landing;
    landing.base = matched_->data();
    landing.accepted = bytes;
    return landing;
  }
  void on_frame(PeerId, const wire::FrameHeader& header) noexcept override {
    ++passed;
    take(header, matched_->data());
  }
  void on_answers_lost(PeerId) noexcept override { ++answers_lost; }
  void on_peer_lost(PeerId, const Status& why, const Landing* landing) noexcept override {
    ++lost;
    lost_text = why.text();
    lost_within_frame = landing != nullptr;
  }
  std::size_t waiting() const { return receives_.size(); }
  int received() const { return landed + passed; }

 private:
  // A frame that was passed on gets the oldest receive, which nothing may have been claimed for.
  bool match() {
    if (receives_.empty()) return ++kept_, false;
    PostedReceive& receive = receives_.front();
    if (receive.lent_to != nullptr) in_order &= receive.lent_to->take_back(receive.position);
    matched_ = std::make_unique<PostedReceive>(std::move(receive));
    receives_.pop_front();
    return true;
  }
  void take(const wire::FrameHeader& header, const std::byte* bytes) {
    const auto tag = static_cast<int>(header.own(2) >> 32), number = static_cast<int>(header.own(5));
    in_order &= number == next[tag]++;
    intact &= has_pattern({bytes, header.payload_bytes()}, tag * 1000 + number);
  }

  std::deque<PostedReceive> receives_;
  int kept_ = 0;
  std::unique_ptr<PostedReceive> matched_;  // of the frame that is being received
};

}  // namespace lapwing::net::tcp::tests
