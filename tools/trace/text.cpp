// SPDX-License-Identifier: BSD-3-Clause
// Written for traces of gigabytes: the words that a line consists of are put together once, and numbers are formatted
// by hand into one growing text.
#include "tools/trace/text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <memory>
#include <vector>

#include "tools/trace/words.hpp"

namespace rmq::trace {
namespace {

void put(std::string& text, std::uint64_t value) {
  const fmt::format_int digits(value);
  text.append(digits.data(), digits.size());
}

void put(std::string& text, std::int32_t value) {
  const fmt::format_int digits(value);
  text.append(digits.data(), digits.size());
}

void put_hex(std::string& text, std::uint64_t value) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, 16).ptr;
  text.append("0x").append(digits, end);
}

// Fills up with blanks: the text is so long from `from` on at least.
void pad(std::string& text, std::size_t from, std::size_t width) {
  if (text.size() < from + width) text.append(from + width - text.size(), ' ');
}

// Microseconds with three decimals, fourteen characters wide.
void put_us(std::string& text, std::int64_t ns) {
  const auto size = static_cast<std::uint64_t>(ns < 0 ? -ns : ns);
  const fmt::format_int digits(size / 1000);
  const std::size_t length = digits.size() + 4 + (ns < 0);
  if (length < 14) text.append(14 - length, ' ');
  if (ns < 0) text += '-';
  text.append(digits.data(), digits.size());
  const auto rest = static_cast<unsigned>(size % 1000);
  const char decimals[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
  text.append(decimals, sizeof decimals);
}

// The words around the fields of a kind of packet.
struct KindWords {
  struct Field {
    std::string before;  // " size="
    const PacketField* field;
    bool opaque;
  };
  std::string head;  // "  RMQ_PKT_SHORT context="
  std::vector<Field> fields;
};

KindWords words_of(Kind kind) {
  KindWords w{fmt::format("  {} context=", packet_name(kind)), {}};
  const PacketKind* k = find_packet_kind(kind);
  if (!k) return w;
  for (const PacketField& f : k->fields) {
    // Handles and addresses are opaque: hexadecimal tells them from counts.
    const bool opaque = f.name == "sender" || f.name == "receiver" || f.name == "address" || f.name == "request";
    w.fields.push_back({fmt::format(" {}=", f.name), &f, opaque});
  }
  return w;
}

const KindWords& words(Kind kind) {
  static std::array<std::unique_ptr<KindWords>, 256> known;
  auto& slot = known[static_cast<std::size_t>(kind)];
  if (!slot) slot = std::make_unique<KindWords>(words_of(kind));
  return *slot;
}

void put_packet(std::string& text, const Packet& p, bool bare) {
  const KindWords& w = words(p.kind);
  text += w.head;
  put(text, std::uint64_t{p.context});
  put(text.append(" source="), p.source);
  put(text.append(" tag="), p.tag);
  put(text.append(" msg="), std::uint64_t{p.msg});
  put(text.append(" length="), std::uint64_t{p.length});
  if (p.credit) put(text.append(" credit="), std::uint64_t{p.credit});
  if (p.flags) put_hex(text.append(" flags="), p.flags);
  if (bare) return;
  for (const KindWords::Field& f : w.fields) {
    text += f.before;
    const std::uint64_t value = packet_field(p, *f.field);
    f.opaque ? put_hex(text, value) : put(text, value);
  }
}

void put_argument(std::string& text, const EventKind& k, int argument, std::string_view name, std::uint64_t value) {
  const bool call = k.event == Event::call_enter || k.event == Event::call_leave;
  if (name.empty() || (call && argument == 1 && value == 0)) return;  // most programs have one thread
  text += argument == 0 ? "  " : " ";
  if (call && argument == 0) {
    text += call_name(static_cast<std::uint32_t>(value));
    return;
  }
  text.append(name) += '=';
  if (k.event == Event::introduced && argument == 0)
    text += fmt::format("{:016x}", value);
  else
    put(text, value);
  if (const std::string_view word = event_value(k.event, argument, value); !word.empty())
    text.append(" (").append(word) += ')';
}

bool is_from(Event e) {
  switch (e) {
    case Event::packet_received:
    case Event::matched:
    case Event::unexpected:
    case Event::posted:
    case Event::unanswered:
    case Event::withdrawn:
    case Event::taken_back:
    case Event::credit:
    case Event::win_wait:
    case Event::type_hit:
    case Event::type_learned:
    case Event::type_evicted:
    case Event::type_miss:
      return true;
    default:
      return false;
  }
}

std::string_view without_prefix(std::string_view name) {
  return name.starts_with("RMQ_PKT_") ? name.substr(8) : name;
}

}  // namespace

bool Filter::shows(const Entry& e) const {
  if (peer && *peer != e.record.peer) return false;
  const EventKind* k = kind_of(e.record.event);
  const bool has_packet = k && k->carries_packet;
  if (tag && !(has_packet && e.packet().tag == *tag)) return false;
  if (kind.empty()) return true;
  if (k && k->name == kind) return true;
  return has_packet && without_prefix(packet_name(e.packet().kind)) == without_prefix(kind);
}

void OtherJobs::note(const Entry& e) {
  if (e.record.event == Event::introduced)
    names_[{e.rank, e.record.peer}] = fmt::format("{}@{:016x}", e.record.a1, e.record.a0);
}

std::string_view OtherJobs::name(const Entry& e) const {
  if (names_.empty()) return {};
  const auto found = names_.find({e.rank, e.record.peer});
  return found == names_.end() ? std::string_view() : found->second;
}

void append_line(std::string& text, const Entry& e, const OtherJobs& others) {
  const EventKind* k = kind_of(e.record.event);
  put_us(text, e.ns);
  text += " us  rank ";
  std::size_t column = text.size();
  put(text, e.rank);
  pad(text, column, 3);
  column = (text += ' ').size();
  text += k ? k->name : "?";
  pad(text, column, 15);
  if (e.record.peer >= 0) {
    text += is_from(e.record.event) ? " from " : " to   ";
    column = text.size();
    if (const std::string_view name = others.name(e); !name.empty() && e.record.event != Event::introduced)
      text += name;
    else
      put(text, e.record.peer);
    pad(text, column, 3);
    column = (text += ' ').size();
    text += method_word(e.record.method);
    pad(text, column, 6);
  }
  if (!k) return;
  if (k->carries_packet) put_packet(text, e.packet(), e.bare);
  put_argument(text, *k, 0, k->a0, e.record.a0);
  put_argument(text, *k, 1, k->a1, e.record.a1);
}

std::string line_of(const Entry& e, const OtherJobs& others) {
  std::string line;
  append_line(line, e, others);
  return line;
}

}  // namespace rmq::trace
