// The engine's model: what must hold, and the world around the engine.
#include "engine_model_parts.h"

namespace lapwing::model {

using namespace engine_parts;

void EngineModel::begin(State& s) const {
  for (int i = 0; i < options.apps; ++i) {
    s.actor[i].at = kOutside;
    s.actor[i].calls = static_cast<std::uint8_t>(options.calls);
  }
  s.actor[event_thread()].at = kListen;
}

const char* EngineModel::broken(const State& s) const {
  int flying = s.kept_back;
  for (int i = 0; i < options.apps; ++i) flying += s.actor[i].operation == kFlying;
  if (flying != s.in_flight) return "an operation completed twice or never began";
  if (s.wrong_call) return "the port is added twice, or changed though it is not there";
  if (s.driver_sleeps && !s.baton) return "a thread sleeps in the port without the baton";
  return nullptr;
}

const char* EngineModel::unfinished(const State& s) const {
  for (int i = 0; i < options.apps; ++i)
    if (s.actor[i].at != kOutside) return "an application thread is stuck inside MPI";
  if (options.polling) return nullptr;
  for (int i = 0; i < options.apps; ++i)
    if (s.actor[i].operation == kFlying) return "an operation never completes";
  if (s.mailbox != 0 && s.pressing) return "a peer is held up and no thread takes its message";
  if (s.kept_back != 0) return "a frame that was kept back never leaves";
  if (s.actor[event_thread()].at != kListen) return "the event thread is stuck";
  return nullptr;
}

bool EngineModel::step(State& s, int thread, Step& step) const {
  if (thread == options.apps + 1) return peer(s, step);
  if (thread == options.apps + 2) return clock(s, step);
  if (s.actor[thread].at >= kTurnThorough) return subroutine(s, thread, step);
  return thread == event_thread() ? event(s, thread, step) : application(s, thread, step);
}

// ---- the world ------------------------------------------------------------------------------------------------------

bool EngineModel::peer(State& s, Step& step) const {
  if (s.peer_at == 0) {
    if (s.sent == options.messages) return false;
    step.name("peer: sends");
    ++s.sent, ++s.mailbox;
    if (step.maybe()) s.pressing = 1;
    if (!options.socket)
      s.peer_at = 1;
    else if (!s.watermark || s.pressing)
      s.bell = 1;
  } else {
    const bool rings = s.flag == kArmed || (s.flag == kAtRest && s.pressing);
    step.name(rings ? "peer: takes the flag and rings" : "peer: sees no flag for it");
    if (rings) s.flag = kDisarmed, s.bell = 1;
    s.peer_at = 0;
  }
  return true;
}

bool EngineModel::clock(State& s, Step& step) const {
  if (!s.timer_runs) return false;
  step.name("clock: a millisecond is over");
  s.timer_runs = 0, s.timer_fired = 1;
  return true;
}

}  // namespace lapwing::model
