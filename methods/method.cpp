#include "methods/method.hpp"

namespace rmq::methods {

std::string_view method_name(MethodId id) {
  switch (id) {
    case MethodId::none:
      return "none";
    case MethodId::self:
      return "self";
    case MethodId::inproc:
      return "inproc";
    case MethodId::shm:
      return "shm";
    case MethodId::tcp:
      return "tcp";
    case MethodId::party:
      return "party";
  }
  return "?";
}

}  // namespace rmq::methods
