// SPDX-License-Identifier: BSD-3-Clause
// ranks: 5
// Dup, split, create, create_group, split_type, names, info, compare; contexts are kept apart and given back.
#include <sys/resource.h>

#include <climits>
#include <cstring>
#include <fstream>
#include <vector>

#include "check.hpp"

namespace {

int sum_of_ranks(MPI_Comm comm) {
  int me = check::rank(comm), total = 0;
  MPI_Allreduce(&me, &total, 1, MPI_INT, MPI_SUM, comm);
  return total;
}

void dup() {
  MPI_Comm d;
  MPI_Comm_dup(MPI_COMM_WORLD, &d);
  int result;
  MPI_Comm_compare(MPI_COMM_WORLD, d, &result);
  CHECK(result == MPI_CONGRUENT);
  MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result);
  CHECK(result == MPI_IDENT);
  MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &result);
  CHECK(result == MPI_UNEQUAL);
  // The same tag in two communicators: the message of each goes to its own.
  const int me = check::rank(), n = check::size(), next = (me + 1) % n, before = (me + n - 1) % n;
  int in_world = -1, in_dup = -1;
  const int one = 1, two = 2;
  MPI_Request r[2];
  MPI_Irecv(&in_dup, 1, MPI_INT, before, 0, d, &r[0]);
  MPI_Irecv(&in_world, 1, MPI_INT, before, 0, MPI_COMM_WORLD, &r[1]);
  MPI_Send(&one, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
  MPI_Send(&two, 1, MPI_INT, next, 0, d);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  CHECK(in_world == 1 && in_dup == 2);
  MPI_Comm_free(&d);
  CHECK(d == MPI_COMM_NULL);
  MPI_Request idup;
  MPI_Comm_idup(MPI_COMM_WORLD, &d, &idup);
  MPI_Wait(&idup, MPI_STATUS_IGNORE);
  CHECK(sum_of_ranks(d) == 10);
  MPI_Comm_free(&d);
}

/// MPI_Request_get_status says that a duplicate is complete without an end to its request: it is usable from then on.
void idup_looked_at() {
  const int me = check::rank(), next = (me + 1) % 5, before = (me + 4) % 5;
  MPI_Comm d;
  MPI_Request idup;
  MPI_Comm_idup(MPI_COMM_WORLD, &d, &idup);
  for (int flag = 0; !flag;) MPI_Request_get_status(idup, &flag, MPI_STATUS_IGNORE);
  int in_world = -1, in_dup = -1, one = 1, two = 2;
  MPI_Request r[4];
  MPI_Irecv(&in_world, 1, MPI_INT, before, 0, MPI_COMM_WORLD, &r[0]);
  MPI_Irecv(&in_dup, 1, MPI_INT, before, 0, d, &r[1]);
  MPI_Isend(&two, 1, MPI_INT, next, 0, d, &r[2]);
  MPI_Isend(&one, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &r[3]);
  MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
  CHECK(in_world == 1 && in_dup == 2);
  MPI_Comm_free(&d);  // before its request
  MPI_Wait(&idup, MPI_STATUS_IGNORE);
  CHECK(idup == MPI_REQUEST_NULL);
}

/// A message that nobody has received when its communicator ends stays out of those that come after.
void left_over() {
  const int me = check::rank(), old = 42, fresh = 43;
  MPI_Comm d;
  MPI_Comm_dup(MPI_COMM_WORLD, &d);
  if (me == 0) MPI_Send(&old, 1, MPI_INT, 1, 7, d);
  if (me == 1) MPI_Probe(0, 7, d, MPI_STATUS_IGNORE);
  MPI_Comm_free(&d);
  MPI_Comm_dup(MPI_COMM_WORLD, &d);
  int got = 0;
  if (me == 0) MPI_Send(&fresh, 1, MPI_INT, 1, 7, d);
  if (me == 1) MPI_Recv(&got, 1, MPI_INT, 0, 7, d, MPI_STATUS_IGNORE);
  if (me == 1) CHECK(got == fresh);
  MPI_Comm_free(&d);
}

void many() {
  // More than there are contexts, were they not given back.
  for (int i = 0; i < 300; ++i) {
    MPI_Comm batch[8];
    for (MPI_Comm& c : batch) MPI_Comm_dup(MPI_COMM_WORLD, &c);
    for (MPI_Comm& c : batch) MPI_Comm_free(&c);
  }
}

void split() {
  const int me = check::rank();
  MPI_Comm odd_even;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &odd_even);
  CHECK(check::size(odd_even) == (me % 2 ? 2 : 3));
  CHECK(check::rank(odd_even) == (me % 2 ? (3 - me) / 2 : (4 - me) / 2));
  CHECK(sum_of_ranks(odd_even) == (me % 2 ? 1 : 3));
  MPI_Comm_free(&odd_even);
  MPI_Comm some;
  MPI_Comm_split(MPI_COMM_WORLD, me < 2 ? 7 : MPI_UNDEFINED, 0, &some);
  CHECK((some == MPI_COMM_NULL) == (me >= 2));
  if (some != MPI_COMM_NULL) MPI_Comm_free(&some);
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  CHECK(check::size(host) >= 2);
  MPI_Comm_free(&host);
}

