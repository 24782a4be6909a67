// SPDX-License-Identifier: BSD-3-Clause
// Which launcher has started this process, by the variables that it leaves.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "start/pmi.hpp"

namespace rmq::pmi {

namespace {

std::optional<int> number(const char* text) {
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || stop != end || value < 0) return std::nullopt;
  return value;
}

bool is_socket(int fd) {
  int type = 0;
  socklen_t length = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

// The only process of its job needs nobody: asked first, because it costs nothing.
bool is_alone(const GetEnv& get, const char* size) {
  return number(get(size)) == 1;
}

void forget(std::string_view start) {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with(start)) names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

Result<std::unique_ptr<Launcher>> leave_if_alone(Result<std::unique_ptr<Launcher>> found) {
  if (!found || (*found)->place().size > 1) return found;
  if (auto left = (*found)->finalize(); !left) return tl::make_unexpected(left.error());
  return nullptr;
}

}  // namespace

// A launcher started by another one's process leaves the variables of both. A descriptor that is open decides: no
// launcher hands those of its own launcher down.
Result<std::unique_ptr<Launcher>> find_launcher(const GetEnv& get) {
  const auto fd = number(get("PMI_FD")), rank = number(get("PMI_RANK")), size = number(get("PMI_SIZE"));
  if (fd && rank && size && is_socket(*fd)) {
    if (*size == 1) return nullptr;
    auto met = meet_pmi(os::UniqueFd(*fd), *rank, *size);
    forget("PMI_FD=");
    return met;
  }
  bool has_server = false;
  for (const char* name :
       {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI21", "PMIX_SERVER_URI2"})
    has_server = has_server || get(name) != nullptr;
  if (has_server && get("PMIX_NAMESPACE") != nullptr && get("PMIX_RANK") != nullptr) {
    if (is_alone(get, "OMPI_COMM_WORLD_SIZE") || is_alone(get, "SLURM_STEP_NUM_TASKS")) return nullptr;
    auto met = meet_pmix("libpmix.so.2");
    forget("PMIX_SERVER_URI");
    return leave_if_alone(std::move(met));
  }
  if (get("PMI_PORT") != nullptr && get("PMI_ID") != nullptr) {
    auto met = meet_pmi_port(get("PMI_PORT"), get("PMI_ID"));
    forget("PMI_PORT=");
    return leave_if_alone(std::move(met));
  }
  return nullptr;
}

}  // namespace rmq::pmi
