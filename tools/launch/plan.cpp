// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/plan.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "start/bootstrap_env.hpp"
#include "tools/launch/env.hpp"
#include "tools/launch/link.hpp"
#include "tools/process/fd.hpp"

namespace rmq::launch {

namespace {

// Whether it is written as an address that one of this machine's interfaces has.
bool is_own_address(const std::string& text) {
  in_addr four{};
  in6_addr six{};
  const bool is_4 = ::inet_pton(AF_INET, text.c_str(), &four) == 1;
  if (!is_4 && ::inet_pton(AF_INET6, text.c_str(), &six) != 1) return false;
  if (is_4 && (ntohl(four.s_addr) >> 24) == 127) return true;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return false;
  bool is_own = false;
  for (const ifaddrs* i = list; i != nullptr && !is_own; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != (is_4 ? AF_INET : AF_INET6)) continue;
    is_own = is_4 ? std::memcmp(&reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr, &four, sizeof four) == 0
                  : std::memcmp(&reinterpret_cast<const sockaddr_in6*>(i->ifa_addr)->sin6_addr, &six, sizeof six) == 0;
  }
  ::freeifaddrs(list);
  return is_own;
}

// Whether /etc/hosts has both on one line. Asking a name server could take long, and the launcher serves others.
bool is_alias(std::string_view name, std::string_view own) {
  const auto text = read_plain_file("/etc/hosts");
  std::istringstream lines(text ? *text : "");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string address, word;
    bool has_name = false, has_own = false;
    for (words >> address; words >> word;) {
      has_name = has_name || word == name;
      has_own = has_own || word == own;
    }
    if (has_name && has_own) return true;
  }
  return false;
}

}  // namespace

bool is_this_host(std::string_view name) {
  const std::string own = boot::host_name();
  if (name == "localhost" || name == own || name == own.substr(0, own.find('.'))) return true;
  const bool bracketed = name.starts_with('[') && name.ends_with(']');
  return is_own_address(std::string(bracketed ? name.substr(1, name.size() - 2) : name)) || is_alias(name, own);
}

JobPlan plan_job(const Options& options) {
  JobPlan plan;
  plan.job = boot::singleton_job();
  plan.job.size = options.size();
  plan.job.host_of_rank = Hosts(options.host_of_rank);
  // What speaks PMI-1 is refused what it spawns.
  plan.job.universe_size = options.pmi && options.universe_size == 0
                               ? plan.job.size
                               : boot::universe_size(options.universe_size, plan.job.size);
  plan.job.ft = options.ft;
  plan.pmi = options.pmi;
  plan.binding = options.binding;
  plan.hosts = options.hosts;
  if (plan.hosts.empty()) {
    plan.pretended = !plan.job.host_of_rank.is_one();
    for (int host = 0; host < plan.job.host_of_rank.hosts(); ++host)
      plan.hosts.push_back(plan.pretended ? fmt::format("{}-{}", plan.job.host_name, host) : plan.job.host_name);
    plan.here.assign(plan.hosts.size(), true);
    for (std::size_t host = 0; host < plan.hosts.size(); ++host)
      plan.universe.push_back({plan.hosts[host], plan.job.host_of_rank.count(static_cast<int>(host), plan.job.size)});
  } else {
    plan.universe = options.universe;
    for (const std::string& host : plan.hosts) plan.here.push_back(is_this_host(host));
  }
  const bool elsewhere = std::ranges::find(plan.here, false) != plan.here.end();
  const std::string prefix = install_prefix(1);
  for (const App& app : options.apps) {
    Section section{app.ranks, app.command, app.folder, job_environment(options, app, plan.job, prefix), {}};
    for (const Variables* set : {&options.environment, &app.environment})
      for (const auto& [name, value] : *set) section.named.push_back(name);
    // Where an agent starts is the other host's business.
    std::error_code unreadable;
    if (elsewhere) section.folder = std::filesystem::absolute(app.folder.empty() ? "." : app.folder, unreadable);
    plan.sections.push_back(std::move(section));
  }
  return plan;
}

