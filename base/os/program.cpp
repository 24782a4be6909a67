// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/program.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

namespace rmq::os {
namespace {

constexpr int kMostFolders = 4;  // from lib/rmq/<what>/ up to the installation

std::string real_path(const std::string& file) {
  char path[PATH_MAX];
  return ::realpath(file.c_str(), path) != nullptr ? path : "";
}

// The permissions of a link say nothing: whoever can replace it owns it, or writes to its folder.
bool is_safe(const struct stat& entry, uid_t owner) {
  if (entry.st_uid != 0 && entry.st_uid != ::geteuid() && entry.st_uid != owner) return false;
  if (S_ISLNK(entry.st_mode)) return true;
  const bool is_shared = (entry.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  return !is_shared || (S_ISDIR(entry.st_mode) && (entry.st_mode & S_ISVTX) != 0);
}

// Of the file and all folders above it, as they are written.
bool is_safe_path(std::string path, uid_t owner) {
  while (!path.empty()) {
    struct stat entry {};
    if (::lstat(path.c_str(), &entry) != 0 || !is_safe(entry, owner)) return false;
    if (path == "/") return true;
    const std::size_t slash = path.rfind('/');
    path.resize(slash == 0 ? 1 : slash == std::string::npos ? 0 : slash);
  }
  return false;
}

}  // namespace

bool is_trusted_program(const std::string& file, uid_t owner) {
  struct stat info {};
  return ::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(file.c_str(), X_OK) == 0 &&
         is_safe_path(file, owner) && is_safe_path(real_path(file), owner);
}

std::string program_beside(const void* code, std::string_view name) {
  Dl_info own{};
  struct stat info {};
  if (::dladdr(code, &own) == 0 || own.dli_fname == nullptr) return {};
  std::string folder = real_path(own.dli_fname);
  if (folder.empty() || ::stat(folder.c_str(), &info) != 0) return {};
  for (int up = 0; up < kMostFolders && folder.size() > 1; ++up) {
    folder.resize(folder.rfind('/'));
    const std::string file = fmt::format("{}/bin/{}", folder, name);
    if (is_trusted_program(file, info.st_uid)) return file;
  }
  return {};
}

}  // namespace rmq::os
