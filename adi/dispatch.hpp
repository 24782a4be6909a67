// The way from the device to a method, in three forms (design/code-map.md). All come from one contract,
// methods::Method:
//
//   switch  the compiled methods are named in a switch; each call is direct, the compiler may inline it (default)
//   single  one method is compiled in: no switch
//   plugin  methods are loaded by name at run time; each call goes through the function table of the object
//
// A method that is none of the compiled ones (the in-process method of the tests) is always called through its table.
#pragma once

#include "methods/method.hpp"

#if defined(RMQ_DISPATCH_switch) || (defined(RMQ_DISPATCH_single) && defined(RMQ_SINGLE_shm))
#include "shm/method.hpp"
#define RMQ_HAS_SHM 1
#endif
#if defined(RMQ_DISPATCH_switch) || (defined(RMQ_DISPATCH_single) && defined(RMQ_SINGLE_tcp))
#include "tcp/method.hpp"
#define RMQ_HAS_TCP 1
#endif

namespace rmq::adi {

/// Calls f with the method as its own, final type where that is known at compile time. Inlined whatever the compiler
/// thinks of its size: a packet that is handed to a function has to be in memory, field by field, and is read back
/// from there in words that the stores have not left yet.
template <class F>
[[gnu::always_inline]] inline decltype(auto) with_method(methods::Method& m, methods::MethodId id, F&& f) {
#if defined(RMQ_DISPATCH_switch)
  switch (id) {
    case methods::MethodId::shm:
      return f(static_cast<shm::ShmMethod&>(m));
    case methods::MethodId::tcp:
      return f(static_cast<tcp::TcpMethod&>(m));
    default:
      return f(m);
  }
#elif defined(RMQ_DISPATCH_single) && defined(RMQ_SINGLE_shm)
  if (id == methods::MethodId::shm) [[likely]]
    return f(static_cast<shm::ShmMethod&>(m));
  return f(m);
#elif defined(RMQ_DISPATCH_single) && defined(RMQ_SINGLE_tcp)
  if (id == methods::MethodId::tcp) [[likely]]
    return f(static_cast<tcp::TcpMethod&>(m));
  return f(m);
#else
  static_cast<void>(id);
  return f(m);
#endif
}

}  // namespace rmq::adi
