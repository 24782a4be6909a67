#include "mpi/internal/point.hpp"

#include <fmt/format.h>

#include "mpi/internal/bsend.hpp"

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

namespace {

/// A message that ends inside of a predefined element was not sent with a type like the receive's. Of plain types too
/// little can be known: MPI_Get_count tells.
void check_end(const MPI_Status& status, const Datatype& type) {
  if (elements_in(type, static_cast<MPI_Count>(status_bytes(status))) != MPI_UNDEFINED) return;
  fail_call(MPI_ERR_TYPE, fmt::format("the message of {} bytes from rank {} with tag {} ends inside of an element of "
                                      "argument datatype: it was sent with another type",
                                      status_bytes(status), status.MPI_SOURCE, status.MPI_TAG));
}

}  // namespace

void recv_blocking(Comm& c, const RecvArgs& a, MPI_Status* status) {
  if (a.from_nobody()) return set_proc_null_status(status);
  MPI_Status own;
  if (!a.data.type->dense && status == MPI_STATUS_IGNORE) status = &own;
  Request* r = new_request(RequestKind::recv, c);
  prepare_recv(r, c, a.data, a.source, a.tag);
  runtime().device->MPID_Irecv(r);
  if (a.source < 0 && ft::may_fail()) [[unlikely]]
    ft::await_from_any(c, r);
  settle(r, status);
  if (!a.data.type->dense) check_end(*status, *a.data.type);
}

}  // namespace rmq::mpi
