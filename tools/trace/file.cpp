// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/record/trace_stream.hpp"

namespace rmq::trace {

Result<TraceFile> TraceFile::open(const std::string& path) {
  TraceFile f;
  f.path_ = path;
  f.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (f.fd_ < 0) return fail_errno(fmt::format("cannot read {}", path));
  f.header_ = std::make_unique<TraceHeader>();
  if (!f.read_at(0, sizeof(TraceHeader), reinterpret_cast<std::byte*>(f.header_.get())))
    return fail(Errc::argument, fmt::format("{} is too short for a trace", path));
  const TraceHeader& h = *f.header_;
  if (std::memcmp(h.magic, TraceHeader::kMagic, sizeof h.magic) != 0 || h.version != TraceHeader::kVersion ||
      h.record_bytes != kTraceUnit) {
    return fail(Errc::argument, fmt::format("{} is no trace of this version", path));
  }
  f.units_ = h.written.load(std::memory_order_relaxed);  // a private copy
  struct stat info {};
  if (::fstat(f.fd_, &info) != 0) return fail_errno(fmt::format("cannot read {}", path));
  f.appended_ = TraceStream::appended(static_cast<std::uint64_t>(info.st_size), f.units_);
  if (h.capacity != TraceStream::kSegment || f.units_ - f.appended_ > TraceStream::kSegment)
    return fail(Errc::argument, fmt::format("{} ends early", path));
  static_cast<void>(::posix_fadvise(f.fd_, 0, 0, POSIX_FADV_SEQUENTIAL));
  return f;
}

TraceFile::TraceFile(TraceFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      header_(std::move(other.header_)),
      units_(other.units_),
      appended_(other.appended_) {}

TraceFile& TraceFile::operator=(TraceFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(header_, other.header_);
  std::swap(units_, other.units_);
  std::swap(appended_, other.appended_);
  return *this;
}

TraceFile::~TraceFile() {
  if (fd_ >= 0) ::close(fd_);
}

Recording TraceFile::recording() const {
  const TraceHeader& h = *header_;
  return {h.rank,
          h.size,
          h.host,
          std::string(h.job, ::strnlen(h.job, sizeof h.job)),
          units_ * kTraceUnit,
          h.dropped.load(std::memory_order_relaxed),
          static_cast<int>(h.drop_errno.load(std::memory_order_relaxed)),
          h.ticks_end != 0};
}

bool TraceFile::read_at(std::uint64_t at, std::uint64_t bytes, std::byte* to) const {
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t got = ::pread(fd_, to + done, bytes - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<std::uint64_t>(got);
  }
  return true;
}

std::optional<std::uint64_t> TraceFile::first_ticks() const {
  TraceRecord r{};
  if (units_ == 0 || !read(0, 1, reinterpret_cast<std::byte*>(&r))) return {};
  return r.ticks;
}

bool TraceFile::read(std::uint64_t first, std::uint64_t count, std::byte* to) const {
  const std::uint64_t body = first < appended_ ? std::min(count, appended_ - first) : 0;
  if (body > 0 && !read_at(TraceStream::kBodyAt + first * kTraceUnit, body * kTraceUnit, to)) return false;
  if (body == count) return true;
  const std::uint64_t tail = first + body - appended_;
  return read_at(sizeof(TraceHeader) + tail * kTraceUnit, (count - body) * kTraceUnit, to + body * kTraceUnit);
}

Cursor::Cursor(const TraceFile& file, std::size_t buffer)
    : file_(&file),
      buffer_(std::min<std::uint64_t>(buffer / kTraceUnit, std::max(file.units(), kMostTraceUnits)) * kTraceUnit) {}

bool Cursor::fill() {
  const std::uint64_t count = std::min<std::uint64_t>(buffer_.size() / kTraceUnit, file_->units() - at_);
  begin_ = end_ = at_;
  if (!file_->read(at_, count, buffer_.data())) return false;
  end_ = at_ + count;
  return true;
}

Cursor::Step Cursor::next(TraceRecord& out) {
  while (at_ < file_->units()) {
    if (at_ >= end_ && !fill()) return Step::damaged;
    const std::byte* here = buffer_.data() + (at_ - begin_) * kTraceUnit;
    std::memcpy(static_cast<void*>(&out), here, kTraceUnit);
    if (out.event == Event::none) {  // the end of a segment
      if (out.units == 0 || out.units >= kMostTraceUnits || out.units > file_->units() - at_) return Step::damaged;
      at_ += out.units;
      continue;
    }
    if (out.units == 0 || out.units > kMostTraceUnits || out.units > file_->units() - at_) return Step::damaged;
    if (at_ + out.units > end_) {
      if (!fill()) return Step::damaged;
      here = buffer_.data();
    }
    std::memset(out.packet, 0, sizeof out.packet);
    std::memcpy(out.packet, here + kTraceUnit, (out.units - 1u) * kTraceUnit);
    at_ += out.units;
    ++events_;
    return Step::event;
  }
  return Step::end;
}

void Cursor::seek(const std::function<bool(std::uint64_t ticks)>& early) {
  // The last segment that begins early; what it holds of that is skipped by whoever asks.
  std::uint64_t low = 0, high = (file_->units() + TraceStream::kSegment - 1) / TraceStream::kSegment;
  while (low + 1 < high) {
    const std::uint64_t middle = (low + high) / 2;
    TraceRecord r{};
    if (!file_->read(middle * TraceStream::kSegment, 1, reinterpret_cast<std::byte*>(&r))) return;
    (early(r.ticks) ? low : high) = middle;
  }
  at_ = begin_ = end_ = low * TraceStream::kSegment;
}

}  // namespace rmq::trace
