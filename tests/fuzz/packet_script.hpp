// SPDX-License-Identifier: BSD-3-Clause
// A packet as a script tells it: mostly what could be right at this moment, and anything else.
#pragma once

#include <cstring>

#include "base/packet/packet.hpp"
#include "fuzz/fuzz.hpp"

namespace rmq::fuzz {

/// How the next word of a script is meant.
enum class Word : std::uint8_t { raw, small, known, count };

/// What the values of fields may be chosen from: handles, sizes, tickets that are in use.
using Known = std::vector<std::uint64_t>;

inline std::uint64_t read_word(Reader& in, const Known& known) {
  switch (static_cast<Word>(in.pick(static_cast<std::size_t>(Word::count)))) {
    case Word::small:
      return in.u8();
    case Word::known:
      if (!known.empty()) return known[in.pick(known.size())];
      return 0;
    default:
      return in.u64();
  }
}

/// Kind by its place in packet.def (the last place is any number), then the header, then the fields.
inline Packet read_packet(Reader& in, const Known& known) {
  const std::span<const PacketKind> kinds = packet_kinds();
  const std::size_t place = in.pick(kinds.size() + 1);
  Packet p(place < kinds.size() ? kinds[place].kind : static_cast<Kind>(in.u8()));
  p.flags = in.u8();
  p.context = static_cast<std::uint32_t>(read_word(in, known));
  p.tag = static_cast<std::int32_t>(read_word(in, known));
  p.source = static_cast<std::int32_t>(read_word(in, known));
  p.msg = in.u8();
  p.credit = static_cast<std::uint32_t>(read_word(in, known));
  const PacketKind* kind = find_packet_kind(p.kind);
  if (!kind) return p;
  for (const PacketField& field : kind->fields) {
    const std::uint64_t value = read_word(in, known);
    std::memcpy(reinterpret_cast<std::byte*>(&p) + field.offset, &value, field.size);
  }
  return p;
}

inline void write_small(Writer& out, std::size_t value) {
  out.u8(static_cast<std::size_t>(Word::small)).u8(value);
}

/// A packet of the kind at this place: fields are the known values from `first_known` on, one after the other.
inline void write_packet(Writer& out, std::size_t place, std::size_t flags, std::size_t context, std::size_t tag,
                         std::size_t source, std::size_t first_known) {
  out.u8(place).u8(flags);
  write_small(out, context);
  write_small(out, tag);
  write_small(out, source);
  out.u8(0);
  write_small(out, 0);
  for (std::size_t i = 0; i < packet_kinds()[place].fields.size(); ++i) {
    out.u8(static_cast<std::size_t>(Word::known)).u8(first_known + i);
  }
}

}  // namespace rmq::fuzz
