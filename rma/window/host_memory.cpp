// SPDX-License-Identifier: BSD-3-Clause
#include "rma/window/host_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/os/fd.hpp"
#include "base/os/room.hpp"

namespace rmq::rma {

HostMemory::HostMemory(HostMemory&& other) noexcept {
  *this = std::move(other);
}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(fd_, other.fd_);
  return *this;
}

HostMemory::~HostMemory() {
  if (data_) ::munmap(data_, bytes_);
  let_go();
}

void HostMemory::let_go() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Fault HostMemory::make(std::uint64_t bytes, HostMemory& made) {
  HostMemory memory;
  memory.fd_ = ::memfd_create("rmq-window", MFD_CLOEXEC);
  if (memory.fd_ < 0) return os::lacks_descriptors(errno) ? Fault::descriptors : Fault::no_memory;
  if (!memory.reserve(0, bytes) || !memory.attach(memory.fd_, bytes)) return Fault::no_memory;
  made = std::move(memory);
  return Fault::none;
}

HostMemory HostMemory::make_sparse(std::uint64_t bytes, void* at) {
  HostMemory memory;
  memory.fd_ = ::memfd_create("rmq-symmetric", MFD_CLOEXEC);
  if (memory.fd_ >= 0 && ::ftruncate(memory.fd_, static_cast<off_t>(bytes)) == 0) memory.attach(memory.fd_, bytes, at);
  return memory;
}

bool HostMemory::reserve(std::uint64_t from, std::uint64_t bytes) const {
  return os::take_with_room(from, bytes, [&](std::uint64_t at, std::uint64_t piece) {
    int error = 0;
    do {
      error = ::posix_fallocate(fd_, static_cast<off_t>(at), static_cast<off_t>(piece));
    } while (error == EINTR);
    return error == 0;
  });
}

HostMemory HostMemory::map(std::uint64_t ticket, std::uint64_t bytes) {
  HostMemory memory;
  const std::string path = fmt::format("/proc/{}/fd/{}", ticket >> 32, ticket & 0xffffffff);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);  // errno says why not
  if (fd < 0) return memory;
  struct stat status {};
  if (::fstat(fd, &status) == 0 && static_cast<std::uint64_t>(status.st_size) >= bytes) memory.attach(fd, bytes);
  ::close(fd);
  return memory;
}

// A system that does not tell has pages everywhere.
std::pair<std::uint64_t, std::uint64_t> HostMemory::pages_from(std::uint64_t from) const {
  const ::off_t begin = ::lseek(fd_, static_cast<off_t>(from), SEEK_DATA);
  if (begin < 0) return {errno == ENXIO ? bytes_ : from, bytes_};
  const ::off_t end = ::lseek(fd_, begin, SEEK_HOLE);
  return {static_cast<std::uint64_t>(begin), end < 0 ? bytes_ : static_cast<std::uint64_t>(end)};
}

bool HostMemory::map_over(void* at) const {
  return ::mmap(at, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_, 0) != MAP_FAILED;
}

bool HostMemory::attach(int fd, std::uint64_t bytes, void* at) {
  const int flags = at ? MAP_SHARED | MAP_FIXED_NOREPLACE : MAP_SHARED;
  void* const got = ::mmap(at, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (got == MAP_FAILED) return false;
  if (at && got != at) {  // a kernel that does not know MAP_FIXED_NOREPLACE
    ::munmap(got, bytes);
    return false;
  }
  data_ = static_cast<std::byte*>(got);
  bytes_ = bytes;
  return true;
}

std::uint64_t HostMemory::ticket() const {
  return static_cast<std::uint64_t>(::getpid()) << 32 | static_cast<std::uint32_t>(fd_);
}

}  // namespace rmq::rma
