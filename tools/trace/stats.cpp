// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/stats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "tools/trace/words.hpp"

namespace rmq::trace {

void Times::add(std::int64_t ns) {
  const auto v = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
  // Below 2 * kPart each nanosecond has a class; above, kPart of them share a power of two.
  const int shift = std::max(0, static_cast<int>(std::bit_width(v)) - 1 - std::countr_zero(unsigned{kPart}));
  ++classes_[static_cast<std::size_t>(shift) * kPart + (v >> shift)];
  ++count_;
}

double Times::median_us() const {
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    before += classes_[i];
    if (before * 2 <= count_) continue;
    const std::size_t shift = i < 2 * kPart ? 0 : i / kPart - 1;
    const std::uint64_t low = (i - shift * kPart) << shift;
    return (static_cast<double>(low) + static_cast<double>((std::uint64_t{1} << shift) - 1) / 2) / 1000;
  }
  return 0;
}

void Stats::add(const Entry& e) {
  const TraceRecord& r = e.record;
  ++all_;
  last_ns_ = e.ns;
  // The credit at the start is not one that came back.
  if (r.event != Event::credit || r.peer >= 0) ++events_[static_cast<std::size_t>(r.event)];
  if (r.event == Event::wake) slept_ns_ += r.a0;
  if (r.event == Event::pending && r.a0 < pending_.size()) ++pending_[r.a0];
  if (e.travels()) packet(e);
  waits_.add(e);
}

void Stats::packet(const Entry& e) {
  const Packet p = e.packet();
  if (e.sends()) {
    const unsigned key = unsigned{e.record.method} << 8 | static_cast<unsigned>(p.kind);
    if (key != latest_key_) latest_ = &sent_[latest_key_ = key];
    ++latest_->packets;
    latest_->bytes += wire_bytes(p.kind) + p.length;
    if (p.kind != Kind::REQUEST_SEND) return;
    ++rendezvous_;
    announced_[{e.rank, e.record.peer, p.msg}] = e.ns;
    return;
  }
  const bool gone = p.kind == Kind::ANTI_SEND_OK && p.anti_send_ok.cancelled == 1;
  if (p.kind != Kind::OK_TO_SEND && p.kind != Kind::RNDV_DONE && !gone) return;
  const auto since = announced_.find({e.rank, e.record.peer, p.msg});
  if (since == announced_.end()) return;
  if (p.kind == Kind::OK_TO_SEND) matched_.add(e.ns - since->second);
  if (p.kind == Kind::RNDV_DONE) fetched_.add(e.ns - since->second);
  announced_.erase(since);
}

std::string Stats::text(const Reader& of) const {
  std::string text;
  auto out = std::back_inserter(text);
  std::uint64_t dropped = 0, unfinished = 0;
  for (const Recording& r : of.ranks()) {
    dropped += r.dropped;
    unfinished += !r.finished;
  }
  fmt::format_to(out, "{} ranks, {} events in {:.3f} ms", of.ranks().size(), all_, static_cast<double>(last_ns_) / 1e6);
  if (dropped) fmt::format_to(out, ", {} events at the end dropped (disk full, or --trace-max)", dropped);
  if (unfinished) fmt::format_to(out, ", {} ranks did not end properly", unfinished);
  fmt::format_to(out, "\n\n  {:<8} {:<22} {:>12} {:>16}\n", "method", "packets sent", "count", "bytes");
  for (const auto& [key, t] : sent_) {
    fmt::format_to(out, "  {:<8} {:<22} {:>12} {:>16}\n", method_word(static_cast<std::uint8_t>(key >> 8)),
                   packet_name(static_cast<Kind>(key & 0xff)), t.packets, t.bytes);
  }
  const std::uint64_t matched = count(Event::matched), unexpected = count(Event::unexpected);
  fmt::format_to(out, "\n  messages matched {}, of them unexpected first {} ({:.1f} %)\n", matched, unexpected,
                 matched ? 100.0 * static_cast<double>(unexpected) / static_cast<double>(matched) : 0.0);
  fmt::format_to(out, "  had to wait: link full {}, no credit {}, behind others {}\n", pending_[1], pending_[2],
                 pending_[3]);
  fmt::format_to(out, "  credit returned {} times, starved {} times, sleeps {} ({:.3f} ms in all)\n",
                 count(Event::credit), count(Event::starved), count(Event::sleep),
                 static_cast<double>(slept_ns_) / 1e6);
  if (rendezvous_ > 0) {
    fmt::format_to(out,
                   "  rendezvous {}: median until matched {:.1f} us ({}), until fetched by the target {:.1f} us ({})\n",
                   rendezvous_, matched_.median_us(), matched_.count(), fetched_.median_us(), fetched_.count());
  }
  if (const std::uint64_t errors = count(Event::protocol_error)) fmt::format_to(out, "  PROTOCOL ERRORS {}\n", errors);
  return text + waits_.text();
}

}  // namespace rmq::trace
