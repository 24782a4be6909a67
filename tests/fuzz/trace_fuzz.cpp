// SPDX-License-Identifier: BSD-3-Clause
// Files of a trace that nobody's recorder has written, through all that reads them: a fault is an error that names the
// file, events come in order, and memory and time are bounded by what the files hold. And a flight recorder's memory.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <string>

#include "base/packet/protocol.hpp"
#include "base/record/trace_stream.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/packet_script.hpp"
#include "tools/trace/chart.hpp"
#include "tools/trace/check.hpp"
#include "tools/trace/pcap.hpp"
#include "tools/trace/perfetto.hpp"
#include "tools/trace/reader.hpp"
#include "tools/trace/stats.hpp"
#include "tools/trace/text.hpp"
#include "tools/trace/view.hpp"

namespace rmq::fuzz {
namespace {

using trace::Entry;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kRanks = 3, kMostActs = 256;
constexpr std::uint64_t kStart = 1'000'000'000;  // ticks and ns
enum Act : std::uint8_t { kEvent, kPacket, kArrival, kRaw, kFiller, kActs };
// What is done with the events. A page takes as long as fifty other inputs: one in 64 has it.
enum Look : std::uint8_t {
  kText = 1,
  kStats = 2,
  kCheck = 4,
  kChart = 8,
  kPage = 16,
  kPerfetto = 32,
  kPcap = 64,
  kView = 128
};

// ---- what a script writes into the files ----

// Fields of a header, to be changed.
struct Place {
  std::size_t at, bytes;
};
#define RMQ_PLACE(field) \
  { offsetof(TraceHeader, field), sizeof TraceHeader::field }
constexpr Place kPlaces[] = {
    RMQ_PLACE(rank),          RMQ_PLACE(size),           RMQ_PLACE(host),          RMQ_PLACE(capacity),
    RMQ_PLACE(ns_per_tick),   RMQ_PLACE(ticks_start),    RMQ_PLACE(mono_ns_start), RMQ_PLACE(wall_ns_start),
    RMQ_PLACE(ticks_end),     RMQ_PLACE(mono_ns_end),    RMQ_PLACE(wall_ns_end),   RMQ_PLACE(offset_ns_start),
    RMQ_PLACE(offset_ns_end), RMQ_PLACE(error_ns_start), RMQ_PLACE(error_ns_end),  RMQ_PLACE(written),
    RMQ_PLACE(dropped),       RMQ_PLACE(call),           RMQ_PLACE(drop_errno),    RMQ_PLACE(job),
    RMQ_PLACE(magic),         RMQ_PLACE(version),        RMQ_PLACE(record_bytes)};
#undef RMQ_PLACE

const Known& known() {
  static const Known words = [] {
    Known w = {0, 1, 2, 8, 100, 0x100000001, 0x100000002, 0x200000001, 1000, 70000, ~std::uint64_t{0}, kStart};
    for (const int bits : {31, 32, 52, 53, 61, 62, 63}) w.push_back(std::uint64_t{1} << bits);
    for (const double value : {0.5, 1e300, -1.0, 1.0 / 3}) w.push_back(std::bit_cast<std::uint64_t>(value));
    for (const char* call : {"MPI_Send", "MPI_Recv", "MPI_Barrier"}) w.push_back(call_id(call));
    return w;
  }();
  return words;
}

// One rank's recording: a page for the header, then units.
struct Recorded {
  alignas(TraceHeader) std::array<std::byte, sizeof(TraceHeader)> header;
  Bytes units;
  std::uint64_t now = kStart;
  std::uint64_t written = 0;  // as counted: units of a stream, records of a ring

  template <class T>
  void set(T TraceHeader::*field, T value) {
    reinterpret_cast<TraceHeader*>(header.data())->*field = value;
  }
  void add(const TraceRecord& r, std::size_t bytes) {
    const auto* from = reinterpret_cast<const std::byte*>(&r);
    units.insert(units.end(), from, from + bytes);
  }
};

class Files {
 public:
  /// `ring`: as a flight recorder has them, of which only the first is looked at.
  Files(Reader& in, bool ring) : in_(in), ring_(ring), count_(ring ? 1 : 1 + in.pick(kRanks)) {
    for (std::size_t rank = 0; rank < count_; ++rank) begin(rank);
    for (std::size_t i = 0; i < kMostActs && !in_.done(); ++i) act();
  }