std::string plan_text(const JobPlan& plan) {
  Fields out;
  out.text(plan.job.job).text(boot::to_hex(plan.job.secret)).text(boot::format_hosts(plan.job.host_of_rank));
  const auto count = [&](std::size_t n) { out.number(static_cast<std::uint32_t>(n)); };
  count(static_cast<std::size_t>(plan.job.size));
  count(static_cast<std::size_t>(plan.job.universe_size));
  for (const auto& part : {plan.binding.to, plan.binding.spread}) count(part ? 1 + static_cast<std::size_t>(*part) : 0);
  count(static_cast<std::size_t>(plan.binding.each));
  count(plan.binding.report);
  count(plan.takes_input);
  const auto list = [&](const std::vector<std::string>& texts) {
    count(texts.size());
    for (const std::string& text : texts) out.text(text);
  };
  list(plan.hosts);
  count(plan.sections.size());
  for (const Section& section : plan.sections) {
    count(static_cast<std::size_t>(section.ranks));
    out.text(section.folder);
    list(section.command);
    list(section.environment.texts());
    list(section.named);
  }
  count(plan.extras.size());
  for (const auto& [rank, own] : plan.extras) {
    count(static_cast<std::size_t>(rank));
    out.text(own.input).text(own.output).text(own.error);
    count(own.environment.size());
    for (const auto& [name, value] : own.environment) out.text(name).text(value);
  }
  return out.whole();
}

Result<JobPlan> read_plan(std::string_view text) {
  FieldReader in(text);
  const auto damaged = [] { return fail(Errc::protocol, "the plan of a job is damaged"); };
  const auto list = [&] {
    std::vector<std::string> texts(in.ok() ? std::min<std::size_t>(in.number(), text.size()) : 0);
    for (std::string& one : texts) one = in.text();
    return texts;
  };
  JobPlan plan;
  plan.job.job = in.text();
  const std::string secret = in.text(), hosts = in.text();
  plan.job.size = static_cast<int>(in.number());
  plan.job.universe_size = static_cast<int>(in.number());
  for (auto* part : {&plan.binding.to, &plan.binding.spread}) {
    const std::uint32_t number = in.number();
    if (number > 1 + static_cast<std::uint32_t>(Part::package)) return damaged();
    if (number > 0) *part = static_cast<Part>(number - 1);
  }
  plan.binding.each = static_cast<int>(std::clamp<std::uint32_t>(in.number(), 1, 1 << 20));
  plan.binding.report = in.number() != 0;
  plan.takes_input = in.number() != 0;
  plan.hosts = list();
  const std::size_t sections = std::min<std::size_t>(in.number(), text.size());
  int ranks = 0;
  for (std::size_t i = 0; i < sections && in.ok(); ++i) {
    Section section;
    section.ranks = static_cast<int>(in.number());
    section.folder = in.text();
    section.command = list();
    section.environment = Environment::of(list());
    section.named = list();
    if (section.command.empty() || section.ranks < 1 || section.ranks > plan.job.size - ranks) return damaged();
    ranks += section.ranks;
    plan.sections.push_back(std::move(section));
  }
  const std::size_t extras = std::min<std::size_t>(in.number(), text.size());
  for (std::size_t i = 0; i < extras && in.ok(); ++i) {
    Extras& own = plan.extras[in.rank()];
    own.input = in.text();
    own.output = in.text();
    own.error = in.text();
    const std::size_t variables = std::min<std::size_t>(in.number(), text.size());
    for (std::size_t v = 0; v < variables && in.ok(); ++v) {
      std::string name = in.text();
      own.environment.emplace_back(std::move(name), in.text());
    }
  }
  if (!in.ok() || !boot::from_hex(secret, plan.job.secret) || ranks != plan.job.size) return damaged();
  auto placed = boot::parse_hosts(hosts, plan.job.size);
  if (!placed || static_cast<std::size_t>(placed->hosts()) > plan.hosts.size()) return damaged();
  plan.job.host_of_rank = *std::move(placed);
  plan.job.host_name = boot::host_name();
  return plan;
}

}  // namespace rmq::launch
