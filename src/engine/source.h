// Sources: what makes progress when it is polled. A transport is one.
#pragma once

#include <algorithm>
#include <vector>

namespace lapwing::engine {

// All calls come with the endpoint's lock held.
//
// At rest. Nothing is in flight, so whatever comes is for the application's next call: to wake the event thread for it would only put it
// in that call's way, and take from the computing of both ranks. The port stays watched, but the sources make it ready just for what
// cannot wait: a peer that is held up because much has gathered here, a peer that takes back what it sent, a new connection, the
// end of one. The next wait polls without a system call, and leaving after it is free: rest outlasts it. It ends when a thread
// sleeps in the port, when operations are in flight for a while, and where messages follow each other without a pause.
class Source {
 public:
  // One bounded look; true when something moved.
  virtual bool poll() noexcept = 0;
  // A thread is about to sleep on the event port: from now on, peers must make a descriptor ready when they have work for
  // this rank. False when there is work already (then no thread sleeps, and disarm() follows). Asked again while one sleeps there, when another is
  // about to sleep beside it, which may have made work: then the first is woken for it.
  virtual bool arm() noexcept = 0;
  // A thread polls again: peers need not notify.
  virtual void disarm() noexcept = 0;
  // The engine comes to rest, until arm() or disarm(): a descriptor becomes ready only for what cannot wait for the application's next
  // call; what its handler does begins with Engine::end_rest(). False when there is work already, or the source cannot tell it apart.
  virtual bool rest() noexcept {
    disarm();
    return true;
  }
  // True when descriptors of this source become ready for every message though it was not asked to (sockets do, but not at rest).
  // Otherwise the event thread may stay armed while a thread spins, and the two system calls of disarming and arming it again are saved.
  virtual bool announces_unasked() const noexcept { return false; }

  // What SourceSet::any may ask for.
  using Condition = bool Source::*;
  static const Condition kPollsDearly, kWantsPortLookedAt;

 protected:
  ~Source() = default;

  // What every turn asks is kept where no call is needed. The source says itself how it is:
  bool idle_ = false;          // poll() has nothing to do until this changes
  bool polls_dearly_ = false;  // a poll makes system calls
  bool wants_port_looked_at_ = false;  // a turn that leaves out the event port would see little of it at present

 private:
  friend class SourceSet;
};

inline constexpr Source::Condition Source::kPollsDearly = &Source::polls_dearly_;
inline constexpr Source::Condition Source::kWantsPortLookedAt = &Source::wants_port_looked_at_;

class SourceSet {
 public:
  void add(Source& source) { sources_.push_back(&source); }
  void remove(Source& source) noexcept {
    sources_.erase(std::remove(sources_.begin(), sources_.end(), &source), sources_.end());
  }

  bool poll() noexcept {
    bool moved = false;
    for (Source* source : sources_) {
      if (!source->idle_) moved |= source->poll();
    }
    return moved;
  }
  // False at the first that has work.
  bool arm() noexcept { return all(&Source::arm); }
  bool rest() noexcept { return all(&Source::rest); }
  void disarm() noexcept {
    for (Source* source : sources_) source->disarm();
  }
  bool announce_unasked() const noexcept {
    return std::any_of(sources_.begin(), sources_.end(), [](const Source* source) { return source->announces_unasked(); });
  }
  bool any(Source::Condition condition) const noexcept {
    for (const Source* source : sources_) {
      if (source->*condition) return true;
    }
    return false;
  }

 private:
  bool all(bool (Source::*asked)() noexcept) noexcept {
    return std::all_of(sources_.begin(), sources_.end(), [asked](Source* source) { return (source->*asked)(); });
  }

  std::vector<Source*> sources_;
};

}  // namespace lapwing::engine
