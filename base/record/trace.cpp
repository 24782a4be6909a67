// SPDX-License-Identifier: BSD-3-Clause
#include "base/record/trace.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/record/trace_stream.hpp"

namespace rmq {

std::span<const EventKind> event_kinds() {
  static constexpr EventKind kEvents[] = {
#define RMQ_EVENT(name, number, carries_packet, detail, a0, a1, meaning) \
  {Event::name, #name, carries_packet, detail, a0, a1, meaning},
#include "base/record/trace.def"
  };
  return kEvents;
}

std::string_view event_value(Event event, int argument, std::uint64_t value) {
  struct Word {
    Event event;
    int argument;
    std::uint64_t value;
    std::string_view word;
  };
  static constexpr Word kWords[] = {
#define RMQ_EVENT_VALUE(name, argument, value, word) {Event::name, argument, value, word},
#include "base/record/trace.def"
  };
  static constexpr auto kHasWords = [] {
    std::array<bool, 256> table{};
    for (const Word& w : kWords) table[static_cast<std::size_t>(w.event)] = true;
    return table;
  }();
  if (!kHasWords[static_cast<std::size_t>(event)]) return {};
  for (const Word& w : kWords) {
    if (w.event == event && w.argument == argument && w.value == value) return w.word;
  }
  return {};
}

void start_header(TraceHeader& h, const TraceOwner& owner, bool exact_clock) {
  h.version = TraceHeader::kVersion;
  h.rank = owner.rank;
  h.size = owner.size;
  h.host = static_cast<std::uint32_t>(owner.host);
  h.pid = ::getpid();
  h.ns_per_tick = exact_clock ? os::ns_per_tick() : 1;
  h.ticks_start = exact_clock ? os::ticks() : os::now_ns();
  h.mono_ns_start = os::now_ns();
  h.wall_ns_start = os::wall_ns();
  if (owner.simulated) {
    h.ns_per_tick = 1;
    h.ticks_start = h.mono_ns_start = h.wall_ns_start = *owner.simulated;
  }
  h.ticks_end = h.mono_ns_end = h.wall_ns_end = 0;
  h.offset_ns_start = h.offset_ns_end = 0;
  h.error_ns_start = h.error_ns_end = ~std::uint64_t{0};
  std::memset(h.job, 0, sizeof h.job);
  std::memcpy(h.job, owner.job.data(), std::min(owner.job.size(), sizeof h.job - 1));
  // Relaxed: nobody reads before the magic is there.
  h.written.store(0, std::memory_order_relaxed);
  h.dropped.store(0, std::memory_order_relaxed);
  h.drop_errno.store(0, std::memory_order_relaxed);
}

void end_header(TraceHeader& h, bool exact_clock, const std::uint64_t* simulated) {
  if (simulated) {
    h.ticks_end = h.mono_ns_end = h.wall_ns_end = *simulated;
    return;
  }
  h.ticks_end = exact_clock ? os::ticks() : os::now_ns();
  h.mono_ns_end = os::now_ns();
  h.wall_ns_end = os::wall_ns();
}

Trace::Trace() : call_(&unheard_) {}

Trace::~Trace() {
  finish();
  if (flight_) ::munmap(flight_, sizeof(TraceHeader) + (mask_ + 1) * kFlightRecordBytes);
}

Result<void> Trace::open(const std::string& folder, const TraceOwner& owner, std::uint64_t max_bytes) {
  ::mkdir(folder.c_str(), 0777);  // an existing folder is fine; any other trouble shows at open
  auto stream = std::make_unique<TraceStream>();
  if (auto ok = stream->open(fmt::format("{}/rank-{}.rmqtrace", folder, owner.rank), owner, max_bytes); !ok) return ok;
  stream_ = std::move(stream);
  simulated_ = owner.simulated;
  level_.store(kFull, std::memory_order_relaxed);
  return {};
}

void Trace::fly(int fd, std::uint64_t at, const TraceOwner& owner, std::uint64_t capacity, std::uint32_t call) {
  capacity = std::bit_ceil(std::clamp<std::uint64_t>(capacity, 64, kFlightMost));
  const std::uint64_t bytes = sizeof(TraceHeader) + capacity * kFlightRecordBytes;
  struct stat info {};
  if (::fstat(fd, &info) != 0 || static_cast<std::uint64_t>(info.st_size) < at + bytes) return;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(at));
  if (memory == MAP_FAILED) return;
  flight_ = static_cast<TraceHeader*>(memory);
  std::memset(flight_->magic, 0, sizeof flight_->magic);
  flight_->record_bytes = kFlightRecordBytes;
  flight_->capacity = capacity;
  start_header(*flight_, owner, stream_ != nullptr);
  flight_->call.store(call, std::memory_order_relaxed);  // as start_header's
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(flight_->magic, TraceHeader::kMagic, sizeof flight_->magic);
  ring_ = reinterpret_cast<std::byte*>(flight_ + 1);
  mask_ = capacity - 1;
  now_ = flight_->ticks_start;
  call_ = &flight_->call;
  if (level() == kOff) level_.store(kFlight, std::memory_order_relaxed);
}

void Trace::clock_offset(std::int64_t offset_ns, std::uint64_t error_ns) {
  if (!stream_) return;
  TraceHeader& h = stream_->header();
  const bool first = h.error_ns_start == ~std::uint64_t{0};
  (first ? h.offset_ns_start : h.offset_ns_end) = offset_ns;
  (first ? h.error_ns_start : h.error_ns_end) = error_ns;
}

void Trace::listen(TraceListener* listener) {
  listener_.store(listener, std::memory_order_release);
  level_.store(listener || stream_ ? kFull : flight_ ? kFlight : kOff, std::memory_order_relaxed);
}

void Trace::finish() {
  if (stream_) end_header(stream_->header(), true, simulated_);
  if (flight_) end_header(*flight_, stream_ != nullptr, nullptr);
  call_ = &unheard_;
  level_.store(kOff, std::memory_order_relaxed);
  stream_.reset();
  listener_.store(nullptr, std::memory_order_release);
}

namespace {

// Of this process, in the order of their first calls.
std::uint64_t thread_number() {
  static std::atomic<std::uint64_t> threads{0};
  thread_local const std::uint64_t mine = threads.fetch_add(1, std::memory_order_relaxed);  // only has to be one's own
  return mine;
}

}  // namespace

void Trace::write(Event e, std::uint8_t method, Rank peer, std::uint64_t a0, std::uint64_t a1, const Packet* p) {
  // Calls of several threads may overlap. A simulated rank has one, though not this process.
  if ((e == Event::call_enter || e == Event::call_leave) && !simulated_) a1 = thread_number();
  const std::uint64_t units = trace_units(p);
  const auto write_to = [&](TraceRecord& r) {
    fill(r, e, method, peer, a0, a1, units);
    if (units > 1) std::memcpy(r.packet, p, kHeaderBytes);
    if (units > 2) std::memcpy(r.packet + kHeaderBytes, p->body, kBodyBytes);
  };
  if (TraceListener* const listener = listener_.load(std::memory_order_acquire)) {
    TraceRecord heard{};
    simulated_ ? saw_clock(*simulated_) : look_at_clock();
    write_to(heard);
    listener->on_event(heard);
  }
  if (stream_) {
    now_ = simulated_ ? *simulated_ : os::ticks();
    if (TraceRecord* r = stream_->reserve()) {
      write_to(*r);
      stream_->publish(units);
    }
  }
  if (!ring_ || is_detail(e) || e == Event::wake) return;
  e == Event::sleep ? fly_asleep() : fly(e, method, peer, a0, a1, p);
}

void Trace::fly(Event e, std::uint8_t method, Rank peer, std::uint64_t a0, std::uint64_t a1, const Packet* p) {
  fly_here(e, method, peer, a0, a1, p);
}

// A rank that hangs sleeps again and again: one sleep stands for all, else they would push out how it came to that.
void Trace::fly_asleep() {
  if (!flew_since_sleep()) return;
  fly(Event::sleep, 0, kNoRank, 0, 0, nullptr);
  flown_at_sleep_ = flown_;
}

void Trace::look_at_clock() {
  saw_clock(os::now_ns());
}

}  // namespace rmq
