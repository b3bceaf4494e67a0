// A collective operation in flight: runs one schedule, once or again and again.
//
// Owned like every request (request/request.h). All work happens under the endpoint's lock on whatever thread drives, so a
// non-blocking collective goes on while the program computes; only user-defined operations wait for an application
// thread. It finishes exactly once per start: when its last step is done, or, after a failure, when the steps that had
// begun have ended.
//
// States, as the owner sees them:
//   idle      compiled, not started, or complete; done() is true
//   running   steps are under way
//   given up  something is wrong with what came from others, or with what they posted (complaint_): the schedule goes on to its end, because
//             others wait for its posts and messages; but these are empty, and the messages say so (kGivenUp), so that a rank that gets one
//             gives up as well. Nothing is computed, and what still comes is received into nothing (drain.h): it waits for no message
//   failing   one of its processes is lost, or a send failed: no further step begins, receives under way are cancelled
// result().status will say why.
//
// All processes of a call depend on each of them, be it by way of others: so a call that one of them can take no part in ends on all of them
// that are left, when they hear of the loss, and later calls at once. (Waiting for the messages that name the lost one alone would leave those
// waiting that get theirs from a rank that has given up.)
//
// A blocking call on a shared area is first tried at once (at_once.cc): it stays idle, and what is left of it is started.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "coll/area_place.h"
#include "coll/call.h"
#include "coll/coll.h"
#include "coll/schedule.h"
#include "p2p/loss_watcher.h"
#include "p2p/receive_request.h"
#include "p2p/send_request.h"
#include "request/request.h"

namespace lapwing::wire {
struct HangItem;
}

namespace lapwing::coll {

class CollectiveRequest final : public request::Request, private SharedArea::Watcher, private p2p::LossWatcher {
 public:
  // Holds a reference to the communicator until destroyed.
  CollectiveRequest(const Services& services, comm::Communicator& communicator, const char* name, bool persistent);
  ~CollectiveRequest();

  // To be filled and sealed before the first start.
  Schedule& schedule() noexcept { return schedule_; }
  const char* name() const noexcept { return name_; }

  // The tag of its messages: a number that the collectives of one communicator and plane do not share.
  void set_tag(int tag) noexcept { tag_ = tag; }
  // The processes that take part, where these are some of the communicator's.
  void set_members(std::vector<ProcessId> members) { members_ = std::move(members); }
  // What the call is (description.h); every rank must say the same, posts and messages carry it. Together with the communicator this
  // is also what a report on a hang has to tell.
  void set_description(std::uint64_t description) noexcept { description_ = description; }
  std::uint64_t description() const noexcept { return description_; }
  // Called when all went well, just before the request finishes.
  void on_success(OnAgreed call, void* context, const std::uint64_t* value) noexcept {
    on_success_ = call;
    on_success_context_ = context;
    on_success_value_ = value;
  }

  // Where it has its turns at a shared area: the communicator's place, or a persistent operation's own.
  AreaPlace& place() const noexcept;

  // For the cache of schedules (cache.h): what it was compiled from, and whether it may be kept.
  Call call;
  Form form = Form::kBlocking;
  ArrayContents arrays;
  bool cacheable = false;
  std::uint32_t variant = 0;  // of schedules for the same arguments, by what is copied directly, and what was learnt from the calls before
  const model::Parameters* parameters = nullptr;  // by which its algorithm was chosen; null: the job's
  // A kept request gets an owner again, and is of its communicator again.
  void lend(comm::Communicator& communicator) noexcept;
  void detach() noexcept;

  // The area is this request's now (area_place.h).
  void on_turn() noexcept {
    turn_is_due_ = true;
    services_.engine.defer(turn_);
  }

  // For a blocking call, of a kept request without an owner: true when the operation is over, and went well. Otherwise the request is to be
  // lent and started, which goes on with the steps that are left.
  bool run_at_once(comm::Communicator& communicator) noexcept;

  Status start() override;
  Status cancel() override;
  void describe(wire::HangItem& item) const override;  // hang.cc
  void destroy() noexcept override;

 private:
  // One message of the schedule, restarted each time.
  template <typename Base>
  struct Message final : Base {
    CollectiveRequest* owner = nullptr;
    StepId step = 0;
    bool under_way = false;
  };
  using Sending = Message<p2p::SendRequest>;
  using Receiving = Message<p2p::ReceiveRequest>;

