#include "base/trace_stream.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace rmq {
namespace {

constexpr std::uint64_t kBytes = TraceStream::kSegment * sizeof(TraceRecord);
static_assert(kBytes % 4096 == 0);

void* map(int fd, std::uint64_t offset, std::uint64_t bytes) {
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
}

}  // namespace

Result<void> TraceStream::open(const std::string& path, const TraceOwner& owner, std::uint64_t limit) {
  const auto cannot = [&] {
    return fail_errno(fmt::format("cannot write the trace file {} (RMQ_TRACE or --trace names its folder)", path));
  };
  path_ = path;
  limit_ = limit;
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) return cannot();
  if (::ftruncate(fd_, sizeof(TraceHeader)) != 0 || !reserve_space(0)) return cannot();
  void* memory = map(fd_, 0, sizeof(TraceHeader));
  if (memory == MAP_FAILED) return cannot();
  header_ = static_cast<TraceHeader*>(memory);
  header_->record_bytes = sizeof(TraceRecord);
  start_header(*header_, owner, true);
  if (limit_ == 0) limit_ = ~std::uint64_t{0};
  if (!grow()) {
    errno = static_cast<int>(header_->drop_errno.load(std::memory_order_relaxed));
    return cannot();
  }
  std::memcpy(header_->magic, TraceHeader::kMagic, sizeof header_->magic);
  return {};
}

// Blocks for the segment that begins at `offset` (0: the header).
bool TraceStream::reserve_space(std::uint64_t offset) {
  const std::uint64_t bytes = offset == 0 ? sizeof(TraceHeader) : kBytes;
  if (::fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0) return true;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return false;
  static constexpr std::array<char, 65536> kZeros{};
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t piece = std::min<std::uint64_t>(kZeros.size(), bytes - done);
    const ssize_t wrote = ::pwrite(fd_, kZeros.data(), piece, static_cast<off_t>(offset + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += static_cast<std::uint64_t>(wrote);
  }
  return true;
}

bool TraceStream::grow() {
  const std::uint64_t written = header_->written.load(std::memory_order_relaxed);
  if (failed_ || written >= limit_) {
    drop(0);
    return false;
  }
  if (segment_ && next_ != segment_ + kSegment) {  // the limit was inside of this segment
    drop(0);
    return false;
  }
  unmap();
  const std::uint64_t offset = sizeof(TraceHeader) + written * sizeof(TraceRecord);
  void* memory = reserve_space(offset) ? map(fd_, offset, kBytes) : MAP_FAILED;
  if (memory == MAP_FAILED) {
    drop(errno);
    return false;
  }
#if defined(MADV_POPULATE_WRITE)
  // All pages at once cost a fraction of a fault each. Not essential: older kernels refuse.
  ::madvise(memory, kBytes, MADV_POPULATE_WRITE);
#endif
  segment_ = next_ = static_cast<TraceRecord*>(memory);
  end_ = segment_ + std::min(kSegment, limit_ - written);
  return true;
}

// Relaxed: only this thread writes these.
void TraceStream::drop(int why) {
  if (!failed_) header_->drop_errno.store(static_cast<std::uint32_t>(why), std::memory_order_relaxed);
  failed_ = true;
  header_->dropped.store(header_->dropped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void TraceStream::unmap() {
  if (segment_) ::munmap(segment_, kBytes);
  segment_ = next_ = end_ = nullptr;
}

void TraceStream::close() {
  if (fd_ < 0) return;
  unmap();
  if (header_) {
    const std::uint64_t written = header_->written.load(std::memory_order_relaxed);
    // Zeros at its end would do no harm, so neither does a failure here.
    static_cast<void>(::ftruncate(fd_, static_cast<off_t>(sizeof(TraceHeader) + written * sizeof(TraceRecord))));
    if (const auto dropped = header_->dropped.load(std::memory_order_relaxed)) {
      const auto why = static_cast<int>(header_->drop_errno.load(std::memory_order_relaxed));
      std::fputs(fmt::format("rmq: rank {}: the last {} events are missing in {}: {}\n", header_->rank, dropped, path_,
                             why ? std::strerror(why) : "RMQ_TRACE_EVENTS allows no more")
                     .c_str(),
                 stderr);
    }
    ::munmap(header_, sizeof(TraceHeader));
  }
  ::close(fd_);
  fd_ = -1;
  header_ = nullptr;
}

TraceStream::~TraceStream() {
  close();
}

}  // namespace rmq
