#include "mpi/internal/shared_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "mpi/internal/runtime.hpp"

namespace rmq::mpi {
namespace {

/// The job's id and the communicator keep marks of others apart.
std::string path_of(const std::string& folder, std::uint32_t context, int rank) {
  return fmt::format("{}/.rmq-{}-{}-{}", folder, runtime().device->job().job, context, rank);
}

}  // namespace

FolderMark::FolderMark(const std::string& folder, std::uint32_t context, int rank)
    : path_(path_of(folder, context, rank)) {
  const int fd = ::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) {
    path_.clear();
  } else {
    ::close(fd);
  }
}

FolderMark::~FolderMark() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

bool FolderMark::is_seen(const std::string& folder, std::uint32_t context, int rank) {
  return ::access(path_of(folder, context, rank).c_str(), F_OK) == 0;
}

}  // namespace rmq::mpi
