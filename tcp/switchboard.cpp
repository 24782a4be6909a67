// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/switchboard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/os/clock.hpp"
#include "tcp/switchboard_parts.hpp"

namespace rmq::tcp {

Switchboard::Switchboard(Setup setup, std::unique_ptr<Listener> listener)
    : setup_(std::move(setup)), listener_(std::move(listener)) {
  for (std::size_t i = 0; listener_ && i < listener_->size(); ++i) {
    // Without memory for the watch nobody would be heard; expire() tries again.
    if (!setup_.ready.add(listener_->fd(i), listener_tag(i))) deaf_until_ = os::now_ns() + kLongestPause;
  }
  if (listener_) keep_spare();
  set_timer();
}

Switchboard::~Switchboard() {
  stop();
}

void Switchboard::stop() {
  while (!incoming_.empty()) drop(incoming_.begin());
  for (auto& [rank, call] : outgoing_) hang_up(call);
  outgoing_.clear();
  queue_.clear();
  held_.clear();
  asking_.clear();
  for (std::size_t i = 0; listener_ && i < listener_->size(); ++i) setup_.ready.remove(listener_->fd(i));
  listener_.reset();
  give_spare();
  deaf_until_ = 0;
  set_timer();
}

void Switchboard::call(Rank to) {
  if (outgoing_.contains(to)) return;
  if (queue_.empty() && has_room(0)) return start(to, 0);
  enqueue(to);
  if (queue_.front() == to) set_timer();
}

void Switchboard::call_later(Rank to) {
  const auto [place, fresh] = outgoing_.try_emplace(to);
  if (!fresh) return;
  place->second.hung_up = 1;
  place->second.queued_at = os::now_ns();
  enqueue(to);
  if (queue_.front() == to) set_timer();
}

void Switchboard::call_again(Rank to, std::uint64_t give_up_at) {
  if (!outgoing_.contains(to)) start(to, give_up_at);
}

void Switchboard::start(Rank to, std::uint64_t give_up_at) {
  Outgoing& call = outgoing_[to];
  call.again = give_up_at != 0;
  call.give_up_at = give_up_at;
  if (!look_up(to, call)) asking_.push_back(to);
  set_timer();
}

void Switchboard::forget(Rank to) {
  std::erase(queue_, to);
  const auto place = outgoing_.find(to);
  if (place == outgoing_.end()) return;
  hang_up(place->second);
  std::erase(asking_, to);
  outgoing_.erase(place);
  set_timer();
}

// Those that have a descriptor, or soon will.
int Switchboard::under_way() const {
  return static_cast<int>(std::ranges::count_if(outgoing_, [](const auto& one) { return one.second.has_place(); }));
}

// Calls take half of the connections at most while they are under way, so that there is something to close.
bool Switchboard::has_room(int beyond) const {
  const int calls = under_way();
  return setup_.keeper.connections() + calls < setup_.most + beyond && (beyond != 0 || calls < setup_.most / 2);
}

int Switchboard::wanted() const {
  const int calls = under_way();
  const int queued = std::clamp(static_cast<int>(queue_.size()), 0, std::max(0, setup_.most / 2 - calls));
  return std::max(0, setup_.keeper.connections() + calls + queued + static_cast<int>(held_.size()) - setup_.most);
}

int Switchboard::held_most() const {
  return std::max(2, setup_.most / 8);
}

int Switchboard::advance_queue() {
  int happened = 0;
  while (!held_.empty() && has_room(held_most())) {
    const std::uint32_t id = held_.front();
    held_.pop_front();
    const auto place = incoming_.find(id);
    if (place == incoming_.end()) continue;
    ++happened;
    if (!setup_.ready.add(place->second.greeting.fd(), {Tag::Sort::incoming, id})) {
      incoming_.erase(place);
    } else {
      hear(id);
    }
  }
  if (happened != 0) listen_again();
  while (!queue_.empty() && (has_room(0) || (displace() && has_room(0)))) {
    const Rank to = queue_.front();
    queue_.pop_front();
    take_up(to);
    ++happened;
  }
  if (happened != 0) set_timer();
  return happened;
}

int Switchboard::hung_up(Rank to) const {
  const auto call = outgoing_.find(to);
  return call == outgoing_.end() ? 0 : call->second.hung_up;
}

void Switchboard::enqueue(Rank to) {
  const auto often = [this](Rank rank) { return hung_up(rank); };
  queue_.insert(std::ranges::upper_bound(queue_, hung_up(to), {}, often), to);
}

// From the queue, where it no longer stands.
void Switchboard::take_up(Rank to) {
  const auto place = outgoing_.find(to);
  if (place == outgoing_.end()) return start(to, 0);
  Outgoing& call = place->second;
  if (call.queued_at == 0) return;  // it has begun in another way
  const std::uint64_t now = os::now_ns();
  if (call.give_up_at != 0) call.give_up_at += now - call.queued_at;
  call.queued_at = 0;
  call.awaited = false;
  call.since = now;
  if (call.known != nullptr) return dial(to, call);
  if (!look_up(to, call)) asking_.push_back(to);
}

std::uint64_t Switchboard::tenure() const {
  return queue_.empty() ? kTenure : kTenure << std::min(hung_up(queue_.front()), 7);
}

// Hangs up the call that has been unanswered for longest, for the first of the queue. False if none has been for long
// enough, or the queue does not wait for a call to end.
bool Switchboard::displace() {
  if (under_way() < setup_.most / 2) return false;
  const std::uint64_t now = os::now_ns();
  for (;;) {
    auto oldest = outgoing_.end();
    for (auto call = outgoing_.begin(); call != outgoing_.end(); ++call) {
      if (!call->second.is_unanswered() || now - call->second.since < tenure()) continue;
      if (oldest == outgoing_.end() || call->second.since < oldest->second.since) oldest = call;
    }
    if (oldest == outgoing_.end()) return false;
    const auto [to, call] = std::tie(oldest->first, oldest->second);
    if (!is_ready(call.greeting->fd(), call.greeting->wants_write())) {
      hang_up(call);
      ++call.hung_up;
      call.queued_at = now;
      enqueue(to);
      return true;
    }
    // It has been answered while this rank was computing.
    advance(to);
  }
}

int Switchboard::look_up() {
  if (asking_.empty()) return 0;
  const auto find = [this](Rank to) { return look_up(to, outgoing_.find(to)->second); };
  // Each question is a system call. The first reads what has come for all of them.
  const bool one_found = find(asking_.front());
  if (one_found) asking_.erase(asking_.begin());
  const std::uint64_t answers = setup_.bootstrap.answers();
  if (setup_.bootstrap.watch_fd() >= 0 && std::exchange(answers_, answers) == answers && !one_found) return 0;
  const auto found = static_cast<int>(std::erase_if(asking_, find)) + one_found;
  if (found != 0) set_timer();
  return found;
}

// False while there is no answer. Where others have taken the room meanwhile the call goes into the queue.
bool Switchboard::look_up(Rank to, Outgoing& call) {
  const auto give_up = [&](std::string why) {
    call.trouble = std::move(why);
    call.hopeless = true;
    call.retry_at = os::now_ns();
  };
  auto known = known_.find(to);
  if (known == known_.end()) {
    const auto text = setup_.bootstrap.look_up(fmt::format("tcp.{}", to));
    if (text && !*text) return false;
    const auto theirs = text ? parse_place(**text) : Result<Place>(tl::unexpected(text.error()));
    if (!theirs) {
      call.asking = false;
      return give_up(theirs.error().what), true;
    }
    known = known_.try_emplace(to, Known{usable(*theirs, setup_.machine)}).first;
    if (good_ && theirs->machine != setup_.machine) prefer(known->second.endpoints, *good_);
  }
  const bool room = call.again || has_room(0);
  call.asking = false;
  call.known = &known->second;
  call.since = os::now_ns();
  if (call.known->endpoints.empty()) {
    give_up("it listens only on the loopback of another machine; set RMQ_TCP_INTERFACE");
  } else if (room) {
    dial(to, call);
  } else {
    call.queued_at = call.since;
    enqueue(to);
  }
  return true;
}

int Switchboard::on_ready(Tag tag) {
  switch (tag.sort) {
    case Tag::Sort::timer:
      expire();
      break;
    case Tag::Sort::listener:
      answer(tag.index);
      break;
    case Tag::Sort::incoming:
      hear(tag.index);
      break;
    case Tag::Sort::outgoing:
      advance(static_cast<Rank>(tag.index));
      break;
    default:
      return 0;
  }
  if (listener_) keep_spare();
  return 1;
}

void Switchboard::expire() {
  const std::uint64_t now = os::now_ns();
  for (auto place = incoming_.begin(); place != incoming_.end();) {
    const auto one = place++;
    if (one->second.deadline <= now) drop(one);
  }
  for (auto place = outgoing_.begin(); place != outgoing_.end();) {
    const auto one = place++;
    if (one->second.due() <= now) overdue(one->first, one->second);
  }
  if (deaf_until_ <= now) listen_again();
}

// May erase the call.
void Switchboard::overdue(Rank to, Outgoing& call) {
  // It may have answered while this rank was computing.
  if (call.greeting && is_ready(call.greeting->fd(), true)) return advance(to);
  if (call.greeting) return try_failed(to, call, "it does not answer");
  if (!call.hopeless) {
    call.awaited = false;
    return dial(to, call);
  }
  const Error error{Errc::peer_lost, fmt::format("rank {}{}{} cannot be reached: {}", to, call.at.empty() ? "" : " at ",
                                                 call.at, call.trouble)};
  const std::string trouble = call.trouble;
  outgoing_.erase(to);
  setup_.keeper.on_unreachable(to, error, trouble);
}

std::uint64_t Switchboard::Outgoing::due() const {
  if (!has_place()) return ReadySet::kNever;
  if (greeting) return greeting->connecting() ? connect_by : ReadySet::kNever;
  return retry_at;
}

void Switchboard::set_timer() {
  std::uint64_t earliest = deaf_until_ != 0 ? deaf_until_ : ReadySet::kNever;
  if (wanted() != 0) earliest = std::min(earliest, os::now_ns() + kPatience);
  for (const auto& [id, caller] : incoming_) earliest = std::min(earliest, caller.deadline);
  for (const auto& [rank, call] : outgoing_) {
    earliest = std::min(earliest, call.due());
    if (!queue_.empty() && call.is_unanswered()) earliest = std::min(earliest, call.since + tenure());
  }
  setup_.ready.set_timer(earliest);
}

}  // namespace rmq::tcp
