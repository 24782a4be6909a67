// SPDX-License-Identifier: BSD-3-Clause
#include "shm/directory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/os/fence.hpp"
#include "shm/segment.hpp"
#include "shm/single_copy.hpp"

namespace rmq::shm {
namespace {

constexpr std::array<char, 8> kMagic = {'R', 'M', 'Q', 'S', 'H', 'M', '4', '\0'};
constexpr std::uint32_t kMaxHostRanks = 16384;
constexpr std::uint64_t kLeastHeap = 1 << 20;  // of a rank, where the address space is small

std::array<char, 40> job_name(const JobInfo& job) {
  std::array<char, 40> name{};
  std::copy_n(job.job.data(), std::min(job.job.size(), name.size() - 1), name.data());
  return name;
}

std::string ticket_key(const JobInfo& job) {
  return fmt::format("shm.{}", job.host_of_rank[job.rank]);
}

bool usable(const Shape& shape) {
  return std::has_single_bit(shape.cells) && std::has_single_bit(shape.ring_bytes) && shape.ring_bytes >= 4096 &&
         std::has_single_bit(shape.first_bytes) && shape.first_bytes >= kCacheLine &&
         shape.first_bytes <= shape.ring_bytes && shape.heap_bytes < (std::uint64_t{1} << 44);
}

bool can_map(std::uint64_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return false;
  ::munmap(at, bytes);
  return true;
}

/// The shape with smaller heaps where the address space is too small (ulimit -v, a memory checker): they span far more
/// than most programs use, and what they cannot give comes from private memory (Device::MPID_Mem_alloc). Half of what
/// there is stays with the program.
Shape fit(Shape shape) {
  while (shape.heap_bytes > kLeastHeap && !can_map(2 * Map(shape).bytes())) {
    shape.heap_bytes = shape.heap_bytes / 2 / kPage * kPage;
  }
  return shape;
}

std::uint64_t pid_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

}  // namespace

Result<Directory> Directory::open(const Config& config, Bootstrap& bootstrap, const std::uint64_t& probe) {
  const JobInfo& job = bootstrap.job();
  Directory directory;
  directory.me_ = static_cast<std::uint32_t>(job.host_rank);
  if (static_cast<std::uint32_t>(job.host_size) > kMaxHostRanks) {
    return fail(Errc::config, fmt::format("{} ranks on one host: shared memory carries at most {}; set RMQ_METHODS=tcp",
                                          job.host_size, kMaxHostRanks));
  }
  auto ok = job.host_rank == 0 ? directory.create(config, bootstrap) : directory.attach(bootstrap);
  if (!ok) return fail(ok.error().code, fmt::format("rank {}: {}", job.rank, ok.error().what));
  directory.announce_me(probe);
  return directory;
}

Result<void> Directory::create(const Config& config, Bootstrap& bootstrap) {
  const JobInfo& job = bootstrap.job();
  auto kind = parse_segment_kind(config.shm_segment);
  if (!kind) return tl::unexpected(kind.error());
  const Shape wanted = choose_shape(config, static_cast<std::uint32_t>(job.host_size));
  if (!usable(wanted)) return fail(Errc::config, "RMQ_SHM_HEAP is too large; at most 16 TB");
  map_ = Map(fit(wanted));
  auto segment = Segment::create(*kind, map_.bytes());
  if (!segment) return tl::unexpected(segment.error());
  segment_ = std::move(*segment);
  const std::string purpose = fmt::format("the rings of {} ranks", job.host_size);
  if (auto ok = segment_.reserve(0, map_.reserved_at_start(), purpose); !ok) return ok;
  asymmetric_ = os::register_asymmetric_fence();
  header().magic = kMagic;
  header().job = job_name(job);
  header().shape = map_.shape();
  header().bytes = map_.bytes();
  header().asymmetric = asymmetric_ ? 1 : 0;
  // The ticket travels through the bootstrap, whose locks or sockets order the header before any attach.
  return bootstrap.put(ticket_key(job), segment_.ticket());
}

Result<void> Directory::attach(Bootstrap& bootstrap) {
  const JobInfo& job = bootstrap.job();
  auto ticket = bootstrap.get(ticket_key(job));
  if (!ticket) return tl::unexpected(ticket.error());
  auto segment = Segment::attach(*ticket);
  if (!segment) return tl::unexpected(segment.error());
  segment_ = std::move(*segment);
  const Shape shape = segment_.bytes() < sizeof(SegmentHeader) ? Shape{} : header().shape;
  if (shape.ranks != static_cast<std::uint32_t>(job.host_size) || !usable(shape)) {
    return fail(Errc::protocol, fmt::format("segment '{}' is not made for {} ranks", *ticket, job.host_size));
  }
  map_ = Map(shape);
  if (header().magic != kMagic || header().job != job_name(job) || header().bytes != map_.bytes() ||
      segment_.bytes() != map_.bytes()) {
    return fail(Errc::protocol, fmt::format("segment '{}' belongs to another job or another version of RMQ", *ticket));
  }
  const bool able = os::register_asymmetric_fence();
  asymmetric_ = header().asymmetric != 0 && able;  // a full fence instead of a light one is always right
  may_sleep_ = header().asymmetric == 0 || able;
  return {};
}

void Directory::announce_me(const std::uint64_t& probe) const {
  // Where Yama restricts ptrace to descendants, let the other ranks in; elsewhere this fails and changes nothing.
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  RankControl& mine = this->mine();
  mine.pid = ::getpid();
  mine.pid_namespace = pid_namespace();
  mine.probe_address = reinterpret_cast<std::uintptr_t>(&probe);
  mine.probe_word = probe;
  mine.single_copy = probe_single_copy(mine.pid, mine.probe_address, mine.probe_word) ? 1 : 0;
  mine.state.store(rank_state::here, std::memory_order_release);  // acquired by whoever reads the line (Peers)
}

Ring Directory::ring(std::uint32_t index) const {
  return {&at<RingHeader>(map_.ring_at(index)), &at<Cell>(map_.cells_at(index)), segment_.data() + map_.bytes_at(index),
          index};
}

Inbox Directory::inbox(std::uint32_t rank) const {
  const std::uint64_t begin = map_.inbox_at(rank);
  return {&at<InboxHeader>(begin), &at<Cell>(begin + sizeof(InboxHeader)), map_.inbox_cells()};
}

Result<Ring> Directory::claim_ring() const {
  // Relaxed: the number only has to be unique; the ring is handed over by the inbox.
  const std::uint32_t index = header().rings_claimed.fetch_add(1, std::memory_order_relaxed);
  if (index >= map_.rings()) return fail(Errc::protocol, "the shared segment's ring counter is damaged");
  return ring(index);
}

Result<void> Directory::open_ring(const Ring& ring, std::uint32_t to) const {
  if (auto ok = widen(ring, map_.shape().first_bytes, to); !ok) return ok;
  ring.header->from = me_;
  ring.header->to = to;
  return {};
}

void Directory::announce(const Ring& ring) const {
  ring.header->behind.store(inbox(ring.header->to).tail(), std::memory_order_relaxed);  // relaxed: push_list releases
  push_list(control(ring.header->to).rings, ring.header->next, ring.index + 1);
}

bool Directory::take_announced(std::vector<Ring>& into) const {
  std::uint32_t id = take_list(mine().rings);
  for (std::uint32_t n = 0; id != 0; ++n) {
    if (id > map_.rings() || n == map_.shape().ranks) return false;
    const Ring r = ring(id - 1);
    if (r.header->to != me_ || r.header->from >= map_.shape().ranks || r.header->from == me_) return false;
    into.push_back(r);
    id = r.header->next.load(std::memory_order_relaxed);  // relaxed: ordered by take_list
  }
  return true;
}

Result<void> Directory::widen(const Ring& ring, std::uint64_t payload_bytes, std::uint32_t to) const {
  const auto begin = static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(ring.header) - segment_.data());
  const auto end = static_cast<std::uint64_t>(ring.bytes - segment_.data()) + payload_bytes;
  if (end <= map_.reserved_at_start()) return {};
  return segment_.reserve(begin, end - begin, fmt::format("a ring to host rank {}", to));
}

}  // namespace rmq::shm
