// pcapng: draft-ietf-opsawg-pcapng. Blocks: section header, interface description, enhanced packet.
#include "tools/trace/pcap.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>

#include "methods/method.hpp"

namespace rmq::trace {
namespace {

constexpr std::uint32_t kSection = 0x0a0d0d0a, kInterface = 1, kPacket = 6;
constexpr std::uint16_t kEndOfOptions = 0, kName = 2, kDescription = 3, kFlags = 2, kResolution = 9;
constexpr std::uint32_t kInbound = 1, kOutbound = 2;

class Block {
 public:
  explicit Block(std::uint32_t type) {
    number(type);
    number(std::uint32_t{0});  // the length, known at the end
  }
  template <class T>
  void number(T value) {
    bytes(&value, sizeof value);
  }
  void bytes(const void* data, std::size_t n) { text_.append(static_cast<const char*>(data), n); }
  void pad() { text_.append((4 - text_.size() % 4) % 4, '\0'); }
  void option(std::uint16_t code, std::string_view value) {
    number(code);
    number(static_cast<std::uint16_t>(value.size()));
    bytes(value.data(), value.size());
    pad();
  }
  std::string end() {
    const auto length = static_cast<std::uint32_t>(text_.size() + sizeof(std::uint32_t));
    std::memcpy(text_.data() + sizeof length, &length, sizeof length);
    number(length);
    return std::move(text_);
  }

 private:
  std::string text_;
};

std::string section() {
  Block b(kSection);
  b.number(std::uint32_t{0x1a2b3c4d});  // byte order
  b.number(std::uint16_t{1});
  b.number(std::uint16_t{0});
  b.number(~std::uint64_t{0});  // length of the section: not said
  b.option(4, "rmqtrace");      // the application
  b.option(kEndOfOptions, "");
  return b.end();
}

std::string interface(int rank, std::uint8_t method, unsigned host) {
  const std::string_view name = methods::method_name(static_cast<methods::MethodId>(method));
  Block b(kInterface);
  b.number(kCaptureLinkType);
  b.number(std::uint16_t{0});
  b.number(std::uint32_t{0});  // no limit of the captured length
  b.option(kName, fmt::format("rank{}-{}", rank, name));
  b.option(kDescription, fmt::format("RMQ rank {} on host {}, method {}", rank, host, name));
  b.option(kResolution, "\x09");  // 10^-9 s
  b.option(kEndOfOptions, "");
  return b.end();
}

std::string packet(std::uint32_t where, std::uint64_t wall_ns, const Entry& e) {
  const Packet p = e.packet();
  const bool sent = e.record.event == Event::packet_sent;
  const CaptureHead head{sent ? e.rank : e.record.peer, sent ? e.record.peer : e.rank, e.record.method};
  const auto here = static_cast<std::uint32_t>(sizeof head + wire_bytes(p.kind));
  Block b(kPacket);
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
  return b.end();
}

}  // namespace

std::string pcap(const Trace& trace) {
  std::string file = section();
  std::map<int, unsigned> host;
  for (const Recording& r : trace.ranks) host[r.rank] = r.host;
  std::map<std::pair<int, std::uint8_t>, std::uint32_t> interfaces;  // rank, method
  for (const Entry& e : trace.entries) {
    if (e.record.event == Event::packet_sent || e.record.event == Event::packet_received) {
      interfaces[{e.rank, e.record.method}] = 0;
    }
  }
  std::uint32_t n = 0;
  for (auto& [key, number] : interfaces) {
    number = n++;
    file += interface(key.first, key.second, host[key.first]);
  }
  for (const Entry& e : trace.entries) {
    if (e.record.event != Event::packet_sent && e.record.event != Event::packet_received) continue;
    file += packet(interfaces[{e.rank, e.record.method}], static_cast<std::uint64_t>(trace.start_ns + e.ns), e);
  }
  return file;
}

}  // namespace rmq::trace
