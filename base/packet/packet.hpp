// SPDX-License-Identifier: BSD-3-Clause
// The packet: one cache line that carries a header, up to 32 bytes of fields, and, where room is left, the payload.
//
//    0        4     5     6        8          12     16       20       24    28       32                64
//    | link   |kind |flags| spare  | context  | tag  | source | length | msg | credit | fields, payload  |
//
// All fields are little-endian and of fixed width; no field is a pointer. The fields of each kind stand in packet.def.
// In memory a Packet is always 64 bytes; on a stream travel kHeaderBytes + body_bytes(kind) of it, then the payload.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/rank.hpp"

namespace rmq {

/// Fixed, because layouts in shared memory cross binaries.
inline constexpr std::size_t kCacheLine = 64;

enum class Kind : std::uint8_t {
  none = 0,
#define RMQ_PACKET_BEGIN(KIND, member, number, meaning) KIND = number,
#define RMQ_PACKET_FIELD(type, name, meaning)
#define RMQ_PACKET_END(KIND, member)
#include "base/packet/packet.def"
#undef RMQ_PACKET_BEGIN
#undef RMQ_PACKET_FIELD
#undef RMQ_PACKET_END
};

/// Bits of Packet::flags.
namespace packet_flag {
inline constexpr std::uint8_t ready = 1;     // ready-mode send: an error when no receive is posted
inline constexpr std::uint8_t envelope = 2;  // REQUEST_SEND that FLOW has allowed; FLOW that gives back, or asks
inline constexpr std::uint8_t sync = 4;      // REQUEST_SEND of a synchronous send
}  // namespace packet_flag

/// Bits of Packet::flags in packets of remote memory access (numbers 64 to 127).
namespace rma_flag {
inline constexpr std::uint8_t lock_shared = 1;     // the operation brings the request for the lock
inline constexpr std::uint8_t lock_exclusive = 2;  // likewise
inline constexpr std::uint8_t unlock = 4;          // the lock is released behind this operation
inline constexpr std::uint8_t ack = 8;             // RMA_ACK is wanted (operations that return data need none)
}  // namespace rma_flag

/// Bits of Packet::flags in active messages.
namespace am_flag {
inline constexpr std::uint8_t reply = 1;  // answers a request, and may not be answered
}  // namespace am_flag

namespace wire {
using u32 = std::uint32_t;
using u64 = std::uint64_t;
#define RMQ_PACKET_BEGIN(KIND, member, number, meaning) struct KIND {
#define RMQ_PACKET_FIELD(type, name, meaning) type name;
#define RMQ_PACKET_END(KIND, member) \
  }                                  \
  ;
#include "base/packet/packet.def"
#undef RMQ_PACKET_BEGIN
#undef RMQ_PACKET_FIELD
#undef RMQ_PACKET_END
}  // namespace wire

struct alignas(kCacheLine) Packet {
  std::uint32_t link = 0;  // number of this packet on its link; written by the method (shm: stamp, tcp: sequence)
  Kind kind = Kind::none;
  std::uint8_t flags = 0;     // packet_flag
  std::uint16_t spare = 0;    // the method's own (shm: ByteWriter::grow; tcp: lower bits of an acknowledgement); else 0
  std::uint32_t context = 0;  // communicator's context
  std::int32_t tag = 0;
  std::int32_t source = 0;   // rank of the sender in that communicator
  std::uint32_t length = 0;  // bytes of payload behind this packet
  std::uint32_t msg = 0;     // number of the message from this sender to this receiver; joins both ends of a trace
  std::uint32_t credit = 0;  // bytes of eager credit that this packet returns
  union {
    std::byte body[32];  // fields of the kind, then payload where it fits
#define RMQ_PACKET_BEGIN(KIND, member, number, meaning) wire::KIND member;
#define RMQ_PACKET_FIELD(type, name, meaning)
#define RMQ_PACKET_END(KIND, member)
#include "base/packet/packet.def"
#undef RMQ_PACKET_BEGIN
#undef RMQ_PACKET_FIELD
#undef RMQ_PACKET_END
  };

  Packet() : body{} {}
  explicit Packet(Kind k) : kind(k), body{} {}
};

inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::size_t kBodyBytes = 32;

