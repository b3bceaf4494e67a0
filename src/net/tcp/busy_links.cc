#include "net/tcp/busy_links.h"

#include <algorithm>
#include <utility>

#include "base/delay_point.h"
#include "base/tuning.h"
#include "net/tcp/receiver.h"

namespace lapwing::net::tcp {

void BusyLinks::touch(Receiver& link) noexcept {
  for (Entry& busy : links_) {
    if (busy.link == &link) {
      busy.polls_in_vain = 0;
      if (++calm_ >= tuning().tcp_calm_messages && std::exchange(too_many_, false)) let_take();
      return;
    }
  }
  if (has_room_for(link)) {
    links_.push_back({&link, 0, 0});
    if (may_take(link)) link.let_take();
    return;
  }
  if (input_expected_) return;  // perhaps of the one that would have to go
  if (!all_announced() || !stop_taking(&Receiver::stop_taking)) return;
  too_many_ = true;
  calm_ = 0;
  end_rest();
  for (Entry& busy : links_) busy.link->end_rest();
  auto coldest = std::max_element(links_.begin(), links_.end(),
                                  [](const Entry& a, const Entry& b) { return a.polls_in_vain < b.polls_in_vain; });
  *coldest = {&link, 0, 0};
}

std::uint64_t BusyLinks::most_polls_in_vain(const Receiver& link) noexcept {
  return link.is_past_program() ? tuning().tcp_looks_in_vain : tuning().tcp_polls_in_vain;
}

// Of those that cost a poll a system call few are worth it, of the others many.
bool BusyLinks::has_room_for(const Receiver& link) const noexcept {
  const bool past = link.is_past_program();
  const auto alike = std::count_if(links_.begin(), links_.end(), [past](const Entry& busy) { return busy.link->is_past_program() == past; });
  return static_cast<std::uint64_t>(alike) < (past ? tuning().tcp_busy_links_past_program : tuning().tcp_busy_links);
}

bool BusyLinks::rest() noexcept {
  armed_ = at_rest_ = false;
  if (too_many_ || input_expected_ || !announced_unattended() || !stop_taking(&Receiver::take_at_rest)) return false;
  for (Entry& busy : links_) {
    busy.finds = 0;
    busy.link->rest();
  }
  look_before_long();
  return at_rest_ = true;
}

void BusyLinks::look_before_long() noexcept {
  if (look_.pending() || std::none_of(links_.begin(), links_.end(), [](const Entry& busy) { return busy.link->is_protected(); })) return;
  engine_.set_timer(look_, engine_.clock().now() + kBetweenLooks);
}

void BusyLinks::let_take() noexcept {
  if (armed_ || too_many_) return;
  for (Entry& busy : links_) busy.link->let_take();
}

// No frame is taken, and none is here that poll() would have to find. False: some may be.
bool BusyLinks::stop_taking(bool (Receiver::*stop)() noexcept) noexcept {
  const bool nothing = std::all_of(links_.begin(), links_.end(), [stop](Entry& busy) { return (busy.link->*stop)(); });
  if (!nothing) let_take();
  return nothing;
}

// Of one link, that is to leave the list.
bool BusyLinks::gives_up(Receiver& link) noexcept {
  const bool nothing = link.stop_taking();
  if (!nothing && may_take(link)) link.let_take();
  return nothing;
}

bool BusyLinks::arm() noexcept {
  armed_ = true;
  at_rest_ = false;
  for (Entry& busy : links_) {
    busy.link->end_rest();
    busy.finds = 0;
    busy.link->set_watermark();
  }
  // What is taken of a link that poll() does not read would not be found.
  const bool none = engine_.application_drives() || too_many_;
  return none ? all_announced() && stop_taking(&Receiver::stop_taking) : announced_unattended() && stop_taking(&Receiver::stop_taking_attended);
}

bool BusyLinks::all_announced() noexcept {
  LAPWING_DELAY_POINT("tcp.come_back");
  return std::all_of(links_.begin(), links_.end(), [](Entry& busy) { return busy.link->come_back_to_port(); });
}

// All but input of which the program gives notice.
bool BusyLinks::announced_unattended() noexcept {
  LAPWING_DELAY_POINT("tcp.come_back");
  return std::all_of(links_.begin(), links_.end(), [](Entry& busy) { return busy.link->come_back_unattended(); });
}

void BusyLinks::forget(Receiver& link) noexcept {
  links_.erase(std::remove_if(links_.begin(), links_.end(), [&](const Entry& busy) { return busy.link == &link; }), links_.end());
}

bool BusyLinks::has(const Receiver& link) const noexcept {
  return !too_many_ && std::any_of(links_.begin(), links_.end(), [&](const Entry& busy) { return busy.link == &link; });
}

// Callbacks touch and forget links, so the list may change under the loop; a link that is skipped for that has its turn next time.
bool BusyLinks::poll() noexcept {
  if (too_many_ && !input_expected_) return false;
  bool moved = false;
  input_expected_ = false;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    Receiver* link = links_[i].link;
    ++links_[i].polls_in_vain;
    const bool came = link->poll();
    moved |= came;
    if (i >= links_.size() || links_[i].link != link)
      input_expected_ = true;  // of the one that was skipped, perhaps
    else if (came)
      note_find(links_[i]);
    else if (is_cold(links_[i]) && lets_go(*link))
      links_.erase(links_.begin() + static_cast<std::ptrdiff_t>(i--));
  }
  return moved;
}

// One that is read with success again and again need not be in the port.
void BusyLinks::note_find(Entry& busy) noexcept {
  busy.polls_in_vain = 0;
  if (!busy.link->is_announced() || ++busy.finds <= tuning().tcp_steady_polls || armed_) return;
  Receiver& link = *busy.link;
  end_rest();
  link.leave_port();
}

bool BusyLinks::is_cold(const Entry& busy) const noexcept {
  return busy.polls_in_vain >= most_polls_in_vain(*busy.link) && !at_rest_;
}

// From then on the port announces what comes by it, and nothing is taken of it by a program in the kernel. False: it stays.
bool BusyLinks::lets_go(Receiver& link) noexcept {
  if (!link.come_back_to_port() || !gives_up(link)) return false;
  link.end_rest();
  return true;
}

}  // namespace lapwing::net::tcp
