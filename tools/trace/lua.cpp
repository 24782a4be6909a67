// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/lua.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/packet/packet.hpp"
#include "methods/method.hpp"
#include "tools/trace/pcap.hpp"

namespace rmq::trace {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool is_opaque(std::string_view field) {
  return field == "sender" || field == "receiver" || field == "address" || field == "request" || field == "session" ||
         field == "magic";
}

constexpr std::string_view kHead =
    R"lua(-- RMQ packets for Wireshark and tshark. Written by `rmqtrace lua` from base/packet/packet.def; do not edit.
--
--   tshark -X lua_script:rmq.lua -r capture.pcapng                     what rmqtrace pcap has written
--   tshark -X lua_script:rmq.lua -i lo -f tcp                          a job over tcp: found by the packet that opens a connection
--   tshark -X lua_script:rmq.lua -i lo -d tcp.port==40123,rmq          one that was open before
local rmq = Proto("rmq", "RMQ packet")
local f = rmq.fields
local le_u32 = function(tvb, at) return tvb(at, 4):le_uint() end
)lua";

constexpr std::string_view kHeaderFields = R"lua(
f.from = ProtoField.int32("rmq.from", "from rank")
f.to = ProtoField.int32("rmq.to", "to rank")
f.method = ProtoField.uint32("rmq.method", "method", base.DEC, methods)
f.link = ProtoField.uint32("rmq.link", "link", base.DEC, nil, nil, "number of this packet on its link")
f.kind = ProtoField.uint8("rmq.kind", "kind", base.DEC, kinds)
f.flags = ProtoField.uint8("rmq.flags", "flags", base.HEX)
f.context = ProtoField.uint32("rmq.context", "context", base.DEC, nil, nil, "communicator, window or queue")
f.tag = ProtoField.int32("rmq.tag", "tag")
f.source = ProtoField.int32("rmq.source", "source", base.DEC, nil, nil, "rank of the sender in the communicator")
f.length = ProtoField.uint32("rmq.length", "length", base.DEC, nil, nil, "bytes of payload behind this packet")
f.msg = ProtoField.uint32("rmq.msg", "msg", base.DEC, nil, nil, "number of the message of this pair")
f.credit = ProtoField.uint32("rmq.credit", "credit", base.DEC, nil, nil, "bytes of eager credit that this packet returns")
f.payload = ProtoField.bytes("rmq.payload", "payload")
)lua";

constexpr std::string_view kBody = R"lua(
local unknown = ProtoExpert.new("rmq.unknown", "kind of packet that is not declared", expert.group.PROTOCOL, expert.severity.ERROR)
rmq.experts = {unknown}

local function packet_bytes(tvb, at) return HEADER + (body_bytes[tvb(at + 4, 1):uint()] or 0) end

-- One packet that begins at `at` of the tvb. Its payload may be missing.
local function packet(tvb, at, pinfo, tree)
  local kind = tvb(at + 4, 1):uint()
  local name = kinds[kind] or "RMQ_PKT_?"
  local length = le_u32(tvb, at + 20)
  local bytes = packet_bytes(tvb, at)
  local here = math.min(length, tvb:len() - at - bytes)
  local branch = tree:add(rmq, tvb(at, bytes + here), name)
  branch:add_le(f.link, tvb(at, 4))
  local k = branch:add(f.kind, tvb(at + 4, 1))
  if not kinds[kind] then k:add_proto_expert_info(unknown) end
  local flags = branch:add(f.flags, tvb(at + 5, 1))
  local bits = kind >= 64 and kind < 128 and rma_flags or packet_flags
  for _, bit in ipairs(bits) do flags:add(bit, tvb(at + 5, 1)) end
  branch:add_le(f.context, tvb(at + 8, 4))
  branch:add_le(f.tag, tvb(at + 12, 4))
  branch:add_le(f.source, tvb(at + 16, 4))
  branch:add_le(f.length, tvb(at + 20, 4))
  branch:add_le(f.msg, tvb(at + 24, 4))
  branch:add_le(f.credit, tvb(at + 28, 4))
  for _, field in ipairs(body[kind] or {}) do branch:add_le(field[1], tvb(at + field[2], field[3])) end
  if here > 0 then branch:add(f.payload, tvb(at + bytes, here)) end
  return string.format("%s tag=%d msg=%d length=%d", name, tvb(at + 12, 4):le_int(), le_u32(tvb, at + 24), length)
end

