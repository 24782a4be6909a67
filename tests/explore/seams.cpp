// SPDX-License-Identifier: BSD-3-Clause
#include "seams.hpp"

#include <sys/mman.h>

#include <cstring>
#include <string>

#include "base/os/doorbell.hpp"
#include "base/os/fence.hpp"
#include "shm/segment.hpp"
#include "shm/single_copy.hpp"

namespace rmq {
namespace explore {

bool wakes() {
  return seams().wakes;
}

Seams& seams() {
  static Seams all;
  return all;
}

}  // namespace explore

namespace os {

// ---- base/os/clock.hpp: each look takes a millisecond ----

std::uint64_t now_ns() {
  static std::uint64_t now = 1'000'000'000'000;
  return now += 1'000'000;
}

// ---- base/os/fence.cpp ----

bool register_asymmetric_fence() {
  return true;
}

void heavy_fence(bool asymmetric) {
  if (asymmetric)
    explore::heavy_fence();
  else
    thread_fence(std::memory_order_seq_cst);
}

}  // namespace os

// ---- base/os/doorbell.cpp ----

Result<std::unique_ptr<Doorbell>> Doorbell::open(std::string_view, Rank rank) {
  std::unique_ptr<Doorbell> bell(new Doorbell);
  bell->rank_ = rank;
  return bell;
}
Doorbell::~Doorbell() = default;
Result<void> Doorbell::watch(int, bool) {
  return {};
}
void Doorbell::unwatch(int) {}
void Doorbell::clear() const {}
void Doorbell::wait(std::int64_t timeout_ns) {
  const auto& timed_out = explore::seams().timed_out;
  std::function<bool()> ended;
  if (timeout_ns >= 0 && timed_out) ended = [&timed_out, me = explore::me()] { return timed_out(me); };
  explore::seams().bells[static_cast<std::size_t>(rank_)].wait(ended);
}
void Doorbell::ring(Rank rank) const {
  if (rank == rank_ && explore::me() >= 0 && (explore::seams().mute >> explore::me() & 1) != 0) return;
  explore::seams().bells[static_cast<std::size_t>(rank)].ring();
}

namespace shm {

// ---- shm/segment.cpp: all ranks have the same mapping of the one segment there is ----

namespace {

constexpr std::size_t kArena =
    4 << 20;  // holds the rings of as many ranks as method_test.cpp has where pairs begin without them
std::byte* const arena =
    static_cast<std::byte*>(::mmap(nullptr, kArena, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

}  // namespace

Result<SegmentKind> parse_segment_kind(std::string_view) {
  return SegmentKind::memfd;
}
Result<Segment> Segment::create(SegmentKind, std::uint64_t bytes) {
  if (bytes > kArena) return fail(Errc::no_memory, "the explored segment is too small");
  RMQ_CHECK(::madvise(arena, kArena, MADV_DONTNEED) == 0);  // all zero again, and only what was touched costs time
  Segment s;
  s.data_ = arena;
  s.bytes_ = bytes;
  return s;
}
Result<Segment> Segment::attach(std::string_view ticket) {
  Segment s;
  s.data_ = arena;
  s.bytes_ = std::stoull(std::string(ticket));
  return s;
}
Segment::Segment(Segment&&) noexcept = default;
Segment& Segment::operator=(Segment&&) noexcept = default;
Segment::~Segment() = default;
std::string Segment::ticket() const {
  return std::to_string(bytes_);
}
Result<void> Segment::reserve(std::uint64_t, std::uint64_t, std::string_view) const {
  if (explore::seams().no_memory) return fail(Errc::no_memory, "there is none");
  return {};
}
bool Segment::release(std::uint64_t, std::uint64_t) const {
  return false;
}

// ---- shm/single_copy.cpp ----

namespace {

Copied moved(bool from_peer, std::uint64_t address, const DataView& view, std::uint64_t offset, std::uint64_t bytes) {
  const int error = explore::seams().single_copy(from_peer, address, view, offset, bytes);
  return {error == 0 ? bytes : 0, error};
}

}  // namespace

bool probe_single_copy(pid_t, std::uint64_t, std::uint64_t) {
  return true;
}
bool single_copy_is_fast() {
  return true;
}
Copied copy_from(pid_t, std::uint64_t address, const DataView& into, std::uint64_t offset, std::uint64_t bytes) {
  return moved(true, address, into, offset, bytes);
}
Copied copy_to(pid_t, std::uint64_t address, const DataView& from, std::uint64_t offset, std::uint64_t bytes) {
  return moved(false, address, from, offset, bytes);
}

}  // namespace shm
}  // namespace rmq