static_assert(std::endian::native == std::endian::little, "packets are sent as they lie in memory");
static_assert(sizeof(Packet) == kCacheLine, "a short message is one cache-line transfer");
static_assert(offsetof(Packet, kind) == 4 && offsetof(Packet, context) == 8 && offsetof(Packet, tag) == 12);
static_assert(offsetof(Packet, source) == 16 && offsetof(Packet, length) == 20 && offsetof(Packet, msg) == 24);
static_assert(offsetof(Packet, credit) == 28 && offsetof(Packet, body) == kHeaderBytes);

/// The header as it lies in memory that is none of a Packet's.
struct [[gnu::may_alias]] HeaderFields {
  std::uint32_t link;
  Kind kind;
  std::uint8_t flags;
  std::uint16_t spare;
  std::uint32_t context;
  std::int32_t tag, source;
  std::uint32_t length, msg, credit;
};
static_assert(sizeof(HeaderFields) == kHeaderBytes && alignof(HeaderFields) == 4);
static_assert(offsetof(HeaderFields, kind) == offsetof(Packet, kind));
static_assert(offsetof(HeaderFields, tag) == offsetof(Packet, tag));
static_assert(offsetof(HeaderFields, credit) == offsetof(Packet, credit));

/// Writes the header but for `link` to where a packet begins, field by field: what has just been put together need not
/// be in memory for that.
[[gnu::always_inline]] inline void copy_header(std::byte* to, const Packet& from) {
  auto& fields = *reinterpret_cast<HeaderFields*>(to);
  fields.kind = from.kind;
  fields.flags = from.flags;
  fields.spare = from.spare;
  fields.context = from.context;
  fields.tag = from.tag;
  fields.source = from.source;
  fields.length = from.length;
  fields.msg = from.msg;
  fields.credit = from.credit;
}

namespace detail {
struct BodySizes {
  std::uint8_t of[256] = {};
  constexpr BodySizes() {
    [[maybe_unused]] std::uint8_t sum = 0;
#define RMQ_PACKET_BEGIN(KIND, member, number, meaning) sum = 0;
#define RMQ_PACKET_FIELD(type, name, meaning) sum = static_cast<std::uint8_t>(sum + sizeof(wire::type));
#define RMQ_PACKET_END(KIND, member)               \
  of[static_cast<std::uint8_t>(Kind::KIND)] = sum; \
  static_assert(sizeof(wire::KIND) <= kBodyBytes, #KIND " must leave the packet in one cache line");
#include "base/packet/packet.def"
#undef RMQ_PACKET_BEGIN
#undef RMQ_PACKET_FIELD
#undef RMQ_PACKET_END
  }
};
inline constexpr BodySizes kBodySizes{};
}  // namespace detail

/// Bytes of fields that packets of this kind carry behind the header.
constexpr std::size_t body_bytes(Kind kind) {
  return detail::kBodySizes.of[static_cast<std::uint8_t>(kind)];
}

/// Header and fields: what of a Packet travels on a stream, before the payload.
constexpr std::size_t wire_bytes(Kind kind) {
  return kHeaderBytes + body_bytes(kind);
}

/// The first word of a connection, "RMQ" and a digit: the version of what travels on streams.
inline constexpr std::uint32_t kLinkMagic = 0x34514d52;

/// Payload that still fits the packet's own cache line, behind the fields.
constexpr std::size_t inline_room(Kind kind) {
  return kBodyBytes - body_bytes(kind);
}

/// One field of one kind, as packet.def declares it.
struct PacketField {
  std::string_view name;
  std::uint8_t offset;  // bytes from the start of the packet
  std::uint8_t size;    // 4 or 8
  std::string_view meaning;
};

/// One kind, as packet.def declares it.
struct PacketKind {
  Kind kind;
  std::string_view name;  // RMQ_PKT_REQUEST_SEND
  std::string_view meaning;
  std::span<const PacketField> fields;
};

/// All kinds in the order of packet.def. Valid for ever.
std::span<const PacketKind> packet_kinds();

/// The kind's description, or nullptr when no such kind exists.
const PacketKind* find_packet_kind(Kind kind);

/// "RMQ_PKT_SHORT" …, "RMQ_PKT_?" for an unknown kind.
std::string_view packet_name(Kind kind);

/// Value of one field of a packet, widened.
std::uint64_t packet_field(const Packet& packet, const PacketField& field);

}  // namespace rmq