  std::size_t count() const { return count_; }
  Recorded& of(std::size_t rank) { return files_[rank]; }

  /// Header and units, the count in its place: what a change of the header said stays.
  void end(std::size_t rank) {
    Recorded& f = files_[rank];
    if (ring_) f.units.resize(std::bit_ceil(f.units.size() / kFlightRecordBytes + 1) * kFlightRecordBytes);
    const std::uint64_t written = ring_ ? f.written : f.units.size() / kTraceUnit;
    put(f, offsetof(TraceHeader, written), sizeof written, written);
    if (ring_) f.set(&TraceHeader::capacity, f.units.size() / kFlightRecordBytes);
    for (const Change& c : changes_[rank]) put(f, c.place.at, c.place.bytes, c.value);
  }

 private:
  struct Change {
    Place place;
    std::uint64_t value;
  };

  void begin(std::size_t rank) {
    Recorded& f = files_[rank];
    f.header.fill({});
    std::memcpy(f.header.data(), TraceHeader::kMagic, sizeof TraceHeader::kMagic);
    f.set(&TraceHeader::version, TraceHeader::kVersion);
    f.set(&TraceHeader::record_bytes, static_cast<std::uint32_t>(ring_ ? kFlightRecordBytes : kTraceUnit));
    f.set(&TraceHeader::rank, static_cast<std::int32_t>(rank));
    f.set(&TraceHeader::size, static_cast<std::int32_t>(count_));
    f.set(&TraceHeader::host, static_cast<std::uint32_t>(rank / 2));
    f.set(&TraceHeader::capacity, TraceStream::kSegment);
    f.set(&TraceHeader::ns_per_tick, 1.0);
    for (const auto field : {&TraceHeader::ticks_start, &TraceHeader::mono_ns_start, &TraceHeader::wall_ns_start})
      f.set(field, kStart);
    for (std::size_t n = in_.pick(4); n > 0; --n) {
      const std::size_t place = in_.pick(std::size(kPlaces) + 1);
      const Place any{in_.u8(), 1};
      changes_[rank].push_back({place < std::size(kPlaces) ? kPlaces[place] : any, read_word(in_, known())});
    }
  }

  static void put(Recorded& f, std::size_t at, std::size_t bytes, std::uint64_t value) {
    std::memcpy(f.header.data() + at, &value, std::min(bytes, sizeof value));
  }

  void act() {
    const auto what = static_cast<Act>(in_.pick(kActs));
    const std::size_t rank = in_.pick(count_);
    Recorded& f = files_[rank];
    switch (what) {
      case kRaw: {
        const auto some = in_.bytes(in_.u8());
        const auto* from = reinterpret_cast<const std::byte*>(some.data());
        f.units.insert(f.units.end(), from, from + some.size());
        return;
      }
      case kFiller: {  // what ends a segment; up to a whole one
        TraceRecord r{};
        r.units = static_cast<std::uint16_t>(in_.pick(4));
        for (std::size_t n = in_.pick(8) == 0 ? TraceStream::kSegment / 2 : 1; n > 0; --n) {
          f.add(r, r.units * kTraceUnit);
          if (f.units.size() > 2 * TraceStream::kSegment * kTraceUnit) return;
        }
        return;
      }
      case kArrival:
        if (last_ && last_->to < count_) {
          TraceRecord r = last_->record;
          r.event = Event::packet_received;
          r.peer = static_cast<std::int32_t>(last_->from);
          record(files_[last_->to], r);
        }
        return;
      default:
        break;
    }
    TraceRecord r{};
    const auto kinds = event_kinds();
    const std::size_t place = what == kPacket ? 0 : in_.pick(kinds.size() + 1);
    r.event = place < kinds.size() ? kinds[place].event : static_cast<Event>(in_.u8());
    r.method = in_.u8();
    r.peer = static_cast<std::int32_t>(in_.u8()) - 1;
    r.a0 = read_word(in_, known());
    r.a1 = read_word(in_, known());
    const bool carries = place < kinds.size() && kinds[place].carries_packet;
    r.units = 1;
    if (carries) {
      const Packet p = read_packet(in_, known());
      std::memcpy(r.packet, &p, sizeof p);
      r.units = static_cast<std::uint16_t>(trace_units(&p));
      if (r.event == Event::packet_sent && r.peer >= 0) last_ = Sent{rank, static_cast<std::size_t>(r.peer), r};
    }
    record(f, r);
  }

