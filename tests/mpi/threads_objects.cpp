// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// Threads that may not communicate, at MPI_THREAD_FUNNELED, use info objects and make error handlers nevertheless,
// while the main thread does both: MPI has these functions thread-safe always (MPI-4.1, section 11.4.1).
#include <mpi.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

std::atomic<int> wrong{0};

void on_error(MPI_Comm*, int*, ...) {}

/// One object after another, several alive at any time, each with a value of its own.
void objects(int me, int rounds) {
  std::vector<MPI_Info> kept;
  for (int i = 0; i < rounds; ++i) {
    MPI_Info info = MPI_INFO_NULL, copy = MPI_INFO_NULL;
    const std::string value = std::to_string(me) + "." + std::to_string(i);
    MPI_Info_create(&info);
    MPI_Info_set(info, "value", value.c_str());
    MPI_Info_dup(info, &copy);
    kept.push_back(copy);
    char text[64] = "";
    int flag = 0, room = sizeof text;
    MPI_Info_get_string(copy, "value", &room, text, &flag);
    wrong += !flag || value != text;
    MPI_Info_free(&info);
    int level = -1, main = -1;
    MPI_Query_thread(&level);
    MPI_Is_thread_main(&main);
    wrong += level != MPI_THREAD_FUNNELED || main != (me == 0);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(on_error, &handler);
    wrong += handler == MPI_ERRHANDLER_NULL;
    MPI_Errhandler_free(&handler);
    if (kept.size() < 200) continue;
    for (MPI_Info& k : kept) MPI_Info_free(&k);
    kept.clear();
  }
  for (MPI_Info& k : kept) MPI_Info_free(&k);
}

}  // namespace

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  CHECK(provided == MPI_THREAD_FUNNELED);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  std::vector<std::thread> others;
  for (int t = 1; t <= 3; ++t) others.emplace_back(objects, t, 20000);
  const int other = 1 - check::rank();
  for (int i = 0; i < 200; ++i) {
    int in = -1;
    MPI_Sendrecv(&i, 1, MPI_INT, other, 0, &in, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in == i);
    objects(0, 10);
    MPI_Info info;
    MPI_Comm_get_info(MPI_COMM_WORLD, &info);
    MPI_Info_free(&info);
  }
  for (std::thread& t : others) t.join();
  CHECK(wrong == 0);
  return check::finish();
}
