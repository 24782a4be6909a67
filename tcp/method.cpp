// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/method.hpp"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/os/clock.hpp"

namespace rmq::tcp {

using methods::Outcome;

namespace {

// Connections that the rank keeps: as many as are wanted, and never more than half of its descriptors.
int connections_allowed(const Config& config) {
  rlimit limit{};
  const bool limited = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  const std::uint64_t half = limited ? static_cast<std::uint64_t>(limit.rlim_cur) / 2 : config.tcp_links;
  return static_cast<int>(std::clamp<std::uint64_t>(std::min<std::uint64_t>(config.tcp_links, half), 4, 1u << 20));
}

}  // namespace

Result<std::unique_ptr<TcpMethod>> TcpMethod::open(const methods::MethodContext& context) {
  if (::sodium_init() < 0) return fail(Errc::system, "method tcp: libsodium does not start (no source of randomness?)");
  std::unique_ptr<TcpMethod> method(new TcpMethod(context));
  if (auto started = method->start(context); !started) return tl::unexpected(std::move(started.error()));
  return method;
}

Result<std::unique_ptr<methods::Method>> make_tcp(const methods::MethodContext& context) {
  return TcpMethod::open(context).map([](auto method) { return std::unique_ptr<methods::Method>(std::move(method)); });
}

TcpMethod::TcpMethod(const methods::MethodContext& context)
    : sink_(context.sink),
      trace_(context.trace),
      doorbell_(context.doorbell),
      self_(context.bootstrap.job().rank),
      size_(context.bootstrap.job().size),
      asks_by_socket_(context.bootstrap.watch_fd() >= 0),
      silence_(std::max<std::uint64_t>(context.config.tcp_silence, 1000000)),
      eager_max_(context.config.eager_max != 0 ? std::min<std::size_t>(context.config.eager_max, kFragment) : kEager),
      scale_{},
      links_(static_cast<std::size_t>(size_)) {
  const double ticks = 1.0 / os::ns_per_tick();
  scale_.gap = static_cast<std::uint64_t>(static_cast<double>(Burst::Scale::kGap) * ticks);
  scale_.stale = static_cast<std::uint64_t>(static_cast<double>(Burst::Scale::kStale) * ticks);
}

Result<void> TcpMethod::start(const methods::MethodContext& context) {
  const JobInfo& job = context.bootstrap.job();
  auto ready = ReadySet::open();
  if (!ready) return tl::unexpected(std::move(ready.error()));
  ready_ = std::move(*ready);
  if (auto watched = doorbell_.watch(ready_->fd()); !watched) return watched;

  std::unique_ptr<Listener> listener;
  const std::string machine = machine_identity();
  if (job.size > 1) {
    const std::uint64_t port =
        context.config.tcp_port == 0 ? 0 : context.config.tcp_port + static_cast<unsigned>(self_);
    if (port > std::numeric_limits<std::uint16_t>::max()) {
      return fail(Errc::config,
                  fmt::format("RMQ_TCP_PORT={} leaves rank {} no port below 65536", context.config.tcp_port, self_));
    }
    const auto interfaces = list_interfaces();
    if (!interfaces) return tl::unexpected(interfaces.error());
    // Different hosts may be pretended, so with several both kinds of addresses are offered and the callers choose.
    const bool one_host = job.host_of_rank.is_one();
    const auto addresses = choose_addresses(context.config.tcp_interface, one_host, *interfaces);
    if (!addresses) return tl::unexpected(addresses.error());
    auto opened = Listener::open(io_, *addresses, static_cast<std::uint16_t>(port), context.config.tcp_buffer);
    if (!opened) return tl::unexpected(std::move(opened.error()));
    listener = std::move(*opened);
    const std::string place = format_place({machine, listener->endpoints()});
    if (auto put = context.bootstrap.put(fmt::format("tcp.{}", self_), place); !put) return put;
  }

  most_ = connections_allowed(context.config);
  Identity identity{self_, size_, job.secret, 0};
  ::randombytes_buf(&identity.session, sizeof identity.session);
  switchboard_ = std::make_unique<Switchboard>(
      Switchboard::Setup{io_, *ready_, context.bootstrap, *this, identity, machine, context.config.tcp_connect,
                         silence_, context.config.tcp_buffer, most_},
      std::move(listener));
  return {};
}

TcpMethod::~TcpMethod() {
  if (ready_) doorbell_.unwatch(ready_->fd());
}

Link& TcpMethod::link(Rank rank) {
  std::unique_ptr<Link>& place = links_[static_cast<std::size_t>(rank)];
  if (!place) {
    place = std::make_unique<Link>(rank);
    place->in.share(buffers_);
  }
  return *place;
}

// ---- sending ----

Outcome TcpMethod::send(Rank to, const Packet& packet, const Payload& payload, Request* owner) {
  Link* const link = links_[static_cast<std::size_t>(to)].get();
  if (link == nullptr || link->state != Link::State::up || closing_) [[unlikely]]
    return send_unlinked(to);
  const std::uint64_t now = os::ticks();
  const bool wait = owner != nullptr && link->burst.may_wait(epoch_, now, scale_);
  const Outcome outcome = link->out.send(link->fd, packet, payload, owner, wait);
  link->burst.sent(epoch_, now, outcome == Outcome::queued && !link->out.blocked() && !link->out.empty(), scale_);
  if (!link->out.idle()) make_busy(*link);
  if (outcome == Outcome::retry) [[unlikely]]
    link->refused = true;
  return outcome;
}

void TcpMethod::gather(Rank to, bool on) {
  Link* const link = links_[static_cast<std::size_t>(to)].get();
  if (link == nullptr || link->state != Link::State::up) return;
  link->out.gather(link->fd, on);
  if (on) return;
  link->burst.flushed(os::ticks(), scale_);
  if (!link->out.idle()) make_busy(*link);
}

Outcome TcpMethod::send_unlinked(Rank to) {
  Link& link = this->link(to);
  const bool unlinked = link.state == Link::State::unlinked;
  if (!closing_ && (unlinked || link.state == Link::State::cut || link.connected())) {
    link.refused = true;
    if (unlinked && !std::exchange(link.calling, true)) switchboard_->call(to);
    return Outcome::retry;
  }
  // The device hears of it from the next poll.
  if (link.state == Link::State::left) make_busy(link);
  return Outcome::failed;
}

// Whatever has changed on the link may be what a send that was refused waits for: a socket that takes more, what the
// peer has acknowledged, another connection, its end. It is refused again where it is not.
void TcpMethod::tell_of_room(Link& link) {
  if (!link.refused || !link.may_be_tried()) return;
  link.refused = false;
  if (sink_.on_room != nullptr) sink_.on_room(sink_.device, link.peer);
}

void TcpMethod::make_busy(Link& link) {
  if (std::exchange(link.busy, true)) return;
  busy_.push_back(&link);
  if (armed_) [[unlikely]]
    doorbell_.ring(self_);  // another thread sleeps, and does not watch this socket for writability yet
}

// Writes what waits. The upcalls may make further links busy; those are looked at by the next poll.
int TcpMethod::advance_busy(bool also_blocked) {
  int happened = 0;
  const std::size_t count = busy_.size();
  for (std::size_t i = 0; i < count; ++i) {
    Link& link = *busy_[i];
    if (link.verdict) {
      declare_lost(link, *link.verdict);
    } else if (link.state == Link::State::left) {
      lose(link, Errc::peer_lost, "it has left the job");
    } else if (link.connected() && (also_blocked || !link.out.blocked() || link.out.error() != 0)) {
      link.burst.flushed(os::ticks(), scale_);
      happened += link.out.pump(link.fd, sink_);
      if (link.watched_writable && !link.out.blocked()) watch(link, false);
      if (const int error = link.out.error(); error != 0) {
        drain(link, error);
        ++happened;
      } else if (link.pause.begun()) {
        advance_pause(link);
      }
      tell_of_room(link);
    }
  }
  std::erase_if(busy_, [](Link* link) {
    const bool waits = link->verdict && link->state != Link::State::lost;
    const bool done = !waits && link->state != Link::State::left && (!link->connected() || link->out.idle());
    if (done) link->busy = false;
    return done;
  });
  return happened;
}

// ---- receiving ----

int TcpMethod::poll() {
  ++epoch_;
  int happened = busy_.empty() ? 0 : advance_busy(true);
  // Backwards: a link that cools or is lost gives its place to the last one.
  for (std::size_t i = hot_count_; i-- > 0;) happened += service(*hot_[i]);
  if (--until_look_ == 0 || hot_count_ == 0 || switchboard_->busy()) happened += look();
  // What the upcalls sent leaves with this poll.
  if (!busy_.empty()) happened += advance_busy(false);
  return happened;
}

// Reads one connection.
int TcpMethod::service(Link& link) {
  const Arrival arrival = link.in.receive(link.fd, link.peer, sink_);
  if (arrival.goodbye) link.goodbye_heard = true;
  if (arrival.pause) link.pause.heard = true;
  if (arrival.events != 0) {
    link.used = epoch_;
    if (link.out.owes_owners()) link.out.acknowledge(sink_);
    if (link.in.ack_is_due()) {
      link.out.owe(Kind::LINK_ACK);
      make_busy(link);
    }
  }
  if (arrival.trouble != nullptr) {
    lose(link, Errc::protocol, arrival.trouble);
  } else if (arrival.ended || arrival.error != 0) {
    on_end(link, arrival.error);
  } else if (arrival.events == 0) {
    if (link.hot && ++link.quiet == kCold) cool(link);
    return 0;
  } else {
    link.quiet = 0;
    if (link.hot && link.watched && ++link.direct >= kWarm && !link.out.blocked()) unwatch(link);
    if (link.pause.heard) advance_pause(link);
    tell_of_room(link);
  }
  return arrival.events + 1;
}

// The connection cannot be written any more. What the peer sent before still counts.
void TcpMethod::drain(Link& link, int error) {
  while (link.connected() && service(link) > 0) {
  }
  if (link.connected()) on_end(link, error);
}

// Asks the ready set.
int TcpMethod::look() {
  int happened = switchboard_->look_up();
  if (pausing_ != 0) happened += close_overdue();
  if (!connected_.empty()) {
    Link& next = *connected_[++turn_ % connected_.size()];
    if (epoch_ - std::max(next.used, next.burst.last_epoch()) >= kQuiet) give_back_memory(next);
  }
  if (switchboard_->waits_for_room()) {
    if (epoch_ % kToMakeRoom == 0) make_room();
    happened += switchboard_->advance_queue();
  }
  bool called = false;
  for (const Tag tag : ready_->ready()) {
    if (tag.sort != Tag::Sort::link) {
      happened += switchboard_->on_ready(tag);
      called = true;
      continue;
    }
    Link& link = *links_[tag.index];
    // A hot one has just been read.
    if (!link.connected() || link.hot) continue;
    heat(link);
    happened += service(link);
  }
  if (called) switchboard_->set_timer();
  interval_ = happened != 0 ? 1 : std::min(interval_ * 2, kLongestInterval);
  until_look_ = interval_;
  return happened;
}

// Of a link that is idle: what both ends have for more than a few small packets.
void TcpMethod::give_back_memory(Link& link) {
  if (link.state == Link::State::up && link.in.owes_much()) {
    link.out.owe(Kind::LINK_ACK);
    make_busy(link);
  }
  if (link.out.is_large()) link.out.release();
}

void TcpMethod::drop(Rank rank, const Error& why) {
  Link& link = this->link(rank);
  if (link.verdict) return;
  link.verdict = why;
  make_busy(link);
}

// What has come from it is read to the end, which comes now at the latest: a process that it has forked may hold its
// socket.
void TcpMethod::ended(Rank rank, const Error& why) {
  Link& link = this->link(rank);
  if (!link.connected()) return drop(rank, why);
  link.ended = why;
  ::shutdown(link.fd, SHUT_RD);
}

std::size_t TcpMethod::memory() const {
  std::size_t sum = 0;
  for (const auto& link : links_) sum += link ? link->out.memory() + link->in.memory() : 0;
  return sum;
}

bool TcpMethod::drained() const {
  return busy_.empty() &&
         std::ranges::none_of(links_, [](const auto& one) { return one && one->state == Link::State::cut; });
}

}  // namespace rmq::tcp
