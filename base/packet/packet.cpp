// SPDX-License-Identifier: BSD-3-Clause
#include "base/packet/packet.hpp"

#include <array>
#include <cstring>

namespace rmq {
namespace {

#define RMQ_PACKET_BEGIN(KIND, member, number, meaning) constexpr std::array k_##member = {PacketField{"", 0, 0, ""}
#define RMQ_PACKET_FIELD(type, name, meaning) \
  , PacketField {                             \
#name, 0, sizeof(wire::type), meaning     \
  }
#define RMQ_PACKET_END(KIND, member) \
  }                                  \
  ;
#include "base/packet/packet.def"
#undef RMQ_PACKET_BEGIN
#undef RMQ_PACKET_FIELD
#undef RMQ_PACKET_END

// Offsets follow from the sizes: fields are packed in order behind the header. The array's first entry is a
// placeholder, because a kind may have no field and an array must have one.
template <std::size_t N>
constexpr std::array<PacketField, N> with_offsets(std::array<PacketField, N> fields) {
  std::uint8_t at = kHeaderBytes;
  for (std::size_t i = 1; i < N; ++i) {
    fields[i].offset = at;
    at = static_cast<std::uint8_t>(at + fields[i].size);
  }
  return fields;
}

#define RMQ_PACKET_BEGIN(KIND, member, number, meaning) constexpr auto k_##member##_fields = with_offsets(k_##member);
#define RMQ_PACKET_FIELD(type, name, meaning)
#define RMQ_PACKET_END(KIND, member)
#include "base/packet/packet.def"
#undef RMQ_PACKET_BEGIN
#undef RMQ_PACKET_END

constexpr PacketKind kKinds[] = {
#define RMQ_PACKET_BEGIN(KIND, member, number, meaning) \
  {Kind::KIND, "RMQ_PKT_" #KIND, meaning,               \
   std::span<const PacketField>(k_##member##_fields.data() + 1, k_##member##_fields.size() - 1)},
#define RMQ_PACKET_END(KIND, member)
#include "base/packet/packet.def"
#undef RMQ_PACKET_BEGIN
#undef RMQ_PACKET_FIELD
#undef RMQ_PACKET_END
};

}  // namespace

std::span<const PacketKind> packet_kinds() {
  return kKinds;
}

const PacketKind* find_packet_kind(Kind kind) {
  static constexpr auto kByNumber = [] {
    std::array<const PacketKind*, 256> table{};
    for (const PacketKind& k : kKinds) table[static_cast<std::size_t>(k.kind)] = &k;
    return table;
  }();
  return kByNumber[static_cast<std::size_t>(kind)];
}

std::string_view packet_name(Kind kind) {
  const PacketKind* k = find_packet_kind(kind);
  return k ? k->name : "RMQ_PKT_?";
}

std::uint64_t packet_field(const Packet& packet, const PacketField& field) {
  std::uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const std::byte*>(&packet) + field.offset, field.size);
  return value;
}

}  // namespace rmq
