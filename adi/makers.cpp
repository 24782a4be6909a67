// SPDX-License-Identifier: BSD-3-Clause
#include "adi/makers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "adi/dispatch.hpp"
#include "methods/plugin.hpp"

namespace rmq::adi {
namespace {

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) parts.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

Result<std::unique_ptr<methods::Method>> make_method(const std::string& name, const methods::MethodContext& context) {
#define RMQ_MAKE(method) \
  if (name == #method) return method::make_##method(context);
  RMQ_COMPILED_METHODS(RMQ_MAKE)
#undef RMQ_MAKE
#if defined(RMQ_DISPATCH_plugin)
  return methods::open_plugin(name, context);
#else
  return fail(Errc::config, fmt::format("RMQ_METHODS names '{}', which this build does not have; it has: {}", name,
                                        fmt::join(built_in_methods(), ", ")));
#endif
}

}  // namespace

std::vector<std::string> built_in_methods() {
#define RMQ_NAME(method) #method,
  return {RMQ_COMPILED_METHODS(RMQ_NAME)};
#undef RMQ_NAME
}

std::vector<MethodMaker> makers_of(const Config& config) {
  std::vector<MethodMaker> all;
  for (const std::string& name : split(config.methods)) {
    all.push_back([name](const methods::MethodContext& c) { return make_method(name, c); });
  }
  return all;
}

}  // namespace rmq::adi
