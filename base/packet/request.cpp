// SPDX-License-Identifier: BSD-3-Clause
#include "base/packet/request.hpp"

namespace rmq {

std::string_view step_name(Step s) {
  static constexpr std::string_view kNames[] = {
#define RMQ_STEP(name, kind, what) #name,
#define RMQ_STEP_MOVE(from, KIND, to)
#include "base/packet/request_step.def"
#undef RMQ_STEP
#undef RMQ_STEP_MOVE
  };
  return kNames[static_cast<std::size_t>(s)];
}

}  // namespace rmq
