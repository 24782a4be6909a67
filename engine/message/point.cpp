// SPDX-License-Identifier: BSD-3-Clause
#include "engine/message/point.hpp"

#include "engine/message/pending.hpp"

namespace rmq::mpi {

void settle(Request* r, MPI_Status* status) {
  adi::Device& device = *runtime().device;
  device.MPID_Wait(r);
  if (r->kind == RequestKind::recv) report(*r, status);
  if (r->status.error != Errc::ok) [[unlikely]] {
    const Failure failure = failure_of(*r);
    free_request(r);
    throw failure;
  }
  free_request(r);
}

void send_by_request(Comm& c, const SendArgs& a, SendMode mode) {
  Request* r = new_request(RequestKind::send, c);
  prepare_send(r, c, a.data, a.dest, a.tag, mode);
  runtime().device->MPID_Isend(r);
  settle(r, MPI_STATUS_IGNORE);
}

void check_end(Request* r) {
  if (r->status.error == Errc::ok && !r->layout->basic_elements_in(r->status.bytes)) r->status.error = Errc::partial;
}

void recv_blocking(Comm& c, const RecvArgs& a, MPI_Status* status) {
  if (a.from_nobody()) return set_proc_null_status(status);
  Request* r = new_request(RequestKind::recv, c);
  prepare_user_recv(r, c, a);
  runtime().device->MPID_Irecv(r);
  if (a.source < 0 && ft::may_fail()) [[unlikely]]
    ft::await_from_any(c, r);
  settle(r, status);
}

}  // namespace rmq::mpi
