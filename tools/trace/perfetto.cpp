// The few kinds of protobuf fields that are needed are written here: a generated writer and its library would be the
// larger part by far. The numbers are those of perfetto.proto.
#include "tools/trace/perfetto.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "methods/method.hpp"
#include "tools/trace/join.hpp"

namespace rmq::trace {
namespace {

// A message under construction: its bytes.
class Message {
 public:
  Message& number(int field, std::uint64_t value) {
    key(field, 0);
    varint(value);
    return *this;
  }
  Message& fixed(int field, std::uint64_t value) {
    key(field, 1);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);  // little-endian, as we are
    return *this;
  }
  Message& text(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(int field, int type) { varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type)); }
  void varint(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) bytes_ += static_cast<char>(v | 0x80);
    bytes_ += static_cast<char>(v);
  }
  std::string bytes_;
};

enum Type { kBegin = 1, kEnd = 2, kInstant = 3 };

// Tracks of a rank: itself, its queues, then one for each method.
constexpr std::uint64_t kTracks = 64;
std::uint64_t rank_track(int rank) {
  return (static_cast<std::uint64_t>(rank) + 1) * kTracks;
}
std::uint64_t queue_track(int rank) {
  return rank_track(rank) + 1;
}
std::uint64_t method_track(int rank, std::uint8_t method) {
  return rank_track(rank) + 2 + method;
}

class File {
 public:
  void track(std::uint64_t id, std::string_view name, std::uint64_t parent) {
    descriptor(Message().number(1, id).text(2, name).number(5, parent));
  }
  void process(std::uint64_t id, int pid, const std::string& name) {
    descriptor(Message().number(1, id).message(3, Message().number(1, static_cast<std::uint64_t>(pid)).text(6, name)));
  }
  void event(std::int64_t ns, const Message& e) {
    Message p;
    p.number(8, static_cast<std::uint64_t>(ns)).number(10, 1).message(11, e);
    events_.push_back({ns, p.bytes()});
  }
  std::string take() {
    std::stable_sort(events_.begin(), events_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [ns, bytes] : events_) out_.text(1, bytes);
    return out_.bytes();
  }

 private:
  void descriptor(const Message& d) {
    Message p;
    p.number(10, 1);
    if (out_.bytes().empty()) p.number(13, 1);
    out_.message(1, p.message(60, d));
  }
  Message out_;
  std::vector<std::pair<std::int64_t, std::string>> events_;
};

Message event(Type type, std::uint64_t track) {
  return Message().number(9, type).number(11, track);
}

void annotate(Message& e, std::string_view name, std::uint64_t value) {
  e.message(4, Message().number(3, value).text(10, name));
}

Message packet_event(const Packet& p, std::uint64_t track, int from, int to) {
  Message e = event(kInstant, track);
  e.text(22, "packet").text(23, packet_name(p.kind));
  annotate(e, "from", static_cast<std::uint64_t>(from));
  annotate(e, "to", static_cast<std::uint64_t>(to));
  e.message(4, Message().number(4, static_cast<std::uint64_t>(std::int64_t{p.tag})).text(10, "tag"));
  annotate(e, "context", p.context);
  annotate(e, "msg", p.msg);
  annotate(e, "length", p.length);
  if (p.flags) annotate(e, "flags", p.flags);
  if (p.credit) annotate(e, "credit", p.credit);
  if (const PacketKind* k = find_packet_kind(p.kind)) {
    for (const PacketField& f : k->fields) annotate(e, f.name, packet_field(p, f));
  }
  return e;
}

void describe_tracks(const Trace& trace, const std::vector<Arrow>& arrows, File& file) {
  std::set<std::pair<int, std::uint8_t>> used;
  for (const Arrow& a : arrows) used.insert({a.from, a.method}), used.insert({a.to, a.method});
  for (const Recording& r : trace.ranks) {
    file.process(rank_track(r.rank), r.rank + 1, fmt::format("rank {} on host {}", r.rank, r.host));
    file.track(queue_track(r.rank), "queues and sleep", rank_track(r.rank));
  }
  for (const auto& [rank, method] : used) {
    file.track(method_track(rank, method), methods::method_name(static_cast<methods::MethodId>(method)),
               rank_track(rank));
  }
}

}  // namespace

std::string perfetto(const Trace& trace) {
  File file;
  const std::vector<Arrow> arrows = join(trace);
  describe_tracks(trace, arrows, file);
  std::uint64_t flow = 0;
  for (const Arrow& a : arrows) {
    ++flow;
    const bool whole = a.sent_ns >= 0 && a.received_ns >= 0;
    if (a.sent_ns >= 0) {
      Message e = packet_event(a.packet, method_track(a.from, a.method), a.from, a.to);
      file.event(trace.start_ns + a.sent_ns, whole ? e.fixed(47, flow) : e);
    }
    if (a.received_ns >= 0) {
      Message e = packet_event(a.packet, method_track(a.to, a.method), a.from, a.to);
      file.event(trace.start_ns + a.received_ns, whole ? e.fixed(48, flow) : e);
    }
  }
  for (const Entry& e : trace.entries) {
    const TraceRecord& r = e.record;
    const std::int64_t ns = trace.start_ns + e.ns;
    const std::uint64_t track = queue_track(e.rank);
    if (r.event == Event::packet_sent || r.event == Event::packet_received || r.event == Event::sleep) continue;
    if (r.event == Event::wake) {
      const std::int64_t since = std::max(ns - static_cast<std::int64_t>(r.a0), trace.start_ns);
      file.event(since, event(kBegin, track).text(22, "wait").text(23, "sleep"));
      file.event(ns, event(kEnd, track));
      continue;
    }
    for (const EventKind& k : event_kinds()) {
      if (k.event != r.event) continue;
      Message m = event(kInstant, track);
      m.text(22, "queue").text(23, k.name);
      if (r.peer >= 0) annotate(m, "peer", static_cast<std::uint64_t>(r.peer));
      if (!k.a0.empty()) annotate(m, k.a0, r.a0);
      if (!k.a1.empty()) annotate(m, k.a1, r.a1);
      file.event(ns, m);
    }
  }
  return file.take();
}

}  // namespace rmq::trace
