// SPDX-License-Identifier: BSD-3-Clause
// Connections come, break, are made again and are closed for others. The rules are in tcp/succession.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/os/clock.hpp"
#include "tcp/method.hpp"

namespace rmq::tcp {
namespace {

constexpr auto kTraceId = static_cast<std::uint8_t>(methods::MethodId::tcp);

}  // namespace

// ---- come ----

bool TcpMethod::is_settled(Rank rank) const {
  const auto& link = links_[static_cast<std::size_t>(rank)];
  return closing_ || (link && (link->state == Link::State::left || link->state == Link::State::lost));
}

std::uint32_t TcpMethod::last_connection(Rank rank) const {
  const auto& link = links_[static_cast<std::size_t>(rank)];
  return link ? link->connection : 0;
}

Past TcpMethod::next_call(Rank rank, std::uint32_t later) {
  Link& link = this->link(rank);
  link.clock = connection_number(link.clock, later);
  return {link.in.standing(), ++link.clock};
}

Verdict TcpMethod::answer(Rank rank, std::uint64_t session, std::uint32_t call) const {
  const auto& link = links_[static_cast<std::size_t>(rank)];
  // Who leaves only lets itself be found by those whose connection has broken.
  if (closing_ && (!link || link->connection == 0)) return Verdict::stale;
  if (!link) return Verdict::accept;
  const bool gone = link->state == Link::State::lost || link->state == Link::State::left || link->verdict;
  return answer_to({gone, link->session, link->connection}, session, call);
}

Past TcpMethod::give_up_connection(Rank rank, std::uint32_t call) {
  Link& link = this->link(rank);
  if (link.connected()) {
    disconnect(link);
    link.go(Link::State::cut);
    link.cause = "its call has not come through";
  }
  link.clock = link.connection = connection_number(link.clock, call);
  return {link.in.standing(), link.connection};
}

void TcpMethod::on_interrupted(Rank rank) {
  Link& link = this->link(rank);
  link.calling = false;  // the accepted call was in its place
  if (link.state == Link::State::cut) switchboard_->call_again(rank, os::now_ns() + silence_);
  tell_of_room(link);
}

void TcpMethod::on_connected(Rank rank, Opened opened) {
  Link& link = this->link(rank);
  link.calling = false;
  if (link.state == Link::State::lost || link.state == Link::State::left) return;
  if (link.session != 0 && link.session != opened.session) {
    return lose(link, Errc::peer_lost, "another process has come in its place");
  }
  remade_ += link.state == Link::State::cut;
  link.fd = opened.socket.native_handle();
  link.socket.emplace(std::move(opened.socket));
  link.place = connected_.size();
  connected_.push_back(&link);
  link.address = std::move(opened.address);
  link.session = opened.session;
  link.connection = opened.connection;
  if (is_later(link.connection, link.clock)) link.clock = link.connection;
  link.go(Link::State::up);
  link.used = epoch_;
  link.cause.clear();
  trace_.event(Event::link_up, kTraceId, rank);
  if (!link.out.resume(opened.received, sink_)) {
    return lose(link, Errc::protocol, "it has received what was never sent");
  }
  if (!link.out.idle()) make_busy(link);
  if (hot_count_ < kHot || !watch(link, false)) heat(link);
  if (!link.hot && !link.watched) return lose(link, Errc::system, "the system has no memory to watch the socket");
  if (closing_) say_goodbye(link);
  tell_of_room(link);
}

void TcpMethod::on_unreachable(Rank rank, const Error& error, const std::string& trouble) {
  Link& link = this->link(rank);
  if (closing_) return leave(link);
  if (link.state != Link::State::cut) return declare_lost(link, error);
  lose(link, Errc::peer_lost, fmt::format("{} (called again: {})", link.cause, trouble));
}

// ---- break ----

// The socket is closed and stands in no list any more; what was under way waits for the next one.
void TcpMethod::disconnect(Link& link) {
  if (!link.connected()) return;
  unwatch(link);
  link.fd = -1;
  if (link.hot) cool(link);
  link.socket.reset();
  pausing_ -= link.pause.said;
  connected_[link.place] = connected_.back();
  connected_[link.place]->place = link.place;
  connected_.pop_back();
  link.pause = {};
  link.goodbye_said = link.shut = false;
  link.in.disconnected();
  link.out.disconnected();
}

// The stream is at its end, or the socket has an error (errno), and what could be read has been.
void TcpMethod::on_end(Link& link, int error) {
  if (link.goodbye_heard) return depart(link);
  link.out.acknowledge(sink_);
  // The peer has closed for another, alone.
  if (link.pause.is_over(link.out.acknowledged())) return unlink(link);
  cut(link, error == 0 ? "Connection closed without a good-bye" : std::system_category().message(error),
      error == ETIMEDOUT);
}

// `silent`: its host has answered nothing for two fifths of the limit already (see tune()).
void TcpMethod::cut(Link& link, std::string why, bool silent) {
  if (link.ended) return declare_lost(link, *link.ended);
  disconnect(link);
  link.go(Link::State::cut);
  link.cause = std::move(why);
  switchboard_->call_again(link.peer, os::now_ns() + (silent ? silence_ / 5 * 2 : silence_));
}

void TcpMethod::lose(Link& link, Errc code, std::string_view why) {
  declare_lost(link, {code, fmt::format("rank {} at {} is lost: {}", link.peer, link.address, why)});
}

void TcpMethod::declare_lost(Link& link, const Error& error) {
  if (link.state == Link::State::lost) return;
  link.go(Link::State::lost);  // before the upcalls, which may send
  switchboard_->forget(link.peer);
  if (link.connected()) disconnect(link);
  trace_.event(Event::link_down, kTraceId, link.peer);
  link.out.fail(sink_, Errc::peer_lost);
  link.in.fail(link.peer, sink_, Errc::peer_lost);
  sink_.on_peer_lost(sink_.device, link.peer, error);
}

// ---- are closed for others ----

// Starts closing those that have been idle for longest, as many as are wanted; first those whose peers miss nothing
// then. False when there are none, but will be after some polls.
bool TcpMethod::make_room() {
  const auto wanted = static_cast<std::size_t>(std::min(switchboard_->wanted(), most_ / 4 + 1));
  if (pausing_ >= wanted || closing_) return true;
  std::size_t up = 0;
  std::vector<Link*> idle;
  for (Link* const one : connected_) {
    up += one->state == Link::State::up;
    const std::uint64_t used = std::max(one->used, one->burst.last_epoch());
    if (one->state == Link::State::up && epoch_ - used >= kIdle) idle.push_back(one);
  }
  const std::size_t count = std::min(idle.size(), wanted - pausing_);
  std::ranges::partial_sort(idle, idle.begin() + static_cast<std::ptrdiff_t>(count), {}, [](const Link* link) {
    return std::pair(link->is_owing(), std::max(link->used, link->burst.last_epoch()));
  });
  for (std::size_t i = 0; i < count; ++i) start_pause(*idle[i]);
  return pausing_ != 0 || up == 0;
}

void TcpMethod::start_pause(Link& link) {
  link.go(Link::State::pausing);
  link.pausing_since = os::now_ns();
  link.close_at = link.pausing_since + Switchboard::kPatience;
  link.pause.said = true;
  ++pausing_;
  link.out.owe(Kind::LINK_PAUSE);
  make_busy(link);
}

// Something has come or gone while the connection is about to be closed.
void TcpMethod::advance_pause(Link& link) {
  link.out.acknowledge(sink_);
  if (link.pause.heard && !link.pause.said) {
    start_pause(link);
  } else if (link.pause.heard && link.in.owes()) {
    link.out.owe(Kind::LINK_ACK);
    make_busy(link);
  } else if (link.pause.may_close(link.out.settled())) {
    unlink(link);
  }
}

// Nobody misses the connection.
void TcpMethod::unlink(Link& link) {
  disconnect(link);
  link.go(Link::State::unlinked);
  link.in.release();
  link.out.release();
  ++paused_;
  if (link.ended) return declare_lost(link, *link.ended);
  tell_of_room(link);
}

bool TcpMethod::is_overdue(const Link& link, std::uint64_t now) const {
  return link.state == Link::State::pausing && now >= link.close_at;
}

// Closes the connections whose peers have not answered LINK_PAUSE in time: they compute. Returns how many.
int TcpMethod::close_overdue() {
  int happened = 0;
  const std::uint64_t now = os::now_ns();
  for (std::size_t i = connected_.size(); i-- > 0;) {
    if (i < connected_.size() && is_overdue(*connected_[i], now)) happened += close_alone(*connected_[i], now);
  }
  return happened;
}

// Whether the connection is closed. What has come is read first: who sends does not compute, and answers soon.
bool TcpMethod::close_alone(Link& link, std::uint64_t now) {
  link.close_at = now + Switchboard::kPatience;
  if (service(link) > 0 || link.state != Link::State::pausing) return !link.connected();
  if (link.pause.may_close_alone(!link.is_owing() && has_arrived(link.fd))) {
    unlink(link);
    return true;
  }
  // What is on its way needs a moment.
  if (now - link.pausing_since < (link.is_owing() ? switchboard_->tenure() : kUnderWay)) return false;
  disconnect(link);
  link.in.release();
  link.out.release();
  link.go(Link::State::cut);
  link.cause = "its connection was closed for another";
  if (link.ended) {
    declare_lost(link, *link.ended);
  } else {
    link.calling = true;
    switchboard_->call_later(link.peer);
  }
  return true;
}

}  // namespace rmq::tcp
