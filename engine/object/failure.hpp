// SPDX-License-Identifier: BSD-3-Clause
// How a call that cannot be carried out ends: a Failure flies from the check that finds it to the frame of the MPI
// function (call/call.hpp), which lets go of the device and hands it to the error handler. Exceptions are used for
// nothing else, and none crosses the device: with some 600 functions of six arguments, checks that cost one word each
// where they are written and no branch where they pass are worth it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "engine/include/rmq_mpi_types.h"

namespace rmq::mpi {

struct Errhandler;

struct Failure {
  int code = MPI_ERR_OTHER;  // MPI error class; or a code that a user's callback returned, then without `what`
  std::string what;          // one line that names the argument, without the function's name; empty: the class says all
  int object = MPI_COMM_NULL;  // communicator or window whose error handler is meant; null: that of the call's
  int cause = MPI_SUCCESS;     // behind MPI_ERR_IN_STATUS: class or code of the first request's failure
  std::shared_ptr<const Errhandler> handler = nullptr;  // of an object whose handle has been freed; null: `object` says
  bool is_known = false;  // to all members already, or is going to be: they wait for nothing that ends with it
};

[[noreturn]] void fail_call(int error_class, std::string what);

/// The MPI error class of a failure below; MPI_SUCCESS for Errc::ok.
int error_class_of(Errc e);

}  // namespace rmq::mpi
