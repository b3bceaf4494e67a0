#include "request/request.h"

#include <gtest/gtest.h>

#include <mutex>
#include <vector>

#include "request/generalized_request.h"
#include "request/waiting.h"
#include "wire/hang_report.h"

namespace lapwing::request {
namespace {

// Is complete when the test says so, and tells the test when it is destroyed.
class FakeRequest final : public Request {
 public:
  FakeRequest(engine::Engine& engine, bool persistent, int& destroyed)
      : Request(persistent), engine_(engine), destroyed_(destroyed) {}
  Status start() override {
    if (refuses) return Status::error(MPI_ERR_OTHER, "refused");
    engine_.begin(*this);
    return {};
  }
  void complete() {
    engine::Visit visit(engine_);
    engine_.finish(*this);
  }
  void destroy() noexcept override {
    ++destroyed_;
    delete this;
  }
  bool refuses = false;

 private:
  ~FakeRequest() = default;
  engine::Engine& engine_;
  int& destroyed_;
};

class RequestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    engine::EngineOptions options;
    options.event_thread = false;
    ASSERT_TRUE(engine.start(options).ok());
  }
  void TearDown() override { engine.stop(); }

  FakeRequest& make(bool persistent) { return *new FakeRequest(engine, persistent, destroyed); }
  FakeRequest& make_active() {
    FakeRequest& request = make(true);
    EXPECT_TRUE(restart_locked(request).ok());
    return request;
  }
  Status restart_locked(Request& request) {
    engine::Visit visit(engine);
    return restart(request);
  }

  SteadyClock clock;
  engine::Engine engine{clock};
  int destroyed = 0;
};

TEST_F(RequestTest, OnlyAnInactivePersistentRequestIsStarted) {
  FakeRequest& once = make(false);
  EXPECT_EQ(restart_locked(once).error_class(), MPI_ERR_REQUEST);
  EXPECT_FALSE(once.active());
  FakeRequest& request = make_active();
  EXPECT_EQ(restart_locked(request).error_class(), MPI_ERR_REQUEST);  // active already
  request.complete();
  request.set_active(false);  // as a wait does
  request.refuses = true;
  EXPECT_EQ(restart_locked(request).error_class(), MPI_ERR_OTHER);
  EXPECT_FALSE(request.active());
  EXPECT_TRUE(retire(engine, once).ok());
  EXPECT_TRUE(retire(engine, request).ok());
  EXPECT_EQ(destroyed, 2);
}

TEST_F(RequestTest, OneGivenUpWhileUnderWayEndsByItself) {
  FakeRequest& request = make_active();
  EXPECT_TRUE(give_up(engine, request).ok());
  EXPECT_EQ(destroyed, 0);
  request.complete();
  EXPECT_EQ(destroyed, 1);
}

TEST_F(RequestTest, OneGivenUpWhenDoneEndsAtOnce) {
  FakeRequest& request = make_active();
  request.complete();
  EXPECT_TRUE(give_up(engine, request).ok());
  EXPECT_EQ(destroyed, 1);
}

TEST_F(RequestTest, InactiveOnesCountAsDone) {
  FakeRequest& active = make_active();
  FakeRequest& inactive = make(true);
  const MPI_Request handles[] = {MPI_REQUEST_NULL, handle_of(inactive), handle_of(active)};
  int seen = -1;
  EXPECT_FALSE(all_done(handles));
  EXPECT_EQ(find_done(handles, seen), -1);
  EXPECT_EQ(seen, 1);
  active.complete();
  EXPECT_TRUE(all_done(handles));
  EXPECT_EQ(find_done(handles, seen), 2);
  wait_for_all("MPI_Waitall", engine, handles);  // nothing to wait for
  wait_for_one("MPI_Waitany", engine, handles);
  drop(active);
  drop(inactive);
}

