// SPDX-License-Identifier: BSD-3-Clause
// Chapter 12.5.1 and 12.5.2: active target: fence; start and complete, post and wait.
#include <fmt/format.h>

#include "engine/window/windows.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

/// The members of a group as places in the window.
std::vector<int> places_arg(const Win& w, MPI_Group handle) {
  const Group& group = group_arg(handle);
  std::vector<int> places;
  places.reserve(static_cast<std::size_t>(group.size()));
  for (const Rank r : group.world) {
    const int place = w.comm->group->place_of(r);
    if (place == MPI_UNDEFINED) {
      fail_call(MPI_ERR_GROUP, fmt::format("argument group has a member (world rank {}) that is not in the window", r));
    }
    places.push_back(place);
  }
  return places;
}

}  // namespace

RMQ_MPI(int, Win_fence, (int assertion, MPI_Win win)) {
  return enter_win(win, [&](Win& w) {
    check(w, w.window->fence(assertion_arg(
                 assertion, MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED)));
  });
}

RMQ_MPI(int, Win_start, (MPI_Group group, int assertion, MPI_Win win)) {
  return enter_win(win, [&](Win& w) {
    const unsigned assertions = assertion_arg(assertion, MPI_MODE_NOCHECK);
    check(w, w.window->start(places_arg(w, group), assertions));
  });
}

RMQ_MPI(int, Win_complete, (MPI_Win win)) {
  return enter_win(win, [&](Win& w) { check(w, w.window->complete()); });
}

RMQ_MPI(int, Win_post, (MPI_Group group, int assertion, MPI_Win win)) {
  return enter_win(win, [&](Win& w) {
    const unsigned assertions = assertion_arg(assertion, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT);
    check(w, w.window->post(places_arg(w, group), assertions));
  });
}

RMQ_MPI(int, Win_wait, (MPI_Win win)) {
  return enter_win(win, [&](Win& w) { check(w, w.window->wait()); });
}

RMQ_MPI(int, Win_test, (MPI_Win win, int* flag)) {
  return enter_win(win, [&](Win& w) {
    bool done = false;
    *out(flag, "flag") = 0;
    check(w, w.window->test(done));
    *flag = done;
  });
}

}  // namespace rmq::mpi
