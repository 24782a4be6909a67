// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/remote.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <utility>

#include "tools/launch/debug.hpp"

namespace rmq::launch {

namespace {

constexpr std::size_t kMostUnread = 256 * 1024;
constexpr std::size_t kPlanPart = 256 * 1024;
constexpr std::chrono::milliseconds kBetweenLooks{200}, kBetweenLooksAtTerminal{200};

std::string_view parts_of(std::string_view& rest) {
  const std::string_view part = rest.substr(0, kPlanPart);
  rest.remove_prefix(part.size());
  return part;
}

}  // namespace

// ---- standard input ------------------------------------------------------------------------------------------------

InputFeed::InputFeed(EventLoop& loop, std::function<void(std::string_view text)> send)
    : loop_(loop),
      timers_(loop),
      send_(std::move(send)),
      own_(open_unshared(STDIN_FILENO, O_RDONLY)),
      fd_(own_.is_open() ? own_.get() : STDIN_FILENO) {
  watch(true);
}

InputFeed::~InputFeed() {
  watch(false);
}

void InputFeed::watch(bool on) {
  if (on == watched_) return;
  if (!on) return watched_ = false, loop_.forget(fd_);
  watched_ = loop_.watch(fd_, EPOLLIN, [this](std::uint32_t) { read_some(); });
  if (!watched_) timers_.after(std::chrono::milliseconds(0), [this] { read_some(); });  // a plain file is always ready
}

// Of a terminal that is not this process's own, or not its controlling one, nobody is kept away.
bool InputFeed::is_in_background() const {
  const pid_t foreground = ::tcgetpgrp(fd_);
  return foreground >= 0 && foreground != ::getpgrp();
}

void InputFeed::await_foreground() {
  watch(false);
  timers_.after(kBetweenLooksAtTerminal, [this] {
    if (is_in_background()) return await_foreground();
    if (not_taken_ < kMostUnread && !at_end_) watch(true);
  });
}

void InputFeed::read_some() {
  if (at_end_ || not_taken_ >= kMostUnread) return;
  std::array<char, 32 * 1024> chunk;
  if (is_in_background()) return await_foreground();
  const ssize_t got = read_now(fd_, chunk.data(), chunk.size());
  if (got < 0 && errno == EIO && is_in_background()) return await_foreground();  // since this moment
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    at_end_ = true;
    watch(false);
    return send_({});
  }
  not_taken_ += static_cast<std::size_t>(got);
  send_({chunk.data(), static_cast<std::size_t>(got)});
  if (not_taken_ >= kMostUnread) return watch(false);
  if (!watched_) timers_.after(std::chrono::milliseconds(0), [this] { read_some(); });
}

void InputFeed::taken(std::size_t bytes) {
  const bool was_full = not_taken_ >= kMostUnread;
  not_taken_ -= std::min(bytes, not_taken_);
  if (was_full && not_taken_ < kMostUnread && !at_end_) watch(true);
}

// ---- ranks ---------------------------------------------------------------------------------------------------------

RemoteStarter::RemoteStarter(EventLoop& loop, Agents& agents, std::size_t place, const JobPlan& plan, int number,
                             Server& server, Upcalls& upcalls)
    : loop_(loop), agents_(agents), place_(place), plan_(plan), number_(number), server_(server), upcalls_(upcalls) {
  const std::set<std::string> hosts(agents.hosts(place).begin(), agents.hosts(place).end());
  std::vector<bool> behind;  // by host
  for (const std::string& host : plan.hosts) behind.push_back(hosts.contains(host));
  int rank = 0;
  for (const Section& section : plan.sections)
    for (int i = 0; i < section.ranks; ++i, ++rank)
      if (behind[static_cast<std::size_t>(plan.job.host_of_rank[rank])])
        ranks_.emplace(rank, Rank{.program = section.command[0], .state = "unknown", .last_events = {}});
}

RemoteStarter::~RemoteStarter() {
  if (!over_) kill();
  server_.forget(*this);
}

Result<void> RemoteStarter::start() {
  for (const auto& [rank, entry] : ranks_) server_.add_remote(rank, *this);
  const std::string text = plan_text(plan_);
  for (std::string_view rest = text; !rest.empty();) say(Word::plan, parts_of(rest));
  say(Word::start);
  if (plan_.takes_input && ranks_.contains(0))
    input_ = std::make_unique<InputFeed>(loop_, [this](std::string_view input) { say(Word::input, input); });
  return {};
}

void RemoteStarter::signal(int signal, bool) {
  say(Word::signal, Fields().number(word_of(signal)));
}

