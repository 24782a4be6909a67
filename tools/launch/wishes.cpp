// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/wishes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "start/boot_wire.hpp"
#include "start/bootstrap.hpp"
#include "tools/diag/json_text.hpp"
#include "tools/launch/keeper.hpp"
#include "tools/launch/spawn_plan.hpp"

namespace rmq::launch {
namespace {

using nlohmann::json;

json answer_of(const Result<void>& done) {
  return done ? json::object() : json{{"error", done.error().what}};
}

// Codes of very many processes do not fit.
std::string text_of(const json& answer) {
  std::string text = json_text(answer);
  if (text.size() <= max_boot_value) return text;
  return json{{"error", fmt::format("the launcher's answer has {} bytes, more than {}", text.size(), max_boot_value)}}
      .dump();
}

json started_answer(const Job& job) {
  return {{"job", job.info().job}, {"processes", job.info().size}};
}

// Whether all of it comes to the machine where this host is.
bool is_near(const JobPlan& plan, const std::string& host) {
  return plan.pretended || std::ranges::all_of(plan.hosts, [&](const std::string& other) {
           return other == host || (is_this_host(other) && is_this_host(host));
         });
}

// Why a job has not connected.
std::string how_it_ended(int number, const std::vector<int>& codes) {
  const auto bad = std::ranges::find_if(codes, [](int code) { return code != 0; });
  if (bad == codes.end()) return fmt::format("job {} has ended before all its processes had called MPI_Init", number);
  const auto rank = bad - codes.begin();
  return *bad > 128
             ? fmt::format("job {} has ended before it was connected: signal {} has ended its rank {}", number,
                           *bad - 128, rank)
             : fmt::format("job {} has ended before it was connected: its rank {} returned {}", number, rank, *bad);
}

}  // namespace

std::optional<json> Wishes::spawn(const Asker& job, int rank, const json& wish) {
  JobPlan parent = job.plan;
  std::erase_if(parent.universe, [&](const HostSlots& host) { return keeper_.is_lost(host.name); });
  if (parent.universe.empty()) return json{{"error", "all hosts of the job have been lost"}};
  auto plan = plan_spawn(wish, parent, rank, keeper_.ranks_by_host());
  if (!plan) return json{{"error", plan.error().what}};
  const std::string& asks_from = parent.hosts[static_cast<std::size_t>(parent.job.host_of_rank[rank])];
  if (wish.value("near", false) && !is_near(*plan, asks_from)) return json{{"far", true}};
  const auto started = keeper_.start_job(std::move(*plan), nullptr);
  if (!started) return json{{"error", started.error().what}};
  const Job& made = **started;
  keeper_.bonds().expect(made.number(), job.number);
  Story& story = stories_[made.info().job];
  story.number = made.number();
  story.parent = job.number;
  story.asker = rank;
  story.connects = !wish.value("port", "").empty();
  if (made.has_started()) return started_answer(made);
  story.answer = wish.value("answer", "");
  return std::nullopt;
}

void Wishes::on_started(const std::string& job) {
  const auto found = stories_.find(job);
  const Job* const made = keeper_.find(job);
  if (found == stories_.end() || !made || found->second.answer.empty()) return;
  if (Server* const server = keeper_.server_of(found->second.parent))
    server->answer(found->second.asker, std::exchange(found->second.answer, {}), text_of(started_answer(*made)));
}

bool Wishes::on_cannot_start(const std::string& job, const std::string& why) {
  const auto found = stories_.find(job);
  if (found == stories_.end() || found->second.answer.empty()) return false;
  Story& story = found->second;
  Server* const server = keeper_.server_of(story.parent);
  if (!server || !server->is_connected(story.asker)) return false;
  server->answer(story.asker, std::exchange(story.answer, {}), text_of({{"error", why}}));
  story.refused = true;
  return true;
}

json Wishes::signal(const json& wish) {
  const int number = wish.value("signal", 0);
  if (number <= 0 || number > SIGRTMAX) return {{"error", fmt::format("{} is no signal", number)}};
  Job* const other = keeper_.find(wish.value("job", ""));
  if (other == nullptr) return {{"error", "this launcher has no such job, or it has ended"}};
  other->signal(number, false);
  return json::object();
}

// Whether there was something to tell: what is wanted, or that it will never come.
bool Wishes::tell(const Waiting& wants) {
  Server* const server = keeper_.server_of(wants.asker);
  if (server == nullptr) return true;
  const auto say = [&](const json& answer) {
    server->answer(wants.rank, wants.key, text_of(answer));
    return true;
  };
  const auto found = stories_.find(wants.job);
  if (found == stories_.end())
    return say({{"error", "this launcher has started no such job for a program, or has told how it ended"}});
  Story& story = found->second;
  if (wants.event == kMeeting) {
    if (story.unmet) return say({{"error", how_it_ended(story.number, story.codes)}});
    if (!story.over && keeper_.bonds().awaited_by(story.number) == story.parent) return false;
    return say(json::object());
  }
  if (wants.event < story.ended.size()) {
    const auto& [rank, code] = story.ended[wants.event];
    return say({{"rank", rank}, {"code", code}});
  }
  if (!story.over) return false;
  keeper_.excuse(story.number);
  if (wants.event != kCodes) return say({{"over", true}});
  const std::vector<int> codes = std::move(story.codes);
  stories_.erase(found);
  return say({{"codes", codes}});
}

void Wishes::tell_all(const std::string& job) {
  std::erase_if(waiting_, [&](const Waiting& w) { return w.job == job && tell(w); });
}

void Wishes::on_rank_end(const std::string& job, int rank, int code) {
  const auto found = stories_.find(job);
  if (found == stories_.end()) return;
  found->second.ended.emplace_back(rank, code);
  tell_all(job);
}

void Wishes::on_finished(int number, const std::string& job, const std::vector<int>& codes) {
  names_.forget(number);
  if (const auto found = stories_.find(job); found != stories_.end()) {
    Story& story = found->second;
    std::vector<bool> told(codes.size());
    for (const auto& [rank, code] : story.ended) told[static_cast<std::size_t>(rank)] = true;
    for (std::size_t rank = 0; rank < codes.size(); ++rank)
      if (!told[rank]) story.ended.emplace_back(static_cast<int>(rank), codes[rank]);
    story.over = true;
    story.codes = codes;
    // What comes to nothing is the parent's error, if it is there to have one.
    const bool nobody = keeper_.server_of(story.parent) == nullptr, refused = story.refused;
    story.unmet = story.connects && keeper_.bonds().awaited_by(number).has_value();
    if (refused || (story.unmet && !nobody)) keeper_.excuse(number);
    if (story.connects) over_.push_back(job);
    tell_all(job);
    if (nobody || refused) stories_.erase(job);
    if (over_.size() > kMostStories) forget_oldest();
  }
  // Whose parent has ended has nobody to be told to.
  std::erase_if(waiting_, [&](const Waiting& w) { return w.asker == number; });
  std::erase_if(stories_, [&](const auto& entry) { return entry.second.parent == number && entry.second.over; });
}

void Wishes::forget_oldest() {
  if (const auto oldest = stories_.find(over_.front()); oldest != stories_.end()) stories_.erase(oldest);
  over_.pop_front();
}

void Wishes::on_death(int number, int rank) {
  std::vector<int> orphans;
  for (const auto& [name, story] : stories_)
    if (story.parent == number && story.asker == rank && keeper_.bonds().awaited_by(story.number) == number)
      orphans.push_back(story.number);
  for (const int orphan : orphans)
    if (Job* const child = keeper_.find(orphan))
      child->end(1, fmt::format("job {} was ended, as the rank that has spawned it has died", orphan));
}

bool Wishes::fulfil(const Asker& job, int rank, std::string_view what, std::string_view text) {
  if (what == "part") {
    keeper_.part(std::string(text));
    return true;
  }
  if (what == "adrift") {
    keeper_.set_adrift(std::string(text), job.number);
    return true;
  }
  const json wish = json::parse(text, nullptr, false);
  if (!wish.is_object()) return false;
  try {
    return answer(job, rank, what, wish);
  } catch (const json::exception&) {  // some value is of another type than it should be
    return false;
  }
}

void Wishes::answer_later(int number, int rank, const std::string& key, const json& answer) {
  if (Server* const server = keeper_.server_of(number)) server->answer(rank, key, text_of(answer));
}

bool Wishes::answer(const Asker& job, int rank, std::string_view what, const json& wish) {
  const std::string service = wish.value("service", ""), port = wish.value("port", ""), key = wish.value("answer", "");
  if (key.size() > max_boot_key || !key.starts_with(boot::answer_prefix)) return false;
  json answer;
  if (what == "spawn") {
    const auto now = spawn(job, rank, wish);
    if (!now) return true;
    answer = *now;
  } else if (what == "publish") {
    names_.publish(service, port, job.number, [this, number = job.number, rank, key](const Result<void>& done) {
      if (keeper_.server_of(number) == nullptr) return names_.forget(number);  // the job has ended meanwhile
      answer_later(number, rank, key, answer_of(done));
    });
    return true;
  } else if (what == "unpublish") {
    answer = answer_of(names_.unpublish(service));
  } else if (what == "lookup") {
    names_.look_up(service, [this, number = job.number, rank, key](const Result<std::string>& found) {
      answer_later(number, rank, key, found ? json{{"port", *found}} : json{{"error", found.error().what}});
    });
    return true;
  } else if (what == "signal") {
    answer = signal(wish);
  } else if (what == "await" || what == "event" || what == "ended") {
    const Waiting wants{job.number, rank, wish.value("job", ""), key,
                        what == "event"   ? wish.value("number", std::size_t{0})
                        : what == "await" ? kCodes
                                          : kMeeting};
    if (!tell(wants)) waiting_.push_back(wants);
    return true;
  } else if (what == "bond") {
    const auto met = wish.value("jobs", std::vector<std::string>{});
    std::set<int> ours{job.number};
    std::vector<std::string> strangers;  // another launcher's
    for (const std::string& one : met) {
      if (const int number = keeper_.number_of(one); number >= 0)
        ours.insert(number);
      else
        strangers.push_back(one);
    }
    if (ours.size() > 1) keeper_.bonds().tie(wish.value("tie", ""), ours);
    for (const std::string& one : met) tell_all(one);
    answer = {{"strangers", strangers}};
  } else {
    return false;
  }
  job.server.answer(rank, key, text_of(answer));
  return true;
}

}  // namespace rmq::launch