// The thread that waits explains itself with all that is not done, as far as the report has room.
TEST_F(RequestTest, AWaitEndsWithItsLastRequestAndTellsOfThoseThatAreMissing) {
  struct Finisher final : engine::Source {
    explicit Finisher(engine::Engine& e) : engine(e) {}
    bool poll() noexcept override {
      if (!report.waits.empty()) return false;
      engine.describe(report);
      if (report.waits.empty()) return false;
      for (FakeRequest* request : requests) engine.finish(*request);
      return true;
    }
    bool arm() noexcept override { return true; }
    void disarm() noexcept override {}
    engine::Engine& engine;
    std::vector<FakeRequest*> requests;
    wire::HangReport report;
  } finisher(engine);
  std::vector<MPI_Request> handles;
  for (std::size_t i = 0; i < wire::HangReport::kMaxItems + 2; ++i) {
    finisher.requests.push_back(&make_active());
    handles.push_back(handle_of(*finisher.requests.back()));
  }
  {
    const std::lock_guard guard(engine.lock());
    engine.add_source(finisher);
  }
  wait_for_all("MPI_Waitall", engine, handles);
  {
    const std::lock_guard guard(engine.lock());
    engine.remove_source(finisher);
  }
  EXPECT_TRUE(all_done(handles));
  ASSERT_EQ(finisher.report.waits.size(), 1u);
  EXPECT_EQ(finisher.report.waits[0].call, "MPI_Waitall");
  EXPECT_FALSE(finisher.report.waits[0].any);
  EXPECT_EQ(finisher.report.waits[0].items.size(), wire::HangReport::kMaxItems);
  for (FakeRequest* request : finisher.requests) drop(*request);
  EXPECT_EQ(destroyed, static_cast<int>(handles.size()));
}

struct Callbacks {
  int queried = 0, freed = 0;
  int free_code = MPI_SUCCESS;
};

GeneralizedRequest& make_generalized(engine::Engine& engine, Callbacks& callbacks) {
  auto* request = new GeneralizedRequest(
      [](void* state, MPI_Status* status) {
        status->MPI_TAG = ++static_cast<Callbacks*>(state)->queried;
        return static_cast<int>(MPI_SUCCESS);
      },
      [](void* state) {
        ++static_cast<Callbacks*>(state)->freed;
        return static_cast<Callbacks*>(state)->free_code;
      },
      [](void*, int) { return static_cast<int>(MPI_SUCCESS); }, &callbacks);
  engine::Visit visit(engine);
  engine.begin(*request);
  request->set_active(true);
  return *request;
}

TEST_F(RequestTest, AGeneralizedRequestIsFreedOnceWhicheverComesFirst) {
  Callbacks callbacks;
  GeneralizedRequest& freed_first = make_generalized(engine, callbacks);
  EXPECT_TRUE(give_up(engine, freed_first).ok());
  EXPECT_EQ(callbacks.freed, 0);
  EXPECT_TRUE(complete_generalized(engine, &freed_first).ok());
  EXPECT_EQ(callbacks.freed, 1);

  GeneralizedRequest& completed_first = make_generalized(engine, callbacks);
  EXPECT_TRUE(complete_generalized(engine, &completed_first).ok());
  EXPECT_EQ(complete_generalized(engine, &completed_first).error_class(), MPI_ERR_REQUEST);
  callbacks.free_code = 77;
  EXPECT_EQ(give_up(engine, completed_first).error_class(), 77);
  EXPECT_EQ(callbacks.freed, 2);
}

TEST_F(RequestTest, OnlyAGeneralizedRequestIsCompletedByTheProgram) {
  FakeRequest& request = make_active();
  EXPECT_EQ(complete_generalized(engine, &request).error_class(), MPI_ERR_REQUEST);
  EXPECT_EQ(complete_generalized(engine, nullptr).error_class(), MPI_ERR_REQUEST);
  EXPECT_FALSE(request.done());
  request.complete();
  drop(request);
}

}  // namespace
}  // namespace lapwing::request
