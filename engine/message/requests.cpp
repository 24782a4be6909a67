// SPDX-License-Identifier: BSD-3-Clause
#include "engine/message/requests.hpp"

#include <fmt/format.h>

#include <utility>

#include "engine/message/pending.hpp"

namespace rmq::mpi {
namespace {

void let_go_of_comm(Request* r) {
  release(static_cast<Comm*>(r->user));
}

}  // namespace

Activity::Activity(Comm* comm) : comm_(comm) {
  if (!comm_) return;
  retain(*comm_);
  older_ = std::exchange(comm_->activities, this);
  if (older_) older_->newer_ = this;
}

Activity::~Activity() {
  if (!comm_) return;
  (newer_ ? newer_->older_ : comm_->activities) = older_;
  if (older_) older_->newer_ = newer_;
  release(comm_);
}

bool has_pending(const Comm& c) {
  for (Activity* a = c.activities; a; a = a->older_) {
    if (!a->complete()) return true;
  }
  // Freed requests are in no list of ours, but live in the pool until they are complete.
  const RequestPool& pool = runtime().device->pool();
  for (std::uint32_t i = 0; i < pool.capacity(); ++i) {
    const Request& r = *pool.at(i);
    if ((r.kind == RequestKind::send || r.kind == RequestKind::recv) && r.user == &c && !r.complete()) return true;
  }
  return false;
}

void too_many_requests(Request* r) {
  runtime().device->MPID_Request_free(r);
  fail_call(MPI_ERR_NO_MEM, fmt::format("more than {} requests at once", 1u << kRequestIndexBits));
}

MPI_Request new_finished_request(RequestKind kind, Comm& comm) {
  Request* r = new_request(kind, comm);
  r->status.source = MPI_PROC_NULL;
  return handle_of(r);
}

MPI_Request new_activity_request(std::unique_ptr<Activity> activity) {
  Request* r = new_place(RequestKind::other);
  r->user = activity.release();
  return handle_of(r);
}

void Activity::tell(ReportText& to) const {
  to.begin_object();
  to.field("kind", "request");
  to.end_object();
}

void tell(const Request& r, ReportText& to) {
  if (r.kind == RequestKind::other) {
    if (r.user) activity_of(r)->tell(to);
  } else {
    adi::tell_request(r, to);
  }
}

bool complete_or_pending(Request* r, adi::Awaited what) {
  adi::Device& device = *runtime().device;
  while (!is_complete(*r)) {
    const bool pending = ft::waits_for_failed(*r);
    device.MPID_Poll(!pending, what);
    if (pending && !is_complete(*r)) [[unlikely]]
      return false;
  }
  return true;
}

void wait_for(Request* r, adi::Awaited what) {
  if (!complete_or_pending(r, what.tell ? what : awaited_by(r))) [[unlikely]]
    throw ft::pending_failure(*r);
}

Failure failure_of(const Request& r) {
  if (r.kind == RequestKind::other) return activity_of(r)->failure();
  Failure f{error_class_of(r.status.error), {}, comm_of(r)->handle};
  f.handler = handler_of_freed(*comm_of(r));
  switch (r.status.error) {
    case Errc::truncate:
      f.what = fmt::format("the message from rank {} with tag {} is longer than the receive buffer of {} bytes",
                           r.status.source, r.status.tag, r.view.bytes);
      break;
    case Errc::partial:
      f.what = fmt::format(
          "the message of {} bytes from rank {} with tag {} ends inside of an element of the receive's "
          "datatype: it was sent with another type",
          r.status.bytes, r.status.source, r.status.tag);
      break;
    case Errc::no_memory:
    case Errc::peer_lost:
      f.what = lost_text(r.peer);
      break;
    default:
      break;
  }
  return f;
}

void free_request(Request* r) {
  Comm* comm = static_cast<Comm*>(r->user);
  if (r->complete()) {
    release(comm);
  } else {
    r->on_complete = let_go_of_comm;  // its context must not be reused before
  }
  runtime().device->MPID_Request_free(r);
}

int abandon(Request* r) {
  if (r->kind == RequestKind::other) return activity_of(*r)->abandon(r);
  free_request(r);
  return MPI_SUCCESS;
}

void cancel(Request* r) {
  if (r->kind == RequestKind::other) return activity_of(*r)->cancel();
  const bool moves_nothing = r->status.source == MPI_PROC_NULL;
  if (!moves_nothing) runtime().device->MPID_Cancel(r);
}

int peek(const Request& r, MPI_Status* status) {
  if (r.kind == RequestKind::other) return activity_of(r)->peek(status);
  report(r, status);
  return error_class_of(r.status.error);
}

int finish(Request* r, MPI_Request& handle, MPI_Status* status) {
  if (r->kind != RequestKind::other) return error_class_of(finish_plain(r, handle, status));
  Activity* a = activity_of(*r);
  const int code = a->finish(status);
  if (a->persistent()) return code;
  handle = MPI_REQUEST_NULL;
  delete a;
  runtime().device->MPID_Request_free(r);
  return code;
}

}  // namespace rmq::mpi
