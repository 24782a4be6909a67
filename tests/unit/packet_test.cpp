// SPDX-License-Identifier: BSD-3-Clause
#include "base/packet/packet.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "base/packet/protocol.hpp"
#include "base/packet/request.hpp"

namespace rmq {
namespace {

TEST(Packet, KindsHaveNumbersAndNamesOfTheirOwn) {
  std::set<int> numbers;
  std::set<std::string_view> names;
  for (const PacketKind& k : packet_kinds()) {
    EXPECT_NE(static_cast<int>(k.kind), 0);
    EXPECT_TRUE(numbers.insert(static_cast<int>(k.kind)).second) << k.name;
    EXPECT_TRUE(names.insert(k.name).second) << k.name;
    EXPECT_EQ(k.name.substr(0, 8), "RMQ_PKT_");
    EXPECT_FALSE(k.meaning.empty()) << k.name;
    EXPECT_EQ(find_packet_kind(k.kind), &k);
    EXPECT_EQ(packet_name(k.kind), k.name);
  }
}

TEST(Packet, AnUnknownKindIsNamedButNotFound) {
  for (int number : {0, 31, 63, 200, 255}) {
    const Kind kind{static_cast<std::uint8_t>(number)};
    EXPECT_EQ(find_packet_kind(kind), nullptr) << number;
    EXPECT_EQ(packet_name(kind), "RMQ_PKT_?");
    EXPECT_EQ(body_bytes(kind), 0u);
  }
}

TEST(Packet, NumbersNeverChange) {
  // Traces and peers of other builds rely on these.
  EXPECT_EQ(static_cast<int>(Kind::SHORT), 1);
  EXPECT_EQ(static_cast<int>(Kind::REQUEST_SEND), 4);
  EXPECT_EQ(static_cast<int>(Kind::OK_TO_SEND), 5);
  EXPECT_EQ(static_cast<int>(Kind::ANTI_SEND), 8);
  EXPECT_EQ(static_cast<int>(Kind::ANTI_SEND_OK), 9);
  EXPECT_EQ(static_cast<int>(Kind::FLOW), 10);
  EXPECT_EQ(static_cast<int>(Kind::LINK_HELLO), 32);
}

TEST(Packet, DeclaredFieldsLieWhereTheCompilerPutsThem){
#define RMQ_PACKET_BEGIN(KIND, member, number, meaning)    \
  {                                                        \
    Packet packet;                                         \
    auto& body = packet.member;                            \
    const PacketKind* kind = find_packet_kind(Kind::KIND); \
    ASSERT_NE(kind, nullptr);                              \
    [[maybe_unused]] std::size_t field = 0;                \
    std::size_t end = kHeaderBytes;                        \
    static_cast<void>(body);
#define RMQ_PACKET_FIELD(type, fname, meaning)                                                         \
  {                                                                                                    \
    ASSERT_LT(field, kind->fields.size());                                                             \
    const PacketField& f = kind->fields[field++];                                                      \
    const auto at = reinterpret_cast<std::byte*>(&body.fname) - reinterpret_cast<std::byte*>(&packet); \
    EXPECT_EQ(f.name, #fname);                                                                         \
    EXPECT_EQ(static_cast<std::ptrdiff_t>(f.offset), at) << kind->name << "." << f.name;               \
    EXPECT_EQ(static_cast<std::size_t>(f.size), sizeof body.fname);                                    \
    body.fname = static_cast<wire::type>(0x1122334455667788u + field);                                 \
    EXPECT_EQ(packet_field(packet, f), static_cast<std::uint64_t>(body.fname));                        \
    end = f.offset + std::size_t{f.size};                                                              \
  }
#define RMQ_PACKET_END(KIND, member)      \
  EXPECT_EQ(field, kind->fields.size());  \
  EXPECT_EQ(wire_bytes(Kind::KIND), end); \
  EXPECT_LE(end, sizeof(Packet));         \
  }
#include "base/packet/packet.def"
#undef RMQ_PACKET_BEGIN
#undef RMQ_PACKET_FIELD
#undef RMQ_PACKET_END
}

TEST(Packet, AFreshPacketIsAllZeroButItsKind) {
  const Packet packet(Kind::SHORT);
  std::byte bytes[sizeof packet];
  std::memcpy(bytes, &packet, sizeof packet);
  for (std::size_t i = 0; i < sizeof bytes; ++i) {
    EXPECT_EQ(std::to_integer<int>(bytes[i]), i == offsetof(Packet, kind) ? 1 : 0) << i;
  }
}

TEST(Packet, PayloadAndFieldsShareTheLine) {
  for (const PacketKind& k : packet_kinds()) {
    EXPECT_EQ(wire_bytes(k.kind) + inline_room(k.kind), kCacheLine) << k.name;
  }
  EXPECT_EQ(inline_room(Kind::SHORT), 32u);
}

// ---- the tables in design/wire.md ----

std::string wire_table() {
  std::string out = "| number | kind | bytes | meaning |\n|---:|---|---:|---|\n";
  for (const PacketKind& k : packet_kinds()) {
    out += fmt::format("| {} | `{}` | {} | {} |\n", static_cast<int>(k.kind), k.name, wire_bytes(k.kind), k.meaning);
  }
  out += "\n| kind | at | bytes | field | meaning |\n|---|---:|---:|---|---|\n";
  for (const PacketKind& k : packet_kinds()) {
    for (const PacketField& f : k.fields) {
      out += fmt::format("| `{}` | {} | {} | `{}` | {} |\n", k.name.substr(8), f.offset, f.size, f.name, f.meaning);
    }
  }
  return out;
}

// The state machines and rules of protocol.def: moves that differ in the kind only share a line.
std::string protocol_table() {
  std::string out;
  for (const ProtocolMachine& machine : protocol_machines()) {
    out += fmt::format(
        "\n**{}**, one for each {}: {}.\n\n| state | packet | sent by | named by | if | then "
        "|\n|---|---|---|---|---|---|\n",
        machine.name, machine.by_context ? "context and pair" : "pair", machine.meaning);
    const auto moves = protocol_moves();
    for (std::size_t i = 0; i < moves.size(); ++i) {
      const ProtocolMove& m = moves[i];
      if (m.machine != machine.name) continue;
      std::string kinds = fmt::format("`{}`", packet_name(m.kind).substr(8));
      for (; i + 1 < moves.size(); ++i) {
        const ProtocolMove& n = moves[i + 1];
        if (n.machine != m.machine || n.from != m.from || n.to != m.to || n.guard != m.guard || n.key != m.key) break;
        kinds += fmt::format(" `{}`", packet_name(n.kind).substr(8));
      }
      out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", m.from, kinds, m.by_owner ? "owner" : "other", m.key,
                         protocol_guards()[static_cast<std::size_t>(m.guard)].meaning, m.to);
    }
  }
  out += "\n| rule | what must hold |\n|---|---|\n";
  for (const ProtocolText& r : protocol_rules()) out += fmt::format("| {} | {} |\n", r.name, r.meaning);
  return out;
}

TEST(Packet, ConversationsHaveTheFieldsThatNameThem) {
  for (const ProtocolMove& m : protocol_moves()) {
    const PacketKind* k = find_packet_kind(m.kind);
    ASSERT_NE(k, nullptr);
    const auto machines = protocol_machines();
    EXPECT_TRUE(std::any_of(machines.begin(), machines.end(), [&](const auto& x) { return x.name == m.machine; }))
        << m.machine;
    if (m.key.empty()) continue;
    EXPECT_TRUE(std::any_of(k->fields.begin(), k->fields.end(), [&](const PacketField& f) { return f.name == m.key; }))
        << m.machine << ": " << k->name << " has no field " << m.key;
  }
}

struct StepMove {
  Step from;
  Kind packet;  // none: the move has none of its own
  Step to;
};
constexpr StepMove kStepMoves[] = {
#define RMQ_STEP(name, kind, what)
#define RMQ_STEP_MOVE(from, KIND, to) {Step::from, Kind::KIND, Step::to},
#include "base/packet/request_step.def"
#undef RMQ_STEP
#undef RMQ_STEP_MOVE
};

std::string step_table() {
  std::string out = "| request | step | what it does | then, by |\n|---|---|---|---|\n";
  const auto row = [&](Step step, std::string_view kind, std::string_view what) {
    std::string moves;
    for (const StepMove& m : kStepMoves) {
      if (m.from != step) continue;
      if (!moves.empty()) moves += ", ";
      moves += step_name(m.to);
      if (m.packet != Kind::none) moves += fmt::format(" (`{}`)", packet_name(m.packet).substr(8));
    }
    out += fmt::format("| {} | {} | {} | {} |\n", kind, step_name(step), what, moves);
  };
#define RMQ_STEP(name, kind, what) row(Step::name, #kind, what);
#define RMQ_STEP_MOVE(from, KIND, to)
#include "base/packet/request_step.def"
#undef RMQ_STEP
#undef RMQ_STEP_MOVE
  return out;
}

// The state in which packets show a request of this step, whose own side is the owner.
std::string_view as_packets_show(Step s) {
  switch (s) {
    case Step::unacknowledged:
      return "sync";
    case Step::announced:
      return "announced";
    case Step::asked:
      return "landing";
    case Step::sent:
    case Step::taken:
    case Step::landing:
    case Step::putting:  // from here on its packets name the receiver's request
    case Step::pushing:
      return "done";
    default:
      return "none";
  }
}

TEST(Packet, TheStepsOfARequestAreThoseThatItsPacketsShow) {
  const auto machine = protocol_moves();
  for (const ProtocolMove& m : machine) {
    if (m.machine != "request" || (m.from == "landing" && m.to == "landing")) continue;  // the step stays the same
    EXPECT_TRUE(std::ranges::any_of(kStepMoves,
                                    [&](const StepMove& s) {
                                      return s.packet == m.kind && as_packets_show(s.from) == m.from &&
                                             as_packets_show(s.to) == m.to;
                                    }))
        << packet_name(m.kind) << " from " << m.from << " to " << m.to << " moves no request";
  }
  for (const StepMove& s : kStepMoves) {
    // These name the other side's request.
    const bool other =
        s.from == Step::putting || s.from == Step::pushing || (s.from == Step::pulling && s.packet == Kind::RNDV_DONE);
    if (s.packet == Kind::none || s.packet == Kind::SHORT || s.packet == Kind::ANTI_SEND_OK || other) continue;
    EXPECT_TRUE(std::ranges::any_of(machine,
                                    [&](const ProtocolMove& m) {
                                      return m.machine == "request" && s.packet == m.kind &&
                                             as_packets_show(s.from) == m.from && as_packets_show(s.to) == m.to;
                                    }))
        << packet_name(s.packet) << " from " << step_name(s.from) << " to " << step_name(s.to)
        << " is no move of packets";
  }
}

void expect_section(std::string_view begin_mark, std::string_view end_mark, const std::string& table) {
  const std::string path = RMQ_SOURCE_DIR "/design/wire.md";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::string page = text.str();
  const std::size_t begin = page.find(begin_mark);
  const std::size_t end = page.find(end_mark);
  const bool marked = begin != std::string::npos && end != std::string::npos && begin < end;
  ASSERT_TRUE(marked) << path << " needs a line " << begin_mark << " and a line " << end_mark;
  const std::size_t from = begin + begin_mark.size();
  const bool update = std::getenv("RMQ_UPDATE") != nullptr;
  if (update) {
    page.replace(from, end - from, table);
    std::ofstream(path) << page;
    return;
  }
  EXPECT_EQ(page.substr(from, end - from), table) << "run unit_packet with RMQ_UPDATE=1 to rewrite " << path;
}

TEST(Packet, TheTablesInTheDesignAreUpToDate) {
  expect_section("<!-- packets: written by unit_packet with RMQ_UPDATE=1 -->\n", "<!-- packets: end -->\n",
                 wire_table());
  expect_section("<!-- protocol: written by unit_packet with RMQ_UPDATE=1 -->\n", "<!-- protocol: end -->\n",
                 protocol_table());
  expect_section("<!-- steps: written by unit_packet with RMQ_UPDATE=1 -->\n", "<!-- steps: end -->\n", step_table());
}

}  // namespace
}  // namespace rmq
