#include "mpi/coll/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>

#include "mpi/internal/failure.hpp"
#include "mpi/internal/task.hpp"

namespace rmq::mpi::coll {
namespace {

// "1" or "0" for crowded, then the list of what is forced.
constexpr std::string_view kTermsKey = "coll.terms";

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
    {"board", Algorithm::board},
    {"hosts", Algorithm::hosts},
};

constexpr std::uint32_t set_of(std::initializer_list<Algorithm> some) {
  std::uint32_t set = 0;
  for (const Algorithm a : some) set |= 1u << static_cast<unsigned>(a);
  return set;
}

struct Collective {
  std::string_view first;  // its name
  Algorithm Choice::*choice;
  std::uint32_t algorithms;  // that it has
};
using enum Algorithm;
constexpr Collective kCollectives[] = {
    {"barrier", &Choice::barrier, set_of({board, hosts, dissemination, tree, batch})},
    {"bcast", &Choice::bcast, set_of({hosts, flat, binomial, Algorithm::scatter, bruck, chain})},
    {"reduce", &Choice::reduce, set_of({hosts, flat, binomial, halving})},
    {"allreduce", &Choice::allreduce, set_of({board, hosts, flat, batch, tree, doubling, halving, ring})},
    {"gather", &Choice::gather, set_of({binomial, linear})},
    {"scatter", &Choice::scatter, set_of({binomial, linear})},
    {"allgather", &Choice::allgather, set_of({hosts, flat, batch, doubling, bruck, ring})},
    {"alltoall", &Choice::alltoall, set_of({bruck, batch, pairwise})},
    {"reduce_scatter", &Choice::reduce_scatter, set_of({flat, halving, pairwise})},
};

template <class Table>
auto find_named(const Table& table, std::string_view name) {
  return std::find_if(std::begin(table), std::end(table), [&](const auto& entry) { return entry.first == name; });
}

}  // namespace

Result<Choice> parse_choice(std::string_view list) {
  Choice choice;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const std::size_t equals = std::min(item.find('='), item.size());
    const auto collective = find_named(kCollectives, item.substr(0, equals));
    const auto algorithm = find_named(kAlgorithms, item.substr(std::min(equals + 1, item.size())));
    if (collective == std::end(kCollectives) || algorithm == std::end(kAlgorithms) ||
        !(collective->algorithms & set_of({algorithm->second}))) {
      return fail(Errc::config,
                  fmt::format("RMQ_COLL has '{}'; a word is <collective>=<algorithm>, as in barrier=tree, "
                              "allreduce=ring (design/collectives.md lists them)",
                              item));
    }
    choice.*(collective->choice) = algorithm->second;
  }
  return choice;
}

Result<bool> Terms::ask() const {
  if (known()) return true;
  const auto answer = from_->look_up(kTermsKey);
  if (!answer) return tl::unexpected(answer.error());
  if (!*answer) return false;
  const std::string_view text = **answer;
  crowded_ = text.front() == '1';
  if (const auto forced = parse_choice(text.substr(1))) forced_ = *forced;  // rank 0 has parsed it, too
  from_ = nullptr;
  return true;
}

void Terms::await(adi::Device& device) const {
  Result<bool> answered = false;
  // Another thread may take the answer while this one polls.
  auto wait = [&] {
    while ((answered = ask()) && !*answered) device.MPID_Poll(true);
  };
  // A task does not poll: the call that has resumed it does.
  Task* const task = Task::current();
  task ? task->call_outside(wait) : wait();
  if (!answered)
    fail_call(MPI_ERR_OTHER, "what rank 0 has settled for collectives cannot be asked for: " + answered.error().what);
}

Result<Terms> settle_terms(Bootstrap& bootstrap, std::string_view forced, bool crowded) {
  const auto choice = parse_choice(forced);
  if (!choice) return tl::unexpected(choice.error());
  const JobInfo& job = bootstrap.job();
  if (job.rank != 0) return Terms(bootstrap);
  if (job.size > 1) {
    if (auto put = bootstrap.put(kTermsKey, (crowded ? "1" : "0") + std::string(forced)); !put) {
      return tl::unexpected(put.error());
    }
  }
  return Terms(*choice, crowded);
}

}  // namespace rmq::mpi::coll