  void record(Recorded& f, TraceRecord r) {
    const std::uint8_t later = in_.u8();
    f.now += later < 250 ? later : read_word(in_, known());
    r.ticks = f.now;
    if (ring_) {
      f.add(r, kFlightRecordBytes);
      ++f.written;
      return;
    }
    const std::size_t true_units = r.units;
    if (later == 249) r.units = in_.u8();
    f.add(r, true_units * kTraceUnit);
  }

  struct Sent {
    std::size_t from, to;
    TraceRecord record;
  };
  Reader& in_;
  const bool ring_;
  const std::size_t count_;
  std::array<Recorded, kRanks> files_;
  std::array<std::vector<Change>, kRanks> changes_;
  std::optional<Sent> last_;
};

// ---- files in memory, always the same ----

class Memory {
 public:
  explicit Memory(std::size_t number) : fd_(::memfd_create("rank.rmqtrace", MFD_CLOEXEC)) {
    path_ = fmt::format("/proc/self/fd/{}", fd_);
    require(fd_ >= 0, fmt::format("there is memory for file {}", number).c_str());
  }
  const std::string& path() const { return path_; }

  /// Header, tail and whole segments before it, as a stream would leave them; then cut to `most` bytes.
  void write(const Recorded& f, std::uint64_t most) {
    constexpr std::uint64_t kSegment = TraceStream::kSegment * kTraceUnit;
    const std::uint64_t body = f.units.size() / kSegment * kSegment;
    bool good = ::ftruncate(fd_, 0) == 0;
    good = good && put(f.header.data(), f.header.size(), 0);
    good = good && put(f.units.data() + body, f.units.size() - body, sizeof(TraceHeader));
    good = good && put(f.units.data(), body, TraceStream::kBodyAt);
    good = good && ::ftruncate(fd_, static_cast<off_t>(std::min(most, TraceStream::kBodyAt + body))) == 0;
    require(good, "memory takes the files");
  }

