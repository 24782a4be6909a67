// SPDX-License-Identifier: BSD-3-Clause
#include "engine/object/failure.hpp"

namespace rmq::mpi {

void fail_call(int error_class, std::string what) {
  throw Failure{error_class, std::move(what), MPI_COMM_NULL};
}

int error_class_of(Errc e) {
  switch (e) {
    case Errc::ok:
      return MPI_SUCCESS;
    case Errc::truncate:
      return MPI_ERR_TRUNCATE;
    case Errc::no_memory:
      return MPI_ERR_NO_MEM;
    case Errc::peer_lost:
      return MPIX_ERR_PROC_FAILED;
    case Errc::protocol:
      return MPI_ERR_INTERN;
    case Errc::argument:
      return MPI_ERR_ARG;
    case Errc::buffer:
      return MPI_ERR_BUFFER;
    case Errc::revoked:
      return MPIX_ERR_REVOKED;
    case Errc::partial:
      return MPI_ERR_TYPE;
    case Errc::config:
    case Errc::system:
      return MPI_ERR_OTHER;
  }
  return MPI_ERR_INTERN;
}

}  // namespace rmq::mpi
