// Processes of other jobs come and go: numbers for them, and the parties by whose methods they are reached.
#include <algorithm>

#include "adi/device.hpp"

namespace rmq::adi {

namespace {
std::pair<std::uint64_t, std::uint32_t> name_of(const Process& p) {
  return {p.job, p.rank};
}
}  // namespace

Process Device::process_of(Rank number) const {
  if (number >= size()) return foreign_[static_cast<std::size_t>(number - size())];
  const auto host = host_id_.find(job().host_of_rank[number]);
  return {job_number(job().job), static_cast<std::uint32_t>(number), host == host_id_.end() ? 0 : host->second};
}

Rank Device::number_of(const Process& process) const {
  if (process.job == job_number(job().job)) return static_cast<Rank>(process.rank);
  const auto found = number_of_.find(name_of(process));
  return found == number_of_.end() ? kNoRank : found->second;
}

void Device::note_host(const Process& process) {
  if (process.job != job_number(job().job) || process.rank >= static_cast<std::uint32_t>(size())) return;
  host_id_[job().host_of_rank[static_cast<int>(process.rank)]] = process.host;
}

bool Device::any_foreign(const Ranks& ranks) const {
  const int n = ranks.size();
  if (n == 0) return false;
  if (ranks.is_rule()) return std::max(ranks[0], ranks[n - 1]) >= size();
  return std::any_of(ranks.begin(), ranks.end(), [&](Rank r) { return r >= size(); });
}

std::uint64_t Device::host_of(Rank r, bool foreign) const {
  return foreign ? process_of(r).host : static_cast<std::uint64_t>(job().host_of_rank[r]);
}

Ranks Device::places_beside(Rank r, const Ranks& members) const {
  if (!any_foreign(members)) return job().host_of_rank.places_on(job().host_of_rank[r], members);
  std::vector<Rank> places;
  for (int i = 0; i < members.size(); ++i)
    if (host_of(members[i], true) == host_of(r, true)) places.push_back(i);
  return places;
}

bool Device::party_is_new(std::uint64_t id) const {
  return Relay::tag_of(id) != 0 && std::ranges::none_of(parties_, [&](const auto& p) {
           return Relay::tag_of(p->facts().id) == Relay::tag_of(id);
         });
}

std::unique_ptr<Party> Device::make_party(PartyFacts facts) {
  return std::make_unique<Party>(std::move(facts), config_, sink_, method_makers(), simulation_ != nullptr, on_parted_,
                                 is_fault_tolerant());
}

Party& Device::admit_party(std::unique_ptr<Party> party) {
  Party& p = *parties_.emplace_back(std::move(party));
  PartyNumbers& numbers = p.numbers_;
  const std::uint64_t credit = p.facts().credit;
  std::vector<Rank> again;
  for (int m = 0; m < p.size(); ++m) {
    const Process& who = p.facts().members[static_cast<std::size_t>(m)];
    note_host(who);
    Rank number = number_of(who);
    if (number == kNoRank) {
      if (const auto old = dismissed_.extract(name_of(who)); !old.empty()) {
        number = old.mapped();
        again.push_back(number);
      } else {
        number = channels_.admit(1, credit);
        foreign_.push_back(who);
      }
      foreign_[static_cast<std::size_t>(number - size())] = who;
      number_of_[name_of(who)] = number;
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
  turn_ |= kSecondaryStride - 1;
  if (!dead_elsewhere_.empty()) note_deaths_elsewhere();  // some may have died before they met this process
  return p;
}

void Device::dismiss_party(Party& party) {
  const auto drained = [&] {
    return std::ranges::all_of(party.relays_, [](const Relay* r) { return r->drained(); }) &&
           std::ranges::none_of(party.numbers_.met_here, [&](const auto& one) {
             const Channel* const c = channels_.find(one.first);
             return (c && c->waits()) || is_dying(one.first);
           });
  };
  while (!drained()) MPID_Poll(true);
  party.lifeline_.say_goodbye();
  for (Relay* relay : party.relays_) relay->close();
  for (const auto& [number, met] : party.numbers_.met_here) {
    static_cast<void>(met);
    channels_.dismiss(number);
    const Process& who = foreign_[static_cast<std::size_t>(number - size())];
    number_of_.erase(name_of(who));
    dismissed_[name_of(who)] = number;
  }
  if (!party.silent_) doorbell_->unwatch(party.bell_->fd());
  std::erase_if(methods_, [&](const auto& m) {
    return std::ranges::find(party.relays_, static_cast<const methods::Method*>(m.get())) != party.relays_.end();
  });
  std::erase_if(parties_, [&](const auto& p) { return p.get() == &party; });
}

void* Device::MPID_Mem_alloc(std::size_t bytes, const Ranks& sharers) {
  if (!any_foreign(sharers)) return MPID_Mem_alloc(bytes);
  const Ranks beside = places_beside(rank_, sharers);
  for (const auto& party : parties_) {
    for (Relay* relay : party->relays()) {
      if (!std::all_of(beside.begin(), beside.end(), [&](Rank place) { return relay->knows(sharers[place]); }))
        continue;
      if (void* const memory = relay->share(bytes)) return memory;
    }
  }
  return MPID_Mem_alloc(bytes);
}

std::uint64_t Device::mem_token(const void* memory, std::uint64_t bytes, const Ranks& sharers) const {
  const std::uint64_t token = mem_token(memory, bytes);
  if (token == 0 || (!any_foreign(sharers) && Relay::party_of(token) == 0)) return token;
  const Ranks beside = places_beside(rank_, sharers);
  for (const auto& party : parties_) {
    for (const Relay* relay : party->relays()) {
      if (relay->tag() != Relay::party_of(token)) continue;
      const bool all =
          std::all_of(beside.begin(), beside.end(), [&](Rank place) { return relay->knows(sharers[place]); });
      return all ? token : 0;
    }
  }
  return 0;
}

}  // namespace rmq::adi
