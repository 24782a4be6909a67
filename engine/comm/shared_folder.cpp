// SPDX-License-Identifier: BSD-3-Clause
#include "engine/comm/shared_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace rmq::mpi {
namespace {

/// The process and the communicator keep marks of others apart.
std::string path_of(const std::string& folder, std::uint32_t context, const Process& who) {
  return fmt::format("{}/.rmq-{}-{}-{}", folder, job_name(who.job), context, who.rank);
}

}  // namespace

FolderMark::FolderMark(const std::string& folder, std::uint32_t context, const Process& who)
    : path_(path_of(folder, context, who)) {
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

bool FolderMark::is_seen(const std::string& folder, std::uint32_t context, const Process& who) {
  return ::access(path_of(folder, context, who).c_str(), F_OK) == 0;
}

}  // namespace rmq::mpi
