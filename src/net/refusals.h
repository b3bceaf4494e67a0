// Frames that cannot be sent, because their peer is gone: each ends with its reason at the next safe point, not inside post().
#pragma once

#include <utility>
#include <vector>

#include "engine/engine.h"
#include "net/transport.h"

namespace lapwing::net {

class Refusals final : public engine::Tasklet {
 public:
  explicit Refusals(engine::Engine& engine) noexcept : Tasklet(&Refusals::run), engine_(engine) {}
  ~Refusals() {
    if (linked()) unlink();
  }

  void add(SendOp& op, Status why) {
    refused_.emplace_back(&op, std::move(why));
    if (!linked()) engine_.defer(*this);
  }

 private:
  static void run(engine::Tasklet& tasklet) noexcept {
    for (const auto& [op, why] : std::exchange(static_cast<Refusals&>(tasklet).refused_, {})) op->on_taken(*op, why);
  }

  engine::Engine& engine_;
  std::vector<std::pair<SendOp*, Status>> refused_;
};

}  // namespace lapwing::net
