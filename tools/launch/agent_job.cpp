// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/agent_job.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace rmq::launch {

namespace {

// What belongs to a host, and not to the launcher's, whose environment the ranks have otherwise.
bool is_of_host(std::string_view name) {
  for (const std::string_view start : {"SSH_", "XDG_", "SLURM_", "PBS_"})
    if (name.starts_with(start)) return true;
  return name == "HOSTNAME" || name == "TMPDIR" || name == "DBUS_SESSION_BUS_ADDRESS";
}

JobPlan adapted(JobPlan plan) {
  for (Section& section : plan.sections) {
    const auto is_ours = [&](std::string_view name) {
      return is_of_host(name) && std::ranges::find(section.named, name) == section.named.end();
    };
    section.environment.unset_matching(is_ours);
    const Environment inherited = Environment::inherited();
    for (const std::string& text : inherited.texts()) {
      const std::size_t equals = text.find('=');
      if (equals != std::string::npos && is_ours(std::string_view(text).substr(0, equals)))
        section.environment.set(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return plan;
}

}  // namespace

// ---- standard input ------------------------------------------------------------------------------------------------

InputSink::InputSink(EventLoop& loop, UniqueFd pipe, std::function<void(std::size_t bytes)> taken)
    : loop_(loop), pipe_(std::move(pipe)), taken_(std::move(taken)) {
  ::fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
  loop_.watch(pipe_.get(), 0, [this](std::uint32_t) { write(); });
}

void InputSink::close() {
  if (!pipe_.is_open()) return;
  loop_.forget(pipe_.get());
  pipe_.reset();
}

void InputSink::add(std::string_view text) {
  if (!pipe_.is_open()) return taken_(text.size());  // nobody reads it any more
  held_ += text;
  at_end_ = text.empty();
  write();
}

void InputSink::write() {
  std::size_t done = 0;
  while (done < held_.size() && pipe_.is_open()) {
    const ssize_t wrote = ::write(pipe_.get(), held_.data() + done, held_.size() - done);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
    if (wrote < 0 && errno == EAGAIN) break;
    if (wrote < 0 && errno != EINTR) {
      done = held_.size();
      close();
    }
  }
  held_.erase(0, done);
  if (done > 0) taken_(done);
  if (!pipe_.is_open()) return;
  if (held_.empty() && at_end_) return close();
  loop_.change(pipe_.get(), held_.empty() ? 0u : static_cast<std::uint32_t>(EPOLLOUT));
}

// ---- the job -------------------------------------------------------------------------------------------------------

AgentJob::AgentJob(JobPlan plan, int number, Household& household, Agents& agents, const std::string& host,
                   AgentJob::Upcalls& upcalls)
    : plan_(adapted(std::move(plan))),
      number_(number),
      agents_(agents),
      upcalls_(upcalls),
      host_(host_number(host)),
      branch_(household.loop, ranks_below(), *this),
      local_(household, plan_, host_ >= 0 ? host_ : static_cast<int>(plan_.hosts.size()),
             number > 0 ? std::to_string(number) + "." : "", *this,
             [this](int rank, UniqueFd socket) { branch_.add(rank, std::move(socket)); }) {
  for (int rank = 0; rank < plan_.job.size; ++rank)
    if (is_here(rank)) ranks_.push_back(rank);
  if (!plan_.takes_input || !is_here(0)) return;
  auto pipe = Pipe::create();
  if (!pipe) return;
  no_input_ = std::move(pipe->reader);
  local_.set_input(no_input_.get());
  input_ = std::make_unique<InputSink>(household.loop, std::move(pipe->writer), [this](std::size_t bytes) {
    up(Word::read, Fields().number(static_cast<std::uint32_t>(bytes)));
  });
}

int AgentJob::host_number(const std::string& host) const {
  const auto found = std::ranges::find(plan_.hosts, host);
  return found == plan_.hosts.end() ? -1 : static_cast<int>(found - plan_.hosts.begin());
}

int AgentJob::ranks_below() const {
  int ranks = 0;
  for (std::size_t host = 0; host < plan_.hosts.size(); ++host)
    if (static_cast<int>(host) == host_ || agents_.place_of(plan_.hosts[host]))
      ranks += plan_.job.host_of_rank.count(static_cast<int>(host), plan_.job.size);
  return ranks;
}

void AgentJob::start() {
  if (auto started = local_.start(); !started) return up(Word::failed, started.error().what);
  no_input_.reset();
  for (const int rank : ranks_) {
    const ProcessFacts facts = local_.facts(rank);
    up(Word::started, Fields().number(word_of(rank)).number(word_of(facts.pid)).rest(facts.program));
  }
}

void AgentJob::kill() {
  input_.reset();
  local_.kill();
  local_.drain_output();
}

void AgentJob::on_launcher(const Link::Frame& frame) {
  FieldReader body(frame.body);
  switch (frame.word) {
    case Word::to_rank: {
      const int rank = body.rank();
      if (!is_here(rank)) return to_place_of(rank, frame);
      return branch_.to_rank(rank, body.rest());
    }
    case Word::prod: {
      const int rank = body.rank();
      return is_here(rank) ? local_.prod(rank) : to_place_of(rank, frame);
    }
    case Word::kill_one: {
      const int rank = body.rank();
      return is_here(rank) ? local_.kill_one(rank) : to_place_of(rank, frame);
    }
    case Word::input:
      return input_ ? input_->add(frame.body) : to_place_of(0, frame);
    case Word::value: {
      const std::string key = body.text();
      return branch_.value(key, body.rest());
    }
    case Word::fence_done:
      return branch_.fence_done(agents_.size());
    case Word::signal:
      agents_.send(frame.word, number_, frame.body);
      return local_.signal(static_cast<int>(body.number()), false);
    case Word::end:
      agents_.send(frame.word, number_, frame.body);
      return local_.end(body.rank());
    case Word::look:
      agents_.send(frame.word, number_, frame.body);
      return tell_facts();
    case Word::tell: {
      agents_.send(frame.word, number_, frame.body);
      const int rank = body.rank();
      const bool known = body.number() != 0;  // with the news of its end
      return up(Word::events, known && is_here(rank) ? "" : local_.last_events(rank));
    }
    default:
      return;
  }
}

void AgentJob::to_place_of(int rank, const Link::Frame& frame) {
  if (rank < 0 || rank >= plan_.job.size) return;
  const std::string& host = plan_.hosts[static_cast<std::size_t>(plan_.job.host_of_rank[rank])];
  if (const auto place = agents_.place_of(host)) agents_.send(*place, frame.word, number_, frame.body);
}

void AgentJob::tell_facts() {
  for (const int rank : ranks_) {
    const ProcessFacts facts = local_.facts(rank);
    if (facts.alive)
      up(Word::facts,
         Fields().number(word_of(rank)).number(word_of(facts.pid)).number(local_.is_ending(rank)).rest(facts.state));
  }
}

void AgentJob::on_agent(std::size_t place, const Link::Frame& frame) {
  if (frame.word == Word::get) return branch_.hear_get(place, frame.body);
  FieldReader body(frame.body);
  branch_.hear_fence(static_cast<int>(body.number()));
}

void AgentJob::on_exit(int rank, int status) {
  branch_.drain(rank);  // what it said last comes first
  const std::string events = status == 0 ? "" : local_.last_events(rank);
  up(Word::exited, Fields().number(word_of(rank)).number(static_cast<std::uint32_t>(status)).rest(events));
  branch_.depart(rank);
}

void AgentJob::on_mpi_end(int rank) {
  branch_.drain(rank);
  up(Word::mpi_end, Fields().number(word_of(rank)));
}

}  // namespace rmq::launch
