// Of a job that goes on when ranks die (rmqrun --ft): deaths that the launcher tells of, and what is revoked.
//
// A rank is lost to this one when its link breaks, and dead when the launcher says so. Who is lost to one is to be dead
// for all: so a loss that is not known to be a death is reported, and the launcher ends that rank. Whatever needs all
// to be of one mind (engine/ft) goes by deaths only.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "adi/device.hpp"

namespace rmq::adi {

// Jobs that are connected with one of this launcher's, and with each other by it alone, hear of them by the lines.
void Device::hear_of_deaths() {
  const std::vector<Bootstrap::Departure> departures = bootstrap_.departures();
  std::vector<std::uint64_t> whole_jobs;
  for (const Bootstrap::Departure& d : departures) {
    const bool ours = d.job.empty() || d.job == job().job;
    const std::uint64_t of = job_number(ours ? std::string_view(job().job) : d.job);
    if (d.rank < 0) whole_jobs.push_back(of);
    for (const auto& party : parties_)
      if (d.rank >= 0) party->lifeline().say_death({&of, 1}, d.rank);
    if (!ours)
      dead_elsewhere_.push_back({of, d.rank, d.how});  // of one that this job may meet later, or not at all
    else if (d.rank != rank_)
      note_deaths({{d.rank, d.how}});
  }
  for (const auto& party : parties_) party->lifeline().say_death(whole_jobs, -1);
  if (!departures.empty()) note_deaths_elsewhere();
}

// All are among the dead before the first is lost, also those of whom a loss tells (a root's, beyond its line): whoever
// asks who is dying hears of them together.
void Device::note_deaths(std::vector<Death> deaths) {
  std::erase_if(deaths, [&](const Death& one) {
    const bool known = std::ranges::find(dead_, one.number) != dead_.end();
    if (!known) mark_dead(one.number);
    return known;
  });
  unlost_.insert(unlost_.end(), deaths.begin(), deaths.end());
  const bool is_noting = std::exchange(noting_deaths_, true);
  for (const Death& one : deaths) {
    for (const auto& party : parties_) party->on_death(one.number);
  }
  if (is_noting) return;  // what is called here has told of more
  while (!unlost_.empty()) {
    const Death next = std::move(unlost_.front());
    unlost_.pop_front();
    lose_for_good(next.number, next.how);
  }
  noting_deaths_ = false;
}

void Device::mark_dead(Rank number) {
  dead_.push_back(number);
  dying_.push_back(number);
}

void Device::tell_death(Rank number) {
  std::erase(dying_, number);
  for (Extension* e : extensions_) e->on_peer_dead(number);
}

// It stands among the dead, so that its loss is reported to nobody.
void Device::lose_for_good(Rank number, const std::string& how) {
  Channel& c = channels_[number];
  // A relay says itself which process of another job that is.
  const Error why{Errc::peer_lost,
                  number < size() ? fmt::format("rank {} is dead: {}", number, how) : "it is dead: " + how};
  if (c.lost) {
    tell_death(number);
  } else if (c.method) {
    c.method->ended(number, why);  // on_peer_lost follows
  } else {
    on_peer_lost(this, number, why);
  }
}

void Device::leave_behind() {
  std::vector<Rank> adrift, needed;
  for (const auto& party : parties_) {
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

void Device::note_deaths_elsewhere() {
  std::vector<Death> deaths;
  for (const ForeignDeath& d : dead_elsewhere_) {
    for (const auto& [who, number] : number_of_)
      if (who.first == d.job && (d.rank < 0 || who.second == static_cast<std::uint32_t>(d.rank)))
        deaths.push_back({number, d.how});
  }
  note_deaths(std::move(deaths));
}

void Device::take_for_dead(std::span<const std::uint64_t> jobs, const std::string& how) {
  for (const std::uint64_t job : jobs) dead_elsewhere_.push_back({job, -1, how});
  note_deaths_elsewhere();
}

bool Device::is_dying(Rank rank) const {
  return std::ranges::find(dying_, rank) != dying_.end();
}

bool Device::is_dead(const Process& process) const {
  if (process.job == job_number(job().job))
    return std::ranges::find(dead_, static_cast<Rank>(process.rank)) != dead_.end();
  return std::ranges::any_of(dead_elsewhere_, [&](const ForeignDeath& d) {
    return d.job == process.job && (d.rank < 0 || static_cast<std::uint32_t>(d.rank) == process.rank);
  });
}

void Device::note_loss(Rank rank) {
  if (bootstrap_.tells_deaths() && std::ranges::find(dead_, rank) == dead_.end()) {
    const Process who = process_of(rank);
    bootstrap_.accuse(rank < size() ? std::string() : job_name(who.job), static_cast<int>(who.rank), peer_error(rank));
  } else {
    tell_death(rank);
  }
}

void Device::revoke_contexts(std::span<const std::uint32_t> contexts) {
  set_careful(true);
  gate_.distrust();
  revoked_.insert(contexts.begin(), contexts.end());
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

// An announced or synchronous one is taken back by its sender, who waits for the answer.
bool Device::forget_kept(Request* r) {
  const bool short_one = r->packet.kind == Kind::SHORT && r->unexpected.self_send == nullptr;
  if (r->step != Step::kept || !short_one) return false;
  match_.take(r);
  release_kept(r);
  pool_.put(r);
  return true;
}

bool Device::forget_contexts(std::span<const std::uint32_t> contexts) {
  bool all = true;
  for (std::uint32_t i = 0; i < pool_.capacity(); ++i) {
    Request* const r = pool_.at(i);
    if (!(r->self.generation & 1) || (r->flags & request_flag::staged) || r->kind != RequestKind::message) continue;
    if (std::ranges::find(contexts, r->match.context) != contexts.end()) all = forget_kept(r) && all;
  }
  for (const std::uint32_t context : contexts)
    if (all) revoked_.erase(context);
  return all;
}

// A receive that waits is withdrawn, a send that nobody has matched taken back. What has been matched moves, and ends
// by itself: memory is not touched any more when its request is complete.
void Device::revoke(Request* r) {
  if (r->kind == RequestKind::recv) {
    give_up_receive(r, Errc::revoked);
  } else if (r->step == Step::queued || r->step == Step::announced || r->step == Step::unacknowledged) {
    r->status.error = Errc::revoked;
    MPID_Cancel(r);
  }
}

bool Device::give_up_receive(Request* recv, Errc error) {
  if (recv->step != Step::posted) return false;
  withdraw(recv);
  recv->go(Step::landing);
  for (std::uint32_t missing = recv->parts; missing > 0; --missing) fail_part(recv, error, kNoRank);
  return true;
}

}  // namespace rmq::adi
