// SPDX-License-Identifier: BSD-3-Clause
// The methods by number and by name: methods/methods.def.
#pragma once

#include <cstdint>
#include <string_view>

namespace rmq::methods {

/// Travels in traces.
enum class MethodId : std::uint8_t {
#define RMQ_METHOD(name, number, what) name = number,
#define RMQ_OTHER_METHOD(name, number) name = number,
#include "methods/methods.def"
#undef RMQ_METHOD
#undef RMQ_OTHER_METHOD
};

/// Every number that there is.
inline constexpr MethodId kMethodIds[] = {
#define RMQ_METHOD(name, number, what) MethodId::name,
#define RMQ_OTHER_METHOD(name, number) MethodId::name,
#include "methods/methods.def"
#undef RMQ_METHOD
#undef RMQ_OTHER_METHOD
};

/// Names of the transports, which RMQ_METHODS may name.
inline constexpr std::string_view kTransports[] = {
#define RMQ_METHOD(name, number, what) #name,
#define RMQ_OTHER_METHOD(name, number)
#include "methods/methods.def"
#undef RMQ_METHOD
#undef RMQ_OTHER_METHOD
};

/// "?" for a number that is none.
constexpr std::string_view method_name(MethodId id) {
  switch (id) {
#define RMQ_METHOD(name, number, what) RMQ_OTHER_METHOD(name, number)
#define RMQ_OTHER_METHOD(name, number) \
  case MethodId::name:                 \
    return #name;
#include "methods/methods.def"
#undef RMQ_METHOD
#undef RMQ_OTHER_METHOD
  }
  return "?";
}

}  // namespace rmq::methods
