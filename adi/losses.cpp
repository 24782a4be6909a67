// SPDX-License-Identifier: BSD-3-Clause
#include "adi/losses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rmq::adi {

Losses::Losses(DeviceOptions& options, Bootstrap& bootstrap) : Extensions(options, bootstrap) {
  sink_.on_peer_lost = &on_peer_lost;
}

void Losses::on_peer_lost(void* device, Rank rank, const Error& error) {
  auto& d = part<Losses>(device);
  Channel& c = d.channels_[rank];
  if (c.lost) return;
  c.lost = d.any_lost_ = true;
  d.begin_care();
  c.error = error;
  d.note_unanswered();
  d.trace_.event(Event::link_down, c.method_number(), rank);
  d.channels_.lose(c);
  d.fail_requests_of(rank);
  for (Extension* e : d.extensions()) e->on_peer_lost(rank);
  d.note_loss(rank);
  d.tell_failures(rank);
}

void Losses::fail_requests_of(Rank rank) {
  drop_waiting_moves(rank);
  // Parts of receives first: each ends its own share of the receive, which may still be waited for by others.
  for (const std::uint8_t staged : {request_flag::staged, std::uint8_t{0}}) {
    for (std::uint32_t i = 0; i < pool_.capacity(); ++i) {
      Request* r = pool_.at(i);
      if (!(r->self.generation & 1) || r->peer != rank || r->complete()) continue;
      if ((r->flags & request_flag::staged) != staged) continue;
      if (r->step == Step::posted) withdraw(r);
      if (r->kind == RequestKind::recv || r->kind == RequestKind::send) complete(r, Errc::peer_lost);
    }
  }
  for (std::uint32_t i = 0; i < pool_.capacity(); ++i) {
    Request* r = pool_.at(i);
    if (!(r->self.generation & 1) || !(r->flags & request_flag::grouped) || r->step != Step::posted) continue;
    if (!r->complete() && std::ranges::find(*r->group, rank) != r->group->end()) give_up(r, Errc::peer_lost);
  }
}

// Jobs that are connected with one of this launcher's, and with each other by it alone, hear of them by the lines.
void Losses::hear_of_deaths() {
  const std::vector<Bootstrap::Departure> departures = bootstrap_.departures();
  std::vector<std::uint64_t> whole_jobs;
  for (const Bootstrap::Departure& d : departures) {
    const bool ours = d.job.empty() || d.job == job().job;
    const std::uint64_t of = job_number(ours ? std::string_view(job().job) : d.job);
    if (d.rank < 0) whole_jobs.push_back(of);
    for (const auto& party : parties())
      if (d.rank >= 0) party->lifeline().say_death({&of, 1}, d.rank);
    if (!ours)
      dead_elsewhere_.push_back({of, d.rank, d.how});  // of one that this job may meet later, or not at all
    else if (d.rank != rank_)
      note_deaths({{d.rank, d.how}});
  }
  for (const auto& party : parties()) party->lifeline().say_death(whole_jobs, -1);
  if (!departures.empty()) note_deaths_elsewhere();
}

// All are among the dead before the first is lost, also those of whom a loss tells (a root's, beyond its line): whoever
// asks who is dying hears of them together.
void Losses::note_deaths(std::vector<Death> deaths) {
  std::erase_if(deaths, [&](const Death& one) {
    const bool known = std::ranges::find(dead_, one.number) != dead_.end();
    if (!known) mark_dead(one.number);
    return known;
  });
  unlost_.insert(unlost_.end(), deaths.begin(), deaths.end());
  const bool is_noting = std::exchange(noting_deaths_, true);
  for (const Death& one : deaths) {
    for (const auto& party : parties()) party->on_death(one.number);
  }
  if (is_noting) return;  // what is called here has told of more
  while (!unlost_.empty()) {
    const Death next = std::move(unlost_.front());
    unlost_.pop_front();
    lose_for_good(next.number, next.how);
  }
  noting_deaths_ = false;
}

void Losses::mark_dead(Rank number) {
  dead_.push_back(number);
  dying_.push_back(number);
}

void Losses::tell_death(Rank number) {
  std::erase(dying_, number);
  for (Extension* e : extensions()) e->on_peer_dead(number);
}

