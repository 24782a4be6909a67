// SPDX-License-Identifier: BSD-3-Clause
#include "engine/worlds/introduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "engine/worlds/bonds.hpp"
#include "start/bootstrap_env.hpp"

namespace rmq::mpi {
namespace {

using Words = std::vector<std::uint64_t>;

constexpr std::size_t kSecretWords = sizeof(Secret) / sizeof(std::uint64_t);
constexpr std::size_t kPerMember = 4;  // job, rank, host, credit
constexpr int kIdsTried = 16;

Words words_of(std::string_view text) {
  Words words(1 + (text.size() + 7) / 8);
  words[0] = text.size();
  std::memcpy(words.data() + 1, text.data(), text.size());
  return words;
}
std::string text_of(std::span<const std::uint64_t> words) {
  if (words.empty() || words[0] > (words.size() - 1) * 8)
    fail_call(MPI_ERR_INTERN, "the other side breaks the protocol");
  return {reinterpret_cast<const char*>(words.data() + 1), static_cast<std::size_t>(words[0])};
}

/// One side: its members in the order of their communicator, and what its leader brings.
struct Side {
  std::vector<Process> members;
  std::uint64_t credit = 0;  // the least of all
  std::uint64_t leader = 0;
  std::uint64_t talk = 0;  // Order::Side
  Secret seed{};
  std::string forced;  // RMQ_COLL

