// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tools/trace/words.hpp"

namespace rmq::trace {
namespace {

constexpr std::size_t kLines = 10;  // of each table

// Whether its sender may wait until a receive has taken it.
bool wants_answer(Kind k) {
  return k == Kind::REQUEST_SEND || k == Kind::SHORT_SYNC;
}

double seconds(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

// The largest first.
template <class Map, class Size>
auto sorted(const Map& map, Size size) {
  std::vector<std::pair<typename Map::key_type, typename Map::mapped_type>> all(map.begin(), map.end());
  std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    return size(a.second) != size(b.second) ? size(a.second) > size(b.second) : a.first < b.first;
  });
  return all;
}

}  // namespace

void Waits::add(const Entry& e) {
  switch (e.record.event) {
    case Event::call_enter: {
      Thread& t = rank(e.rank).threads[e.record.a1];
      if (t.depth++ > 0) return;
      t.call = static_cast<std::uint32_t>(e.record.a0);
      t.since = e.ns;
      return;
    }
    case Event::call_leave: {
      Thread& t = rank(e.rank).threads[e.record.a1];
      if (t.depth == 0 || --t.depth > 0) return;
      Call& c = calls_[t.call];
      ++c.times;
      c.ns += static_cast<std::uint64_t>(e.ns - t.since);
      return;
    }
    case Event::packet_sent:
    case Event::packet_received:
      return packet(e);
    case Event::matched:
      return matched(e);
    case Event::meet: {
      Round& round = rounds_[{e.record.peer, e.record.a0, e.record.a1}];
      ++round.come;
      round.last = e.rank;
      round.last_ns = e.ns;
      return;
    }
    case Event::met:
      return met(e);
    default:
      return;
  }
}

void Waits::packet(const Entry& e) {
  const Packet p = e.packet();
  const int peer = e.record.peer;
  if (e.sends()) {
    if (wants_answer(p.kind)) unanswered_[{e.rank, peer, p.msg}] = {e.ns, 0};
    return;
  }
  switch (p.kind) {
    case Kind::SHORT:
    case Kind::SHORT_SYNC:
    case Kind::REQUEST_SEND: {
      Rank& r = rank(e.rank);
      r.came_from = e.flow ? peer : -1;
      r.came = p.msg;
      r.left_ns = e.sent_ns;
      return;
    }
    case Kind::OK_TO_SEND:
    case Kind::RNDV_DONE:
    case Kind::SYNC_ACK:
    case Kind::ANTI_SEND_OK: {
      const auto asked = unanswered_.find({e.rank, peer, p.msg});
      if (asked == unanswered_.end() || (p.kind == Kind::ANTI_SEND_OK && p.anti_send_ok.cancelled == 0)) return;
      if (asked->second.matched_ns != 0)
        waited(e.rank, peer, late_receiver, asked->second.left_ns, asked->second.matched_ns);
      unanswered_.erase(asked);
      return;
    }
    default:
      return;
  }
}

// The thread that waits, where one does: of several, the one that has come last. nullptr: none is in a call.
const Waits::Thread* Waits::inside(const Rank& r) const {
  const Thread* last = nullptr;
  for (const auto& [number, t] : r.threads)
    if (t.depth > 0 && (!last || t.since > last->since)) last = &t;
  return last;
}

// A message that is matched as it comes has been waited for, where the rank was in a call since before it left.
void Waits::matched(const Entry& e) {
  const Packet p = e.packet();
  const int peer = e.record.peer;
  Rank& r = rank(e.rank);
  if (r.came_from == peer && r.came == p.msg) {
    waited(e.rank, peer, late_sender, 0, r.left_ns);
    r.came_from = -1;
  }
  if (!wants_answer(p.kind)) return;
  if (const auto asked = unanswered_.find({peer, e.rank, p.msg}); asked != unanswered_.end())
    asked->second.matched_ns = e.ns;
}

// Everybody has waited for the one who came last.
void Waits::met(const Entry& e) {
  const auto round = rounds_.find({e.record.peer, e.record.a0, e.record.a1});
  if (round == rounds_.end()) return;
  if (round->second.last != e.rank) waited(e.rank, round->second.last, collective, 0, round->second.last_ns);
  if (--round->second.come == 0) rounds_.erase(round);
}

void Waits::waited(int who, int for_whom, Reason why, std::int64_t from, std::int64_t until) {
  Rank& r = rank(who);
  const Thread* const t = inside(r);
  if (!t) return;
  from = std::max({from, t->since, r.waited_until});
  if (until <= from) return;
  r.waited_until = until;
  if (is_collective(call_name(t->call))) why = collective;
  pairs_[std::uint64_t{static_cast<std::uint32_t>(who)} << 32 | static_cast<std::uint32_t>(for_whom)].ns[why] +=
      static_cast<std::uint64_t>(until - from);
}

Waits::Rank& Waits::rank(int r) {
  const auto at = static_cast<std::size_t>(r);
  if (ranks_.size() <= at) ranks_.resize(at + 1);
  return ranks_[at];
}

std::string Waits::text() const {
  std::string text;
  auto out = std::back_inserter(text);
  if (!calls_.empty())
    fmt::format_to(out, "\n  {:<28} {:>12} {:>12} {:>14}\n", "MPI calls, all ranks", "times", "seconds", "us each");
  std::size_t n = 0;
  for (const auto& [call, c] : sorted(calls_, [](const Call& c) { return c.ns; })) {
    if (n++ == kLines) break;
    fmt::format_to(out, "  {:<28} {:>12} {:>12.6f} {:>14.3f}\n", call_name(call), c.times, seconds(c.ns),
                   static_cast<double>(c.ns) / 1000 / static_cast<double>(c.times));
  }
  if (pairs_.empty()) return text;
  fmt::format_to(out, "\n  {:<28} {:>12} {:>13} {:>14}   seconds\n", "waited, by rank pair", "late sender",
                 "late receiver", "in collective");
  n = 0;
  for (const auto& [pair, s] : sorted(pairs_, [](const Sums& s) { return s.all(); })) {
    if (n++ == kLines) {
      fmt::format_to(out, "  … and {} pairs more\n", pairs_.size() - kLines);
      break;
    }
    fmt::format_to(out, "  {:<28} {:>12.6f} {:>13.6f} {:>14.6f}\n",
                   fmt::format("rank {} for rank {}", pair >> 32, pair & 0xffffffff), seconds(s.ns[late_sender]),
                   seconds(s.ns[late_receiver]), seconds(s.ns[collective]));
  }
  return text;
}

}  // namespace rmq::trace
