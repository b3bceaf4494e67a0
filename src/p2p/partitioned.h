// Partitioned communication (MPI 5.0, chapter 4): one buffer, sent in parts as each becomes ready.
//
// A partition leaves the moment it is ready; a long one is a message of its own, with a tag of its own, that lands directly in its place. Short neighbours
// share a tag, and those that become ready in one call, or while a message of their tag is under way, are one message; its note says which they are, and
// the receiver copies them to their places. (They never wait for each other: a program may wait for the answer to one before it makes the next one ready.)
// The tags are a range that the sender chooses when the operation is made; a setup message, sent once, matched by the user's tag and in the order of the
// calls, tells the receiver the range, the size of the partitions and how many share a tag. From then on the two requests find each other without the
// user's tag. The receiver may cut the buffer into other partitions.
//
// Under the endpoint's lock. A round completes exactly once, when all messages of it are over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "p2p/messenger.h"
#include "p2p/receive_request.h"
#include "p2p/send_request.h"
#include "wire/partition_setup.h"

namespace lapwing::p2p {

class PartitionedSend final : public Request {
 public:
  // `arguments` describe the first partition. Sends the setup message at once.
  PartitionedSend(engine::Engine& engine, Messenger& messenger, const SendArguments& arguments, int partitions);

  Status start() override;
  // Partitions low..high, each once a round.
  Status ready(int low, int high);
  void describe(wire::HangItem& item) const override;
  void destroy() noexcept override { delete this; }

 private:
  enum class Stage : std::uint8_t { kNotReady, kReady, kSent };
  // What shares a tag; one message of it is under way at a time.
  struct Part final : SendRequest {
    PartitionedSend* owner = nullptr;
    int tag = 0;
    wire::PartitionRun all;
    wire::PartitionRun run;  // under way
    bool under_way = false;
  };
  ~PartitionedSend();
  Status check_ready(int low, int high) const;
  void send(Part& part, wire::PartitionRun run) noexcept;
  wire::PartitionRun next_run(const Part& part) const noexcept;
  void over(int partitions) noexcept;
  static void on_part_sent(engine::Operation& operation) noexcept;

  engine::Engine& engine_;
  Messenger& messenger_;
  SendArguments first_;
  datatype::TypeRef type_;
  wire::PartitionSetup setup_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<Stage> stages_;  // by partition
  int missing_ = 0;            // partitions
};

class PartitionedReceive final : public Request {
 public:
  PartitionedReceive(engine::Engine& engine, Messenger& messenger, const ReceiveArguments& arguments, int partitions);

  Status start() override;
  // Whether all bytes of that partition of ours are here.
  bool arrived(int partition) const noexcept;
  int partitions() const noexcept { return partitions_; }
  void describe(wire::HangItem& item) const override;
  void destroy() noexcept override;

 private:
  struct Setup final : ReceiveRequest {
    PartitionedReceive* owner = nullptr;
  };
  // What shares a tag; received message by message.
  struct Part final : ReceiveRequest {
    PartitionedReceive* owner = nullptr;
    wire::PartitionRun all;
    int missing = 0;                    // so many of them are not here in this round
    std::unique_ptr<std::byte[]> room;  // when a message does not fall on a piece of the buffer that can be named
  };
  ~PartitionedReceive();
  static void on_setup(engine::Operation& operation) noexcept;
  static void on_part(engine::Operation& operation) noexcept;
  std::uint64_t room() const noexcept { return partition_bytes_ * static_cast<std::uint64_t>(partitions_); }
  Status make_parts();
  void cut();
  void place(Part& part, int index);
  bool find_place(int partition, ReceiveArguments& arguments) const noexcept;
  void post_parts() noexcept;
  std::uint64_t bytes_with_room(wire::PartitionRun run) const noexcept;
  void land(Part& part) noexcept;
  void take(Part& part, wire::PartitionRun run) noexcept;

  engine::Engine& engine_;
  Messenger& messenger_;
  ReceiveArguments first_;  // our first partition
  datatype::TypeRef type_;
  int partitions_;
  std::uint64_t partition_bytes_;
  Setup setup_receive_;
  wire::PartitionSetup::Bytes setup_bytes_{};
  wire::PartitionSetup setup_;
  bool set_up_ = false;           // the setup message has come, or failed to
  bool waits_for_setup_ = false;  // started before the setup message came
  bool given_up_ = false;         // freed before it came
  Status setup_failure_;          // of every round
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<bool> here_;  // by partition of the sender
  int missing_ = 0;         // parts
};

}  // namespace lapwing::p2p
