// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>

#include "tools/trace/clock.hpp"
#include "tools/trace/text.hpp"
#include "tools/trace/words.hpp"

namespace rmq::trace {
namespace {

// Whether the rank needs something of the event's peer from then on.
bool waits(const Entry& e) {
  switch (e.record.event) {
    case Event::unanswered:
    case Event::pending:
    case Event::win_start:
    case Event::win_complete:
    case Event::win_wait:
    case Event::lock_queued:
      return true;
    case Event::packet_sent:
      switch (e.packet().kind) {
        case Kind::REQUEST_SEND:
        case Kind::SHORT_SYNC:
        case Kind::RMA_LOCK:
        case Kind::RMA_FLUSH:
        case Kind::RMA_UNLOCK:
          return true;
        default:
          return false;
      }
    default:
      return false;
  }
}

}  // namespace

std::optional<View> View::over(const std::byte* memory, std::size_t bytes) {
  if (bytes < sizeof(TraceHeader)) return {};
  const auto* h = reinterpret_cast<const TraceHeader*>(memory);
  const std::uint64_t capacity = h->capacity;
  if (std::memcmp(h->magic, TraceHeader::kMagic, sizeof h->magic) != 0 || h->version != TraceHeader::kVersion ||
      h->record_bytes != kFlightRecordBytes || !std::has_single_bit(capacity) ||
      capacity > (bytes - sizeof(TraceHeader)) / kFlightRecordBytes) {
    return {};
  }
  return View(h, capacity);
}

std::vector<Entry> View::last(std::size_t most) const {
  const double rate = header_->ns_per_tick > 0 ? header_->ns_per_tick : 1;
  const std::uint64_t now = rate == 1 ? os::now_ns() : os::ticks();
  const auto* records = reinterpret_cast<const std::byte*>(header_ + 1);
  const std::uint64_t end = written();
  const std::uint64_t count = std::min({std::uint64_t{most}, end, capacity_});
  std::vector<Entry> entries(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    Entry& e = entries[i];
    std::memcpy(static_cast<void*>(&e.record), records + ((end - count + i) & (capacity_ - 1)) * kFlightRecordBytes,
                kFlightRecordBytes);
    e.rank = header_->rank;
    e.bare = true;
    e.ns = bounded_ns(std::round(static_cast<double>(static_cast<std::int64_t>(e.record.ticks - now)) * rate));
  }
  // Meanwhile the rank may have gone on: the slot behind its last record is being written.
  const std::uint64_t after = written() + 1;
  const std::uint64_t safe = after > capacity_ ? after - capacity_ : 0;
  const std::uint64_t first = end - count;
  if (safe > first) {
    entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(std::min(safe - first, count)));
  }
  return entries;
}

std::string View::report(std::size_t most) const {
  const std::vector<Entry> entries = last(most);
  const std::string_view where = call_name(call());
  const bool past = finished() && (where.empty() || where == "MPI_Finalize");  // not so when MPI_Init has failed
  std::string text = fmt::format("rank {} was {}; its last {} of {} events (times before now):\n", rank(),
                                 past            ? "past MPI_Finalize"
                                 : where.empty() ? "outside of MPI"
                                                 : "in " + std::string(where),
                                 entries.size(), written());
  OtherJobs others;
  for (const Entry& e : last(~std::size_t{0})) others.note(e);  // what is left of the beginning, too
  for (const Entry& e : entries) text += line_of(e, others) + "\n";
  return text;
}

Rank View::waited_for() const {
  const std::vector<Entry> entries = last(capacity_);
  // Whether `answer`, which came after `e`, is what `e` waited for.
  const auto ends = [](const Entry& e, const Entry& answer) {
    if (e.record.peer != answer.record.peer) return false;
    if (answer.record.event == Event::withdrawn)
      return e.record.event == Event::unanswered && e.record.a0 == answer.record.a0 && e.record.a1 == answer.record.a1;
    if (e.record.event != Event::unanswered) return true;
    const Packet p = answer.packet();
    const auto tag = static_cast<std::int32_t>(e.record.a1);
    return p.context == e.record.a0 && (tag < 0 || p.tag == tag);  // negative: any
  };
  bool inside = call() != 0;
  std::vector<Entry> answers;
  for (auto e = entries.rbegin(); e != entries.rend(); ++e) {
    const Event event = e->record.event;
    if (event == Event::link_down) {
      // It was inside of a call, and gave up what it waited for because of this.
      inside = true;
      std::erase_if(answers, [&](const Entry& a) {
        return a.record.event == Event::withdrawn && a.record.peer == e->record.peer;
      });
    }
    if (event == Event::packet_received || event == Event::withdrawn) answers.push_back(*e);
    if (!waits(*e) || std::any_of(answers.begin(), answers.end(), [&](const Entry& a) { return ends(*e, a); }))
      continue;
    return inside ? e->record.peer : kNoRank;
  }
  return kNoRank;
}

}  // namespace rmq::trace
