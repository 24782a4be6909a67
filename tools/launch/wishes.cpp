#include "tools/launch/wishes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tools/launch/keeper.hpp"
#include "tools/launch/spawn_plan.hpp"

namespace rmq::launch {
namespace {

using nlohmann::json;

json answer_of(const Result<void>& done) {
  return done ? json::object() : json{{"error", done.error().what}};
}

// Names of files, which an error may have, need not be UTF-8.
std::string text_of(const json& answer) {
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
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

json Wishes::spawn(const Asker& job, int rank, const json& wish) {
  JobPlan parent = job.plan;
  std::erase_if(parent.universe, [&](const HostSlots& host) { return keeper_.is_lost(host.name); });
  if (parent.universe.empty()) return {{"error", "all hosts of the job have been lost"}};
  auto plan = plan_spawn(wish, parent, rank, keeper_.ranks_by_host());
  if (!plan) return {{"error", plan.error().what}};
  const auto started = keeper_.start_job(std::move(*plan), nullptr);
  if (!started) return {{"error", started.error().what}};
  const Job& made = **started;
  keeper_.bonds().expect(made.number(), job.number);
  Story& story = stories_[made.info().job];
  story.number = made.number();
  story.parent = job.number;
  story.asker = rank;
  story.connects = !wish.value("port", "").empty();
  return {{"job", made.info().job}, {"processes", made.info().size}};
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
  Server* const board = keeper_.board_of(wants.asker);
  if (board == nullptr) return true;
  const auto say = [&](const json& answer) {
    board->publish(wants.key, text_of(answer));
    return true;
  };
  const auto found = stories_.find(wants.job);
  if (found == stories_.end())
    return say({{"error", "this launcher has started no such job for a program, or has told how it ended"}});
  Story& story = found->second;
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
    if (const auto parent = keeper_.bonds().awaited_by(number); parent && story.connects) {
      if (Server* const board = keeper_.board_of(*parent)) {
        board->publish("ended." + job, how_it_ended(number, codes));
        keeper_.excuse(number);  // it is the parent's error
      }
    }
    const bool nobody = keeper_.board_of(story.parent) == nullptr;
    tell_all(job);
    if (nobody) stories_.erase(job);
  }
  // Whose parent has ended has nobody to be told to.
  std::erase_if(waiting_, [&](const Waiting& w) { return w.asker == number; });
  std::erase_if(stories_, [&](const auto& entry) { return entry.second.parent == number && entry.second.over; });
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
  const json wish = json::parse(text, nullptr, false);
  if (!wish.is_object()) return false;
  try {
    return answer(job, rank, what, wish);
  } catch (const json::exception&) {  // some value is of another type than it should be
    return false;
  }
}

bool Wishes::answer(const Asker& job, int rank, std::string_view what, const json& wish) {
  const std::string service = wish.value("service", ""), port = wish.value("port", ""), key = wish.value("answer", "");
  json answer;
  if (what == "spawn") {
    answer = spawn(job, rank, wish);
  } else if (what == "publish") {
    answer = answer_of(names_.publish(service, port, job.number));
  } else if (what == "unpublish") {
    answer = answer_of(names_.unpublish(service));
  } else if (what == "lookup") {
    const auto found = names_.look_up(service);
    answer = found ? json{{"port", *found}} : json{{"error", found.error().what}};
  } else if (what == "signal") {
    answer = signal(wish);
  } else if (what == "await" || what == "event") {
    const Waiting wants{job.number, wish.value("job", ""), key,
                        what == "event" ? wish.value("number", std::size_t{0}) : kCodes};
    if (!tell(wants)) waiting_.push_back(wants);
    return true;
  } else if (what == "bond") {
    const int other = keeper_.number_of(wish.value("job", ""));
    if (other >= 0) keeper_.bonds().tie(wish.value("tie", ""), job.number, other);  // else another launcher's
    answer = json::object();
  } else {
    return false;
  }
  job.server.publish(key, text_of(answer));
  return true;
}

}  // namespace rmq::launch
