// What a rank did, as fixed binary records in a ring that lies in a memory-mapped file: the records outlive the rank,
// even after SIGKILL. Off costs one predictable branch; all formatting happens offline (tools/rmqtrace).
//
// File: one TraceFileHeader, then `capacity` TraceRecords. Record n (counted from 0) lies in slot n % capacity; the
// header's `written` tells how many there have been, so that older ones than the last `capacity` are lost, and counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/os/clock.hpp"
#include "base/packet.hpp"

namespace rmq {

enum class Event : std::uint8_t {
  none = 0,
#define RMQ_EVENT(name, number, carries_packet, a0, a1, meaning) name = number,
#include "base/trace.def"
#undef RMQ_EVENT
};

struct EventKind {
  Event event;
  std::string_view name;
  bool carries_packet;
  std::string_view a0, a1, meaning;
};
std::span<const EventKind> event_kinds();

struct TraceRecord {
  std::uint64_t ticks;   // os::ticks() when it happened
  Event event;
  std::uint8_t method;   // MethodId of the link, 0 where none
  std::uint16_t spare;
  std::int32_t peer;     // world rank, -1 where none
  std::uint64_t a0, a1;  // as trace.def names them
  std::byte packet[64];  // header and fields for events that carry one, else zero
};
static_assert(sizeof(TraceRecord) == 96);

struct TraceFileHeader {
  char magic[8];                       // "RMQTRC1\0"
  std::uint32_t version, record_bytes;
  std::int32_t rank, size;             // of the job
  std::uint32_t host, spare;           // host index
  std::uint64_t capacity;              // records
  std::atomic<std::uint64_t> written;  // records so far, lost ones included
  std::uint64_t ticks_start;           // a pair of readings at start …
  std::uint64_t wall_ns_start;         // … CLOCK_REALTIME
  std::uint64_t ticks_end;             // and one at the end (0 when the rank did not get there)
  std::uint64_t wall_ns_end;
  double ns_per_tick;                  // the clock's rate as known at start
  char job[40];                        // job id, zero-terminated
  std::byte reserved[128];             // keeps the header at 256 bytes
};

class Trace {
 public:
  Trace() = default;  // off
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace();

  /// Starts recording to `<folder>/rank-<rank>.rmqtrace` (created, truncated). Errc::system with the path and remedy.
  Result<void> open(const std::string& folder, int rank, int size, int host, std::string_view job,
                    std::uint64_t capacity);

  /// The rank has come to its proper end: notes when. Recording may go on.
  void finish();

  bool on() const { return records_ != nullptr; }

  /// Records an event. One branch when off. One thread at a time (the device's lock).
  void event(Event e, std::uint8_t method, Rank peer, std::uint64_t a0 = 0, std::uint64_t a1 = 0) {
    if (records_) [[unlikely]] write(e, method, peer, a0, a1, nullptr);
  }
  void packet(Event e, std::uint8_t method, Rank peer, const Packet& p, std::uint64_t a0 = 0, std::uint64_t a1 = 0) {
    if (records_) [[unlikely]] write(e, method, peer, a0, a1, &p);
  }

 private:
  void write(Event e, std::uint8_t method, Rank peer, std::uint64_t a0, std::uint64_t a1, const Packet* p);

  TraceFileHeader* header_ = nullptr;
  TraceRecord* records_ = nullptr;
  std::uint64_t mask_ = 0;
  std::size_t mapped_ = 0;
};

}  // namespace rmq
