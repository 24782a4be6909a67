// SPDX-License-Identifier: BSD-3-Clause
// making FUNCTION FIRST_POINT: ranks die inside of functions that make communicators, windows and queues; or with
// "before" in place of a point, ahead of them, when all others call.
//
// In each round one of those that are left dies at the n-th point inside its call of the function, n = FIRST_POINT +
// the round (points.hpp). So rounds and runs go through the call. All others must return, all of them well or none;
// and what is left of them makes the next round's communicator.
#include <mpi.h>
#include <rmq_queue.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>

#include "points.hpp"

namespace {

/// Two halves of `comm`, and what connects them.
struct Sides {
  explicit Sides(MPI_Comm comm) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    first = rank < size / 2;
    other = first ? size / 2 : 0;
    MPI_Comm_split(comm, first, rank, &half);
  }
  void connect(MPI_Comm comm) { MPI_Intercomm_create(half, 0, comm, other, 7, &inter); }
  ~Sides() {
    if (inter != MPI_COMM_NULL) MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL;
  bool first = false;
  int other = 0;
};

using Call = std::function<int()>;

int free_made(int code, MPI_Comm* made) {
  if (*made != MPI_COMM_NULL && code == MPI_SUCCESS) MPI_Comm_free(made);
  return code;
}
int free_window(int code, MPI_Win* made) {
  if (code == MPI_SUCCESS) MPI_Win_free(made);
  return code;
}

/// `go` is called once all is ready, with what is to be done.
struct Function {
  const char* name;
  void (*run)(MPI_Comm comm, const std::function<void(const Call&)>& go);
};

MPI_Comm made = MPI_COMM_NULL;
MPI_Win win;
void* memory;
int base[4];

const Function kFunctions[] = {
    {"dup", [](MPI_Comm c, const auto& go) { go([&] { return MPI_Comm_dup(c, &made); }); }},
    {"idup",
     [](MPI_Comm c, const auto& go) {
       go([&] {
         MPI_Request r;
         const int code = MPI_Comm_idup(c, &made, &r);
         return code != MPI_SUCCESS ? code : MPI_Wait(&r, MPI_STATUS_IGNORE);
       });
     }},
    {"split",
     [](MPI_Comm c, const auto& go) {
       int rank;
       MPI_Comm_rank(c, &rank);
       go([&] { return MPI_Comm_split(c, rank % 2, -rank, &made); });
     }},
    {"split_type",
     [](MPI_Comm c, const auto& go) {
       go([&] { return MPI_Comm_split_type(c, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made); });
     }},
    {"create",
     [](MPI_Comm c, const auto& go) {
       MPI_Group all, some;
       int last;
       MPI_Comm_size(c, &last);
       --last;
       MPI_Comm_group(c, &all);
       MPI_Group_excl(all, 1, &last, &some);
       go([&] { return MPI_Comm_create(c, some, &made); });
       MPI_Group_free(&all);
       MPI_Group_free(&some);
     }},
    {"cart",
     [](MPI_Comm c, const auto& go) {
       int n, periodic = 1;
       MPI_Comm_size(c, &n);
       go([&] { return MPI_Cart_create(c, 1, &n, &periodic, 1, &made); });
     }},
    {"dist_graph",
     [](MPI_Comm c, const auto& go) {
       int rank, size, one = 1;
       MPI_Comm_rank(c, &rank);
       MPI_Comm_size(c, &size);
       int next = (rank + 1) % size;
       go([&] { return MPI_Dist_graph_create(c, 1, &rank, &one, &next, &one, MPI_INFO_NULL, 1, &made); });
     }},
    {"create_group",
     [](MPI_Comm c, const auto& go) {
       MPI_Group all;
       MPI_Comm_group(c, &all);
       go([&] { return MPI_Comm_create_group(c, all, 5, &made); });
       MPI_Group_free(&all);
     }},
    {"from_group",
     [](MPI_Comm c, const auto& go) {
       MPI_Group all;
       MPI_Comm_group(c, &all);
       go([&] { return MPI_Comm_create_from_group(all, "making", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made); });
       MPI_Group_free(&all);
     }},
    {"from_groups",
     [](MPI_Comm c, const auto& go) {
       const Sides sides(c);
       MPI_Group all, half;
       MPI_Comm_group(c, &all);
       MPI_Comm_group(sides.half, &half);
       int size;
       MPI_Comm_size(c, &size);
       int first[1][3] = {{0, size / 2 - 1, 1}}, second[1][3] = {{size / 2, size - 1, 1}};
       MPI_Group other;
       MPI_Group_range_incl(all, 1, sides.first ? second : first, &other);
       go([&] {
         return MPI_Intercomm_create_from_groups(half, 0, other, 0, "making", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
       });
       for (MPI_Group* g : {&all, &half, &other}) MPI_Group_free(g);
     }},
    {"intercomm",
     [](MPI_Comm c, const auto& go) {
       const Sides sides(c);
       go([&] { return MPI_Intercomm_create(sides.half, 0, c, sides.other, 3, &made); });
     }},
    {"merge",
     [](MPI_Comm c, const auto& go) {
       Sides sides(c);
       sides.connect(c);
       go([&] { return MPI_Intercomm_merge(sides.inter, sides.first, &made); });
     }},
    {"inter_split",
     [](MPI_Comm c, const auto& go) {
       Sides sides(c);
       sides.connect(c);
       go([&] { return MPI_Comm_split(sides.inter, 0, 0, &made); });
     }},
    {"win_create",
     [](MPI_Comm c, const auto& go) {
       go([&] { return free_window(MPI_Win_create(base, sizeof base, 1, MPI_INFO_NULL, c, &win), &win); });
     }},
    {"win_allocate",
     [](MPI_Comm c, const auto& go) {
       go([&] { return free_window(MPI_Win_allocate(64, 1, MPI_INFO_NULL, c, &memory, &win), &win); });
     }},
    {"win_dynamic",
     [](MPI_Comm c, const auto& go) {
       go([&] { return free_window(MPI_Win_create_dynamic(MPI_INFO_NULL, c, &win), &win); });
     }},
    {"queue",
     [](MPI_Comm c, const auto& go) {
       go([&] {
         rmq_queue queue = nullptr;
         const int code = rmq_queue_create(c, 8, 16, &queue);
         if (code == MPI_SUCCESS) rmq_queue_free(&queue);
         return code;
       });
     }},
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Function* function = nullptr;
  for (const Function& f : kFunctions)
    if (argc == 3 && std::string_view(argv[1]) == f.name) function = &f;
  if (!function) return 2;
  const bool before = std::string_view(argv[2]) == "before";
  MPI_Comm comm;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int wrong = 0, size;
  MPI_Comm_size(comm, &size);
  for (int round = 0; size > 2; ++round) {
    int rank, code = -1;
    MPI_Comm_rank(comm, &rank);
    // The first, the last, and those between them.
    const int victim = round % 3 == 0 ? 0 : round % 3 == 1 ? size - 1 : size / 2;
    function->run(comm, [&](const Call& call) {
      made = MPI_COMM_NULL;
      if (before && rank == victim) raise(SIGKILL);
      points_left = std::atoi(argv[2]) + round;
      armed = rank == victim;
      code = call();
      if (armed) raise(SIGKILL);  // its call has fewer points than that
      free_made(code, &made);
    });
    // One bit says that all were well, another that none was.
    int outcome = code == MPI_SUCCESS ? 1 : 2;
    MPIX_Comm_agree(comm, &outcome);
    int error_class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
    if (outcome == 0 || (code != MPI_SUCCESS && error_class != MPIX_ERR_PROC_FAILED)) {
      std::printf("rank %d of %d: %s, victim %d at point %s + %d: code %d (class %d), not as all others\n", rank, size,
                  function->name, victim, argv[2], round, code, error_class);
      wrong = 1;
    }
    MPI_Comm smaller;
    MPIX_Comm_shrink(comm, &smaller);
    MPI_Comm_free(&comm);
    comm = smaller;
    const int size_before = size;
    MPI_Comm_size(comm, &size);
    if (size >= size_before) wrong = 1;
  }
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return wrong;
}
