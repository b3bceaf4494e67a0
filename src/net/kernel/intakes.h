// Receive in the kernel for the links of one transport: the program, loaded and tried out, and an area for each link that has one. Owned by the
// transport; everything with the endpoint's lock held.
//
// A link keeps its area from its first connection on for as long as there is a link, also when its peer is lost, because what is lent lies there.
// Areas are pinned memory, so there is a bounded number of them, and links that come later are received as ever.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "net/kernel/intake.h"
#include "net/kernel/program.h"

namespace lapwing::net::kernel {

class Intakes {
 public:
  // Gives the area back.
  class Return {
   public:
    explicit Return(Intakes* owner = nullptr, std::uint32_t index = 0) noexcept : owner_(owner), index_(index) {}
    void operator()(Intake* intake) noexcept;
    std::uint32_t index() const noexcept { return index_; }

   private:
    Intakes* owner_;
    std::uint32_t index_;
  };
  using Lease = std::unique_ptr<Intake, Return>;

  // Three steps, of which the second takes tens of milliseconds and may run on another thread, which no lock need be held for. The text of an error
  // says what is missing; then nothing is received in the kernel.
  // For `links` at most, and fewer where their areas would take more than `memory` bytes. `zone`: bytes of memory to receive into. `service`: where
  // the service is that does it for a process that may not; empty: without.
  Status prepare(std::uint32_t links, std::uint64_t memory, std::uint64_t zone, const std::string& service);
  // Loads the program and tries it out.
  Status load();
  // None of that will come: what it has taken goes back to the kernel, and no request is answered. For a transport that goes on without.
  void release() noexcept { program_.release(); }
  // From now on links may join.
  void open();
  bool ready() const noexcept { return ready_; }
  // What the program passes on while only the event thread sleeps: what becomes readable then, once load() is over, and what is done before links are
  // looked at, at any time.
  int notices_fd() const noexcept { return program_.notices().fd(); }
  void hear_notices() noexcept {
    if (ready_) program_.notices().hear();
  }
  // Whether requests may be answered once links have joined (answer_by()): from prepare() on.
  bool answers() const noexcept { return zone() != nullptr; }
  std::uint32_t most() const noexcept { return program_.connections(); }
  // By whose rights; from prepare() on.
  std::string by() const { return program_.by(); }
  // From prepare() on until release(); null otherwise.
  const std::shared_ptr<Zone>& zone() const noexcept { return program_.zone(); }

  // Null: all areas are in use.
  Lease make();
  // The packets of this connection come past the program from now on, and nothing is taken before Intake::open(). Of what has come before nothing is
  // half read; a read that follows finds it. `read`: so many bytes of the connection have been read. `checked`: its frames come in records.
  Joining join(Lease& intake, int socket, std::uint64_t read, bool checked);
  // The program may use this socket, on which no process writes, for answers to what comes by this connection and by those that take its place
  // (Intake::answer). Waits for nothing: where it is not known at once, permission() tells.
  Permission answer_by(const Lease& intake, int socket) { return program_.answer_by(intake.get_deleter().index(), socket); }
  Permission permission(const Lease& intake) { return program_.permission(intake.get_deleter().index()); }

 private:
  Program program_;
  std::vector<std::uint32_t> free_;
  bool ready_ = false;
};

}  // namespace lapwing::net::kernel
