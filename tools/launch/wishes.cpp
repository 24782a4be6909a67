#include "tools/launch/wishes.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/launch/keeper.hpp"
#include "tools/launch/spawn_plan.hpp"

namespace rmq::launch {
namespace {

using nlohmann::json;

json answer_of(const Result<void>& done) {
  return done ? json::object() : json{{"error", done.error().what}};
}

json spawn(Keeper& keeper, const Asker& job, int rank, const json& wish, std::set<std::pair<int, int>>& spawned) {
  auto plan = plan_spawn(wish, job.plan, rank, keeper.ranks_by_host());
  if (!plan) return {{"error", plan.error().what}};
  const auto started = keeper.start_job(std::move(*plan), nullptr);
  if (!started) return {{"error", started.error().what}};
  keeper.connect(job.number, (*started)->number());
  spawned.insert(std::minmax(job.number, (*started)->number()));
  return {{"job", (*started)->info().job}, {"processes", (*started)->info().size}};
}

}  // namespace

void Wishes::on_finished(int number, const std::string& job, const std::vector<int>& codes) {
  names_.forget(number);
  bool told = false;
  std::erase_if(waiting_, [&](const Waiting& w) {
    if (w.job != job) return false;
    if (Server* const board = keeper_.board_of(w.asker)) board->publish(w.key, json{{"codes", codes}}.dump());
    return told = true;
  });
  if (told)
    keeper_.excuse(number);
  else
    ended_[job] = {number, codes};
}

bool Wishes::fulfil(const Asker& job, int rank, std::string_view what, std::string_view text) {
  if (what == "bond" || what == "part") {
    const int other = keeper_.number_of(std::string(text));
    if (other < 0) return true;  // another launcher's
    const std::pair<int, int> pair = std::minmax(job.number, other);
    if (what == "part")
      keeper_.disconnect(pair.first, pair.second);
    else if (spawned_.erase(pair) == 0)
      keeper_.connect(pair.first, pair.second);
    return true;
  }
  const json wish = json::parse(text, nullptr, false);
  if (!wish.is_object()) return false;
  const std::string service = wish.value("service", ""), port = wish.value("port", "");
  json answer;
  if (what == "spawn") {
    answer = spawn(keeper_, job, rank, wish, spawned_);
  } else if (what == "publish") {
    answer = answer_of(names_.publish(service, port, job.number));
  } else if (what == "unpublish") {
    answer = answer_of(names_.unpublish(service));
  } else if (what == "lookup") {
    const auto found = names_.look_up(service);
    answer = found ? json{{"port", *found}} : json{{"error", found.error().what}};
  } else if (what == "signal") {
    Job* const other = keeper_.find(wish.value("job", ""));
    if (other)
      other->signal(wish.value("signal", 0), false);
    else
      answer = {{"error", "this launcher has no such job, or it has ended"}};
    if (other) answer = json::object();
  } else if (what == "await") {
    const std::string name = wish.value("job", "");
    if (const auto codes = ended_.extract(name); !codes.empty()) {
      answer = {{"codes", codes.mapped().second}};
      keeper_.excuse(codes.mapped().first);
    } else if (keeper_.find(name)) {
      waiting_.push_back({job.number, name, wish.value("answer", "")});
      return true;
    } else {
      answer = {{"error", "this launcher has had no such job, or has told how it ended"}};
    }
  } else {
    return false;
  }
  job.server.publish(wish.value("answer", ""), answer.dump());
  return true;
}

}  // namespace rmq::launch
