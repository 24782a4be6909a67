// SPDX-License-Identifier: BSD-3-Clause
#include "rma/core/fault.hpp"

namespace rmq::rma {

std::string_view fault_text(Fault fault) {
  switch (fault) {
    case Fault::none:
      return "no error";
    case Fault::range:
      return "the access lies outside of the target's window";
    case Fault::attach:
      return "memory cannot be attached, or is not attached";
    case Fault::conflict:
      return "conflicting accesses to a window";
    case Fault::sync:
      return "the window has no epoch that allows this call, or one that forbids it";
    case Fault::shared:
      return "the members of the window do not share memory";
    case Fault::locktype:
      return "the lock type is neither shared nor exclusive";
    case Fault::op:
      return "the operation is not defined for this element type";
    case Fault::type:
      return "the datatypes are not made of one predefined type, or differ in size";
    case Fault::disp:
      return "the displacement is negative or too large";
    case Fault::no_memory:
      return "no memory is left";
    case Fault::peer_lost:
      return "a rank of the window is lost";
    case Fault::protocol:
      return "a peer sent a packet that makes no sense";
    case Fault::definition:
      return "the definition of the target's datatype is larger than the target's RMQ_RMA_TYPE_BYTES: raise it on all "
             "ranks, or use smaller datatypes";
    case Fault::descriptors:
      return "no file descriptor is left (see ulimit -n)";
  }
  return "unknown fault";
}

}  // namespace rmq::rma