void RemoteStarter::kill_one(int rank) {
  if (ranks_.at(rank).alive) say(Word::kill_one, Fields().number(word_of(rank)));
}

void RemoteStarter::end(int spared) {
  say(Word::end, Fields().number(word_of(spared)));
}

void RemoteStarter::kill() {
  over_ = true;
  input_.reset();
  say(Word::kill);
  for (auto& [rank, entry] : ranks_) entry.alive = false;
}

// As far as is known: the agent answers in time for the next look.
bool RemoteStarter::is_ending(int rank) {
  const auto now = EventLoop::Clock::now();
  if (now - looked_ >= kBetweenLooks) {
    looked_ = now;
    say(Word::look);
  }
  const Rank& entry = ranks_.at(rank);
  return entry.alive && entry.ending;
}

ProcessFacts RemoteStarter::facts(int rank) const {
  const Rank& entry = ranks_.at(rank);
  return {entry.program, entry.pid, entry.alive, entry.alive ? entry.state : "gone", agents_.why_unheard(place_)};
}

void RemoteStarter::prod(int rank) {
  if (ranks_.at(rank).alive) say(Word::prod, Fields().number(word_of(rank)));
}

void RemoteStarter::refresh() {
  say(Word::look);
}

std::string RemoteStarter::last_events(int rank) {
  const auto found = ranks_.find(rank);
  const std::string events = found == ranks_.end() ? "" : found->second.last_events;
  say(Word::tell, Fields().number(word_of(rank)).number(!events.empty()));
  return events;
}

void RemoteStarter::to_rank(int rank, std::string_view frame) {
  say(Word::to_rank, Fields().number(word_of(rank)).rest(frame));
}

void RemoteStarter::value(std::string_view key, std::string_view value) {
  say(Word::value, Fields().text(key).rest(value));
}

void RemoteStarter::fence_done() {
  say(Word::fence_done);
}

void RemoteStarter::hear(const Link::Frame& frame) {
  if (over_) return;
  FieldReader body(frame.body);
  switch (frame.word) {
    case Word::failed:
      return upcalls_.on_failed(std::string(frame.body));
    case Word::get:
      return server_.hear_get(*this, frame.body);
    case Word::fence:
      return server_.hear_fence(*this, static_cast<int>(body.number()));
    case Word::events:
      return upcalls_.on_events(std::string(frame.body));
    case Word::read:
      if (input_) input_->taken(body.number());
      return;
    default:
      return hear_of_rank(frame, body);
  }
}

void RemoteStarter::hear_of_rank(const Link::Frame& frame, FieldReader& body) {
  const int rank = body.rank();
  const auto found = ranks_.find(rank);
  if (!body.ok() || found == ranks_.end()) return;
  Rank& entry = found->second;
  switch (frame.word) {
    case Word::started:
      entry.pid = static_cast<pid_t>(body.number());
      processes_ +=
          debug_entry(entry.pid, plan_.hosts[static_cast<std::size_t>(plan_.job.host_of_rank[rank])], body.rest());
      ++started_;
      return;
    case Word::from_rank: {
      boot::FrameReader reader;
      const std::string_view bytes = body.rest();
      bytes.copy(reader.reserve(bytes.size()), bytes.size());
      reader.commit(bytes.size());
      if (const auto said = reader.next(); said && *said) server_.hear(rank, **said);
      return;
    }
    case Word::left:
      return server_.hear_end(rank);
    case Word::broke:
      return server_.hear_damage(rank, body.rest());
    case Word::exited: {
      if (!std::exchange(entry.alive, false)) return;
      const int status = static_cast<int>(body.number());
      entry.last_events = body.rest();
      return upcalls_.on_exit(rank, status);
    }
    case Word::mpi_end:
      return upcalls_.on_mpi_end(rank);
    case Word::facts:
      entry.pid = static_cast<pid_t>(body.number());
      entry.ending = body.number() != 0;
      entry.state = body.rest();
      return;
    default:
      return;
  }
}

std::vector<int> RemoteStarter::end_ranks(const std::function<bool(int rank)>& which) {
  std::vector<int> ended;
  for (auto& [rank, entry] : ranks_)
    if (which(rank) && std::exchange(entry.alive, false)) ended.push_back(rank);
  return ended;
}

std::vector<int> RemoteStarter::on_lost() {
  input_.reset();
  server_.forget(*this);
  return end_ranks([](int) { return true; });
}

std::vector<int> RemoteStarter::on_lost(const std::string& host) {
  return end_ranks(
      [&](int rank) { return plan_.hosts[static_cast<std::size_t>(plan_.job.host_of_rank[rank])] == host; });
}

}  // namespace rmq::launch