  Words words() const {
    Words w{members.size(), credit, leader, talk};
    for (const Process& p : members) w.insert(w.end(), {p.job, p.rank, p.host});
    const auto seed_words = std::bit_cast<std::array<std::uint64_t, kSecretWords>>(seed);
    w.insert(w.end(), seed_words.begin(), seed_words.end());
    const Words text = words_of(forced);
    w.insert(w.end(), text.begin(), text.end());
    return w;
  }
  static Side of(const Words& w) {
    constexpr std::size_t kHead = 4;
    Side s;
    if (w.size() < kHead || w[0] == 0 || (w.size() - kHead) / 3 < w[0] ||
        w.size() < kHead + 3 * w[0] + kSecretWords + 1 || w[2] >= w[0])
      fail_call(MPI_ERR_INTERN, "the other side breaks the protocol");
    s.credit = w[1];
    s.leader = w[2];
    s.talk = w[3];
    std::size_t at = kHead;
    for (std::uint64_t i = 0; i < w[0]; ++i, at += 3)
      s.members.push_back({w[at], static_cast<std::uint32_t>(w[at + 1]), w[at + 2]});
    std::memcpy(s.seed.data(), w.data() + at, sizeof s.seed);
    s.forced = text_of(std::span(w).subspan(at + kSecretWords));
    return s;
  }
  /// Others than those of the other side, in whatever both take part.
  Order::Side name() const {
    const Process& p = members[static_cast<std::size_t>(leader)];
    return {p.job, p.rank, talk};
  }
};

/// The words of all members, in the order of the communicator.
Side gather_side(Comm& local, int leader) {
  adi::Device& d = *local.device;
  const JobInfo& job = d.job();
  const std::uint64_t mine[kPerMember] = {job_number(job.job), static_cast<std::uint64_t>(job.rank), host_identity(job),
                                          d.credit_to_grant()};
  const Party p = party_behind(local, leader);
  const Words all = gather_all(p, mine);
  Side side;
  side.members.resize(static_cast<std::size_t>(local.size()));
  side.credit = ~std::uint64_t{0};
  side.leader = static_cast<std::uint64_t>(leader);
  side.talk = Order::talk(local.context, p.tag);
  for (int m = 0; m < p.size(); ++m) {
    const std::uint64_t* const w = all.data() + kPerMember * static_cast<std::size_t>(m);
    side.members[static_cast<std::size_t>(p.rank_of(m))] = {w[0], static_cast<std::uint32_t>(w[1]), w[2]};
    side.credit = std::min(side.credit, w[3]);
  }
  for (const Process& process : side.members) d.note_host(process);
  side.forced = d.config().coll;
  boot::fill_random(side.seed);
  return side;
}

bool are_of_one_job(const Side& a, const Side& b) {
  const std::uint64_t job = a.members[0].job;
  const auto same = [&](const Process& p) { return p.job == job; };
  return std::ranges::all_of(a.members, same) && std::ranges::all_of(b.members, same);
}

/// Of `theirs`, those that have no member among `ours`.
std::vector<std::uint64_t> jobs_beyond(const Side& ours, const Side& theirs) {
  std::vector<std::uint64_t> jobs;
  for (const Process& p : theirs.members) {
    const bool here = std::ranges::any_of(ours.members, [&](const Process& q) { return q.job == p.job; });
    if (!here && std::ranges::find(jobs, p.job) == jobs.end()) jobs.push_back(p.job);
  }
  return jobs;
}

void check_apart(const Side& a, const Side& b) {
  for (const Process& p : b.members) {
    if (std::ranges::any_of(a.members, [&](const Process& q) { return q.is(p); }))
      fail_call(MPI_ERR_COMM,
                fmt::format("the two groups overlap: rank {} of job {} is in both", p.rank, job_name(p.job)));
  }
}

/// Ends at all members of both sides, or goes on at all.
void check_all(const std::function<Party()>& party, const Bridge& bridge, bool mine, const std::string& why) {
  Words well{mine ? 1u : 0u};
  and_all(party(), well);
  const Words theirs = exchange(party(), bridge, well);
  if (!mine) fail_call(MPI_ERR_OTHER, why);
  if (well[0] == 0 || theirs.at(0) == 0)
    fail_call(MPI_ERR_OTHER, "another member cannot reach the processes of the other job; it says why");
}

std::vector<std::string> cards_in(const Words& words, std::size_t each) {
  std::vector<std::string> cards;
  for (std::size_t at = 0; at + each <= words.size(); at += each)
    cards.push_back(text_of(std::span(words).subspan(at, each)));
  return cards;
}

/// Of all members; the same number of words for each.
std::vector<std::string> gather_cards(const std::function<Party()>& party, const Bridge& bridge,
                                      const std::string& mine) {
  Words size{~(1 + (mine.size() + 7) / 8)};  // the bitwise and of complements: at least the complement of the largest
  and_all(party(), size);
  const std::size_t each = std::bit_ceil(static_cast<std::size_t>(~size[0]) + 1);
  Words words = words_of(mine);
  words.resize(each);
  Words all = gather_all(party(), words);
  Words ours{each};
  ours.insert(ours.end(), all.begin(), all.end());
  const Words theirs = exchange(party(), bridge, ours);
  if (theirs.empty() || theirs[0] == 0) fail_call(MPI_ERR_INTERN, "the other side breaks the protocol");
  std::vector<std::string> cards = cards_in(all, each);
  const auto more = cards_in(Words(theirs.begin() + 1, theirs.end()), static_cast<std::size_t>(theirs[0]));
  cards.insert(cards.end(), more.begin(), more.end());
  return cards;
}

adi::Party& meet(adi::Device& d, PartyFacts facts, const std::function<Party()>& party, const Bridge& bridge) {
  auto made = d.make_party(std::move(facts));
  const auto opened = made->open();
  check_all(party, bridge, opened.has_value(), opened ? "" : opened.error().what);
  const auto cards = gather_cards(party, bridge, made->cards());
  const auto joined = made->join(cards);
  check_all(party, bridge, joined.has_value(), joined ? "" : joined.error().what);
  return d.admit_party(std::move(made));
}

}  // namespace

namespace {}  // namespace

Introduction introduce(Comm& local, int leader, const Bridge& bridge) {
  adi::Device& d = *local.device;
  const auto party = [&] { return party_behind(local, leader); };
  Side ours = gather_side(local, leader);
  Words words = ours.words();
  broadcast(party(), words);  // what the leader brings counts
  ours = Side::of(words);
  const Side theirs = Side::of(exchange(party(), bridge, words));
  for (const Process& p : theirs.members) d.note_host(p);
  check_apart(ours, theirs);

  Introduction made;
  made.order = Order::of(ours.name(), theirs.name());
  made.beyond = jobs_beyond(ours, theirs);
  const bool first = ours.name() < theirs.name();
  const Side &a = first ? ours : theirs, &b = first ? theirs : ours;
  made.by_line = [&] {
    Words w{bridge.line ? 1u : 0u};
    broadcast(party(), w);
    return w[0] != 0;
  }();
  Secret secret = a.seed;
  for (std::size_t i = 0; i < secret.size(); ++i) secret[i] ^= b.seed[i];
  if (made.by_line) {  // what has been said there may have been heard; this has not been said
    Words w(kSecretWords);
    if (bridge.line) std::memcpy(w.data(), bridge.line->secret().data(), sizeof(Secret));
    broadcast(party(), w);
    std::memcpy(secret.data(), w.data(), sizeof secret);
  }
  if (!are_of_one_job(ours, theirs)) {
    made.terms = &common_terms(a.forced);
    const auto id = [&](int i) {
      return std::bit_cast<std::array<std::uint64_t, kSecretWords>>(derive(secret, fmt::format("id{}", i)))[0];
    };
    Words vote{~std::uint64_t{0}, 0};
    for (const Process& p : theirs.members)
      if (d.number_of(p) == kNoRank) vote[0] = 0;
    for (int i = 0; i < kIdsTried; ++i)
      if (d.party_is_new(id(i))) vote[1] |= std::uint64_t{1} << i;
    and_all(party(), vote);
    const Words other = exchange(party(), bridge, vote);
    if (other.size() != 2) fail_call(MPI_ERR_INTERN, "the other side breaks the protocol");
    if ((vote[0] & other[0]) == 0) {
      if ((vote[1] & other[1]) == 0) fail_call(MPI_ERR_OTHER, "too many jobs are connected");
      PartyFacts facts;
      facts.id = id(std::countr_zero(vote[1] & other[1]));
      facts.secret = derive(secret, "links");
      facts.members = a.members;
      facts.members.insert(facts.members.end(), b.members.begin(), b.members.end());
      facts.me = local.rank + (first ? 0 : static_cast<int>(a.members.size()));
      facts.credit = std::min(a.credit, b.credit);
      made.party = &meet(d, std::move(facts), party, bridge);
    }
  }
  for (const Process& p : theirs.members) made.remote.push_back(d.number_of(p));
  return made;
}

}  // namespace rmq::mpi
