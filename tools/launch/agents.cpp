// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/agents.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "tools/launch/verdict.hpp"
#include "tools/process/spawn.hpp"

namespace rmq::launch {

namespace {

// From the end of a link to that of the command behind it, whose exit code says more.
constexpr std::chrono::milliseconds kEndGrace{200};

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string terms_text(const AgentTerms& terms) {
  Fields out;
  out.text(terms.launcher).number(static_cast<std::uint32_t>(terms.fan_out));
  out.number(static_cast<std::uint32_t>(terms.silence.count()));
  out.number(terms.tag).number(terms.shared_output);
  out.number(static_cast<std::uint32_t>(terms.hosts.size()));
  for (const std::string& host : terms.hosts) out.text(host);
  return out.whole();
}

std::optional<AgentTerms> read_terms(std::string_view text) {
  FieldReader in(text);
  AgentTerms terms;
  terms.launcher = in.text();
  terms.fan_out = static_cast<int>(in.number());
  terms.silence = std::chrono::milliseconds(in.number());
  terms.tag = in.number() != 0;
  terms.shared_output = in.number() != 0;
  terms.hosts.resize(in.ok() ? std::min<std::size_t>(in.number(), text.size()) : 0);
  for (std::string& host : terms.hosts) host = in.text();
  if (!in.ok() || terms.hosts.empty() || terms.fan_out < 1 || terms.silence.count() < 1) return std::nullopt;
  return terms;
}

std::vector<std::string> agent_command(const std::string& launcher, const std::string& host,
                                       const std::string& program) {
  std::vector<std::string> out;
  bool placed = false;
  std::istringstream words(launcher.empty() ? "ssh -T -x -o BatchMode=yes -o ConnectTimeout=10" : launcher);
  for (std::string word; words >> word;) {
    for (std::size_t at = 0; (at = word.find("{}", at)) != std::string::npos; at += host.size(), placed = true)
      word.replace(at, 2, host);
    out.push_back(word);
  }
  const std::string first = std::filesystem::path(out[0]).filename();
  if (!placed) out.push_back(host);
  out.push_back(first == "ssh" || first == "rsh" ? "exec " + quoted(program) : program);
  out.push_back(agent_option);
  return out;
}

Agents::~Agents() {
  for (const auto& agent : agents_) children_.forget(agent->pid);
}

Result<void> Agents::start(std::span<const std::string> hosts) {
  const std::size_t trees = std::min(hosts.size(), static_cast<std::size_t>(terms_.fan_out));
  for (std::size_t i = 0; i < trees; ++i) {
    const std::size_t first = i * hosts.size() / trees, end = (i + 1) * hosts.size() / trees;
    const auto part = hosts.subspan(first, end - first);
    if (auto started = start_one({part.begin(), part.end()}); !started) return started;
  }
  return {};
}

Result<void> Agents::start_one(std::vector<std::string> hosts) {
  auto down = Pipe::create(), up = Pipe::create();
  if (!down || !up) return tl::unexpected((down ? up : down).error());
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error);
  SpawnPlan plan;
  plan.arguments = agent_command(terms_.launcher, hosts[0], program);
  plan.environment = Environment::inherited();
  plan.input = down->reader.get();
  plan.output = up->writer.get();
  plan.signal_mask = &signal_mask_;
  plan.own_session = true;
  const auto pid = spawn(plan);
  if (!pid) return fail(pid.error().code, fmt::format("host {} cannot be reached: {}", hosts[0], pid.error().what));
  const std::size_t place = agents_.size();
  agents_.push_back(std::make_unique<Agent>());
  Agent& agent = *agents_.back();
  agent.hosts = std::move(hosts);
  agent.pid = *pid;
  children_.add(*pid, this, [this, place](int status) { agents_[place]->status = status; });
  agent.link = std::make_unique<Link>(
      loop_, std::move(up->reader), std::move(down->writer), true, terms_.silence,
      [this, place](const Link::Frame& frame) { upcalls_.on_word(place, frame); },
      [this, place](const std::string& why) { on_lost(place, why); });
  AgentTerms terms = terms_;
  terms.hosts = agent.hosts;
  agent.link->send(Word::setup, 0, terms_text(terms));
  return {};
}

std::optional<std::size_t> Agents::place_of(std::string_view host) const {
  for (std::size_t place = 0; place < agents_.size(); ++place)
    if (std::ranges::find(hosts(place), host) != hosts(place).end()) return place;
  return std::nullopt;
}

int Agents::up() const {
  int count = 0;
  for (std::size_t place = 0; place < agents_.size(); ++place) count += is_up(place);
  return count;
}

void Agents::send(std::size_t place, Word word, int job, std::string_view body) {
  if (is_up(place)) agents_[place]->link->send(word, job, body);
}

void Agents::send(Word word, int job, std::string_view body) {
  for (std::size_t place = 0; place < agents_.size(); ++place) send(place, word, job, body);
}

std::string Agents::why_unheard(std::size_t place) const {
  if (!is_up(place)) return {};
  const Link& link = *agents_[place]->link;
  if (!link.has_answered()) return "has not answered yet";
  const auto silent = std::chrono::duration_cast<std::chrono::seconds>(link.silent());
  return silent <= 2 * Link::kBeat ? "" : fmt::format("has been silent for {} s", silent.count());
}

void Agents::expect_ends() {
  ending_ = true;
  for (const auto& agent : agents_) {
    if (!agent->link || agent->link->has_answered()) continue;
    agent->link.reset();
    children_.kill(agent->pid, SIGKILL);
  }
}

void Agents::on_lost(std::size_t place, const std::string& why) {
  if (ending_) return upcalls_.on_lost(place, why);
  timers_.after(kEndGrace, [this, place, why] {
    const Agent& agent = *agents_[place];
    upcalls_.on_lost(place, fmt::format("host {} is lost: {}{}", agent.hosts[0], why, how_it_ended(agent)));
  });
}

std::string Agents::how_it_ended(const Agent& agent) const {
  const std::string command = std::filesystem::path(agent_command(terms_.launcher, agent.hosts[0], "")[0]).filename();
  if (!agent.status) return fmt::format(" ('{}', which has started its agent, still runs)", command);
  if (WIFSIGNALED(*agent.status))
    return fmt::format(" ('{}', which had started its agent, was killed by {})", command,
                       signal_name(WTERMSIG(*agent.status)));
  return fmt::format(" ('{}', which was to run its agent, has left with code {})", command, WEXITSTATUS(*agent.status));
}

}  // namespace rmq::launch
