// SPDX-License-Identifier: BSD-3-Clause
#include "engine/coll/choice.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "adi/device.hpp"
#include "engine/message/task.hpp"
#include "engine/object/failure.hpp"

namespace rmq::mpi::coll {
namespace {

// Of rank 0: its traits as a digit, then the list of what is forced.
constexpr std::string_view kTermsKey = "coll.terms";
// Of rank 0, on several hosts, unless it is crowded itself: the traits of all.
constexpr std::string_view kTraitsKey = "coll.traits";
// Of the first rank of each other host.
std::string key_of(int host) {
  return fmt::format("coll.traits.{}", host);
}

char digit(Traits t) {
  return static_cast<char>('0' + t.bits());
}
Traits traits_of(char digit) {
  return Traits::of(static_cast<std::uint64_t>(digit - '0'));
}

}  // namespace

Result<void> Terms::ask_choice() const {
  const auto answer = from_->look_up(kTermsKey);
  if (!answer) return tl::unexpected(answer.error());
  if (!*answer) return {};
  const std::string_view text = **answer;
  traits_ = traits_of(text.front());
  if (auto choice = Choice::parse(text.substr(1))) choice_ = std::move(*choice);  // rank 0 has parsed it, too
  has_choice_ = true;
  return {};
}

// One question a call: the caller polls in between. Whether memory is shared matters inside of one host only, which all
// of the job are on, or for which rank 0 speaks as well.
Result<void> Terms::ask_traits() const {
  const JobInfo& job = from_->job();
  const Hosts& hosts = job.host_of_rank;
  if (job.rank != 0 && !traits_.crowded && hosts.hosts() > 1) {
    const auto all = from_->look_up(kTraitsKey);
    if (!all) return tl::unexpected(all.error());
    if (*all) {
      traits_ = traits_of((*all)->front());
      next_host_ = hosts.hosts();
    }
  }
  if (next_host_ == hosts[0]) ++next_host_;
  if (!traits_.crowded && next_host_ < hosts.hosts()) {
    const auto one = from_->look_up(key_of(next_host_));
    if (!one) return tl::unexpected(one.error());
    if (!*one) return {};
    traits_.crowded = traits_of((*one)->front()).crowded;
    if (++next_host_ == hosts[0]) ++next_host_;
  }
  if (!traits_.crowded && next_host_ < hosts.hosts()) return {};
  has_traits_ = true;
  if (job.rank == 0) return from_->put(kTraitsKey, std::string(1, digit(traits_)));
  return {};
}

Result<bool> Terms::ask(bool whole) const {
  if (!has_choice_) {
    if (const auto asked = ask_choice(); !asked) return tl::unexpected(asked.error());
  }
  if (whole && has_choice_ && !has_traits_) {
    if (const auto asked = ask_traits(); !asked) return tl::unexpected(asked.error());
  }
  return known(whole);
}

void Terms::await(adi::Device& device, bool whole) const {
  Result<bool> answered = false;
  // Another thread may take the answer while this one polls.
  auto wait = [&] {
    while ((answered = ask(whole)) && !*answered) device.MPID_Poll(true);
  };
  // A task does not poll: the call that has resumed it does.
  Task* const task = Task::current();
  task ? task->call_outside(wait) : wait();
  if (!answered)
    fail_call(MPI_ERR_OTHER, "what is settled for collectives cannot be asked for: " + answered.error().what);
}

Result<Terms> settle_terms(Bootstrap& bootstrap, std::string_view forced, Traits traits) {
  auto choice = Choice::parse(forced);
  if (!choice) return tl::unexpected(choice.error());
  const JobInfo& job = bootstrap.job();
  const Hosts& hosts = job.host_of_rank;
  Terms terms;
  terms.from_ = &bootstrap;
  if (job.rank == 0) {
    terms.choice_ = std::move(*choice);
    terms.traits_ = traits;
    terms.has_traits_ = hosts.hosts() == 1 || traits.crowded;
    if (job.size > 1) {
      if (auto put = bootstrap.put(kTermsKey, digit(traits) + std::string(forced)); !put)
        return tl::unexpected(put.error());
    }
    return terms;
  }
  terms.has_choice_ = terms.has_traits_ = false;
  if (job.host_rank == 0) {
    const std::string mine(1, digit(traits));
    if (auto put = bootstrap.put(key_of(hosts[job.rank]), mine); !put) return tl::unexpected(put.error());
  }
  return terms;
}

}  // namespace rmq::mpi::coll
