// SPDX-License-Identifier: BSD-3-Clause
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

// Those that are compiled in: RMQ_COMPILED_METHODS(X) is X(name) for each.
#if defined(RMQ_DISPATCH_switch)
#include "shm/method.hpp"
#include "tcp/method.hpp"
#define RMQ_COMPILED_METHODS(X) X(shm) X(tcp)
#elif defined(RMQ_DISPATCH_single) && defined(RMQ_SINGLE_shm)
#include "shm/method.hpp"
#define RMQ_COMPILED_METHODS(X) X(shm)
#elif defined(RMQ_DISPATCH_single) && defined(RMQ_SINGLE_tcp)
#include "tcp/method.hpp"
#define RMQ_COMPILED_METHODS(X) X(tcp)
#else
#define RMQ_COMPILED_METHODS(X)
#endif

namespace rmq::adi {

/// Calls f with the method as its own, final type where that is known at compile time. Inlined whatever the compiler
/// thinks of its size: a packet that is handed to a function has to be in memory, field by field, and is read back
/// from there in words that the stores have not left yet.
template <class F>
[[gnu::always_inline]] inline decltype(auto) with_method(methods::Method& m, methods::MethodId id, F&& f) {
  switch (id) {
#define RMQ_CASE(name)          \
  case methods::MethodId::name: \
    return f(static_cast<name::Method&>(m));
    RMQ_COMPILED_METHODS(RMQ_CASE)
#undef RMQ_CASE
    default:
      return f(m);
  }
}

}  // namespace rmq::adi
