// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/packet/protocol.hpp"
#include "methods/method.hpp"

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
  json lines = json::array(
      {fmt::format("{} {} ({} bytes): {}", static_cast<int>(k.kind), k.name, wire_bytes(k.kind), k.meaning)});
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
  for (const auto id : methods::kMethodIds) all[std::to_string(static_cast<int>(id))] = methods::method_name(id);
  return all;
}

}  // namespace

void Density::widen() {
  width_ *= 2;
  for (auto& [rank, bins] : counts_) {
    for (std::size_t i = 0; i < bins.size(); ++i) {
      const std::uint32_t n = bins[i];
      if (i % 2 == 0)
        bins[i / 2] = n;
      else
        bins[i / 2] += n;
    }
    bins.resize((bins.size() + 1) / 2);
  }
}

void Density::add(int rank, std::int64_t ns) {
  ns = std::max<std::int64_t>(ns, 0);
  while (static_cast<std::size_t>(ns / width_) >= kBins) widen();
  std::vector<std::uint32_t>& bins = counts_[rank];
  const auto at = static_cast<std::size_t>(ns / width_);
  if (bins.size() <= at) bins.resize(at + 1);
  ++bins[at];
}

void Chart::add(const Entry& e) {
  if (first_ns_ < 0) first_ns_ = std::max<std::int64_t>(e.ns, 0);
  last_ns_ = std::max(last_ns_, e.ns);
  if (e.travels()) return packet(e);
  if (marks_.size() < kMost && detail_ns_ < 0)
    marks_.push_back({e.ns, e.rank, e.record.peer, e.record.event, e.record.a0, e.record.a1});
}

void Chart::packet(const Entry& e) {
  if (e.sends() || e.flow == 0) {
    ++packets_;
    density_.add(e.sends() ? e.rank : e.record.peer, e.ns);
    if (arrows_.size() == kMost) {
      if (detail_ns_ < 0) detail_ns_ = e.ns;
      return;
    }
    if (e.sends()) on_way_[e.flow] = arrows_.size();
    const int from = e.sends() ? e.rank : e.record.peer, to = e.sends() ? e.record.peer : e.rank;
    arrows_.push_back({e.sends() ? e.ns : -1, e.sends() ? -1 : e.ns, from, to, e.record.method, e.packet()});
    return;
  }
  const auto arrow = on_way_.find(e.flow);
  if (arrow == on_way_.end()) return;
  arrows_[arrow->second].received_ns = e.ns;
  on_way_.erase(arrow);
}

std::string Chart::page() const {
  json data;
  data["kinds"] = kinds();
  data["events"] = events();
  data["methods"] = methods_table();
  data["ranks"] = json::array();
  for (const Recording& r : of_->ranks()) {
    data["ranks"].push_back({{"rank", r.rank}, {"host", r.host}, {"dropped", r.dropped}, {"finished", r.finished}});
  }
  data["job"] = of_->ranks().front().job;
  data["begin"] = std::max<std::int64_t>(first_ns_, 0);
  data["end"] = last_ns_;
  data["total"] = packets_;
  data["detail"] = detail_ns_;
  data["command"] = command_;
  data["caveats"] = caveats(*of_);
  data["density"] = {{"width", density_.width_ns()}, {"ranks", json::array()}};
  for (const auto& [rank, counts] : density_.counts())
    data["density"]["ranks"].push_back({{"rank", rank}, {"counts", counts}});
  json& packets = data["packets"] = json::array();
  for (const Arrow& a : arrows_) {
    const Packet& p = a.packet;
    // The order is known to chart.html.
    json row = {a.sent_ns, a.received_ns, a.from,   a.to,  a.method, static_cast<int>(p.kind), p.flags, p.context,
                p.tag,     p.source,      p.length, p.msg, p.credit};
    if (const PacketKind* k = find_packet_kind(p.kind)) {
      for (const PacketField& f : k->fields) row.push_back(exact(packet_field(p, f)));
    }
    packets.push_back(std::move(row));
  }
  json& marks = data["marks"] = json::array();
  for (const Mark& m : marks_)
    marks.push_back({m.ns, m.rank, static_cast<int>(m.event), m.peer, exact(m.a0), exact(m.a1)});

  std::string page = kPage;
  // Names of jobs and folders are whatever bytes they are.
  std::string text = data.dump(-1, ' ', false, json::error_handler_t::replace);
  // "</script>" inside of a string of the data would end the script.
  for (std::size_t at = 0; (at = text.find("</", at)) != std::string::npos; at += 3) text.replace(at, 2, "<\\/");
  page.replace(page.find(kDataMark), kDataMark.size(), text);
  return page;
}

}  // namespace rmq::trace
