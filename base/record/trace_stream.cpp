// SPDX-License-Identifier: BSD-3-Clause
#include "base/record/trace_stream.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace rmq {
namespace {

constexpr std::int64_t kAhead = 64 << 20;
static_assert(TraceStream::kBodyAt % 4096 == 0);

bool write_all(int fd, const void* data, std::uint64_t bytes, std::uint64_t at) {
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t wrote =
        ::pwrite(fd, static_cast<const char*>(data) + done, bytes - done, static_cast<off_t>(at + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += static_cast<std::uint64_t>(wrote);
  }
  return true;
}

}  // namespace

Result<void> TraceStream::open(const std::string& path, const TraceOwner& owner, std::uint64_t max_bytes) {
  const auto cannot = [&] {
    return fail_errno(fmt::format("cannot write the trace file {} (RMQ_TRACE or --trace names its folder)", path));
  };
  path_ = path;
  max_bytes_ = max_bytes;
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) return cannot();
  // Written, not only made longer: on a full disk a mapping of holes would end in SIGBUS.
  const std::string zeros(kBodyAt, '\0');
  if (!write_all(fd_, zeros.data(), kBodyAt, 0)) return cannot();
  void* memory = ::mmap(nullptr, kBodyAt, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, 0);
  if (memory == MAP_FAILED) return cannot();
  header_ = static_cast<TraceHeader*>(memory);
  header_->record_bytes = kTraceUnit;
  header_->capacity = kSegment;
  start_header(*header_, owner, true);
  std::memcpy(header_->magic, TraceHeader::kMagic, sizeof header_->magic);
  return {};
}

bool TraceStream::begin_anew() {
  if (failed_) {
    drop(0);
    return false;
  }
  if (room_ > 0) {
    TraceRecord unused{};
    unused.units = static_cast<std::uint16_t>(room_);
    std::memcpy(tail() + (kSegment - room_) * kTraceUnit, &unused, room_ * kTraceUnit);
    publish(room_);
  }
  const std::uint64_t written = header_->written.load(std::memory_order_relaxed);  // only this thread writes
  const std::uint64_t at = kBodyAt + (written - kSegment) * kTraceUnit;
  if (max_bytes_ != 0 && at + kSegment * kTraceUnit > max_bytes_) {
    drop(0);
    return false;
  }
  if (at >= ahead_) {
    const auto ahead = max_bytes_ == 0 ? kAhead : std::min(kAhead, static_cast<std::int64_t>(max_bytes_ - at));
    // Blocks in large pieces make the writes cheaper; where that fails, the writes tell whether there are any.
    static_cast<void>(::fallocate(fd_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at), ahead));
    ahead_ = at + static_cast<std::uint64_t>(ahead);
  }
  if (!write_all(fd_, tail(), kSegment * kTraceUnit, at)) {
    drop(errno);
    return false;
  }
  room_ = kSegment;
  return true;
}

// Relaxed: only this thread writes these.
void TraceStream::drop(int why) {
  if (!failed_) header_->drop_errno.store(static_cast<std::uint32_t>(why), std::memory_order_relaxed);
  failed_ = true;
  header_->dropped.store(header_->dropped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void TraceStream::close() {
  if (fd_ < 0) return;
  if (header_) {
    if (const auto dropped = header_->dropped.load(std::memory_order_relaxed)) {
      const auto why = static_cast<int>(header_->drop_errno.load(std::memory_order_relaxed));
      std::fputs(fmt::format("rmq: rank {}: the last {} events are missing in {}: {}\n", header_->rank, dropped, path_,
                             why ? std::strerror(why) : "RMQ_TRACE_MAX (--trace-max) allows no more")
                     .c_str(),
                 stderr);
    }
    ::munmap(header_, kBodyAt);
  }
  // Gives back what was taken ahead.
  if (const off_t end = ::lseek(fd_, 0, SEEK_END); end > 0) static_cast<void>(::ftruncate(fd_, end));
  ::close(fd_);
  fd_ = -1;
  header_ = nullptr;
}

}  // namespace rmq
