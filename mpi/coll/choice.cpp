#include "mpi/coll/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace rmq::mpi::coll {
namespace {

constexpr std::string_view kCrowdedKey = "coll.crowded";

constexpr std::pair<std::string_view, Algorithm> kAlgorithms[] = {
    {"dissemination", Algorithm::dissemination},
    {"tree", Algorithm::tree},
    {"flat", Algorithm::flat},
    {"binomial", Algorithm::binomial},
    {"linear", Algorithm::linear},
    {"scatter", Algorithm::scatter},
    {"chain", Algorithm::chain},
    {"doubling", Algorithm::doubling},
    {"halving", Algorithm::halving},
    {"ring", Algorithm::ring},
    {"bruck", Algorithm::bruck},
    {"pairwise", Algorithm::pairwise},
    {"batch", Algorithm::batch},
};

constexpr std::pair<std::string_view, Algorithm Choice::*> kCollectives[] = {
    {"barrier", &Choice::barrier},     {"bcast", &Choice::bcast},       {"reduce", &Choice::reduce},
    {"allreduce", &Choice::allreduce}, {"gather", &Choice::gather},     {"scatter", &Choice::scatter},
    {"allgather", &Choice::allgather}, {"alltoall", &Choice::alltoall}, {"reduce_scatter", &Choice::reduce_scatter},
};

template <class Table>
auto find_named(const Table& table, std::string_view name) {
  return std::find_if(std::begin(table), std::end(table), [&](const auto& entry) { return entry.first == name; });
}

Result<Choice> parse(std::string_view list) {
  Choice choice;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const std::size_t equals = std::min(item.find('='), item.size());
    const auto collective = find_named(kCollectives, item.substr(0, equals));
    const auto algorithm = find_named(kAlgorithms, item.substr(std::min(equals + 1, item.size())));
    if (collective == std::end(kCollectives) || algorithm == std::end(kAlgorithms)) {
      return fail(Errc::config,
                  fmt::format("RMQ_COLL has '{}'; a word is <collective>=<algorithm>, as in barrier=tree, "
                              "allreduce=ring (design/mpi.md lists them)",
                              item));
    }
    choice.*(collective->second) = algorithm->second;
  }
  return choice;
}

Choice forced_choice;

bool ask_crowded() {
  Runtime& rt = runtime();
  if (rt.device->rank() == 0) return rt.device->crowded();
  const auto answer = rt.bootstrap->get(kCrowdedKey);
  return answer && *answer == "1";  // no answer: the job is ending, and any choice is as good
}

}  // namespace

const Choice& forced() {
  return forced_choice;
}

Result<void> publish_choice() {
  Runtime& rt = runtime();
  const auto choice = parse(rt.device->config().coll);
  if (!choice) return tl::unexpected(choice.error());
  forced_choice = *choice;
  if (rt.device->rank() != 0 || rt.device->size() == 1) return {};
  return rt.bootstrap->put(kCrowdedKey, rt.device->crowded() ? "1" : "0");
}

bool crowded() {
  static const bool answer = ask_crowded();
  return answer;
}

}  // namespace rmq::mpi::coll
