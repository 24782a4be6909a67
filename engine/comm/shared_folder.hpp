// SPDX-License-Identifier: BSD-3-Clause
// Which processes see the same folder.
#pragma once

#include <cstdint>
#include <string>

#include "start/party.hpp"

namespace rmq::mpi {

/// A file in a folder by which one process shows others that both see it. Removed with the object.
class FolderMark {
 public:
  /// Nothing happens where the folder is not there or cannot be written.
  FolderMark(const std::string& folder, std::uint32_t context, const Process& who);
  ~FolderMark();
  FolderMark(const FolderMark&) = delete;
  FolderMark& operator=(const FolderMark&) = delete;

  /// Whether the mark of that process is in the folder, as this process sees it.
  static bool is_seen(const std::string& folder, std::uint32_t context, const Process& who);

 private:
  std::string path_;  // empty: not made
};

}  // namespace rmq::mpi
