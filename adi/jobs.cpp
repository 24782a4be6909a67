// SPDX-License-Identifier: BSD-3-Clause
#include "adi/jobs.hpp"

#include <algorithm>

namespace rmq::adi {

Process Jobs::process_of(Rank number) const {
  if (number >= size()) return foreign_[static_cast<std::size_t>(number - size())];
  const auto host = host_id_.find(job().host_of_rank[number]);
  return {job_number(job().job), static_cast<std::uint32_t>(number), host == host_id_.end() ? 0 : host->second};
}

Rank Jobs::number_of(const Process& process) const {
  if (process.job == job_number(job().job)) return static_cast<Rank>(process.rank);
  const auto found = number_of_.find(key_of(process));
  return found == number_of_.end() ? kNoRank : found->second;
}

void Jobs::note_host(const Process& process) {
  if (process.job != job_number(job().job) || process.rank >= static_cast<std::uint32_t>(size())) return;
  host_id_[job().host_of_rank[static_cast<int>(process.rank)]] = process.host;
}

bool Jobs::any_foreign(const Ranks& ranks) const {
  const int n = ranks.size();
  if (n == 0) return false;
  if (ranks.is_rule()) return std::max(ranks[0], ranks[n - 1]) >= size();
  return std::any_of(ranks.begin(), ranks.end(), [&](Rank r) { return r >= size(); });
}

std::uint64_t Jobs::host_of(Rank r, bool foreign) const {
  return foreign ? process_of(r).host : static_cast<std::uint64_t>(job().host_of_rank[r]);
}

Ranks Jobs::places_beside(Rank r, const Ranks& members) const {
  if (!any_foreign(members)) return job().host_of_rank.places_on(job().host_of_rank[r], members);
  std::vector<Rank> places;
  for (int i = 0; i < members.size(); ++i)
    if (host_of(members[i], true) == host_of(r, true)) places.push_back(i);
  return places;
}

bool Jobs::party_is_new(std::uint64_t id) const {
  return Relay::tag_of(id) != 0 && std::ranges::none_of(parties_, [&](const auto& p) {
           return Relay::tag_of(p->facts().id) == Relay::tag_of(id);
         });
}

std::unique_ptr<Party> Jobs::make_party(PartyFacts facts) {
  return std::make_unique<Party>(std::move(facts), config_, sink_, makers_, simulation_ != nullptr, on_parted_,
                                 is_fault_tolerant());
}

Rank Jobs::number_for(const Process& who, std::uint64_t credit, std::vector<Rank>& again) {
  if (const auto old = dismissed_.extract(key_of(who)); !old.empty()) {
    again.push_back(old.mapped());
    return old.mapped();
  }
  foreign_.push_back(who);
  return channels_.admit(1, credit);
}

Party& Jobs::admit(std::unique_ptr<Party> party) {
  Party& p = *parties_.emplace_back(std::move(party));
  PartyNumbers& numbers = p.numbers_;
  const std::uint64_t credit = p.facts().credit;
  std::vector<Rank> again;
  for (int m = 0; m < p.size(); ++m) {
    const Process& who = p.facts().members[static_cast<std::size_t>(m)];
    note_host(who);
    Rank number = number_of(who);
    if (number == kNoRank) {
      number = number_for(who, credit, again);
      foreign_[static_cast<std::size_t>(number - size())] = who;
      number_of_[key_of(who)] = number;
      numbers.met_here[number] = true;
      trace_.event(Event::introduced, 0, number, who.job, who.rank);
    }
    numbers.number[static_cast<std::size_t>(m)] = number;
    numbers.member[number] = m;
  }
  for (auto& relay : p.made_) {
    if (!relay) continue;
    p.relays_.push_back(relay.get());
    methods_.push_back(std::move(relay));
  }
  for (const Rank number : again) channels_.readmit(number, credit);
  if (!p.silent_) static_cast<void>(doorbell_->watch(p.bell_->fd()));  // else it is rung in vain, and wakes by time
  look_everywhere();
  return p;
}

void Jobs::dismiss(Party& party) {
  party.lifeline_.say_goodbye();
  for (Relay* relay : party.relays_) relay->close();
  for (const auto& [number, met] : party.numbers_.met_here) {
    static_cast<void>(met);
    channels_.dismiss(number);
    const Process& who = foreign_[static_cast<std::size_t>(number - size())];
    number_of_.erase(key_of(who));
    dismissed_[key_of(who)] = number;
  }
  if (!party.silent_) doorbell_->unwatch(party.bell_->fd());
  std::erase_if(methods_, [&](const auto& m) {
    return std::ranges::find(party.relays_, static_cast<const methods::Method*>(m.get())) != party.relays_.end();
  });
  std::erase_if(parties_, [&](const auto& p) { return p.get() == &party; });
}

}  // namespace rmq::adi
