#include "methods/method.hpp"

namespace rmq::methods {

std::string_view method_name(MethodId id) {
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

std::span<const MethodId> method_ids() {
  static constexpr MethodId kAll[] = {
#define RMQ_METHOD(name, number, what) MethodId::name,
#define RMQ_OTHER_METHOD(name, number) MethodId::name,
#include "methods/methods.def"
#undef RMQ_METHOD
#undef RMQ_OTHER_METHOD
  };
  return kAll;
}

std::span<const std::string_view> transport_names() {
  static constexpr std::string_view kNames[] = {
#define RMQ_METHOD(name, number, what) #name,
#define RMQ_OTHER_METHOD(name, number)
#include "methods/methods.def"
#undef RMQ_METHOD
#undef RMQ_OTHER_METHOD
  };
  return kNames;
}

}  // namespace rmq::methods