// It stands among the dead, so that its loss is reported to nobody.
void Losses::lose_for_good(Rank number, const std::string& how) {
  Channel& c = channels_[number];
  // A relay says itself which process of another job that is.
  const Error why{Errc::peer_lost,
                  number < size() ? fmt::format("rank {} is dead: {}", number, how) : "it is dead: " + how};
  if (c.lost) {
    tell_death(number);
  } else if (c.method) {
    c.method->ended(number, why);  // on_peer_lost follows
  } else {
    on_peer_lost(static_cast<Core*>(this), number, why);
  }
}

void Losses::leave_behind() {
  std::vector<Rank> adrift, needed;
  for (const auto& party : parties()) {
    std::vector<Rank>& known = party->is_adrift() ? adrift : needed;
    known.insert(known.end(), party->numbers().begin(), party->numbers().end());
  }
  for (const Rank number : adrift) {
    const auto is_in = [&](const std::vector<Rank>& some) { return std::ranges::find(some, number) != some.end(); };
    if (number < size() || is_in(needed) || is_in(dead_)) continue;
    mark_dead(number);
    lose_for_good(number, "this process ends, and has nothing to say to it any more");
  }
}

void Losses::note_deaths_elsewhere() {
  std::vector<Death> deaths;
  for (const ForeignDeath& d : dead_elsewhere_) {
    for_each_of(d.job, d.rank, [&](Rank number) { deaths.push_back({number, d.how}); });
  }
  note_deaths(std::move(deaths));
}

void Losses::take_for_dead(std::span<const std::uint64_t> jobs, const std::string& how) {
  for (const std::uint64_t job : jobs) dead_elsewhere_.push_back({job, -1, how});
  note_deaths_elsewhere();
}

bool Losses::is_dying(Rank rank) const {
  return std::ranges::find(dying_, rank) != dying_.end();
}

bool Losses::is_dead(const Process& process) const {
  if (process.job == job_number(job().job))
    return std::ranges::find(dead_, static_cast<Rank>(process.rank)) != dead_.end();
  return std::ranges::any_of(dead_elsewhere_, [&](const ForeignDeath& d) {
    return d.job == process.job && (d.rank < 0 || static_cast<std::uint32_t>(d.rank) == process.rank);
  });
}

void Losses::note_loss(Rank rank) {
  if (bootstrap_.tells_deaths() && std::ranges::find(dead_, rank) == dead_.end()) {
    const Process who = process_of(rank);
    bootstrap_.accuse(rank < size() ? std::string() : job_name(who.job), static_cast<int>(who.rank), peer_error(rank));
  } else {
    tell_death(rank);
  }
}

void Losses::revoke_contexts(std::span<const std::uint32_t> contexts) {
  begin_care();
  note_revoked(contexts);
  const auto is_meant = [&](const Request& r) {
    return std::ranges::find(contexts, r.match.context) != contexts.end();
  };
  for (std::uint32_t i = 0; i < pool_.capacity(); ++i) {
    Request* const r = pool_.at(i);
    if (!(r->self.generation & 1) || (r->flags & request_flag::staged)) continue;
    if (r->kind == RequestKind::message) {
      if (is_meant(*r)) forget_kept(r);
    } else if ((r->kind == RequestKind::send || r->kind == RequestKind::recv) && !r->complete() && is_meant(*r)) {
      revoke(r);
    }
  }
}

// A receive that waits is withdrawn, a send that nobody has matched taken back. What has been matched moves, and ends
// by itself: memory is not touched any more when its request is complete.
void Losses::revoke(Request* r) {
  if (r->kind == RequestKind::recv) {
    give_up_receive(r, Errc::revoked);
  } else if (r->step == Step::queued || r->step == Step::announced || r->step == Step::unacknowledged) {
    r->status.error = Errc::revoked;
    MPID_Cancel(r);
  }
}

bool Losses::give_up_receive(Request* recv, Errc error) {
  if (recv->step != Step::posted) return false;
  give_up(recv, error);
  return true;
}

Party& Losses::admit_party(std::unique_ptr<Party> party) {
  Party& admitted = admit(std::move(party));
  if (!dead_elsewhere_.empty()) note_deaths_elsewhere();  // some may have died before they met this process
  return admitted;
}

}  // namespace rmq::adi
