// SPDX-License-Identifier: BSD-3-Clause
// pcapng: draft-ietf-opsawg-pcapng. Blocks: section header, interface description, enhanced packet.
#include "tools/trace/pcap.hpp"

#include <fmt/format.h>

#include <cstring>

#include "methods/method.hpp"

namespace rmq::trace {
namespace {

constexpr std::uint32_t kSection = 0x0a0d0d0a, kInterface = 1, kPacket = 6;
constexpr std::uint16_t kEndOfOptions = 0, kName = 2, kDescription = 3, kFlags = 2, kResolution = 9;
constexpr std::uint32_t kInbound = 1, kOutbound = 2;

// A block, written behind what is in `text` already.
class Block {
 public:
  Block(std::string& text, std::uint32_t type) : text_(text), from_(text.size()) {
    number(type);
    number(std::uint32_t{0});  // the length, known at the end
  }
  template <class T>
  void number(T value) {
    bytes(&value, sizeof value);
  }
  void bytes(const void* data, std::size_t n) { text_.append(static_cast<const char*>(data), n); }
  void pad() { text_.append((4 - (text_.size() - from_) % 4) % 4, '\0'); }
  void option(std::uint16_t code, std::string_view value) {
    number(code);
    number(static_cast<std::uint16_t>(value.size()));
    bytes(value.data(), value.size());
    pad();
  }
  void end() {
    const auto length = static_cast<std::uint32_t>(text_.size() - from_ + sizeof(std::uint32_t));
    std::memcpy(text_.data() + from_ + sizeof length, &length, sizeof length);
    number(length);
  }

 private:
  std::string& text_;
  std::size_t from_;
};

void section(std::string& text) {
  Block b(text, kSection);
  b.number(std::uint32_t{0x1a2b3c4d});  // byte order
  b.number(std::uint16_t{1});
  b.number(std::uint16_t{0});
  b.number(~std::uint64_t{0});  // length of the section: not said
  b.option(4, "rmqtrace");      // the application
  b.option(kEndOfOptions, "");
  b.end();
}

void interface(std::string& text, int rank, std::uint8_t method, unsigned host) {
  const std::string_view name = methods::method_name(static_cast<methods::MethodId>(method));
  Block b(text, kInterface);
  b.number(kCaptureLinkType);
  b.number(std::uint16_t{0});
  b.number(std::uint32_t{0});  // no limit of the captured length
  b.option(kName, fmt::format("rank{}-{}", rank, name));
  b.option(kDescription, fmt::format("RMQ rank {} on host {}, method {}", rank, host, name));
  b.option(kResolution, "\x09");  // 10^-9 s
  b.option(kEndOfOptions, "");
  b.end();
}

void packet(std::string& text, std::uint32_t where, std::uint64_t wall_ns, const Entry& e) {
  const Packet p = e.packet();
  const bool sent = e.sends();
  const CaptureHead head{sent ? e.rank : e.record.peer, sent ? e.record.peer : e.rank, e.record.method};
  const auto here = static_cast<std::uint32_t>(sizeof head + wire_bytes(p.kind));
  Block b(text, kPacket);
  b.number(where);
  b.number(static_cast<std::uint32_t>(wall_ns >> 32));
  b.number(static_cast<std::uint32_t>(wall_ns));
  b.number(here);
  b.number(here + p.length);  // as it was on its way
  b.bytes(&head, sizeof head);
  b.bytes(&p, wire_bytes(p.kind));
  b.pad();
  const std::uint32_t direction = sent ? kOutbound : kInbound;
  b.option(kFlags, {reinterpret_cast<const char*>(&direction), sizeof direction});
  b.option(kEndOfOptions, "");
  b.end();
}

}  // namespace

Pcap::Pcap(const Reader& of, Output& to) : of_(&of), to_(&to) {
  for (const Recording& r : of.ranks()) host_[r.rank] = r.host;
  section(to.text());
}

// An interface is described before its first packet.
std::uint32_t Pcap::interface_of(const Entry& e) {
  const auto [at, fresh] =
      interfaces_.try_emplace({e.rank, e.record.method}, static_cast<std::uint32_t>(interfaces_.size()));
  if (fresh) interface(to_->text(), e.rank, e.record.method, host_[e.rank]);
  return at->second;
}

bool Pcap::look(const Entry& e) {
  if (!e.travels()) return true;
  const std::uint32_t where = interface_of(e);
  packet(to_->text(), where, static_cast<std::uint64_t>(of_->start_date() + e.ns), e);
  return to_->written();
}

}  // namespace rmq::trace
