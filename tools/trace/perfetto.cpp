// SPDX-License-Identifier: BSD-3-Clause
// The numbers of fields are those of perfetto.proto.
#include "tools/trace/perfetto.hpp"

#include <fmt/format.h>

#include "tools/trace/words.hpp"

namespace rmq::trace {
namespace {

// Tracks of a rank: itself, its calls, its queues, then one for each method.
constexpr std::uint64_t kTracks = 64;
constexpr unsigned kCalls = 1, kQueues = 2, kMethods = 3;
std::uint64_t rank_track(int rank) {
  return (static_cast<std::uint64_t>(rank) + 1) * kTracks;
}

constexpr std::uint64_t kSequence = 1;
constexpr std::uint64_t kBeginsAnew = 1, kUsesNames = 2;  // sequence_flags
constexpr std::uint64_t kNoSucceed = 16384;               // MPI_MODE_NOSUCCEED: no epoch begins here

}  // namespace

Perfetto::Perfetto(const Reader& of, Output& to) : of_(&of), to_(&to) {
  for (const Recording& r : of.ranks()) {
    ranks_[r.rank];
    Message process;
    process.number(1, static_cast<std::uint64_t>(r.rank) + 1)
        .text(6, fmt::format("rank {} on host {}", r.rank, r.host));
    describe(Message().number(1, rank_track(r.rank)).message(3, process));
  }
}

bool Perfetto::look(const Entry& e) {
  switch (e.record.event) {
    case Event::packet_sent:
    case Event::packet_received:
      packet(e);
      break;
    case Event::call_enter:
    case Event::call_leave:
      call(e);
      break;
    case Event::sleep:
    case Event::wake:
      sleep(e);
      break;
    default:
      if (!epoch(e)) queue(e);
  }
  return to_->written();
}

void Perfetto::packet(const Entry& e) {
  const Packet p = e.packet();
  const int from = e.sends() ? e.rank : e.record.peer, to = e.sends() ? e.record.peer : e.rank;
  const std::uint64_t track = track_of(e.rank, kMethods + e.record.method % 32, method_word(e.record.method));
  Message& m = event(instant, track, "packet", packet_name(p.kind));
  annotate("from", static_cast<std::uint64_t>(from));
  annotate("to", static_cast<std::uint64_t>(to));
  m.message(4, annotation_.clear()
                   .number(1, intern(annotations, "tag"))
                   .number(4, static_cast<std::uint64_t>(std::int64_t{p.tag})));
  annotate("context", p.context);
  annotate("msg", p.msg);
  annotate("length", p.length);
  if (p.flags) annotate("flags", p.flags);
  if (p.credit) annotate("credit", p.credit);
  if (const PacketKind* k = find_packet_kind(p.kind)) {
    for (const PacketField& f : k->fields) annotate(f.name, packet_field(p, f));
  }
  if (e.flow != 0) m.fixed(e.sends() ? 47 : 48, e.flow);
  emit(e.ns);
}

void Perfetto::call(const Entry& e) {
  Calls& calls = ranks_[e.rank].calls[e.record.a1];
  const bool enters = e.record.event == Event::call_enter;
  if (!enters && calls.open == 0) return;  // a slice of the trace begins inside of the call
  calls.open += enters ? 1 : -1;
  const std::uint64_t track = track_of(e.rank, calls, e.record.a1);
  event(enters ? begin : end, track, "call",
        enters ? call_name(static_cast<std::uint32_t>(e.record.a0)) : std::string_view{});
  emit(e.ns);
}

// Calls of one thread lie one inside of the other, those of several overlap.
std::uint64_t Perfetto::track_of(int rank, Calls& calls, std::uint64_t thread) {
  if (thread == 0) return track_of(rank, kCalls, "MPI");
  if (calls.track != 0) return calls.track;
  calls.track = next_track_++;
  describe(Message().number(1, calls.track).text(2, fmt::format("MPI, thread {}", thread)).number(5, rank_track(rank)));
  return calls.track;
}

void Perfetto::sleep(const Entry& e) {
  bool& sleeps = ranks_[e.rank].sleeps;
  const bool begins = e.record.event == Event::sleep;
  if (sleeps == begins) return;
  sleeps = begins;
  event(begins ? begin : end, track_of(e.rank, kCalls, "MPI"), "wait", begins ? "sleep" : "");
  emit(e.ns);
}

void Perfetto::queue(const Entry& e) {
  const EventKind* k = kind_of(e.record.event);
  if (!k) return;
  event(instant, track_of(e.rank, kQueues, "queues"), "queue", k->name);
  if (e.record.peer >= 0) annotate("peer", static_cast<std::uint64_t>(e.record.peer));
  if (!k->a0.empty()) annotate(k->a0, e.record.a0);
  if (!k->a1.empty()) annotate(k->a1, e.record.a1);
  emit(e.ns);
}

// Epochs of windows; false: the event is none of them.
bool Perfetto::epoch(const Entry& e) {
  const int peer = e.record.peer;
  switch (e.record.event) {
    case Event::win_fence:
      close_epoch(e, "fence", -1);
      if ((e.record.a1 & kNoSucceed) == 0) open_epoch(e, "fence", -1);
      return true;
    case Event::win_start:
      open_epoch(e, "access", peer);
      return true;
    case Event::win_complete:
      close_epoch(e, "access", peer);
      return true;
    case Event::win_post:
      open_epoch(e, "exposure", peer);
      return true;
    case Event::win_wait:
      close_epoch(e, "exposure", peer);
      return true;
    case Event::win_lock_all:
      open_epoch(e, "lock all", -1);
      return true;
    case Event::win_unlock_all:
      close_epoch(e, "lock all", -1);
      return true;
    case Event::win_lock: {
      open_epoch(e, e.record.a1 == 2 ? "exclusive lock" : "shared lock", peer);
      return true;
    }
    case Event::win_unlock:
      close_epoch(e, "exclusive lock", peer);
      close_epoch(e, "shared lock", peer);
      return true;
    default:
      return false;
  }
}

Perfetto::Epoch& Perfetto::epoch_of(const Entry& e, std::string_view role, int peer) {
  Epoch& epoch = epochs_[{e.rank, e.record.a0, role, peer}];
  if (epoch.track != 0) return epoch;
  epoch.track = next_track_++;
  std::string name = fmt::format("window {}: {}", e.record.a0, role);
  if (peer >= 0) name += fmt::format(" {} rank {}", role == "exposure" ? "for" : "at", peer);
  describe(Message().number(1, epoch.track).text(2, name).number(5, rank_track(e.rank)));
  return epoch;
}

void Perfetto::open_epoch(const Entry& e, std::string_view role, int peer) {
  Epoch& epoch = epoch_of(e, role, peer);
  ++epoch.open;
  event(begin, epoch.track, "epoch", role);
  annotate("window", e.record.a0);
  if (peer >= 0) annotate("peer", static_cast<std::uint64_t>(peer));
  emit(e.ns);
}

void Perfetto::close_epoch(const Entry& e, std::string_view role, int peer) {
  const auto at = epochs_.find({e.rank, e.record.a0, role, peer});
  if (at == epochs_.end()) return;
  for (; at->second.open > 0; --at->second.open) {
    event(end, at->second.track, "epoch", {});
    emit(e.ns);
  }
}

std::uint64_t Perfetto::intern(Table table, std::string_view text) {
  auto& known = interned_[table];
  const auto [at, fresh] = known.try_emplace(text.data(), known.size() + 1);
  if (fresh) new_names_.message(table, Message().number(1, at->second).text(2, text));
  return at->second;
}

std::uint64_t Perfetto::track_of(int rank, unsigned number, std::string_view name) {
  const std::uint64_t track = rank_track(rank) + number;
  bool& known = ranks_[rank].has_track[number];
  if (!known) describe(Message().number(1, track).text(2, name).number(5, rank_track(rank)));
  known = true;
  return track;
}

void Perfetto::describe(const Message& descriptor) {
  Message p;
  p.number(10, kSequence);
  if (first_) p.number(13, kBeginsAnew);
  first_ = false;
  to_->text() += Message().message(1, p.message(60, descriptor)).bytes();
}

Message& Perfetto::event(Type type, std::uint64_t track, std::string_view category, std::string_view name) {
  event_.clear().number(9, type).number(11, track);
  if (type == end) return event_;
  return event_.number(3, intern(categories, category)).number(10, intern(names, name));
}

void Perfetto::annotate(std::string_view name, std::uint64_t value) {
  event_.message(4, annotation_.clear().number(1, intern(annotations, name)).number(3, value));
}

void Perfetto::emit(std::int64_t ns) {
  packet_.clear().number(8, static_cast<std::uint64_t>(of_->start_date() + ns)).number(10, kSequence);
  packet_.message(11, event_);
  if (!new_names_.bytes().empty()) packet_.message(12, new_names_);
  new_names_.clear();
  packet_.number(13, kUsesNames);
  // The whole file is a message of these.
  annotation_.clear().message(1, packet_);
  to_->text() += annotation_.bytes();
}

}  // namespace rmq::trace
