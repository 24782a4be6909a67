// SPDX-License-Identifier: BSD-3-Clause
#include "base/packet/protocol.hpp"

namespace rmq {
namespace {

constexpr std::string_view kContext = "context", kOwner = "owner";

constexpr ProtocolMachine kMachines[] = {
#define RMQ_MACHINE(name, scope, meaning) {#name, meaning, #scope == kContext},
#define RMQ_GUARD(name, meaning)
#define RMQ_MOVE(machine, from, KIND, by, key, guard, to)
#define RMQ_RULE(name, meaning)
#include "base/packet/protocol.def"
#undef RMQ_MACHINE
#undef RMQ_MOVE
};

constexpr ProtocolMove kMoves[] = {
#define RMQ_MACHINE(name, scope, meaning)
#define RMQ_MOVE(machine, from, KIND, by, key, guard, to) \
  {#machine, #from, Kind::KIND, #by == kOwner, key, Guard::guard, #to},
#include "base/packet/protocol.def"
#undef RMQ_MOVE
#undef RMQ_RULE
};

constexpr ProtocolText kRules[] = {
#define RMQ_MOVE(machine, from, KIND, by, key, guard, to)
#define RMQ_RULE(name, meaning) {#name, meaning},
#include "base/packet/protocol.def"
#undef RMQ_RULE
#undef RMQ_GUARD
};

constexpr ProtocolText kGuards[] = {
#define RMQ_GUARD(name, meaning) {#name, meaning},
#define RMQ_RULE(name, meaning)
#include "base/packet/protocol.def"
#undef RMQ_MACHINE
#undef RMQ_GUARD
#undef RMQ_MOVE
#undef RMQ_RULE
};

}  // namespace

std::span<const ProtocolMachine> protocol_machines() {
  return kMachines;
}
std::span<const ProtocolMove> protocol_moves() {
  return kMoves;
}
std::span<const ProtocolText> protocol_rules() {
  return kRules;
}
std::span<const ProtocolText> protocol_guards() {
  return kGuards;
}

}  // namespace rmq