 private:
  bool put(const std::byte* from, std::size_t bytes, std::uint64_t at) {
    return bytes == 0 || ::pwrite(fd_, from, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
  }
  int fd_;
  std::string path_;
};

// ---- all that reads ----

bool names(const Error& e, const std::string& path) {
  return e.what.find(path) != std::string::npos;
}

void read(trace::Reader& reader, const trace::Slice& slice, std::uint8_t looks, std::uint64_t units) {
  auto nowhere = trace::Output::file("/dev/null");
  require(nowhere.has_value(), "there is a /dev/null");
  static_cast<void>(caveats(reader));
  trace::Stats stats;
  trace::Chart chart(reader, "rmqtrace chart a\xff");
  trace::Perfetto perfetto(reader, *nowhere);
  trace::Pcap pcap(reader, *nowhere);
  trace::Filter filter;
  filter.kind = "SHORT";
  std::optional<trace::Check> check;
  if ((looks & kCheck) != 0 && slice.whole() && why_not_checkable(reader.ranks()).empty())
    check.emplace(reader.ranks());
  std::string line;
  std::uint64_t seen = 0;
  std::int64_t before = INT64_MIN;
  const auto shown = reader.each(slice, [&](const Entry& e) {
    ++seen;
    require(e.ns >= before, "events come by time");
    before = e.ns;
    require(!slice.whole() || e.flow == 0 || !e.receives() || e.sent_ns < e.ns, "a packet arrives after it has left");
    if (looks & kText) {
      line.clear();
      append_line(line, e);
      static_cast<void>(filter.shows(e));
    }
    if (looks & kStats) stats.add(e);
    if (looks & (kChart | kPage)) chart.add(e);
    if (looks & kPerfetto) static_cast<void>(perfetto.look(e));
    if (looks & kPcap) static_cast<void>(pcap.look(e));
    if (check) {
      if (const auto violation = check->look(e)) {
        require(describe(*violation).ends_with('\n'), "a violation is described");
        check.reset();
      }
    }
    return true;
  });
  require(seen <= units, "there are no more events than units");
  if (!shown) require(names(shown.error(), "/proc/self/fd/"), "a damaged file is named");
  if (looks & kStats) static_cast<void>(stats.text(reader));
  if (looks & kPage) static_cast<void>(chart.page());
  static_cast<void>(nowhere->end());
}

void read_files(Reader& in, std::uint8_t looks) {
  trace::Slice slice;
  const std::size_t sliced = in.pick(8);
  if (sliced & 1) slice.rank = static_cast<int>(in.pick(kRanks + 1)) - 1;
  if (sliced & 2) slice.from_us = std::bit_cast<double>(read_word(in, known()));
  if (sliced & 4) slice.to_us = static_cast<double>(in.u32());
  const std::size_t cut = in.pick(kRanks + 1), cut_at = in.u16();
  Files files(in, false);
  static std::array<Memory, kRanks> memory{Memory(0), Memory(1), Memory(2)};
  std::vector<trace::TraceFile> open;
  std::uint64_t units = 0;
  for (std::size_t rank = 0; rank < files.count(); ++rank) {
    files.end(rank);
    memory[rank].write(files.of(rank), rank == cut ? cut_at : ~std::uint64_t{0});
    auto file = trace::TraceFile::open(memory[rank].path());
    if (!file) return require(names(file.error(), memory[rank].path()), "a file that is no trace is named");
    units += file->units();
    open.push_back(std::move(*file));
  }
  auto reader = trace::Reader::over(std::move(open));
  if (!reader) return require(names(reader.error(), "/proc/self/fd/"), "the file that does not fit is named");
  read(*reader, slice, looks, units);
}

void read_ring(Reader& in) {
  Files files(in, true);
  files.end(0);
  const Recorded& f = files.of(0);
  // Not a byte more than there is.
  const std::size_t bytes = f.header.size() + f.units.size();
  struct alignas(TraceHeader) Line {
    std::byte bytes[alignof(TraceHeader)];
  };
  std::vector<Line> lines(bytes / sizeof(Line));
  auto* memory = reinterpret_cast<std::byte*>(lines.data());
  std::memcpy(memory, f.header.data(), f.header.size());
  std::memcpy(memory + f.header.size(), f.units.data(), f.units.size());
  const auto view = trace::View::over(memory, bytes);
  if (!view) return;
  static_cast<void>(view->report(20));
  static_cast<void>(view->waited_for());
  require(view->last(1000).size() <= f.units.size() / kFlightRecordBytes, "a ring has no more events than it holds");
}

// ---- seeds ----

constexpr std::size_t kWhole = 0, kNoCut = kRanks;
constexpr std::size_t kHandle = 5;  // place of a handle in known()

std::size_t place_of(Kind kind) {
  const auto kinds = packet_kinds();
  return static_cast<std::size_t>(
      std::find_if(kinds.begin(), kinds.end(), [&](const PacketKind& k) { return k.kind == kind; }) - kinds.begin());
}

std::size_t place_of(Event event) {
  const auto kinds = event_kinds();
  return static_cast<std::size_t>(
      std::find_if(kinds.begin(), kinds.end(), [&](const EventKind& k) { return k.event == event; }) - kinds.begin());
}

void begin(Writer& w, std::size_t looks, std::size_t files) {
  w.u8(looks);
  if ((looks & kView) == 0) w.u8(kWhole).u8(kNoCut).u16(0).u8(files - 1);
  for (std::size_t i = 0; i < files; ++i) w.u8(0);  // changes of the header
}

void event(Writer& w, std::size_t rank, std::size_t place, std::size_t peer, std::size_t a0 = 1, std::size_t a1 = 1) {
  w.u8(kEvent).u8(rank).u8(place).u8(3).u8(peer + 1);
  write_small(w, a0);
  write_small(w, a1);
  if (place < event_kinds().size() && event_kinds()[place].carries_packet) write_packet(w, 0, 0, 1, 0, 1, kHandle);
  w.u8(10);
}

void sent(Writer& w, std::size_t from, std::size_t to, std::size_t place) {
  w.u8(kPacket).u8(from).u8(3).u8(to + 1);
  write_small(w, 0);
  write_small(w, 0);
  write_packet(w, place, 0, 1, 0, from, kHandle);
  w.u8(10);
}

void arrived(Writer& w) {
  w.u8(kArrival).u8(0).u8(10);
}

}  // namespace

/// Each event in a trace and in a flight recorder, each conversation of the protocol on both its sides, a message that
/// is waited for, each field of a header changed, and files that are cut.
std::vector<Script> seeds() {
  std::vector<Script> all;
  for (const std::size_t looks : {kText | kStats | kCheck | kChart | kPerfetto | kPcap, 0 | kView, 0 | kPage}) {
    Writer w;
    begin(w, looks, looks == kView ? 1 : 2);
    for (std::size_t place = 0; place <= event_kinds().size(); ++place) event(w, 0, place, 1);
    // The sum of the bytes says whether a page is made.
    w.u8(64 - std::accumulate(w.script.begin(), w.script.end(), 0u) % 64);
    all.push_back(w.script);
    for (std::size_t place = 0; looks != kPage && place < event_kinds().size(); ++place) {
      Writer one;
      begin(one, looks, looks == kView ? 1 : 2);
      event(one, 0, place, 1);
      if (looks != kView) event(one, 1, place, 0);
      all.push_back(one.script);
    }
  }
  constexpr std::size_t kEverything = 127 & ~kPage;
  for (const ProtocolMachine& machine : protocol_machines()) {
    Writer w;
    begin(w, kEverything, 2);
    for (const ProtocolMove& move : protocol_moves()) {
      if (move.machine != machine.name) continue;
      move.by_owner ? sent(w, 0, 1, place_of(move.kind)) : sent(w, 1, 0, place_of(move.kind));
      arrived(w);
    }
    all.push_back(w.script);
  }
  for (std::size_t place = 0; place < packet_kinds().size(); ++place) {
    Writer w;
    begin(w, kEverything, 3);
    sent(w, 0, 1, place);
    arrived(w);
    sent(w, 2, 0, place);
    arrived(w);
    all.push_back(w.script);
  }
  for (std::size_t place = 0; place < std::size(kPlaces); ++place) {
    for (const std::size_t value : {0, 10, 18}) {
      Writer w;
      w.u8(kEverything).u8(kWhole).u8(kNoCut).u16(0).u8(1);
      w.u8(0).u8(1).u8(place).u8(0).u8(static_cast<std::size_t>(Word::known)).u8(value);
      sent(w, 0, 1, 0);
      arrived(w);
      all.push_back(w.script);
    }
  }
  Writer late;  // a call that waits for a message
  begin(late, kEverything, 2);
  event(late, 0, place_of(Event::call_enter), 255);
  sent(late, 1, 0, place_of(Kind::SHORT));
  arrived(late);
  event(late, 0, place_of(Event::matched), 1);
  event(late, 0, place_of(Event::call_leave), 255);
  all.push_back(late.script);
  for (const std::size_t cut_at : {0, 100, 4096, 5000}) {
    Writer w;
    w.u8(kEverything).u8(kWhole).u8(1).u16(cut_at).u8(1).u8(0).u8(0);
    for (int i = 0; i < 10; ++i) event(w, 1, 3, 0);
    all.push_back(w.script);
  }
  for (const std::size_t filler : {0, 1, 2, 3}) {
    Writer w;
    begin(w, kEverything, 1);
    event(w, 0, 3, 0);
    w.u8(kFiller).u8(0).u8(filler).u8(filler == 3 ? 1 : 0);
    event(w, 0, 3, 0);
    all.push_back(w.script);
  }
  return all;
}

}  // namespace rmq::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  rmq::fuzz::Reader in(data, bytes);
  std::uint8_t looks = in.u8();
  if (std::accumulate(data, data + bytes, 0u) % 64 != 0) looks &= static_cast<std::uint8_t>(~rmq::fuzz::kPage);
  (looks & rmq::fuzz::kView) != 0 ? rmq::fuzz::read_ring(in) : rmq::fuzz::read_files(in, looks);
  return 0;
}
