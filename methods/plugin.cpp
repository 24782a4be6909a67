// SPDX-License-Identifier: BSD-3-Clause
#include "methods/plugin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>

#include "methods/contract.hpp"

namespace rmq::methods {
namespace {

bool is_plain_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string folder_of(std::string_view file) {
  const std::size_t slash = file.rfind('/');
  if (slash == std::string_view::npos) return {};
  return std::string(file.substr(0, slash == 0 ? 1 : slash));
}

// Where the library or program lies that holds this very function. For a program the loader knows only how it was
// called, which may be a bare name; the kernel knows better.
std::string own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&plugin_file), &info) != 0 && info.dli_fname != nullptr) {
    const std::string folder = folder_of(info.dli_fname);
    if (!folder.empty() && ::access(info.dli_fname, F_OK) == 0) return folder;
  }
  char path[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? folder_of({path, static_cast<std::size_t>(n)}) : std::string(".");
}

tl::unexpected<Error> unusable(const std::string& file, std::string_view why) {
  return fail(Errc::config, fmt::format("cannot use the method plug-in {}: {}", file, why));
}

}  // namespace

std::string plugin_file(std::string_view name) {
  return fmt::format("rmq_method_{}.so", name);
}

std::vector<std::string> plugin_folders(std::string_view plugin_path) {
  std::vector<std::string> folders;
  while (!plugin_path.empty()) {
    const std::size_t colon = std::min(plugin_path.find(':'), plugin_path.size());
    if (colon > 0) folders.emplace_back(plugin_path.substr(0, colon));
    plugin_path.remove_prefix(std::min(colon + 1, plugin_path.size()));
  }
  folders.push_back(own_folder());
  return folders;
}

Result<std::unique_ptr<Method>> open_plugin(std::string_view name, const MethodContext& context) {
  if (!is_plain_name(name)) {
    return fail(Errc::config,
                fmt::format("'{}' is no name of a method: RMQ_METHODS expects names such as shm,tcp", name));
  }
  const std::vector<std::string> folders = plugin_folders(context.config.plugin_path);
  const auto found = std::find_if(folders.begin(), folders.end(), [&](const std::string& folder) {
    return ::access(fmt::format("{}/{}", folder, plugin_file(name)).c_str(), F_OK) == 0;
  });
  if (found == folders.end()) {
    return fail(Errc::config,
                fmt::format("no method plug-in {} in {} (set RMQ_PLUGIN_PATH to its folder, or choose other "
                            "methods with RMQ_METHODS)",
                            plugin_file(name), fmt::join(folders, ", ")));
  }
  const std::string file = fmt::format("{}/{}", *found, plugin_file(name));
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return unusable(file, fmt::format("{} (rebuild it with this version of RMQ)", ::dlerror()));

  const auto* const contract = static_cast<const std::uint64_t*>(::dlsym(library, kContractSymbol));
  const auto open = reinterpret_cast<OpenMethod>(::dlsym(library, kOpenSymbol));
  if (contract == nullptr || open == nullptr) {
    return unusable(file, fmt::format("it has no symbol {} (a plug-in is made with RMQ_METHOD_PLUGIN)",
                                      contract == nullptr ? kContractSymbol : kOpenSymbol));
  }
  if (*contract != kContract) {
    return unusable(file, fmt::format("{} is {:x}, and this RMQ needs {:x} (rebuild it with this version of RMQ)",
                                      kContractSymbol, *contract, kContract));
  }
  Error error;
  std::unique_ptr<Method> method(open(&context, &error));
  if (!method) return tl::unexpected(std::move(error));
  return method;
}

}  // namespace rmq::methods
