// What the checker says of the engine: as it is, and with one step left out.
#include <gtest/gtest.h>

#include "engine_model.h"

namespace lapwing::model {
namespace {

struct Case {
  const char* name;
  EngineModel::Options options;
  Verdict::Kind verdict = Verdict::kHolds;
};

// One application thread; several that block at the same time.
constexpr EngineModel::Options alone(bool socket, Mutant mutant = Mutant::kNone) {
  return {.apps = 1, .calls = 4, .messages = 3, .socket = socket, .mutant = mutant};
}
constexpr EngineModel::Options together(int apps, int calls, bool socket, Mutant mutant = Mutant::kNone) {
  return {.apps = apps, .calls = calls, .messages = apps, .socket = socket, .mutant = mutant};
}
constexpr EngineModel::Options refused(bool socket, Mutant mutant = Mutant::kNone) {
  return {.apps = 1, .calls = 3, .messages = 2, .socket = socket, .refusals = 2, .mutant = mutant};
}
constexpr EngineModel::Options polling(int apps, int calls, Mutant mutant = Mutant::kNone) {
  return {.apps = apps, .calls = calls, .messages = apps, .polling = true, .mutant = mutant};
}

class Engine : public ::testing::TestWithParam<Case> {};

TEST_P(Engine, Model) {
  const Verdict verdict = check(EngineModel(GetParam().options));
  EXPECT_EQ(verdict.kind, GetParam().verdict) << name_of(verdict.kind) << " " << verdict.why;
  RecordProperty("states", static_cast<int>(verdict.states));
}

const Case kProtocol[] = {
    {"OneThreadMailbox", alone(false)},
    {"OneThreadSocket", alone(true)},
    {"TwoThreadsMailbox", together(2, 2, false)},
    {"TwoThreadsSocket", together(2, 2, true)},
    {"WatchRefusedMailbox", refused(false)},
    {"WatchRefusedSocket", refused(true)},
    {"ThreeThreadsPolling", polling(3, 1)},
    {"TwoThreadsPolling", polling(2, 3)},
};

const Case kMutants[] = {
    {"CheckBeforeArm", alone(false, Mutant::kCheckBeforeArm), Verdict::kStuck},
    {"NoNewArmOnLeave", alone(false, Mutant::kNoNewArmOnLeave), Verdict::kStuck},
    {"NoControl", alone(false, Mutant::kNoControl), Verdict::kStuck},
    {"ArmedForEver", alone(false, Mutant::kArmedForEver), Verdict::kStuck},
    {"NoArmAfterDrive", alone(false, Mutant::kNoArmAfterDrive), Verdict::kStuck},
    {"NoLazyTimer", alone(true, Mutant::kNoLazyTimer), Verdict::kStuck},
    {"LeftToDriver", alone(true, Mutant::kLeftToDriver), Verdict::kStuck},
    {"LazyOnce", alone(true, Mutant::kLazyOnce), Verdict::kStuck},
    {"LazyForEver", alone(true, Mutant::kLazyForEver), Verdict::kTicks},
    {"CancelledPending", alone(false, Mutant::kCancelledPending), Verdict::kStuck},
    {"WatchWithoutSources", alone(false, Mutant::kWatchWithoutSources), Verdict::kStuck},
    {"OthersCollect", together(2, 2, false, Mutant::kOthersCollect), Verdict::kStuck},
    {"NoPassing", polling(2, 1, Mutant::kNoPassing), Verdict::kStuck},
    {"PassOnlyAsDriver", polling(3, 1, Mutant::kPassOnlyAsDriver), Verdict::kStuck},
    {"NoWakeForDriver", together(2, 2, false, Mutant::kNoWakeForDriver), Verdict::kStuck},
    {"LateSignalReset", together(2, 2, false, Mutant::kLateSignalReset), Verdict::kStuck},
    {"KeptBackSilently", together(2, 2, true, Mutant::kKeptBackSilently), Verdict::kStuck},
    {"NoAnnounceAgain", alone(true, Mutant::kNoAnnounceAgain), Verdict::kStuck},
    {"ListedForEver", alone(true, Mutant::kListedForEver), Verdict::kBroken},
    {"ListedByArming", alone(true, Mutant::kListedByArming), Verdict::kBroken},
    {"NoTicking", refused(true, Mutant::kNoTicking), Verdict::kStuck},
    {"LookBeforeRest", alone(false, Mutant::kLookBeforeRest), Verdict::kStuck},
    {"RestForFlights", alone(false, Mutant::kRestForFlights), Verdict::kStuck},
    {"RestGoesOn", alone(false, Mutant::kRestGoesOn), Verdict::kStuck},
    {"SleepBelowMark", alone(true, Mutant::kSleepBelowMark), Verdict::kStuck},
    {"RestUnwatched", alone(false, Mutant::kRestUnwatched), Verdict::kStuck},
};

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Protocol, Engine, ::testing::ValuesIn(kProtocol), name_of_case);
INSTANTIATE_TEST_SUITE_P(Mutant, Engine, ::testing::ValuesIn(kMutants), name_of_case);

}  // namespace
}  // namespace lapwing::model
