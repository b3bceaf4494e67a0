#include "net/tcp/shared.h"

#include <algorithm>
#include <utility>

#include "base/delay_point.h"
#include "net/tcp/link.h"

namespace lapwing::net::tcp {

std::string Shared::describe(PeerId peer) const {
  std::string text = "rank " + std::to_string(peer);
  wire::Card card;
  if (cards.read(peer, card).ok() && card.has("name")) text += " on host " + card.get("name");
  return text;
}

std::string Shared::describe_self() const {
  std::string text = "rank " + std::to_string(options.rank);
  if (!options.host_name.empty()) text += " on host " + options.host_name;
  return text;
}

void Shared::retire(std::unique_ptr<Connection> connection) noexcept {
  if (!connection) return;
  connection->close();
  retired.push_back(std::move(connection));
}

void HotLinks::touch(Link& link) noexcept {
  for (Hot& hot : hot_) {
    if (hot.link == &link) {
      hot.looks_in_vain = 0;
      if (++calm_ >= kCalm) too_many_ = false;
      return;
    }
  }
  if (hot_.size() < kMost) {
    hot_.push_back({&link, 0, 0});
    return;
  }
  if (input_expected_) return;  // perhaps of the one that would have to go
  if (!all_in_port()) return;
  too_many_ = true;
  calm_ = 0;
  end_rest();
  for (Hot& hot : hot_) hot.link->end_rest();
  auto coldest = std::max_element(hot_.begin(), hot_.end(),
                                  [](const Hot& a, const Hot& b) { return a.looks_in_vain < b.looks_in_vain; });
  *coldest = {&link, 0, 0};
}

bool HotLinks::rest() noexcept {
  armed_ = at_rest_ = false;
  if (too_many_ || input_expected_ || !all_in_port()) return false;
  for (Hot& hot : hot_) {
    hot.finds = 0;
    hot.link->rest();
  }
  return at_rest_ = true;
}

bool HotLinks::arm() noexcept {
  armed_ = true;
  at_rest_ = false;
  for (Hot& hot : hot_) {
    hot.link->end_rest();
    hot.finds = 0;
    hot.link->set_watermark();
  }
  return all_in_port();
}

bool HotLinks::all_in_port() noexcept {
  if (!some_outside_) return true;
  LAPWING_DELAY_POINT("tcp.come_back");
  some_outside_ = false;
  for (Hot& hot : hot_) {
    if (!hot.link->come_back_to_port()) some_outside_ = true;
  }
  return !some_outside_;
}

void HotLinks::forget(Link& link) noexcept {
  hot_.erase(std::remove_if(hot_.begin(), hot_.end(), [&](const Hot& hot) { return hot.link == &link; }), hot_.end());
}

bool HotLinks::has(const Link& link) const noexcept {
  return !too_many_ && std::any_of(hot_.begin(), hot_.end(), [&](const Hot& hot) { return hot.link == &link; });
}

bool HotLinks::poll() noexcept {
  if (too_many_ && !input_expected_) return false;
  bool moved = false;
  input_expected_ = false;
  // Callbacks touch and forget links, so the list may change under the loop; a link skipped for that has its turn next
  // time.
  for (std::size_t i = 0; i < hot_.size(); ++i) {
    Link* link = hot_[i].link;
    ++hot_[i].looks_in_vain;
    const bool came = link->look();
    moved |= came;
    if (i >= hot_.size() || hot_[i].link != link) {
      input_expected_ = true;  // of the one that was skipped, perhaps
      continue;
    }
    if (came) {
      hot_[i].looks_in_vain = 0;
      if (++hot_[i].finds > kSteady && !armed_) {
        end_rest();
        some_outside_ |= link->leave_port();
      }
    } else if (hot_[i].looks_in_vain >= kPatience && !at_rest_ && link->come_back_to_port()) {
      link->end_rest();
      hot_.erase(hot_.begin() + static_cast<std::ptrdiff_t>(i));
      --i;
    }
  }
  return moved;
}

}  // namespace lapwing::net::tcp
