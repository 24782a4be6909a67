// SPDX-License-Identifier: BSD-3-Clause
// What stands behind an MPI_Request.
//
// A plain send or receive is the device's request itself, with the communicator in Request::user. Everything else
// (persistent and generalised requests, a send and a receive in one, non-blocking collectives) is a device request of
// kind `other`, which only holds the place, with an Activity in Request::user.
//
// The handle carries the slot in the device's pool and the low bits of its generation, so that a handle that was
// completed or freed is found out: always while the slot is empty, 15 times of 16 when it serves a later request.
#pragma once

#include "engine/call/call.hpp"
#include "engine/object/comm.hpp"
#include "engine/object/status.hpp"

namespace rmq::mpi {

class Activity {
 public:
  /// Retains the communicator, whose handler hears of errors; nullptr: MPI_COMM_SELF's.
  explicit Activity(Comm* comm);
  virtual ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  Comm* comm() const { return comm_; }
  /// The next older one of the same communicator; nullptr: none.
  const Activity* older() const { return older_; }
  /// Whether it has finished (an inactive persistent one has). May move things on, but does not poll.
  virtual bool complete() = 0;
  /// Once complete: its status, and MPI_SUCCESS, an error class or a code. Ends the active state of a persistent
  /// request.
  virtual int finish(MPI_Status* status) = 0;
  /// The same without an end to anything: for MPI_Request_get_status.
  virtual int peek(MPI_Status* status) = 0;
  virtual void cancel() {}
  /// What it waits for, or would if it were started, for reports: as adi::Awaited::tell.
  virtual void tell(ReportText& to) const;
  /// Whose handler hears of an error of finish(), and what of it can be told; its code is not looked at.
  virtual Failure failure() const { return {MPI_SUCCESS, {}, comm_ ? comm_->handle : MPI_COMM_NULL}; }
  /// The receive of the device's that it waits for, if it is one; else nullptr.
  virtual const Request* receive() const { return nullptr; }
  virtual void start() { fail_call(MPI_ERR_REQUEST, "argument request is not persistent"); }
  virtual bool persistent() const { return false; }
  virtual bool active() const { return true; }
  /// Whether the other side may wait for what only the program can do about it: start it, say.
  virtual bool awaits_program() const { return persistent() && !active(); }
  /// MPI_Request_free: the user has lost interest. Gives `place`, the request that holds the activity, back and deletes
  /// the activity: here now; others when it is complete; those of collectives refuse as long as they are not over.
  /// Returns MPI_SUCCESS, or what a function of the program has returned.
  virtual int abandon(Request* place) {
    runtime().device->MPID_Request_free(place);
    delete this;
    return MPI_SUCCESS;
  }

