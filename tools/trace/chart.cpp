#include "tools/trace/chart.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/protocol.hpp"
#include "methods/method.hpp"
#include "tools/trace/join.hpp"

namespace rmq::trace {
namespace {

using nlohmann::json;

// The page around the data, from tools/trace/chart/chart.html; it has kDataMark where the data goes.
constexpr char kPage[] = {
#include "tools/chart_page.inc"
    , 0};
constexpr std::string_view kDataMark = "/*DATA*/null";

// JavaScript's numbers are exact up to 2^53; handles and addresses beyond that travel as text.
json exact(std::uint64_t value) {
  if (value < std::uint64_t{1} << 53) return value;
  return fmt::format("{:#x}", value);
}

// What design/wire.md says of a kind: its line of the table of packets, and where it has a place in a conversation.
json design_lines(const PacketKind& k) {
  json lines = json::array({fmt::format("{} {} ({} bytes): {}", static_cast<int>(k.kind), k.name, wire_bytes(k.kind), k.meaning)});
  for (const ProtocolMove& m : protocol_moves()) {
    if (m.kind != k.kind || lines.size() > 8) continue;
    const std::string_view guard = protocol_guards()[static_cast<std::size_t>(m.guard)].meaning;
    lines.push_back(fmt::format("{}: {} → {}, sent by the {}{}{}", m.machine, m.from, m.to,
                                m.by_owner ? "owner" : "other", guard.empty() ? "" : ", if ", guard));
  }
  return lines;
}

json kinds() {
  json all = json::object();
  for (const PacketKind& k : packet_kinds()) {
    json fields = json::array();
    for (const PacketField& f : k.fields) fields.push_back({f.name, f.meaning});
    all[std::to_string(static_cast<int>(k.kind))] = {
        {"name", k.name}, {"meaning", k.meaning}, {"fields", fields}, {"design", design_lines(k)}};
  }
  return all;
}

json events() {
  json all = json::object();
  for (const EventKind& k : event_kinds()) {
    all[std::to_string(static_cast<int>(k.event))] = {
        {"name", k.name}, {"a0", k.a0}, {"a1", k.a1}, {"meaning", k.meaning}};
  }
  return all;
}

json methods_table() {
  json all = json::object();
  for (const auto id : {methods::MethodId::none, methods::MethodId::self, methods::MethodId::inproc,
                        methods::MethodId::shm, methods::MethodId::tcp}) {
    all[std::to_string(static_cast<int>(id))] = methods::method_name(id);
  }
  return all;
}

// A row of the page's `packets`: the order is known to chart.html.
json row_of(const Arrow& a) {
  const Packet& p = a.packet;
  json row = {a.sent_ns, a.received_ns, a.from,   a.to,  a.method, static_cast<int>(p.kind), p.flags, p.context,
              p.tag,     p.source,      p.length, p.msg, p.credit};
  if (const PacketKind* k = find_packet_kind(p.kind)) {
    for (const PacketField& f : k->fields) row.push_back(exact(packet_field(p, f)));
  }
  return row;
}

}  // namespace

std::string chart(const Trace& trace) {
  json data;
  data["kinds"] = kinds();
  data["events"] = events();
  data["methods"] = methods_table();
  data["ranks"] = json::array();
  for (const Recording& r : trace.ranks) {
    data["ranks"].push_back({{"rank", r.rank}, {"host", r.host}, {"dropped", r.dropped}, {"finished", r.finished}});
  }
  data["job"] = trace.ranks.empty() ? "" : trace.ranks.front().job;
  json& packets = data["packets"] = json::array();
  for (const Arrow& a : join(trace)) packets.push_back(row_of(a));
  json& marks = data["marks"] = json::array();
  for (const Entry& e : trace.entries) {
    if (e.record.event == Event::packet_sent || e.record.event == Event::packet_received) continue;
    marks.push_back(
        {e.ns, e.rank, static_cast<int>(e.record.event), e.record.peer, exact(e.record.a0), exact(e.record.a1)});
  }

  std::string page = kPage;
  std::string text = data.dump();
  // "</script>" inside of a string of the data would end the script.
  for (std::size_t at = 0; (at = text.find("</", at)) != std::string::npos; at += 3) text.replace(at, 2, "<\\/");
  page.replace(page.find(kDataMark), kDataMark.size(), text);
  return page;
}

}  // namespace rmq::trace
