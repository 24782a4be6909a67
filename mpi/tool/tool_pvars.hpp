// SPDX-License-Identifier: BSD-3-Clause
// The performance variables of the tools interface: tool/pvar.cpp has the list.
#pragma once

#include <cstdint>
#include <span>

#include "mpi/tool/tool.hpp"

namespace rmq::mpi::tool {

/// In the order of their indices, after the one that contains them all.
enum class Category {
  messages,
  waiting,
#define RMQ_METHOD(name, number, what) name,
#define RMQ_OTHER_METHOD(name, number)
#include "methods/methods.def"
#undef RMQ_METHOD
#undef RMQ_OTHER_METHOD
  rma,
  tracing,
};

struct PerformanceVariable {
  std::string_view name;
  Category category;
  int var_class;
  std::string_view meaning;
  std::uint64_t (*value)(const adi::Device&);
};
std::span<const PerformanceVariable> performance_variables();

}  // namespace rmq::mpi::tool