 private:
  friend bool has_pending(const Comm&);
  Comm* comm_;
  Activity *newer_ = nullptr, *older_ = nullptr;  // of the same communicator
};

/// Whether any communication on the communicator has still to complete, be its request freed or not. An inactive
/// persistent request is none, nor is a complete one that the program has not waited for yet.
bool has_pending(const Comm& c);

inline constexpr std::uint32_t kRequestIndexBits = 22;

inline MPI_Request handle_of(const Request* r) {
  const std::uint32_t generation = (r->self.generation >> 1) & 15u;
  return make_handle(kDynamic, ObjectKind::request, (generation << kRequestIndexBits) | r->self.index);
}

/// The live request behind a handle; nullptr when there is none, or one of the device's own.
inline Request* find_request(int handle) {
  constexpr auto first = static_cast<unsigned>(make_handle(kDynamic, ObjectKind::request, 0));
  const unsigned number = static_cast<unsigned>(handle) - first;
  if (number >> (kRequestIndexBits + 4) != 0) return nullptr;
  RequestPool& pool = runtime().device->pool();
  const std::uint32_t index = number & ((1u << kRequestIndexBits) - 1);
  if (index >= pool.capacity()) return nullptr;
  Request* r = pool.at(index);
  const std::uint32_t live = ((number >> kRequestIndexBits) << 1) | 1u;
  return (r->self.generation & 31u) == live ? r : nullptr;
}

inline bool is_user_request(const Request& r) {
  return (r.kind == RequestKind::send || r.kind == RequestKind::recv || r.kind == RequestKind::other) && r.user;
}

inline Request* request_arg(MPI_Request handle, const char* name = "request") {
  Request* r = find_request(handle);
  if (!r || !is_user_request(*r)) [[unlikely]]
    detail::bad_handle(MPI_ERR_REQUEST, handle, name);
  return r;
}

inline Activity* activity_of(const Request& r) {
  return static_cast<Activity*>(r.user);
}
inline Comm* comm_of(const Request& r) {
  return r.kind == RequestKind::other ? activity_of(r)->comm() : static_cast<Comm*>(r.user);
}
inline bool is_complete(const Request& r) {
  return r.kind == RequestKind::other ? activity_of(r)->complete() : r.complete();
}
inline bool is_active(const Request& r) {
  return r.kind != RequestKind::other || activity_of(r)->active();
}

[[noreturn]] void too_many_requests(Request* r);
/// A fresh request whose `user` is still to be set. Throws MPI_ERR_NO_MEM beyond 2^22 requests.
inline Request* new_place(RequestKind kind) {
  Request* r = runtime().device->MPID_Request_create(kind);
  if (r->self.index >= (1u << kRequestIndexBits)) [[unlikely]]
    too_many_requests(r);
  return r;
}
/// A fresh request for the user, of kind send or recv.
inline Request* new_request(RequestKind kind, Comm& comm) {
  Request* r = new_place(kind);
  r->user = &comm;
  retain(comm);
  return r;
}
/// A request that is complete already and moved nothing: to or from MPI_PROC_NULL.
MPI_Request new_finished_request(RequestKind kind, Comm& comm);
/// Takes the activity over.
MPI_Request new_activity_request(std::unique_ptr<Activity> activity);

/// Adds what a request of the program waits for, as adi::Awaited::tell.
void tell(const Request& r, ReportText& to);
inline adi::Awaited awaited_by(const Request* r) {
  if (r->kind != RequestKind::other) return adi::awaited(r);
  return {[](const void* object, ReportText& to) { tell(*static_cast<const Request*>(object), to); }, r};
}
/// Progresses until the request is complete; false: it cannot be before a failure is acknowledged. `what`: all that the
/// caller waits for.
bool complete_or_pending(Request* r, adi::Awaited what);
/// Progresses until the request is complete. Fails, and leaves it as it is, when a failure keeps it from that that is
/// not acknowledged. `what`: all that the caller waits for; else the request.
void wait_for(Request* r, adi::Awaited what = {});
/// Takes the result of a complete request: fills the status, frees the request unless it is persistent, and then makes
/// `handle` MPI_REQUEST_NULL. Returns MPI_SUCCESS, an error class or code; what went wrong is told by
/// failure_of(), which has to be asked before, while the request still is there.
int finish(Request* r, MPI_Request& handle, MPI_Status* status);
/// Failure for a class that finish() or the status of a plain request gave, in the words of the request.
Failure failure_of(const Request& r);
/// Status of a complete send or receive, as MPI shows it.
inline void report(const Request& r, MPI_Status* status) {
  if (r.kind == RequestKind::recv) {
    set_status(status, r.status.source, r.status.tag, r.status.bytes, r.status.cancelled);
  } else {
    set_sent_status(status, r.status.cancelled);
  }
}
/// finish() for a plain send or receive that is complete.
inline Errc finish_plain(Request* r, MPI_Request& handle, MPI_Status* status) {
  report(*r, status);
  const Errc error = r->status.error;
  handle = MPI_REQUEST_NULL;
  release(static_cast<Comm*>(r->user));
  runtime().device->pool().put(r);
  return error;
}
/// Status of a complete request of any kind, without an end to anything; MPI_SUCCESS, an error class or code.
int peek(const Request& r, MPI_Status* status);
/// Gives back a plain request that is complete, or that completes by itself later.
void free_request(Request* r);
/// The same for any kind of request.
int abandon(Request* r);
/// Asks to take a request of any kind back.
void cancel(Request* r);

}  // namespace rmq::mpi
