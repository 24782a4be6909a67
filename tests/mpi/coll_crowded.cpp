// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// One host has a CPU for each of its ranks, the other has not; that is so for all members of a communicator, however it
// has come to be. What tells which algorithm they take is how many messages go between two hosts.
#include <cstdlib>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

/// Messages that this rank has sent over TCP.
unsigned long long sent_by_tcp() {
  static MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
  static MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  if (session == MPI_T_PVAR_SESSION_NULL) {
    int level, index, count;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    MPI_T_pvar_get_index("rmq_messages_sent_tcp", MPI_T_PVAR_CLASS_COUNTER, &index);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &count);
    MPI_T_pvar_start(session, handle);
  }
  unsigned long long sent = 0;
  MPI_T_pvar_read(session, handle, &sent);
  return sent;
}

/// Over two hosts of two: a crowd goes by hosts here, so that the second rank of a host tells the other host nothing.
void check_goes_as_a_crowd(MPI_Comm comm, const char* what) {
  constexpr int kBytes = 1024;
  const int p = check::size(comm);
  std::vector<char> out(static_cast<std::size_t>(p * kBytes)), in(out.size());
  const auto before = sent_by_tcp();
  MPI_Alltoall(out.data(), kBytes, MPI_CHAR, in.data(), kBytes, MPI_CHAR, comm);
  const auto sent = sent_by_tcp() - before;
  const bool second = check::rank(comm) % 2 == 1;
  if ((sent == 0) != second) {
    std::fprintf(stderr, "%s: rank %d has sent %llu messages between hosts\n", what, check::rank(), sent);
    ++check::failures;
  }
}

bool two_hosts() {
  MPI_Comm mine;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &mine);
  const bool two = check::size(mine) == 2;
  MPI_Comm_free(&mine);
  return two;
}

void all_sorts() {
  const MPI_Comm world = MPI_COMM_WORLD;
  check_goes_as_a_crowd(world, "world");
  std::vector<MPI_Comm> made(6);
  MPI_Comm_dup(world, &made[0]);
  MPI_Request request;
  MPI_Comm_idup(world, &made[1], &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_split(world, 0, 0, &made[2]);
  MPI_Group group;
  MPI_Comm_group(world, &group);
  MPI_Comm_create_group(world, group, 3, &made[3]);
  MPI_Comm_create_from_group(group, "crowd", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made[4]);
  MPI_Group_free(&group);
  MPI_Comm half, both;
  MPI_Comm_split(world, check::rank() / 2, 0, &half);
  MPI_Intercomm_create(half, 0, world, check::rank() < 2 ? 2 : 0, 9, &both);
  MPI_Intercomm_merge(both, check::rank() / 2, &made[5]);
  constexpr const char* kNames[] = {"dup", "idup", "split", "create_group", "create_from_group", "merge"};
  for (std::size_t i = 0; i < made.size(); ++i) check_goes_as_a_crowd(made[i], kNames[i]);
  for (MPI_Comm* c : {&half, &both}) MPI_Comm_free(c);
  for (MPI_Comm& c : made) MPI_Comm_free(&c);
}

}  // namespace

int main(int argc, char** argv) {
  const char* rank = std::getenv("RMQ_RANK");
  setenv("RMQ_WAIT", (rank ? std::atoi(rank) : 0) < 2 ? "spin" : "yield", 1);
  // The world's first collective is one that asks nobody to wait: each rank tells the next before it hears of rank 0.
  MPI_Init(&argc, &argv);
  const int me = check::rank();
  MPI_Request request;
  if (me > 0) {
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Send(&me, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  } else {
    for (int i = 1, from; i < 4; ++i) MPI_Recv(&from, 1, MPI_INT, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (two_hosts()) all_sorts();
  return check::finish();
}
