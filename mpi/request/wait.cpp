// SPDX-License-Identifier: BSD-3-Clause
// Chapter 3.7: MPI_Wait and MPI_Test, one, any, some, all.
#include "mpi/request/several.hpp"

namespace rmq::mpi {
namespace {

/// The end of a call that completes one request: its error becomes the call's.
int finish_one(Request* r, MPI_Request& handle, MPI_Status* status) {
  if (r->kind != RequestKind::other && r->status.error == Errc::ok) [[likely]] {
    finish_plain(r, handle, status);
    return MPI_SUCCESS;
  }
  Failure failure = failure_of(*r);
  failure.code = finish(r, handle, status);
  if (failure.code != MPI_SUCCESS) throw failure;
  return MPI_SUCCESS;
}

/// The first that cannot complete before a failure is acknowledged; -1: none.
int find_pending(const Requests& all) {
  for (int i = 0; runtime().ft && i < all.size(); ++i) {
    if (const Request* r = all.at(i); r && is_active(*r) && !is_complete(*r) && ft::waits_for_failed(*r)) return i;
  }
  return -1;
}
/// The same while none is complete: waits for something where there is no such request, else has polled, so that
/// whoever calls again and again gets what has come for the others.
int poll_or_find_pending(const Requests& all) {
  adi::Device& device = *runtime().device;
  if (find_pending(all) < 0) {
    device.MPID_Poll(true, all.awaited());
    return -1;
  }
  device.MPID_Poll(false, all.awaited());
  return find_complete(all) == -1 ? find_pending(all) : -1;
}
void check_pending(const Requests& all) {
  if (const int i = find_pending(all); i >= 0) throw ft::pending_failure(*all.at(i));
}

/// Ends all, in order, waiting for those that are not complete.
void finish_all(Requests& all, MPI_Status* statuses) {
  Finisher finisher(statuses);
  for (int i = 0; i < all.size(); ++i) {
    Request* r = all.at(i);
    if (r && is_active(*r)) [[likely]] {
      if (!is_complete(*r) && !complete_or_pending(r, all.awaited())) {
        finisher.add_pending(*r, i);
        continue;
      }
      finisher.add(r, all.handle(i), i);
    } else {
      finisher.add_empty(i);
    }
  }
  finisher.end();
}

/// All that are complete; `count`, also when some of them failed: how many, MPI_UNDEFINED when none is active.
void finish_some(Requests& all, int& count, int* indices, MPI_Status* statuses) {
  Finisher finisher(statuses);
  int done = 0;
  bool any_active = false;
  for (int i = 0; i < all.size(); ++i) {
    Request* r = all.at(i);
    if (!r || !is_active(*r)) continue;
    any_active = true;
    if (!is_complete(*r)) continue;
    out(indices, "array_of_indices")[done] = i;
    finisher.add(r, all.handle(i), done++);
  }
  count = any_active ? done : MPI_UNDEFINED;
  finisher.end();
}

/// The short way of calls for one request, as in point.hpp: a send or receive that is complete, and well, needs no
/// frame.
[[gnu::always_inline]] inline bool finish_now(MPI_Request* request, MPI_Status* status, const Function& function) {
  const Runtime& rt = runtime();
  if (!rt.is_active() || !rt.device->needs_no_entry() || request == nullptr) [[unlikely]]
    return false;
  Request* const r = find_request(*request);
  if (r == nullptr || (r->kind != RequestKind::send && r->kind != RequestKind::recv) || r->user == nullptr ||
      !r->complete() || r->status.error != Errc::ok)
    return false;
  const adi::Device::Passage passage(*rt.device, function, function.id);
  finish_plain(r, *request, status);
  return true;
}

}  // namespace

RMQ_MPI(int, Wait, (MPI_Request * request, MPI_Status* status)) {
  if (finish_now(request, status, __func__)) return MPI_SUCCESS;
  return enter([&]() -> int {
    if (*out(request, "request") == MPI_REQUEST_NULL) {
      set_empty_status(status);
      return MPI_SUCCESS;
    }
    Request* r = request_arg(*request);
    wait_for(r);
    return finish_one(r, *request, status);
  });
}

RMQ_MPI(int, Test, (MPI_Request * request, int* flag, MPI_Status* status)) {
  if (flag != nullptr && finish_now(request, status, __func__)) {
    *flag = 1;
    return MPI_SUCCESS;
  }
  return enter([&]() -> int {
    *out(flag, "flag") = 1;
    if (*out(request, "request") == MPI_REQUEST_NULL) {
      set_empty_status(status);
      return MPI_SUCCESS;
    }
    Request* r = request_arg(*request);
    if (!is_complete(*r)) {
      runtime().device->MPID_Poll(false, awaited_by(r));
      if (!is_complete(*r)) {
        *flag = 0;
        if (ft::waits_for_failed(*r)) [[unlikely]]
          throw ft::pending_failure(*r);
        return MPI_SUCCESS;
      }
    }
    return finish_one(r, *request, status);
  });
}

RMQ_MPI(int, Waitany, (int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status)) {
  return enter([&]() -> int {
    Requests all(array_of_requests, count);
    int& i = *out(indx, "index");
    while ((i = find_complete(all)) == -1)
      if ((i = poll_or_find_pending(all)) >= 0) throw ft::pending_failure(*all.at(i));
    if (i != MPI_UNDEFINED) return finish_one(all.at(i), all.handle(i), status);
    set_empty_status(status);
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, Testany, (int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status)) {
  return enter([&]() -> int {
    Requests all(array_of_requests, count);
    int& i = *out(indx, "index");
    i = find_complete(all);
    if (i == -1) {
      runtime().device->MPID_Poll(false, all.awaited());
      i = find_complete(all);
    }
    *out(flag, "flag") = i != -1;
    if (i >= 0) return finish_one(all.at(i), all.handle(i), status);
    if (i == MPI_UNDEFINED) set_empty_status(status);
    if (i == -1) {
      i = MPI_UNDEFINED;
      check_pending(all);
    }
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, Waitall, (int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[])) {
  return enter([&] {
    Requests all(array_of_requests, count);
    finish_all(all, array_of_statuses);
  });
}

RMQ_MPI(int, Testall, (int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[])) {
  return enter([&] {
    Requests all(array_of_requests, count);
    *out(flag, "flag") = 0;
    if (!all_complete(all)) {
      runtime().device->MPID_Poll(false, all.awaited());
      if (!all_complete(all)) return check_pending(all);
    }
    *flag = 1;
    finish_all(all, array_of_statuses);
  });
}

RMQ_MPI(int, Waitsome,
        (int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
         MPI_Status array_of_statuses[])) {
  return enter([&] {
    Requests all(array_of_requests, incount);
    out(outcount, "outcount");
    while (find_complete(all) == -1) {
      if (const int i = poll_or_find_pending(all); i >= 0) {
        *outcount = 1;
        out(array_of_indices, "array_of_indices")[0] = i;
        Finisher finisher(array_of_statuses);
        finisher.add_pending(*all.at(i), 0);
        return finisher.end();
      }
    }
    finish_some(all, *outcount, array_of_indices, array_of_statuses);
  });
}

RMQ_MPI(int, Testsome,
        (int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
         MPI_Status array_of_statuses[])) {
  return enter([&] {
    Requests all(array_of_requests, incount);
    out(outcount, "outcount");
    if (find_complete(all) == -1) runtime().device->MPID_Poll(false, all.awaited());
    if (find_complete(all) == -1) check_pending(all);
    finish_some(all, *outcount, array_of_indices, array_of_statuses);
  });
}

}  // namespace rmq::mpi
