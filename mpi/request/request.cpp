// SPDX-License-Identifier: BSD-3-Clause
// Chapter 3.7: a request is freed, looked at, cancelled.
#include "engine/message/requests.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {

RMQ_MPI(int, Request_free, (MPI_Request * request)) {
  return enter([&] {
    Request* r = request_arg(*out(request, "request"));
    const int code = abandon(r);
    *request = MPI_REQUEST_NULL;
    return code;
  });
}

RMQ_MPI(int, Request_get_status, (MPI_Request request, int* flag, MPI_Status* status)) {
  return enter([&]() -> int {
    *out(flag, "flag") = 1;
    if (request == MPI_REQUEST_NULL) {
      set_empty_status(status);
      return MPI_SUCCESS;
    }
    Request* r = request_arg(request);
    if (!is_complete(*r)) {
      runtime().device->MPID_Poll(false, awaited_by(r));
      *flag = is_complete(*r);
    }
    return *flag ? peek(*r, status) : MPI_SUCCESS;
  });
}

RMQ_MPI(int, Cancel, (MPI_Request * request)) {
  return enter([&] { cancel(request_arg(*out(request, "request"))); });
}

}  // namespace rmq::mpi
