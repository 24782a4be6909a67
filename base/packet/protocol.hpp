// SPDX-License-Identifier: BSD-3-Clause
// The protocol's state machines and counting rules, as base/packet/protocol.def declares them. Nothing on the message
// path uses them: they are what a trace is checked against, and what the design shows.
#pragma once

#include <span>
#include <string_view>

#include "base/packet/packet.hpp"

namespace rmq {

/// Which packets a move is for, beside their kind.
enum class Guard : std::uint8_t {
#define RMQ_MACHINE(name, scope, meaning)
#define RMQ_GUARD(name, meaning) name,
#define RMQ_MOVE(machine, from, KIND, by, key, guard, to)
#define RMQ_RULE(name, meaning)
#include "base/packet/protocol.def"
#undef RMQ_MACHINE
#undef RMQ_GUARD
#undef RMQ_MOVE
#undef RMQ_RULE
};

/// The rules that count, in the order of protocol.def.
enum class ProtocolRule : std::uint8_t {
#define RMQ_MACHINE(name, scope, meaning)
#define RMQ_GUARD(name, meaning)
#define RMQ_MOVE(machine, from, KIND, by, key, guard, to)
#define RMQ_RULE(name, meaning) name,
#include "base/packet/protocol.def"
#undef RMQ_MACHINE
#undef RMQ_GUARD
#undef RMQ_MOVE
#undef RMQ_RULE
};

/// One kind of conversation.
struct ProtocolMachine {
  std::string_view name, meaning;
  bool by_context;  // one for each context, else one for each pair of ranks
};

/// One packet that a conversation allows in one state.
struct ProtocolMove {
  std::string_view machine, from;
  Kind kind;
  bool by_owner;         // who sends it; else the other
  std::string_view key;  // field that names the conversation; "" where pair and scope do
  Guard guard;
  std::string_view to;
};

struct ProtocolText {
  std::string_view name, meaning;
};

/// All valid for ever, in the order of protocol.def.
std::span<const ProtocolMachine> protocol_machines();
std::span<const ProtocolMove> protocol_moves();
std::span<const ProtocolText> protocol_rules();   // by ProtocolRule
std::span<const ProtocolText> protocol_guards();  // by Guard

}  // namespace rmq
