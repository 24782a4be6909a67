#include "mpi/coll/choice.hpp"

#include <algorithm>
#include <cstdlib>
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

/// Words that name nothing are passed over: there is no handler for them yet, and a slow collective is better than
/// none.
Choice parse(std::string_view list) {
  Choice choice;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string_view value = item.substr(std::min(equals + 1, item.size()));
    for (const auto& [collective, member] : kCollectives) {
      if (collective != item.substr(0, equals)) continue;
      for (const auto& [name, algorithm] : kAlgorithms) {
        if (name == value) choice.*member = algorithm;
      }
    }
  }
  return choice;
}

bool published = false;  // publish_choice() has run; alike on all ranks, which run the same library

bool ask_crowded() {
  Runtime& rt = runtime();
  const JobInfo& job = rt.device->job();
  if (published) {
    if (rt.device->rank() == 0) return rt.device->crowded();
    const auto answer = rt.bootstrap->get(kCrowdedKey);
    return answer && *answer == "1";  // no answer: the job is ending, and any choice is as good
  }
  const bool one_host =
      std::all_of(job.host_of_rank.begin(), job.host_of_rank.end(), [](int host) { return host == 0; });
  return one_host && rt.device->crowded();
}

}  // namespace

const Choice& forced() {
  static const Choice choice = parse([] {
    const char* list = std::getenv("RMQ_COLL");
    return std::string_view(list ? list : "");
  }());
  return choice;
}

void publish_choice() {
  Runtime& rt = runtime();
  published = true;
  // A failure shows when the others ask: the server is gone, and the job with it.
  if (rt.device->rank() == 0) static_cast<void>(rt.bootstrap->put(kCrowdedKey, rt.device->crowded() ? "1" : "0"));
}

bool crowded() {
  static const bool answer = ask_crowded();
  return answer;
}

}  // namespace rmq::mpi::coll
