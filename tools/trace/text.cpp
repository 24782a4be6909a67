#include "tools/trace/text.hpp"

#include <fmt/format.h>

#include <iterator>

#include "methods/method.hpp"
#include "tools/trace/view.hpp"

namespace rmq::trace {
namespace {

const EventKind* kind_of(Event e) {
  for (const EventKind& k : event_kinds()) {
    if (k.event == e) return &k;
  }
  return nullptr;
}

void append_packet(std::string& line, const Packet& p, bool bare) {
  auto out = std::back_inserter(line);
  fmt::format_to(out, "  {}", packet_name(p.kind));
  fmt::format_to(out, " context={} source={} tag={} msg={} length={}", p.context, p.source, p.tag, p.msg, p.length);
  if (p.credit) fmt::format_to(out, " credit={}", p.credit);
  if (p.flags) fmt::format_to(out, " flags={:#x}", p.flags);
  const PacketKind* k = find_packet_kind(p.kind);
  if (!k || bare) return;
  for (const PacketField& f : k->fields) {
    const std::uint64_t v = packet_field(p, f);
    // Handles and addresses are opaque: hexadecimal tells them from counts.
    const bool opaque = f.name == "sender" || f.name == "receiver" || f.name == "address" || f.name == "request";
    if (opaque) {
      fmt::format_to(out, " {}={:#x}", f.name, v);
    } else {
      fmt::format_to(out, " {}={}", f.name, v);
    }
  }
}

void append_argument(std::string& line, const EventKind& k, int argument, std::string_view name, std::uint64_t value) {
  if (name.empty()) return;
  auto out = std::back_inserter(line);
  const std::string_view gap = argument == 0 ? "  " : " ";
  if (k.event == Event::call_enter || k.event == Event::call_leave) {
    fmt::format_to(out, "{}{}", gap, call_name(static_cast<std::uint32_t>(value)));
  } else if (const std::string_view word = event_value(k.event, argument, value); !word.empty()) {
    fmt::format_to(out, "{}{}={} ({})", gap, name, value, word);
  } else {
    fmt::format_to(out, "{}{}={}", gap, name, value);
  }
}

bool is_from(Event e) {
  return e == Event::packet_received || e == Event::matched || e == Event::unexpected || e == Event::posted || e == Event::unanswered ||
         e == Event::withdrawn || e == Event::taken_back || e == Event::credit || e == Event::win_wait ||
         e == Event::type_hit || e == Event::type_learned || e == Event::type_evicted || e == Event::type_miss;
}

std::string_view without_prefix(std::string_view name) {
  return name.starts_with("RMQ_PKT_") ? name.substr(8) : name;
}

}  // namespace

bool Filter::shows(const Entry& e) const {
  const double us = static_cast<double>(e.ns) / 1000.0;
  if (rank && *rank != e.rank) return false;
  if (peer && *peer != e.record.peer) return false;
  if (from_us && us < *from_us) return false;
  if (to_us && us > *to_us) return false;
  const EventKind* k = kind_of(e.record.event);
  const bool has_packet = k && k->carries_packet;
  if (tag && !(has_packet && e.packet().tag == *tag)) return false;
  if (kind.empty()) return true;
  if (k && k->name == kind) return true;
  return has_packet && without_prefix(packet_name(e.packet().kind)) == without_prefix(kind);
}

std::string line_of(const Entry& e) {
  const EventKind* k = kind_of(e.record.event);
  const auto method = static_cast<methods::MethodId>(e.record.method);
  std::string line =
      fmt::format("{:>14.3f} us  rank {:<3} {:<15}", static_cast<double>(e.ns) / 1000.0, e.rank, k ? k->name : "?");
  auto out = std::back_inserter(line);
  if (e.record.peer >= 0) {
    const std::string_view way = is_from(e.record.event) ? "from" : "to";
    fmt::format_to(out, " {:<4} {:<3} {:<6}", way, e.record.peer,
                   e.record.method ? methods::method_name(method) : std::string_view{});
  }
  if (!k) return line;
  if (k->carries_packet) append_packet(line, e.packet(), e.bare);
  append_argument(line, *k, 0, k->a0, e.record.a0);
  append_argument(line, *k, 1, k->a1, e.record.a1);
  return line;
}

}  // namespace rmq::trace
