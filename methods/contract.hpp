// SPDX-License-Identifier: BSD-3-Clause
// The number that a plug-in and the program that loads it must have in common. It follows from the text of
// methods/method.hpp and all that it includes (cmake/contract.cmake), so that nobody has to remember it when a virtual
// function, a packet's field or a request's member is added, moved or changed; and from what the compiler made of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/data/fnv.hpp"
#include "methods/method.hpp"

namespace rmq::methods {

#include "methods_contract.inc"

namespace detail {

constexpr std::uint64_t contract() {
  constexpr std::uint64_t kParts[] = {
      kContractText,
      __cplusplus,
      sizeof(Packet),
      sizeof(Request),
      offsetof(Request, layout),
      sizeof(Sink),
      sizeof(Landing),
      sizeof(Payload),
      sizeof(Config),
      sizeof(JobInfo),
      sizeof(Trace),
      sizeof(Doorbell),
      sizeof(Error),
      sizeof(MethodContext),
      sizeof(std::string),
      sizeof(std::vector<std::string>),
  };
  Fnv hash;
  for (const std::uint64_t part : kParts) hash.word(part);
  return hash.value();
}

}  // namespace detail

inline constexpr std::uint64_t kContract = detail::contract();

/// The symbols of a plug-in: the contract that it was made for, and OpenMethod.
inline constexpr const char* kOpenSymbol = "rmq_method_open";
inline constexpr const char* kContractSymbol = "rmq_method_contract";

/// What kOpenSymbol names. The caller owns the method; nullptr: `error` has been filled in.
using OpenMethod = Method* (*)(const MethodContext* context, Error* error);

}  // namespace rmq::methods

/// Makes this shared object a plug-in whose method comes from `make` (a MakeMethod). Once, at namespace scope.
#define RMQ_METHOD_PLUGIN(make)                                                                    \
  extern "C" __attribute__((visibility("default"))) const std::uint64_t rmq_method_contract;       \
  extern "C" const std::uint64_t rmq_method_contract = ::rmq::methods::kContract;                  \
  extern "C" __attribute__((visibility("default"))) ::rmq::methods::Method* rmq_method_open(       \
      const ::rmq::methods::MethodContext* context, ::rmq::Error* error);                          \
  extern "C" ::rmq::methods::Method* rmq_method_open(const ::rmq::methods::MethodContext* context, \
                                                     ::rmq::Error* error) {                        \
    ::rmq::Result<std::unique_ptr<::rmq::methods::Method>> made = make(*context);                  \
    if (made) return made->release();                                                              \
    *error = made.error();                                                                         \
    return nullptr;                                                                                \
  }