-- On a stream packets follow each other: header, fields, payload.
local function stream_length(tvb, pinfo, at) return packet_bytes(tvb, at) + le_u32(tvb, at + 20) end
local function stream_packet(tvb, pinfo, tree)
  pinfo.cols.protocol = "RMQ"
  local text = packet(tvb, 0, pinfo, tree)
  if tostring(pinfo.cols.info):sub(1, 7) ~= "RMQ_PKT" then pinfo.cols.info = "" else pinfo.cols.info:append(", ") end
  pinfo.cols.info:append(text)
  return tvb:len()
end

function rmq.dissector(tvb, pinfo, tree)
  dissect_tcp_pdus(tvb, tree, HEADER, stream_length, stream_packet, true)
  return tvb:len()
end
DissectorTable.get("tcp.port"):add_for_decode_as(rmq)
rmq:register_heuristic("tcp", function(tvb, pinfo, tree)
  if tvb:len() < HEADER + 4 or tvb(4, 1):uint() ~= HELLO or le_u32(tvb, HEADER) ~= MAGIC then return false end
  pinfo.conversation = rmq
  rmq.dissector(tvb, pinfo, tree)
  return true
end)

-- What rmqtrace pcap writes: who to whom and over which method, then header and fields.
local recorded = Proto("rmq_recorded", "RMQ recorded packet")
function recorded.dissector(tvb, pinfo, tree)
  pinfo.cols.protocol = "RMQ"
  pinfo.cols.src = "rank " .. tvb(0, 4):le_int()
  pinfo.cols.dst = "rank " .. tvb(4, 4):le_int()
  local branch = tree:add(recorded, tvb(0, RECORDED))
  branch:add_le(f.from, tvb(0, 4))
  branch:add_le(f.to, tvb(4, 4))
  branch:add_le(f.method, tvb(8, 4))
  pinfo.cols.info = packet(tvb, RECORDED, pinfo, tree)
  return tvb:len()
end
DissectorTable.get("wtap_encap"):add(wtap.USER0, recorded)
)lua";

}  // namespace

std::string lua_dissector() {
  std::string out(kHead);
  auto to = std::back_inserter(out);
  fmt::format_to(to, "local HEADER, RECORDED, HELLO, MAGIC = {}, {}, {}, {:#x}\n", kHeaderBytes, sizeof(CaptureHead),
                 static_cast<int>(Kind::LINK_HELLO), kLinkMagic);
  fmt::format_to(to, "local methods = {{");
  for (const auto id : methods::kMethodIds) {
    fmt::format_to(to, "[{}] = {}, ", static_cast<int>(id), quoted(methods::method_name(id)));
  }
  fmt::format_to(to, "}}\nlocal kinds = {{\n");
  for (const PacketKind& k : packet_kinds())
    fmt::format_to(to, "  [{}] = {},\n", static_cast<int>(k.kind), quoted(k.name));
  fmt::format_to(to, "}}\nlocal body_bytes = {{\n");
  for (const PacketKind& k : packet_kinds()) {
    fmt::format_to(to, "  [{}] = {},\n", static_cast<int>(k.kind), body_bytes(k.kind));
  }
  out += "}\n";
  out += kHeaderFields;
  const auto bit = [&](std::string_view name, int mask) {
    fmt::format_to(to, "f.flag_{} = ProtoField.bool(\"rmq.flags.{}\", \"{}\", 8, nil, {})\n", name, name, name, mask);
  };
  bit("ready", packet_flag::ready);
  bit("envelope", packet_flag::envelope);
  bit("sync", packet_flag::sync);
  bit("lock_shared", rma_flag::lock_shared);
  bit("lock_exclusive", rma_flag::lock_exclusive);
  bit("unlock", rma_flag::unlock);
  bit("ack", rma_flag::ack);
  out += "local packet_flags = {f.flag_ready, f.flag_envelope, f.flag_sync}\n";
  out += "local rma_flags = {f.flag_lock_shared, f.flag_lock_exclusive, f.flag_unlock, f.flag_ack}\n";
  out += "local body = {\n";
  for (const PacketKind& k : packet_kinds()) {
    if (k.fields.empty()) continue;
    fmt::format_to(to, "  [{}] = {{\n", static_cast<int>(k.kind));
    for (const PacketField& field : k.fields) {
      fmt::format_to(to, "    {{ProtoField.uint{}(\"rmq.{}.{}\", \"{}\", base.{}, nil, nil, {}), {}, {}}},\n",
                     field.size * 8, lower(k.name.substr(8)), field.name, field.name,
                     is_opaque(field.name) ? "HEX" : "DEC", quoted(field.meaning), field.offset, field.size);
    }
    out += "  },\n";
  }
  // Wireshark wants all fields in one list.
  out += "}\nfor _, fields in pairs(body) do\n  for _, field in ipairs(fields) do table.insert(f, field[1]) end\nend\n";
  out += kBody;
  return out;
}

}  // namespace rmq::trace