  // A reduction by a user's function, on an application thread.
  struct UserReduction final : engine::Tasklet {
    UserReduction(CollectiveRequest& request, StepId id) noexcept : Tasklet(&run), owner(request), step(id) {}
    static void run(engine::Tasklet& tasklet) noexcept;
    CollectiveRequest& owner;
    StepId step;
  };

  // Begins when the area is free.
  struct Turn final : engine::Tasklet {
    explicit Turn(CollectiveRequest& request) noexcept
        : Tasklet([](engine::Tasklet& tasklet) noexcept {
            CollectiveRequest& owner = static_cast<Turn&>(tasklet).owner;
            owner.turn_is_due_ = false;
            owner.advance();
          }),
          owner(request) {}
    CollectiveRequest& owner;
  };

  void attach(comm::Communicator& communicator) noexcept;
  void prepare();
  std::uint64_t sends_unasked() const noexcept;
  bool only_takes() const noexcept;
  void tell_if_calm() noexcept;
  void put_first_steps();
  void begin(StepId step) noexcept;
  void begin_send(StepId step) noexcept;
  void begin_receive(StepId step) noexcept;
  p2p::ReceiveArguments arguments_of(const MessageStep& message) const noexcept;
  void start(Receiving& receiving, StepId step, const MessageStep& message) noexcept;
  void begin_instead(Sending& sending) noexcept;
  void begin_instead(Receiving& receiving) noexcept;
  void drain(const p2p::ReceiveArguments& message) noexcept;
  void begin_reduction(StepId step) noexcept;
  // On the area; when the step must wait, on_posted() goes on with it.
  void begin_post(StepId step) noexcept;
  void begin_await(StepId step) noexcept;
  std::uint64_t posted_bytes(const PostStep& step) const noexcept;
  void post(const PostStep& step, std::uint64_t round, std::uint64_t bytes) noexcept;
  // Into and out of memory that another core has just read or written.
  // Of a post of so many bytes.
  void copy_in(const Block& source, std::uint64_t post, std::byte* to) noexcept;
  void copy_in(const PostStep& step, std::uint64_t post, std::byte* to) noexcept;
  // Behind so many bytes of what the target has packed.
  void copy_out(const std::byte* from, std::uint64_t bytes, const Block& target, std::uint64_t skipped = 0) noexcept;
  template <typename Reading>
  void time_reading(Reading reading) noexcept;
  // Those that neither wait for others nor let them go on.
  void compute(const Step& step) noexcept;
  void copy(const CopyStep& step) noexcept;
  void begin_take(StepId step) noexcept;
  void receive_instead(StepId step, const MessageStep& message) noexcept;
  void begin_if_refused(StepId step) noexcept;
  bool is_refused(const IfRefusedStep& step) const noexcept;
  bool was_refused_a_copy() const noexcept { return area_->has_refused(area_->rank(), first_round_); }
  // What follows from a direct copy from or to the memory of that member of the area.
  enum class Direction { kFromThere, kToThere };
  void judge_copy(int member, Direction direction, net::Copied copied) noexcept;
  void complain_of_length(int rank, std::uint64_t expected, std::uint64_t posted) noexcept;
  void begin_direct(StepId step) noexcept;
  void copy_directly(const DirectStep& step) noexcept;
  void fold(const FoldStep& step) noexcept;
  void fold_some(const FoldStep& step, std::uint64_t begin, std::uint64_t bytes) noexcept;
  bool do_at_once(const Step& step) noexcept;
  bool post_at_once(const PostStep& step) noexcept;
  bool await_at_once(const AwaitStep& step) noexcept;
  bool take_at_once(const TakeStep& step) noexcept;
  // Of the bytes that a step wants, those that the rank has posted.
  struct Operand {
    const std::byte* data;
    std::uint64_t bytes;
    std::uint64_t posted;  // in all
    bool by_message = false;       // nothing is posted: it comes as a message
    bool in_place = false;         // only its place is posted
    std::uint64_t address = 0;     // in the rank's memory
    bool claimed = false;          // this rank is to claim the lines in which it lies
    std::uint32_t need = 0;        // of the rank, for its parts
  };
  void take(const TakeStep& step, const Operand& from) noexcept;
  void learn_need() noexcept;
  static void claim(const Operand& from) noexcept;
  template <typename Reading>
  Operand operand(const Reading& step, int rank) const noexcept;
  static void locate(Operand& from, const BufferPlace& place) noexcept;
  Operand own_part(const TakeStep& step) const noexcept;
  Operand piece_of_own_part(const TakeStep& step) const noexcept;
  Operand gathered(const TakeStep& step) const noexcept;
  Operand sliced(const TakeStep& step) const noexcept;
  Operand operand(const TakeStep& step) const noexcept;
  void read_in_place(const TakeStep& step, std::uint64_t address) noexcept;
  net::Copied read_and_unpack(int rank, std::uint64_t address, const Block& target) noexcept;
  void begin_acknowledge(StepId step) noexcept;
  void acknowledge(const AcknowledgeStep& step) noexcept;
  BufferPlace posted_place(int rank, std::uint32_t round, std::uint32_t index) const noexcept;
  bool is_awaited(const AwaitStep& step) const noexcept;
  bool wait_for(StepId step, int rank, std::uint64_t round, SharedArea::Sign sign = SharedArea::Sign::kPost) noexcept;
  void stop_waiting(const Status& why) noexcept;
  void compare_posts() noexcept;
  void compare(Receiving& receiving) noexcept;
  void compare_lengths(Receiving& receiving) noexcept;
  void give_up(Status why) noexcept;
  void compare(Sending&) noexcept {}
  void on_posted() noexcept override;
  void on_member_lost(const Status& why) noexcept override;
  bool needs(ProcessId process) const noexcept;
  bool end_without(ProcessId process, const Status& why) noexcept;
  void on_process_lost(ProcessId process, const Status& why) noexcept override;
  bool has_turn() const noexcept;
  template <typename Slot>
  static void on_message_done(engine::Operation& operation) noexcept;
  void step_done(StepId step) noexcept;
  void describe_area(wire::HangItem& item) const;
  void describe_messages(wire::HangItem& item) const;
  // Begins what is ready, and finishes the request when nothing is left.
  void advance() noexcept;
  void fail(StepId step, const Status& why) noexcept;
  void abandon_messages() noexcept;
  void complete() noexcept;

