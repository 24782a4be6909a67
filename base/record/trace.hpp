// SPDX-License-Identifier: BSD-3-Clause
// What a rank did, as fixed binary records: a flight recorder, on by default, and a full trace where one is asked for.
//
//   flight recorder   the last events, without details, in a ring in memory that whoever started the rank holds: they
//                     can be read after any death of the rank, and while it hangs
//   full trace        all events with all fields, streamed to a file (base/record/trace_stream.hpp); what was
//                     recorded is in the file even after SIGKILL
//
// Both begin with a TraceHeader. All formatting happens offline (tools/trace/). Format and cost: design/tracing.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/os/clock.hpp"
#include "base/packet/packet.hpp"

namespace rmq {

enum class Event : std::uint8_t {
  none = 0,
#define RMQ_EVENT(name, number, carries_packet, detail, a0, a1, meaning) name = number,
#include "base/record/trace.def"
};

struct EventKind {
  Event event;
  std::string_view name;
  bool carries_packet, detail;
  std::string_view a0, a1, meaning;
};
std::span<const EventKind> event_kinds();
/// The word for a value of argument 0 or 1, empty where it is a plain figure.
std::string_view event_value(Event event, int argument, std::uint64_t value);

/// Whether only a full trace records it.
constexpr bool is_detail(Event event) {
  switch (event) {
#define RMQ_EVENT(name, number, carries_packet, detail, a0, a1, meaning) \
  case Event::name:                                                      \
    return detail;
#include "base/record/trace.def"
    case Event::none:
      break;
  }
  return false;
}

/// What stands for an MPI function in a record: a hash of its name, without "MPI_" or "PMPI_" (32 bits of FNV-1a).
constexpr std::uint32_t call_id(std::string_view name) {
  if (name.starts_with('P')) name.remove_prefix(1);
  if (name.starts_with("MPI_")) name.remove_prefix(4);
  std::uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

/// A full trace stores what there is of it, in units of kTraceUnit bytes; a flight recorder two units of every record:
/// all but the fields of the packet's kind.
struct alignas(32) TraceRecord {
  std::uint64_t ticks;  // when it happened, by the header's clock
  Event event;
  std::uint8_t method;   // MethodId of the link, 0 where none
  std::uint16_t units;   // that are stored
  std::int32_t peer;     // world rank, -1 where none
  std::uint64_t a0, a1;  // as trace.def names them
  std::byte packet[64];  // header and fields for events that carry one, else zero
};
inline constexpr std::size_t kTraceUnit = 32;
inline constexpr std::uint64_t kMostTraceUnits = 3;
static_assert(sizeof(TraceRecord) == kMostTraceUnits * kTraceUnit && offsetof(TraceRecord, packet) == kTraceUnit);
static_assert(kHeaderBytes == kTraceUnit && kBodyBytes == kTraceUnit);
inline constexpr std::size_t kFlightRecordBytes = 2 * kTraceUnit;

/// Units of a full trace's record: a packet adds one, the fields of its kind, if it has any, another.
constexpr std::uint64_t trace_units(const Packet* p) {
  return !p ? 1 : body_bytes(p->kind) == 0 ? 2 : 3;
}

struct TraceHeader {
  static constexpr std::uint32_t kVersion = 4;
  static constexpr char kMagic[8] = "RMQTRC4";

  char magic[8];                        // written last: a header without it is not to be read
  std::uint32_t version, record_bytes;  // bytes of what `capacity` and `written` count: a record, or a unit of it
  std::int32_t rank, size;              // of the job
  std::uint32_t host;                   // host index
  std::int32_t pid;                     // of the rank
  std::uint64_t capacity;       // records of the ring, a power of two (n lies in slot n % capacity); units of the tail
  double ns_per_tick;           // the clock's rate as known at start
  std::uint64_t ticks_start;    // three clocks at one time, at start …
  std::uint64_t mono_ns_start;  // … CLOCK_MONOTONIC, which all times come from
  std::uint64_t wall_ns_start;  // … CLOCK_REALTIME, which gives the date, and may be set while the job runs
  std::uint64_t ticks_end;      // and at the end (0 when the rank did not get there)
  std::uint64_t mono_ns_end;
  std::uint64_t wall_ns_end;
  std::int64_t offset_ns_start;  // what to add to this host's CLOCK_MONOTONIC to get the launcher's, at start …
  std::int64_t offset_ns_end;    // … and at the end
  std::uint64_t error_ns_start;  // at most so wrong; ~0: not known
  std::uint64_t error_ns_end;
  char job[40];  // job id, zero-terminated
  // A line of its own: what changes all the time.
  alignas(64) std::atomic<std::uint64_t> written;  // records (units) so far, overwritten ones included
  std::atomic<std::uint64_t> dropped;              // events that a stream could not take: they are missing at its end
  std::atomic<std::uint32_t> call;                 // call_id of the MPI function that runs; 0: none
  std::atomic<std::uint32_t> drop_errno;           // why; 0: RMQ_TRACE_MAX
  std::byte reserved[4096 - 216];                  // records begin on a page of their own
};
static_assert(offsetof(TraceHeader, written) == 192 && sizeof(TraceHeader) == 4096);

/// Who records.
struct TraceOwner {
  int rank = 0, size = 1, host = 0;
  std::string_view job;
  const std::uint64_t* simulated = nullptr;  // the time of a simulated rank, ns; nullptr: the machine's clocks hold
};
/// Fills in everything but the magic, `capacity` and `record_bytes`, and reads the clocks.
void start_header(TraceHeader& header, const TraceOwner& owner, bool exact_clock);
/// Reads them again: the rank has come to its end.
void end_header(TraceHeader& header, bool exact_clock, const std::uint64_t* simulated);

class TraceStream;

/// Hears of every event while it is attached (Trace::listen), where it happens: in the device, which it must not call.
class TraceListener {
 public:
  virtual ~TraceListener() = default;
  /// `r.ticks` are nanoseconds of CLOCK_MONOTONIC (of a simulated rank its own time); the packet is zero beyond what
  /// the event carries. The record is valid during the call.
  virtual void on_event(const TraceRecord& r) = 0;
};

class Trace {
 public:
  /// Where each rank's flight recorder lies in the memory that its launcher holds: rank x kFlightSlot.
  static constexpr std::uint64_t kFlightSlot = std::uint64_t{8} << 20;
  static constexpr std::uint64_t kFlightMost = 65536;  // records

  Trace();  // off
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace();

  /// Starts the full trace in `<folder>/rank-<rank>.rmqtrace` (created, truncated), which does not grow beyond
  /// `max_bytes` (0: no limit; TraceStream::kBodyAt it always has). Errc::system with the path and remedy. Before
  /// fly(), so that both have one clock.
  Result<void> open(const std::string& folder, const TraceOwner& owner, std::uint64_t max_bytes);

  /// Starts the flight recorder at this place of the file, with `capacity` records (rounded up to a power of two), for
  /// a rank that is inside of the MPI function `call`. Where the memory cannot be had it stays off.
  void fly(int fd, std::uint64_t at, const TraceOwner& owner, std::uint64_t capacity, std::uint32_t call);

  /// What the clock of this host lacks to the launcher's, as known now; the first call counts for the start.
  void clock_offset(std::int64_t offset_ns, std::uint64_t error_ns);

  /// All events go to `listener` as well, as long as it is not replaced; nullptr: to nobody. From any thread; what
  /// happens meanwhile in another one may still go to the listener before.
  void listen(TraceListener* listener);

  /// The rank has come to its proper end: notes when, and closes the full trace. Says on stderr what that lacks.
  void finish();

  bool on() const { return level() != kOff; }
  /// Whether every event counts: there is a full trace, or a listener.
  bool full() const { return level() == kFull; }

  /// Records an event. One branch when off. One thread at a time (the device's lock).
  [[gnu::always_inline]] void event(Event e, std::uint8_t method, Rank peer, std::uint64_t a0 = 0,
                                    std::uint64_t a1 = 0) {
    record(e, method, peer, a0, a1, nullptr);
  }
  [[gnu::always_inline]] void packet(Event e, std::uint8_t method, Rank peer, const Packet& p, std::uint64_t a0 = 0,
                                     std::uint64_t a1 = 0) {
    record(e, method, peer, a0, a1, &p);
  }

  /// packet() where there is no full trace, for a packet that is nothing but a header: without a call.
  [[gnu::always_inline]] void header(Event e, std::uint8_t method, Rank peer, const Packet& p, std::uint64_t a0) {
    if (level() == kOff) [[unlikely]]
      return;
    TraceRecord& slot = next_slot();
    std::memset(slot.packet, 0, sizeof p.link);
    copy_header(slot.packet, p);
    fill(slot, e, method, peer, a0, 0, 2);
    flew();
  }

  /// Whether the flight recorder has recorded something since the rank went to sleep.
  bool flew_since_sleep() const { return flown_ != flown_at_sleep_; }

  /// The time (CLOCK_MONOTONIC) as somebody has read it anyway: the flight recorder's, which reads no clock of its own
  /// for most events. Their order is exact, their time that of the last look.
  void saw_clock(std::uint64_t ns) { now_ = ns; }

  /// The program has come into an MPI function: returns the one that it was in, 0 for none, which leave() takes.
  std::uint32_t enter(std::uint32_t call) {
    if (level() == kOff) return 0;
    const std::uint32_t before = swap_call(call);
    if (level() == kFull) [[unlikely]]
      write(Event::call_enter, 0, kNoRank, call, 0, nullptr);
    return before;
  }
  void leave(std::uint32_t call, std::uint32_t before) {
    if (level() == kOff) return;
    call_->store(before, std::memory_order_relaxed);
    if (level() == kFull) [[unlikely]]
      write(Event::call_leave, 0, kNoRank, call, 0, nullptr);
  }

  /// The same where there is no full trace: which call runs from now on; returns which did so far.
  std::uint32_t swap_call(std::uint32_t call) {
    // Relaxed: for readers of the header only.
    const std::uint32_t before = call_->load(std::memory_order_relaxed);
    call_->store(call, std::memory_order_relaxed);
    return before;
  }

  /// The same for a call that never returns; by any thread, the device held or not.
  void end_in(std::uint32_t call) { call_->store(call, std::memory_order_relaxed); }

 private:
  enum Level : std::uint8_t { kOff, kFlight, kFull };
  static constexpr std::uint32_t kMostStale = 64;  // records until the flight recorder looks at the clock itself

  // Inlined with a known event: what is left is a comparison and a call.
  [[gnu::always_inline]] void record(Event e, std::uint8_t method, Rank peer, std::uint64_t a0, std::uint64_t a1,
                                     const Packet* p) {
    if (level() < (is_detail(e) ? kFull : kFlight)) return;
    if (level() == kFull) [[unlikely]]
      write(e, method, peer, a0, a1, p);
    else if (e == Event::sleep)
      fly_asleep();
    else if (e == Event::packet_sent || e == Event::packet_received)
      fly_here(e, method, peer, a0, a1, p);  // on the path of each message
    else if (e != Event::wake)
      fly(e, method, peer, a0, a1, p);
  }
  void write(Event e, std::uint8_t method, Rank peer, std::uint64_t a0, std::uint64_t a1, const Packet* p);
  void fly(Event e, std::uint8_t method, Rank peer, std::uint64_t a0, std::uint64_t a1, const Packet* p);
  [[gnu::always_inline]] void fly_here(Event e, std::uint8_t method, Rank peer, std::uint64_t a0, std::uint64_t a1,
                                       const Packet* p) {
    TraceRecord& slot = next_slot();
    fill(slot, e, method, peer, a0, a1, 2);
    if (p)
      std::memcpy(slot.packet, p, kHeaderBytes);
    else
      std::memset(slot.packet, 0, kHeaderBytes);
    flew();
  }
  void fly_asleep();
  TraceRecord& next_slot() { return *reinterpret_cast<TraceRecord*>(ring_ + (flown_ & mask_) * kFlightRecordBytes); }
  /// The first unit of a record: all but the packet.
  [[gnu::always_inline]] void fill(TraceRecord& r, Event e, std::uint8_t method, Rank peer, std::uint64_t a0,
                                   std::uint64_t a1, std::uint64_t units) const {
    r.ticks = now_;
    r.event = e;
    r.method = method;
    r.units = static_cast<std::uint16_t>(units);
    r.peer = peer;
    r.a0 = a0;
    r.a1 = a1;
  }
  /// The next slot is filled.
  [[gnu::always_inline]] void flew() {
    // Release: a reader that sees the count sees the record.
    flight_->written.store(++flown_, std::memory_order_release);
    if (flown_ % kMostStale == 0 && level() == kFlight) [[unlikely]]
      look_at_clock();
  }
  void look_at_clock();

  // Relaxed: another thread may begin or end to listen at any time (listen()); which event is the first or last one
  // that is heard does not matter.
  Level level() const { return level_.load(std::memory_order_relaxed); }
  std::atomic<Level> level_{kOff};
  std::uint64_t now_ = 0;
  std::byte* ring_ = nullptr;  // of kFlightRecordBytes each
  std::uint64_t mask_ = 0;
  std::uint64_t flown_ = 0;  // records in the ring so far
  std::uint64_t flown_at_sleep_ = 0;
  TraceHeader* flight_ = nullptr;
  std::atomic<std::uint32_t>* call_;
  std::atomic<std::uint32_t> unheard_{0};  // the call, where nobody records
  const std::uint64_t* simulated_ = nullptr;
  std::unique_ptr<TraceStream> stream_;
  std::atomic<TraceListener*> listener_{nullptr};  // its release pairs with the acquire in write()
};

}  // namespace rmq
