// SPDX-License-Identifier: BSD-3-Clause
// Damages a good trace, once for each rule of the protocol, and expects that the check names that rule.
//   tools_damage DIR      a trace of tests/tools/protocol.c over tcp
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/packet/protocol.hpp"
#include "tests/tools/rank_file.hpp"
#include "tools/trace/check.hpp"
#include "tools/trace/words.hpp"

namespace {

using namespace rmq;
using trace::Entry;

// A trace in memory, to be changed and written again.
struct Recorded {
  std::vector<Entry> entries;  // by time
};

using Test = std::function<bool(const Entry&, const Packet&)>;

[[noreturn]] void die(const std::string& what) {
  fmt::print(stderr, "damage: {}\n", what);
  std::exit(1);
}

std::size_t find(const Recorded& t, Event event, Kind kind, const Test& test = {}, std::size_t from = 0) {
  for (std::size_t i = from; i < t.entries.size(); ++i) {
    const Packet p = t.entries[i].packet();
    if (t.entries[i].record.event == event && p.kind == kind && (!test || test(t.entries[i], p))) return i;
  }
  die(fmt::format("the trace lacks a {}", packet_name(kind)));
}

void put(Entry& e, const Packet& p) {
  std::memcpy(e.record.packet, &p, sizeof p);
}

// The record of the same packet at its other end.
std::size_t other_end(const Recorded& t, std::size_t at) {
  const Entry& e = t.entries[at];
  const Packet p = e.packet();
  const bool sent = e.record.event == Event::packet_sent;
  return find(t, sent ? Event::packet_received : Event::packet_sent, p.kind, [&](const Entry& o, const Packet& q) {
    return o.rank == e.record.peer && o.record.peer == e.rank &&
           std::memcmp(reinterpret_cast<const char*>(&p) + 4, reinterpret_cast<const char*>(&q) + 4,
                       wire_bytes(p.kind) - 4) == 0;
  });
}

// Changes a packet at both ends.
void change(Recorded& t, std::size_t at, const std::function<void(Packet&)>& how) {
  const std::size_t other = other_end(t, at);
  Packet p = t.entries[at].packet();
  how(p);
  put(t.entries[at], p);
  put(t.entries[other], p);
}

// Takes a packet out at both ends.
void remove(Recorded& t, std::size_t at) {
  const std::size_t other = other_end(t, at);
  t.entries.erase(t.entries.begin() + static_cast<std::ptrdiff_t>(std::max(at, other)));
  t.entries.erase(t.entries.begin() + static_cast<std::ptrdiff_t>(std::min(at, other)));
}

// Puts a packet in at both ends, behind its twin.
void repeat(Recorded& t, std::size_t at) {
  const std::size_t other = other_end(t, at);
  const Entry a = t.entries[at], b = t.entries[other];
  t.entries.insert(t.entries.begin() + static_cast<std::ptrdiff_t>(std::max(at, other)) + 1, at > other ? a : b);
  t.entries.insert(t.entries.begin() + static_cast<std::ptrdiff_t>(std::min(at, other)) + 1, at > other ? b : a);
}

// Lets one rank send another a packet, behind everything that is there.
void say(Recorded& t, int from, int to, Packet p) {
  for (const bool sends : {true, false}) {
    Entry e = t.entries.back();
    e.rank = sends ? from : to;
    e.record.peer = sends ? to : from;
    e.record.event = sends ? Event::packet_sent : Event::packet_received;
    put(e, p);
    t.entries.push_back(e);
  }
}

constexpr std::uint8_t shared = rma_flag::lock_shared, exclusive = rma_flag::lock_exclusive;
constexpr std::uint32_t kWindow = 4711;  // none of the program's; its target is rank 0

void ask(Recorded& t, int origin, std::uint8_t how) {
  Packet p(Kind::RMA_LOCK);
  p.context = kWindow;
  p.flags = how;
  say(t, origin, 0, p);
  Entry waits = t.entries.back();
  waits.record.event = Event::lock_queued;
  waits.record.a0 = kWindow;
  waits.record.a1 = 1;
  t.entries.push_back(waits);
}
void grant(Recorded& t, int origin) {
  Packet p(Kind::RMA_LOCK_GRANTED);
  p.context = kWindow;
  say(t, 0, origin, p);
}
void unlock(Recorded& t, int origin) {
  Packet p(Kind::RMA_UNLOCK);
  p.context = kWindow;
  say(t, origin, 0, p);
}

struct Damage {
  std::string_view what, rule;
  Kind kind;  // of the packet that is named; none: of no matter
  std::function<void(Recorded&)> act;
};

constexpr auto sent = Event::packet_sent, came = Event::packet_received;

const Damage kDamages[] = {
    {"a packet comes that nobody sent", "sent", Kind::SHORT,
     [](Recorded& t) { t.entries.push_back(t.entries[find(t, came, Kind::SHORT)]); }},
    {"a packet comes with another tag", "sent", Kind::SHORT,
     [](Recorded& t) {
       Entry& e = t.entries[find(t, came, Kind::SHORT)];
       Packet p = e.packet();
       p.tag ^= 0x4000;
       put(e, p);
     }},
    {"two packets change places", "order", Kind::SHORT_SYNC,
     [](Recorded& t) {
       const std::size_t a =
           find(t, came, Kind::SHORT, [](const Entry& e, const Packet& p) { return e.rank == 1 && p.tag == 1; });
       const std::size_t b =
           find(t, came, Kind::SHORT_SYNC, [](const Entry& e, const Packet& p) { return e.rank == 1 && p.tag == 2; });
       std::swap(t.entries[a].record.packet, t.entries[b].record.packet);
     }},
    {"REQUEST_SEND is answered twice", "request", Kind::OK_TO_SEND,
     [](Recorded& t) { repeat(t, find(t, sent, Kind::OK_TO_SEND)); }},
    {"data before OK_TO_SEND", "request", Kind::RNDV_DATA,
     [](Recorded& t) { remove(t, find(t, sent, Kind::OK_TO_SEND)); }},
    {"OK_TO_SEND for nothing that was announced", "request", Kind::OK_TO_SEND,
     [](Recorded& t) {
       change(t, find(t, sent, Kind::OK_TO_SEND), [](Packet& p) { p.ok_to_send.sender ^= 0x100000000; });
     }},
    {"more data than was wanted", "request", Kind::RNDV_DATA,
     [](Recorded& t) { change(t, find(t, sent, Kind::RNDV_DATA), [](Packet& p) { p.length += 1 << 20; }); }},
    {"a handle is used twice", "request", Kind::REQUEST_SEND,
     [](Recorded& t) {
       const std::size_t a = find(t, sent, Kind::REQUEST_SEND), b = find(t, sent, Kind::REQUEST_SEND, {}, a + 1);
       const std::uint64_t handle = t.entries[a].packet().request_send.sender;
       change(t, b, [&](Packet& p) { p.request_send.sender = handle; });
     }},
    {"a SHORT_SYNC is acknowledged twice", "request", Kind::SYNC_ACK,
     [](Recorded& t) { repeat(t, find(t, sent, Kind::SYNC_ACK)); }},
    {"an answer to a cancel that nobody asked for", "cancel", Kind::ANTI_SEND_OK,
     [](Recorded& t) { remove(t, find(t, sent, Kind::ANTI_SEND)); }},
    {"a message that is gone is acknowledged", "cancel", Kind::SYNC_ACK,
     [](Recorded& t) {
       const std::size_t at = find(t, sent, Kind::ANTI_SEND_OK,
                                   [](const Entry&, const Packet& p) { return p.anti_send_ok.cancelled == 1; });
       const std::uint64_t handle = t.entries[at].packet().anti_send_ok.sender;
       const std::size_t late = other_end(t, at);
       Packet ack(Kind::SYNC_ACK);
       ack.sync_ack.sender = handle;
       for (const std::size_t place : {std::max(at, late), std::min(at, late)}) {
         Entry e = t.entries[place];
         put(e, ack);
         t.entries.insert(t.entries.begin() + static_cast<std::ptrdiff_t>(place) + 1, e);
       }
     }},
    {"a message leaves behind a later one", "numbers", Kind::none,
     [](Recorded& t) {
       const std::size_t at =
           find(t, sent, Kind::SHORT, [](const Entry&, const Packet& p) { return p.tag == 60 && p.msg > 50; });
       change(t, at, [](Packet& p) { p.msg -= 20; });
     }},
    {"a message is matched twice", "match", Kind::none,
     [](Recorded& t) {
       const std::size_t at =
           find(t, Event::matched, Kind::SHORT, [](const Entry& e, const Packet&) { return e.rank != e.record.peer; });
       t.entries.insert(t.entries.begin() + static_cast<std::ptrdiff_t>(at), t.entries[at]);
     }},
    {"a rank counts more credit than it has", "credit", Kind::none,
     [](Recorded& t) {
       std::size_t nth = 0;
       for (Entry& e : t.entries) {
         if (e.record.event == Event::credit && ++nth == 5) e.record.a1 += 100;
       }
     }},
    {"a message goes without credit", "credit", Kind::SHORT,
     [](Recorded& t) {
       change(t, find(t, sent, Kind::SHORT, [](const Entry&, const Packet& p) { return p.tag == 60; }),
              [](Packet& p) { p.length = 1u << 30; });
     }},
    {"an envelope that no FLOW has allowed", "envelopes", Kind::REQUEST_SEND,
     [](Recorded& t) {
       change(t, find(t, sent, Kind::FLOW, [](const Entry&, const Packet& p) { return p.flow.envelopes > 0; }),
              [](Packet& p) { p.flow.envelopes = 0; });
     }},
    {"an answer for a ticket that nobody has", "ticket", Kind::RMA_ACK,
     [](Recorded& t) { change(t, find(t, sent, Kind::RMA_ACK), [](Packet& p) { p.rma_ack.ticket += 12345; }); }},
    {"a lock is granted that nobody asked for", "lock", Kind::RMA_LOCK_GRANTED,
     [](Recorded& t) { remove(t, find(t, sent, Kind::RMA_LOCK)); }},
    {"operations before the lock is granted", "lock", Kind::none,
     [](Recorded& t) { remove(t, find(t, sent, Kind::RMA_LOCK_GRANTED)); }},
    {"two exclusive locks at once", "lock_table", Kind::RMA_LOCK_GRANTED,
     [](Recorded& t) { ask(t, 1, exclusive), grant(t, 1), ask(t, 2, exclusive), grant(t, 2); }},
    {"a shared lock beside an exclusive one", "lock_table", Kind::RMA_LOCK_GRANTED,
     [](Recorded& t) { ask(t, 1, exclusive), grant(t, 1), ask(t, 2, shared), grant(t, 2); }},
    {"an exclusive lock out of turn", "lock_order", Kind::RMA_LOCK_GRANTED,
     [](Recorded& t) { ask(t, 1, exclusive), ask(t, 2, exclusive), grant(t, 2); }},
    {"two exclusive locks pass a shared one", "lock_order", Kind::RMA_LOCK_GRANTED,
     [](Recorded& t) {
       ask(t, 1, exclusive), grant(t, 1), ask(t, 2, shared);
       for (int i = 0; i < 2; ++i) unlock(t, 1), ask(t, 1, exclusive), grant(t, 1);
     }},
    {"a datatype that nobody defined", "datatype", Kind::none,
     [](Recorded& t) { remove(t, find(t, sent, Kind::DATATYPE_DEFN)); }},
    {"a queue gives back more than it got", "queue_credit", Kind::RMA_QUEUE_CREDIT,
     [](Recorded& t) {
       change(t, find(t, sent, Kind::RMA_QUEUE_CREDIT), [](Packet& p) { p.rma_queue_credit.credit += 1000; });
     }},
    {"more active messages are handled than were sent", "handled", Kind::AM_CREDIT,
     [](Recorded& t) { change(t, find(t, sent, Kind::AM_CREDIT), [](Packet& p) { p.am_credit.handled += 1000; }); }},
    {"a barrier's word is repeated", "counts", Kind::RMA_SYNC,
     [](Recorded& t) {
       const std::size_t at =
           find(t, sent, Kind::RMA_SYNC, [](const Entry&, const Packet& p) { return p.rma_sync.value > 1; });
       change(t, at, [](Packet& p) { p.rma_sync.value += 5; });
     }},
    {"a rank saw nonsense", "sense", Kind::SHORT,
     [](Recorded& t) { t.entries[find(t, Event::matched, Kind::SHORT)].record.event = Event::protocol_error; }},
};

Recorded read(const std::string& folder) {
  auto reader = trace::Reader::open(folder);
  if (!reader) die(reader.error().what);
  Recorded t;
  const auto shown = reader->each({}, [&](const Entry& e) {
    t.entries.push_back(e);
    return true;
  });
  if (!shown) die(shown.error().what);
  return t;
}

// Writes the files of `t`, with the clocks of the files in `like`.
void write(const Recorded& t, const std::string& like, const std::string& folder) {
  std::filesystem::create_directories(folder);
  std::map<int, std::unique_ptr<trace::RankFile>> files;
  for (const auto& f : std::filesystem::directory_iterator(like)) {
    const auto old = trace::TraceFile::open(f.path().string());
    if (!old) die(old.error().what);
    const TraceHeader& h = old->header();
    auto& file = files[h.rank] =
        std::make_unique<trace::RankFile>(folder, TraceOwner{h.rank, h.size, static_cast<int>(h.host), h.job});
    TraceHeader& to = file->header();
    to.ns_per_tick = h.ns_per_tick;
    to.ticks_start = h.ticks_start, to.ticks_end = h.ticks_end;
    to.mono_ns_start = h.mono_ns_start, to.mono_ns_end = h.mono_ns_end;
    to.wall_ns_start = h.wall_ns_start, to.wall_ns_end = h.wall_ns_end;
    to.offset_ns_start = h.offset_ns_start, to.offset_ns_end = h.offset_ns_end;
    to.error_ns_start = h.error_ns_start, to.error_ns_end = h.error_ns_end;
  }
  for (const Entry& e : t.entries) {
    const EventKind* k = trace::kind_of(e.record.event);
    files[e.rank]->add(e.record, k && k->carries_packet);
  }
}

std::optional<trace::Violation> check(const std::string& folder) {
  auto reader = trace::Reader::open(folder);
  if (!reader) die(reader.error().what);
  trace::Check check(reader->ranks());
  std::optional<trace::Violation> violation;
  const auto shown = reader->each({}, [&](const Entry& e) { return !(violation = check.look(e)); });
  if (!shown) die(shown.error().what);
  return violation;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) die("usage: tools_damage DIR");
  const std::string folder = argv[1], damaged = folder + ".damaged";
  if (const auto v = check(folder)) die("the trace is not good: " + trace::describe(*v));
  const Recorded good = read(folder);
  write(good, folder, damaged);
  if (const auto v = check(damaged)) die("the trace is not good once written again: " + trace::describe(*v));
  int bad = 0;
  for (const Damage& d : kDamages) {
    Recorded t = good;
    d.act(t);
    write(t, folder, damaged);
    const auto v = check(damaged);
    if (!v) {
      fmt::print("{}: not noticed; rule {} was expected\n", d.what, d.rule);
      ++bad;
    } else if (v->rule != d.rule || (d.kind != Kind::none && v->entry.packet().kind != d.kind)) {
      fmt::print("{}: rule {} was expected, {} found\n", d.what, d.rule, trace::describe(*v));
      ++bad;
    }
  }
  // Every rule and machine has its damage.
  const auto tried = [](std::string_view rule) {
    return std::any_of(std::begin(kDamages), std::end(kDamages), [&](const Damage& d) { return d.rule == rule; });
  };
  for (const ProtocolText& r : protocol_rules()) {
    if (!tried(r.name)) fmt::print("no damage for the rule {}\n", r.name), ++bad;
  }
  for (const ProtocolMachine& m : protocol_machines()) {
    if (!tried(m.name)) fmt::print("no damage for the machine {}\n", m.name), ++bad;
  }
  return bad == 0 ? 0 : 1;
}
