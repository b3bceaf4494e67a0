// Delays injected by tests, to widen the windows in which a wake-up could get lost.
//
// LAPWING_DELAY_POINT("room.step") stands between two steps of a protocol. It is nothing, unless the build was configured
// with LAPWING_DELAY_POINTS=ON: then it yields, spins or sleeps at random if the environment has LAPWING_DELAY_SEED (a
// number). The seed also says which points are slow in this run, so that each seed widens other windows.
#pragma once

#if defined(LAPWING_DELAY_POINTS)

namespace lapwing {
void delay_point(const char* name) noexcept;
}

#define LAPWING_DELAY_POINT(name) ::lapwing::delay_point(name)

#else

#define LAPWING_DELAY_POINT(name) static_cast<void>(0)

#endif
