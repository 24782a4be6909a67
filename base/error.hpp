// SPDX-License-Identifier: BSD-3-Clause
// Failures as values. A failure is an Error: a class that maps to an MPI error class, and one line that says what
// happened, to which peer, and what to do about it. "Full", "empty" and "busy" are outcomes, never errors.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace rmq {

/// What kind of failure; error_class_of() (engine/object/failure.hpp) maps each to an MPI error class.
enum class Errc : std::uint8_t {
  ok = 0,
  truncate,   // message longer than the receive buffer        MPI_ERR_TRUNCATE
  no_memory,  // a pool, segment or heap is exhausted          MPI_ERR_NO_MEM
  peer_lost,  // the other rank died or became unreachable     MPIX_ERR_PROC_FAILED
  protocol,   // a peer sent something malformed               MPI_ERR_INTERN
  config,     // a variable or option has no usable value      MPI_ERR_OTHER
  system,     // the operating system refused                  MPI_ERR_OTHER
  argument,   // the caller's mistake                          MPI_ERR_ARG
  buffer,     // the attached send buffer is too small         MPI_ERR_BUFFER
  revoked,    // its communicator has been revoked             MPIX_ERR_REVOKED
  partial,    // the message ends inside of an element         MPI_ERR_TYPE
};

struct Error {
  Errc code = Errc::system;
  std::string what;  // one line: what, which rank, what to do
};

template <class T = void>
using Result = tl::expected<T, Error>;

/// Makes the failure branch of a Result: `return fail(Errc::system, "...");`
inline tl::unexpected<Error> fail(Errc code, std::string what) {
  return tl::unexpected<Error>(Error{code, std::move(what)});
}

/// The failure of a system call: "<what>: <errno in words>". Reads errno.
tl::unexpected<Error> fail_errno(std::string_view what);

/// A broken invariant of RMQ itself: prints where and why to stderr and aborts the process. Never for bad input.
[[noreturn]] void panic(const char* file, int line, const char* why);

}  // namespace rmq

#define RMQ_CHECK(condition)                        \
  do {                                              \
    if (!(condition)) [[unlikely]]                  \
      ::rmq::panic(__FILE__, __LINE__, #condition); \
  } while (0)
