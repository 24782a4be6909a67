// SPDX-License-Identifier: BSD-3-Clause
// ranks: 12
// A rank dies before it comes to a collective that others have come to. Whoever depends on it hears
// MPIX_ERR_PROC_FAILED, and never that the program has mistaken a length, whichever way the collective goes: by
// messages, in memory that the ranks of a host share, which they do from the third call on, or first one and then the
// other. Each collective is called on a communicator of the living, of whom one dies: every time another one of them.
//   ft_collectives [background] [agreed]
// agreed: nobody revokes before all have agreed, so the collective ends by itself at each of them.
#include <signal.h>

#include <array>
#include <string_view>
#include <vector>

#include "mpi/check.hpp"

namespace {

/// Who must fail, if it lives: all of them, those behind the dead rank, or a root.
enum class Need { all, behind, root };

struct Sort {
  const char* name;
  Need need;
  bool from_dead;  // the dead rank is the root
  int (*call)(MPI_Comm c, int root, MPI_Request* later);
};

constexpr int kCount = 40;
std::array<int, kCount> in;
std::array<int, 16 * kCount> wide, out;

int barrier(MPI_Comm c, int, MPI_Request* later) {
  return later ? MPI_Ibarrier(c, later) : MPI_Barrier(c);
}
int bcast(MPI_Comm c, int root, MPI_Request* later) {
  return later ? MPI_Ibcast(out.data(), kCount, MPI_INT, root, c, later)
               : MPI_Bcast(out.data(), kCount, MPI_INT, root, c);
}
int reduce(MPI_Comm c, int root, MPI_Request* later) {
  return later ? MPI_Ireduce(in.data(), out.data(), kCount, MPI_INT, MPI_SUM, root, c, later)
               : MPI_Reduce(in.data(), out.data(), kCount, MPI_INT, MPI_SUM, root, c);
}
int allreduce(MPI_Comm c, int, MPI_Request* later) {
  return later ? MPI_Iallreduce(in.data(), out.data(), kCount, MPI_INT, MPI_SUM, c, later)
               : MPI_Allreduce(in.data(), out.data(), kCount, MPI_INT, MPI_SUM, c);
}
int gather(MPI_Comm c, int root, MPI_Request* later) {
  return later ? MPI_Igather(in.data(), kCount, MPI_INT, out.data(), kCount, MPI_INT, root, c, later)
               : MPI_Gather(in.data(), kCount, MPI_INT, out.data(), kCount, MPI_INT, root, c);
}
int scatter(MPI_Comm c, int root, MPI_Request* later) {
  return later ? MPI_Iscatter(wide.data(), kCount, MPI_INT, out.data(), kCount, MPI_INT, root, c, later)
               : MPI_Scatter(wide.data(), kCount, MPI_INT, out.data(), kCount, MPI_INT, root, c);
}
int allgather(MPI_Comm c, int, MPI_Request* later) {
  return later ? MPI_Iallgather(in.data(), kCount, MPI_INT, out.data(), kCount, MPI_INT, c, later)
               : MPI_Allgather(in.data(), kCount, MPI_INT, out.data(), kCount, MPI_INT, c);
}
int alltoall(MPI_Comm c, int, MPI_Request* later) {
  return later ? MPI_Ialltoall(wide.data(), kCount, MPI_INT, out.data(), kCount, MPI_INT, c, later)
               : MPI_Alltoall(wide.data(), kCount, MPI_INT, out.data(), kCount, MPI_INT, c);
}
int reduce_scatter(MPI_Comm c, int, MPI_Request* later) {
  return later ? MPI_Ireduce_scatter_block(wide.data(), out.data(), kCount, MPI_INT, MPI_SUM, c, later)
               : MPI_Reduce_scatter_block(wide.data(), out.data(), kCount, MPI_INT, MPI_SUM, c);
}
int scan(MPI_Comm c, int, MPI_Request* later) {
  return later ? MPI_Iscan(in.data(), out.data(), kCount, MPI_INT, MPI_SUM, c, later)
               : MPI_Scan(in.data(), out.data(), kCount, MPI_INT, MPI_SUM, c);
}

const std::array<Sort, 10> kSorts{{{"barrier", Need::all, false, barrier},
                                   {"bcast", Need::all, true, bcast},
                                   {"reduce", Need::root, false, reduce},
                                   {"allreduce", Need::all, false, allreduce},
                                   {"gather", Need::root, false, gather},
                                   {"scatter", Need::all, true, scatter},
                                   {"allgather", Need::all, false, allgather},
                                   {"alltoall", Need::all, false, alltoall},
                                   {"reduce_scatter", Need::all, false, reduce_scatter},
                                   {"scan", Need::behind, false, scan}}};

int complete(int code, MPI_Request* later) {
  return code == MPI_SUCCESS ? MPI_Wait(later, MPI_STATUS_IGNORE) : code;
}

/// The collective on `c`, whose rank `victim` dies before it. Those who are left have a communicator then.
MPI_Comm without(MPI_Comm c, const Sort& sort, int victim, bool in_background, bool agreed) {
  const int me = check::rank(c), root = sort.from_dead ? victim : (victim + 1) % check::size(c);
  for (int i = 0; i < 5; ++i) CHECK(sort.call(c, root, nullptr) == MPI_SUCCESS);
  MPI_Barrier(c);
  if (me == victim) raise(SIGKILL);
  MPI_Request later = MPI_REQUEST_NULL;
  const int code = in_background ? complete(sort.call(c, root, &later), &later) : sort.call(c, root, nullptr);
  const int error = check::class_of(code);
  const bool needs =
      sort.need == Need::all || (sort.need == Need::root && me == root) || (sort.need == Need::behind && me > victim);
  // A barrier that it has left is perhaps not over elsewhere: then that one is the first to fail, and revokes.
  const bool failed = error == MPIX_ERR_PROC_FAILED || error == MPIX_ERR_REVOKED;
  if (!(failed || (!needs && error == MPI_SUCCESS)))
    std::fprintf(stderr, "%s, rank %d of %d, of whom %d has died: class %d\n", sort.name, me, check::size(c), victim,
                 error);
  CHECK(failed || (!needs && error == MPI_SUCCESS));
  int all = 1;
  if (agreed) MPIX_Comm_agree(c, &all);
  MPIX_Comm_revoke(c);
  MPI_Comm living;
  CHECK(MPIX_Comm_shrink(c, &living) == MPI_SUCCESS);
  MPI_Comm_free(&c);
  return living;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm c;
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
  bool in_background = false, agreed = false;
  for (int i = 1; i < argc; ++i) (std::string_view(argv[i]) == "agreed" ? agreed : in_background) = true;
  for (std::size_t i = 0; i < kSorts.size(); ++i)
    c = without(c, kSorts[i], static_cast<int>(i * 5) % check::size(c), in_background, agreed);
  MPI_Comm_free(&c);
  return check::finish();
}
