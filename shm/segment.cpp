// SPDX-License-Identifier: BSD-3-Clause
#include "shm/segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/os/process.hpp"
#include "base/os/room.hpp"

namespace rmq::shm {
namespace {

constexpr std::array<std::string_view, 3> kKindNames = {"memfd", "posix", "sysv"};
constexpr const char* kPosixFolder = "/dev/shm";

std::string_view name_of(SegmentKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

std::string amount(std::uint64_t bytes) {
  constexpr double kKilo = 1024;
  const auto kilobytes = static_cast<double>(bytes) / kKilo;
  return kilobytes < kKilo ? fmt::format("{:.0f} KB", kilobytes) : fmt::format("{:.1f} MB", kilobytes / kKilo);
}

// Where the kind takes its memory from, and what helps when it has too little.
std::string remedy(SegmentKind kind) {
  switch (kind) {
    case SegmentKind::posix: {
      struct statvfs space {};
      const std::uint64_t free =
          ::statvfs(kPosixFolder, &space) == 0 ? static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize : 0;
      return fmt::format(
          "{} has {} left; enlarge it (mount -o remount,size=1G {}), or set RMQ_SHM_SEGMENT=memfd, or smaller "
          "RMQ_SHM_RING and RMQ_SHM_HEAP",
          kPosixFolder, amount(free), kPosixFolder);
    }
    case SegmentKind::sysv:
      return "see sysctl kernel.shmmax, kernel.shmall and the memory limit; set them higher, or RMQ_SHM_SEGMENT=memfd, "
             "or smaller RMQ_SHM_RING and RMQ_SHM_HEAP";
    case SegmentKind::memfd:
      break;
  }
  return "the host or this container has too little memory; raise its limit, or set smaller RMQ_SHM_RING and "
         "RMQ_SHM_HEAP";
}

tl::unexpected<Error> no_space(SegmentKind kind, std::uint64_t bytes, std::string_view purpose, int error) {
  return fail(Errc::no_memory, fmt::format("cannot get {} of {} shared memory for {}: {}; {}", amount(bytes),
                                           name_of(kind), purpose, std::strerror(error), remedy(kind)));
}

// A nameless file in /dev/shm. Older kernels lack O_TMPFILE there; then the file has a name for an instant.
int open_posix() {
  const int fd = ::open(kPosixFolder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  const std::string name = fmt::format("/rmq.{}.{}", ::getpid(), static_cast<const void*>(&fd));
  const int named = ::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  if (named >= 0) ::shm_unlink(name.c_str());
  return named;
}

// ftruncate beyond RLIMIT_FSIZE does not fail, it kills the process.
Result<void> check_file_limit(std::uint64_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur) return {};
  return fail(Errc::no_memory,
              fmt::format("the shared segment spans {} but the file size limit is {}; raise it (ulimit -f "
                          "unlimited), set RMQ_SHM_SEGMENT=sysv, or smaller RMQ_SHM_HEAP",
                          amount(bytes), amount(limit.rlim_cur)));
}

template <class Number>
bool next_number(std::string_view& text, Number& value) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

Result<SegmentKind> parse_segment_kind(std::string_view text) {
  for (std::size_t i = 0; i < kKindNames.size(); ++i) {
    if (text == kKindNames[i]) return static_cast<SegmentKind>(i);
  }
  return fail(Errc::config, fmt::format("RMQ_SHM_SEGMENT={}: must be memfd, posix or sysv", text));
}

Result<Segment> Segment::create(SegmentKind kind, std::uint64_t bytes) {
  Segment segment;
  segment.kind_ = kind;
  segment.bytes_ = bytes;
  if (kind == SegmentKind::sysv) {
    // NORESERVE because most of the span is never used; reserve() takes what is.
    segment.id_ = ::shmget(IPC_PRIVATE, bytes, IPC_CREAT | SHM_NORESERVE | 0600);
    if (segment.id_ < 0) return no_space(kind, bytes, "the segment's address range", errno);
  } else {
    segment.fd_ = kind == SegmentKind::memfd ? ::memfd_create("rmq-shm", MFD_CLOEXEC) : open_posix();
    if (segment.fd_ < 0) {
      return fail_errno(fmt::format("cannot create a {} segment (set another RMQ_SHM_SEGMENT)", name_of(kind)));
    }
    if (auto ok = check_file_limit(bytes); !ok) return tl::unexpected(ok.error());
    if (::ftruncate(segment.fd_, static_cast<off_t>(bytes)) != 0) {
      return no_space(kind, bytes, "the segment's address range", errno);
    }
  }
  auto mapped = segment.map();
  if (kind == SegmentKind::sysv) ::shmctl(segment.id_, IPC_RMID, nullptr);
  if (!mapped) return tl::unexpected(mapped.error());
  return segment;
}

std::string Segment::ticket() const {
  return fmt::format("{} {} {} {}", name_of(kind_), ::getpid(), kind_ == SegmentKind::sysv ? id_ : fd_, bytes_);
}

Result<Segment> Segment::attach(std::string_view ticket) {
  const std::string_view whole = ticket;
  auto kind = parse_segment_kind(ticket.substr(0, ticket.find(' ')));
  pid_t creator = 0;
  int number = -1;
  Segment segment;
  if (kind) ticket.remove_prefix(name_of(*kind).size());
  if (!kind || !next_number(ticket, creator) || !next_number(ticket, number) || !next_number(ticket, segment.bytes_)) {
    return fail(Errc::protocol, fmt::format("the host's segment ticket '{}' makes no sense", whole));
  }
  segment.kind_ = *kind;
  std::uint64_t actual = 0;
  if (segment.kind_ == SegmentKind::sysv) {
    segment.id_ = number;
    shmid_ds status{};
    if (::shmctl(number, IPC_STAT, &status) != 0) {
      return fail_errno(
          fmt::format("cannot reach SysV segment {} of process {}; in another IPC namespace?", number, creator));
    }
    actual = status.shm_segsz;
  } else {
    const std::string path = fmt::format("/proc/{}/fd/{}", creator, number);
    segment.fd_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (segment.fd_ < 0 && errno == ENOENT && os::has_ended(creator)) {
      return fail(Errc::peer_lost, fmt::format("process {}, which made the host's segment, has ended", creator));
    }
    struct stat status {};
    if (segment.fd_ < 0 || ::fstat(segment.fd_, &status) != 0) {
      return fail_errno(
          fmt::format("cannot open the host's segment {} (ranks in different containers or of different "
                      "users? set RMQ_SHM_SEGMENT=sysv or RMQ_METHODS=tcp)",
                      path));
    }
    actual = static_cast<std::uint64_t>(status.st_size);
  }
  if (actual != segment.bytes_) {
    return fail(Errc::protocol, fmt::format("segment '{}' has {} bytes: not the one of this job", whole, actual));
  }
  if (auto ok = segment.map(); !ok) return tl::unexpected(ok.error());
  return segment;
}

Result<void> Segment::map() {
  void* at = kind_ == SegmentKind::sysv
                 ? ::shmat(id_, nullptr, 0)
                 : ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_, 0);
  if (at == MAP_FAILED) {  // the same value as shmat's
    return fail_errno(
        fmt::format("cannot map {} of shared memory (see ulimit -v, or set a smaller RMQ_SHM_HEAP)", amount(bytes_)));
  }
  data_ = static_cast<std::byte*>(at);
  ::madvise(at, bytes_, MADV_DONTDUMP);  // a core file would carry the whole sparse range
  return {};
}

Result<void> Segment::reserve(std::uint64_t offset, std::uint64_t bytes, std::string_view purpose) const {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = offset / page * page;
  const std::uint64_t end = std::min((offset + bytes + page - 1) / page * page, bytes_);
  int error = ENOMEM;
  const auto take = [&](std::uint64_t at, std::uint64_t piece) {
    error = take_pages(at, piece);
    return error == 0;
  };
  if (os::take_with_room(begin, end - begin, take)) return {};
  return no_space(kind_, bytes, purpose, error);
}

// 0, or errno.
int Segment::take_pages(std::uint64_t begin, std::uint64_t bytes) const {
  if (kind_ == SegmentKind::sysv) {
#ifdef MADV_POPULATE_WRITE
    if (::madvise(data_ + begin, bytes, MADV_POPULATE_WRITE) == 0) {
      ::madvise(data_ + begin, bytes, MADV_DONTNEED);  // the pages stay, but no longer count as this rank's own
      return 0;
    }
    if (errno == EINVAL) return 0;  // before Linux 5.14 memory comes with the first touch
    return errno == EFAULT ? ENOMEM : errno;
#else
    return 0;
#endif
  }
  while (::fallocate(fd_, 0, static_cast<off_t>(begin), static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

bool Segment::release(std::uint64_t offset, std::uint64_t bytes) const {
  return kind_ != SegmentKind::sysv && ::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                                   static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
}

Segment::Segment(Segment&& other) noexcept {
  *this = std::move(other);
}

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(fd_, other.fd_);
  std::swap(id_, other.id_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Segment::~Segment() {
  if (data_ != nullptr) {
    if (kind_ == SegmentKind::sysv)
      ::shmdt(data_);
    else
      ::munmap(data_, bytes_);
  }
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace rmq::shm