  const Services services_;
  const char* name_;
  Schedule schedule_;
  int tag_ = 0;
  std::uint64_t description_ = 0;
  std::vector<ProcessId> members_;  // empty: all of the communicator's
  std::unique_ptr<AreaPlace> own_place_;  // of a persistent one
  OnAgreed on_success_ = nullptr;
  void* on_success_context_ = nullptr;
  const std::uint64_t* on_success_value_ = nullptr;

  // Of the run.
  std::vector<std::uint32_t> waits_for_;  // by step: what it still waits for
  std::vector<std::unique_ptr<Sending>> sendings_;
  std::vector<std::unique_ptr<Receiving>> receivings_;
  std::vector<std::unique_ptr<UserReduction>> user_reductions_;
  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};
  std::vector<std::uint32_t> slot_;  // by step: its index in one of the three
  std::vector<StepId> ready_;
  std::size_t next_ready_ = 0;
  std::size_t under_way_ = 0;
  std::size_t steps_left_ = 0;
  bool prepared_ = false;
  bool between_hosts_ = false;  // once it has begun
  std::uint64_t unasked_ = 0;  // once it has begun: messages up to that length leave without being asked for
  bool only_takes_ = false;    // once it has begun, messages that come by themselves and what it makes of them: nothing that others wait for
  bool only_on_area_ = false;  // no step needs a message or an application thread
  StepId done_at_once_ = 0;    // so many steps, the first ones, are done when it starts
  Status failure_;
  Turn turn_{*this};
  bool turn_is_due_ = false;   // it will begin, or end, by its tasklet
  SharedArea* area_ = nullptr;
  std::uint64_t first_round_ = 0;
  bool has_rounds_ = false;  // taken, for a run that has not ended
  StepId waiting_ = 0;       // the step that waits for a post
  std::uint32_t need_ = 0;   // of the rank that needs the most (uneven_rounds.h), this one included; 0: that is not asked
  bool owes_ = false;        // an acknowledgement of what has been taken
  Status complaint_;         // why it is given up
};

}  // namespace lapwing::coll
