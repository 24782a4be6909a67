// SPDX-License-Identifier: BSD-3-Clause
// Which connections every poll reads, which the ready set watches, and what is watched before the rank sleeps.
#include <algorithm>

#include "base/os/clock.hpp"
#include "tcp/method.hpp"

namespace rmq::tcp {

bool TcpMethod::watch(Link& link, bool writable) {
  const Tag tag{Tag::Sort::link, static_cast<std::uint32_t>(link.peer)};
  if (!link.watched) {
    if (!ready_->add(link.fd, tag, writable)) return false;
    link.watched = true;
  } else if (link.watched_writable != writable) {
    ready_->change(link.fd, tag, writable);
  }
  link.watched_writable = writable;
  return true;
}

void TcpMethod::unwatch(Link& link) {
  if (link.watched) ready_->remove(link.fd);
  link.watched = link.watched_writable = false;
}

// Takes the place of the quietest when all are taken, unless even that one is active.
void TcpMethod::heat(Link& link) {
  if (hot_count_ == kHot) {
    Link& quietest = **std::ranges::max_element(hot_, {}, &Link::quiet);
    if (quietest.quiet < kLongestInterval) return;
    cool(quietest);
    if (hot_count_ == kHot) return;
  }
  hot_[hot_count_++] = &link;
  link.hot = true;
  link.quiet = link.direct = 0;
}

void TcpMethod::cool(Link& link) {
  // One that cannot be watched must stay hot.
  if (link.connected() && !watch(link, link.watched_writable)) return;
  const auto place = std::find(hot_.begin(), hot_.begin() + hot_count_, &link);
  *place = hot_[--hot_count_];
  link.hot = false;
}

bool TcpMethod::arm() {
  armed_ = true;
  // The answer wakes a sleeper, where it comes by a socket; what has come already is taken now.
  if (switchboard_->asks() && (!asks_by_socket_ || switchboard_->look_up() > 0)) return false;
  // Room is made by closing what has been idle for some polls.
  const auto overdue = [this, now = os::now_ns()](const Link* link) { return is_overdue(*link, now); };
  if (switchboard_->waits_for_room() && (std::ranges::any_of(connected_, overdue) || !make_room())) return false;
  for (Link* link : busy_) {
    // Only a full socket is worth sleeping for; everything else can be done now.
    if (!link->connected() || link->verdict || link->out.error() != 0 || !link->out.blocked()) return false;
    if (!watch(*link, true)) return false;
  }
  for (std::size_t i = 0; i < hot_count_; ++i) {
    if (!hot_[i]->watched && !watch(*hot_[i], false)) return false;
    hot_[i]->direct = 0;
  }
  for (Link* const link : connected_) {
    if (link->out.is_large()) link->out.release();
  }
  // From here on anything that arrives makes the ready set's descriptor readable, also what has come before.
  until_look_ = 1;
  return true;
}

}  // namespace rmq::tcp
