#include "base/trace.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cstring>

namespace rmq {

static_assert(sizeof(TraceFileHeader) == 256);

std::span<const EventKind> event_kinds() {
  static constexpr EventKind kEvents[] = {
#define RMQ_EVENT(name, number, carries_packet, a0, a1, meaning) {Event::name, #name, carries_packet, a0, a1, meaning},
#include "base/trace.def"
#undef RMQ_EVENT
  };
  return kEvents;
}

Result<void> Trace::open(const std::string& folder, int rank, int size, int host, std::string_view job,
                         std::uint64_t capacity) {
  capacity = std::bit_ceil(capacity < 1024 ? std::uint64_t{1024} : capacity);
  ::mkdir(folder.c_str(), 0777);  // an existing folder is fine; any other trouble shows at open
  const std::string path = fmt::format("{}/rank-{}.rmqtrace", folder, rank);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return fail_errno(fmt::format("cannot create the trace file {} (RMQ_TRACE or --trace names its folder)", path));
  mapped_ = sizeof(TraceFileHeader) + capacity * sizeof(TraceRecord);
  void* memory = MAP_FAILED;
  if (::ftruncate(fd, static_cast<off_t>(mapped_)) == 0) {
    memory = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (memory == MAP_FAILED) {
    auto error = fail_errno(fmt::format("cannot map {} bytes of the trace file {} (RMQ_TRACE_EVENTS sets its size)", mapped_, path));
    ::close(fd);
    return error;
  }
  ::close(fd);
  header_ = static_cast<TraceFileHeader*>(memory);
  std::memcpy(header_->magic, "RMQTRC1", 8);
  header_->version = 1;
  header_->record_bytes = sizeof(TraceRecord);
  header_->rank = rank;
  header_->size = size;
  header_->host = static_cast<std::uint32_t>(host);
  header_->capacity = capacity;
  header_->ticks_start = os::ticks();
  header_->wall_ns_start = os::wall_ns();
  header_->ns_per_tick = os::ns_per_tick();
  std::memcpy(header_->job, job.data(), job.size() < 39 ? job.size() : 39);
  mask_ = capacity - 1;
  records_ = reinterpret_cast<TraceRecord*>(header_ + 1);
  return {};
}

void Trace::finish() {
  if (!header_) return;
  header_->ticks_end = os::ticks();
  header_->wall_ns_end = os::wall_ns();
}

Trace::~Trace() {
  if (!header_) return;
  finish();
  ::munmap(header_, mapped_);
}

void Trace::write(Event e, std::uint8_t method, Rank peer, std::uint64_t a0, std::uint64_t a1, const Packet* p) {
  // Relaxed: only this thread writes, and readers come after the process or accept a torn last record.
  const std::uint64_t n = header_->written.load(std::memory_order_relaxed);
  TraceRecord& r = records_[n & mask_];
  r.ticks = os::ticks();
  r.event = e;
  r.method = method;
  r.spare = 0;
  r.peer = peer;
  r.a0 = a0;
  r.a1 = a1;
  if (p) {
    std::memcpy(r.packet, p, sizeof r.packet);
  } else {
    std::memset(r.packet, 0, sizeof r.packet);
  }
  // Release: a reader that sees the count sees the record.
  header_->written.store(n + 1, std::memory_order_release);
}

}  // namespace rmq