void create() {
  MPI_Group world, some;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  const int members[] = {4, 0, 2};
  MPI_Group_incl(world, 3, members, &some);
  const int me = check::rank();
  MPI_Comm c;
  MPI_Comm_create(MPI_COMM_WORLD, some, &c);
  CHECK((c != MPI_COMM_NULL) == (me % 2 == 0));
  if (c != MPI_COMM_NULL) {
    CHECK(check::rank(c) == (me == 4 ? 0 : me == 0 ? 1 : 2));
    MPI_Comm_free(&c);
  }
  if (me % 2 == 0) {  // the others are not asked
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 3, &c);
    CHECK(sum_of_ranks(c) == 3);
    MPI_Comm_free(&c);
  }
  MPI_Group_free(&some);
  MPI_Group_free(&world);
  CHECK(world == MPI_GROUP_NULL);
}

/// Agreements that ranks enter in different orders, one of them non-blocking.
void crossed() {
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Comm blocking, idup;
  MPI_Request r;
  if (check::rank() % 2) {
    MPI_Comm_create_group(MPI_COMM_WORLD, world, 0, &blocking);
    MPI_Comm_idup(MPI_COMM_WORLD, &idup, &r);
  } else {
    MPI_Comm_idup(MPI_COMM_WORLD, &idup, &r);
    MPI_Comm_create_group(MPI_COMM_WORLD, world, 0, &blocking);
  }
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  CHECK(sum_of_ranks(idup) == 10);
  CHECK(sum_of_ranks(blocking) == 10);
  MPI_Comm_free(&idup);
  MPI_Comm_free(&blocking);
  MPI_Group_free(&world);
}

void names() {
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
  CHECK(std::strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14);
  MPI_Comm d;
  MPI_Comm_dup(MPI_COMM_SELF, &d);
  MPI_Comm_get_name(d, name, &length);
  CHECK(length == 0 && name[0] == 0);
  MPI_Comm_set_name(d, "mine");
  MPI_Comm_get_name(d, name, &length);
  CHECK(std::strcmp(name, "mine") == 0);
  MPI_Comm_free(&d);
}

void groups() {
  MPI_Group world, low, high, both, result;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int range[1][3] = {{0, 2, 1}};
  MPI_Group_range_incl(world, 1, range, &low);
  int back[1][3] = {{4, 2, -1}};
  MPI_Group_range_incl(world, 1, back, &high);
  int size, compared;
  MPI_Group_union(low, high, &both);
  MPI_Group_compare(both, world, &compared);
  CHECK(compared == MPI_SIMILAR);  // 0 1 2 4 3
  MPI_Group_free(&both);
  MPI_Group_intersection(low, high, &both);
  MPI_Group_size(both, &size);
  CHECK(size == 1);
  const int zero = 0;
  int rank;
  MPI_Group_translate_ranks(both, 1, &zero, world, &rank);
  CHECK(rank == 2);
  MPI_Group_translate_ranks(high, 1, &zero, low, &rank);
  CHECK(rank == MPI_UNDEFINED);
  MPI_Group_difference(low, low, &result);
  CHECK(result == MPI_GROUP_EMPTY);
  MPI_Group_excl(world, 1, &zero, &result);
  MPI_Group_rank(result, &rank);
  CHECK(rank == (check::rank() ? check::rank() - 1 : MPI_UNDEFINED));
  for (MPI_Group* g : {&world, &low, &high, &both, &result}) MPI_Group_free(g);
}

/// The request of a collective may be freed once it is known to be complete, and not before.
void freed_when_complete() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm made = MPI_COMM_NULL;
  for (const bool dup : {false, true}) {
    MPI_Request r;
    for (int from = 1; check::rank() == 0 && from < 5; ++from) {
      MPI_Recv(nullptr, 0, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (dup) {
      MPI_Comm_idup(MPI_COMM_WORLD, &made, &r);
    } else {
      MPI_Ibarrier(MPI_COMM_WORLD, &r);
    }
    if (check::rank() != 0) {  // rank 0 has not begun
      CHECK_CLASS(MPI_Request_free(&r), MPI_ERR_REQUEST);
      MPI_Send(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    for (int flag = 0; !flag;) MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
    CHECK(MPI_Request_free(&r) == MPI_SUCCESS && r == MPI_REQUEST_NULL);
  }
  CHECK(sum_of_ranks(made) == 10);
  MPI_Comm_free(&made);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/// A range of two billion ranks of a group of five is an error that costs no memory.
void long_range() {
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before;
  getrlimit(RLIMIT_AS, &before);
  const rlimit little{static_cast<rlim_t>(pages) * 4096 + (rlim_t{1} << 30), before.rlim_max};
  setrlimit(RLIMIT_AS, &little);
  MPI_Group world, result;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (const int first : {0, 7}) {
    int range[1][3] = {{first, INT_MAX, 1}};
    CHECK_CLASS(MPI_Group_range_incl(world, 1, range, &result), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Group_range_excl(world, 1, range, &result), MPI_ERR_RANK);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Group_free(&world);
  setrlimit(RLIMIT_AS, &before);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  dup();
  idup_looked_at();
  left_over();
  many();
  split();
  create();
  crossed();
  names();
  groups();
  freed_when_complete();
  long_range();
  return check::finish();
}
