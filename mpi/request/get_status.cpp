// SPDX-License-Identifier: BSD-3-Clause
// Chapter 3.7 of MPI-4.1: what MPI_Testany, Testall and Testsome ask, without an end to any request.
#include "mpi/request/several.hpp"

namespace rmq::mpi {

RMQ_MPI(int, Request_get_status_any,
        (int count, const MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status)) {
  return enter([&]() -> int {
    const Requests all = looked_at(array_of_requests, count);
    int& i = *out(indx, "index");
    out(flag, "flag");
    i = find_complete(all);
    if (i == -1) {
      runtime().device->MPID_Poll(false, all.awaited());
      i = find_complete(all);
    }
    *flag = i != -1;
    if (i >= 0) return peek(*all.at(i), status);
    if (i == MPI_UNDEFINED) set_empty_status(status);
    i = MPI_UNDEFINED;
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, Request_get_status_all,
        (int count, const MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[])) {
  return enter([&] {
    const Requests all = looked_at(array_of_requests, count);
    out(flag, "flag");
    if (!all_complete(all)) runtime().device->MPID_Poll(false, all.awaited());
    *flag = all_complete(all);
    if (!*flag) return;
    Finisher finisher(array_of_statuses);
    for (int i = 0; i < all.size(); ++i) {
      const Request* r = all.at(i);
      if (r && is_active(*r)) {
        finisher.look(*r, i);
      } else {
        finisher.add_empty(i);
      }
    }
    finisher.end();
  });
}

RMQ_MPI(int, Request_get_status_some,
        (int incount, const MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
         MPI_Status array_of_statuses[])) {
  return enter([&] {
    const Requests all = looked_at(array_of_requests, incount);
    out(outcount, "outcount");
    if (find_complete(all) == -1) runtime().device->MPID_Poll(false, all.awaited());
    Finisher finisher(array_of_statuses);
    int done = 0;
    bool any_active = false;
    for (int i = 0; i < all.size(); ++i) {
      const Request* r = all.at(i);
      if (!r || !is_active(*r)) continue;
      any_active = true;
      if (!is_complete(*r)) continue;
      out(array_of_indices, "array_of_indices")[done] = i;
      finisher.look(*r, done++);
    }
    *outcount = any_active ? done : MPI_UNDEFINED;
    finisher.end();
  });
}

}  // namespace rmq::mpi
