#include "rma/memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

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
  if (fd_ >= 0) ::close(fd_);
}

HostMemory HostMemory::make(std::uint64_t bytes) {
  HostMemory memory;
  memory.fd_ = ::memfd_create("rmq-window", MFD_CLOEXEC);
  if (memory.fd_ < 0) return memory;
  int error = 0;
  do {
    error = ::posix_fallocate(memory.fd_, 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  if (error == 0) memory.attach(memory.fd_, bytes);
  return memory;
}

HostMemory HostMemory::map(std::uint64_t ticket, std::uint64_t bytes) {
  HostMemory memory;
  const std::string path = fmt::format("/proc/{}/fd/{}", ticket >> 32, ticket & 0xffffffff);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return memory;
  struct stat status {};
  if (::fstat(fd, &status) == 0 && static_cast<std::uint64_t>(status.st_size) >= bytes) memory.attach(fd, bytes);
  ::close(fd);
  return memory;
}

bool HostMemory::attach(int fd, std::uint64_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return false;
  data_ = static_cast<std::byte*>(at);
  bytes_ = bytes;
  return true;
}

std::uint64_t HostMemory::ticket() const {
  return static_cast<std::uint64_t>(::getpid()) << 32 | static_cast<std::uint32_t>(fd_);
}

}  // namespace rmq::rma
