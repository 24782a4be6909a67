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
  auto plan = plan_spawn(wish, job.plan, rank);
  if (!plan) return {{"error", plan.error().what}};
  const auto started = keeper.start_job(std::move(*plan), nullptr);
  if (!started) return {{"error", started.error().what}};
  keeper.connect(job.number, (*started)->number());
  spawned.insert(std::minmax(job.number, (*started)->number()));
  return {{"job", (*started)->info().job}, {"processes", (*started)->info().size}};
}

}  // namespace

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
  } else {
    return false;
  }
  job.server.publish(wish.value("answer", ""), answer.dump());
  return true;
}

}  // namespace rmq::launch
