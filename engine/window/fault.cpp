// SPDX-License-Identifier: BSD-3-Clause
// From what goes wrong with a window to an MPI error in words.
#include <fmt/format.h>

#include "engine/window/windows.hpp"

namespace rmq::mpi {
namespace {

using rma::Fault;

int class_of(Fault fault) {
  switch (fault) {
    case Fault::none:
      return MPI_SUCCESS;
    case Fault::range:
      return MPI_ERR_RMA_RANGE;
    case Fault::attach:
      return MPI_ERR_RMA_ATTACH;
    case Fault::conflict:
      return MPI_ERR_RMA_CONFLICT;
    case Fault::sync:
      return MPI_ERR_RMA_SYNC;
    case Fault::shared:
      return MPI_ERR_RMA_SHARED;
    case Fault::locktype:
      return MPI_ERR_LOCKTYPE;
    case Fault::op:
      return MPI_ERR_OP;
    case Fault::type:
      return MPI_ERR_TYPE;
    case Fault::disp:
      return MPI_ERR_DISP;
    case Fault::no_memory:
    case Fault::descriptors:
      return MPI_ERR_NO_MEM;
    case Fault::peer_lost:
      return MPIX_ERR_PROC_FAILED;
    case Fault::protocol:
      return MPI_ERR_INTERN;
    case Fault::definition:
      return MPI_ERR_TYPE;
  }
  return MPI_ERR_INTERN;
}

/// The arguments that a fault of an operation is about.
const char* arguments_of(Fault fault) {
  switch (fault) {
    case Fault::range:
      return "target_disp, target_count and target_datatype";
    case Fault::op:
      return "op";
    case Fault::type:
      return "origin_datatype and target_datatype";
    default:
      return nullptr;
  }
}

std::string describe(const Win& w, Fault fault, const rma::Target* target) {
  const auto text = rma::fault_text(fault);
  std::string what;
  if (fault == Fault::peer_lost && !w.window->lost().empty()) {
    what = w.window->lost();
  } else if (fault == Fault::disp && target) {
    what = fmt::format("invalid displacement {} at target rank {} (argument target_disp)", target->disp, target->rank);
  } else if (const char* arguments = arguments_of(fault); target && arguments) {
    what = fmt::format("{} (arguments {}; displacement {} at target rank {})", text, arguments, target->disp,
                       target->rank);
  } else if (target) {
    what = fmt::format("{} (target rank {})", text, target->rank);
  } else {
    what = text;
  }
  if (!w.name.empty()) what += fmt::format("; window {}", w.name);
  return what;
}

}  // namespace

void fail_fault(const Win& w, Fault fault, const rma::Target* target) {
  fail_call(class_of(fault), describe(w, fault, target));
}

Failure failure_of_fault(const Win* w, Fault fault) {
  return {class_of(fault), w ? describe(*w, fault, nullptr) : std::string(rma::fault_text(fault)),
          w ? w->handle : MPI_COMM_NULL};
}

namespace detail {

void bad_target(const Win& w, int rank, const char* name) {
  fail_call(MPI_ERR_RANK, fmt::format("invalid rank {} (argument {}; allowed 0..{} and MPI_PROC_NULL)", rank, name,
                                      w.window->size() - 1));
}

void bad_assertion(int assertion) {
  fail_call(MPI_ERR_ASSERT, fmt::format("invalid assertion {} (argument assert)", assertion));
}

}  // namespace detail
}  // namespace rmq::mpi
