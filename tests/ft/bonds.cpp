// SPDX-License-Identifier: BSD-3-Clause
// bonds SIDE VICTIM POINT SERVICE DONE: one of two jobs of --ft, under a launcher each, that meet by MPI_Comm_accept
// and MPI_Comm_connect; SIDE: accept or connect. VICTIM (-1: nobody) dies at the n-th point inside that call
// (points.hpp; v and a number: of those behind its vote on whether the two have met, as the root); n -1: when the two
// have met; "all" in place of a victim: all of this job do, then.
//
// Or, SIDE spawn, a job and what it spawns, under one launcher: VICTIM is one of the spawners, or c and the rank of one
// of the spawned, who then dies at a point of its MPI_Init.
//
// Whoever lives has to come back from each call, with the same as all others of its job; in the end with what the two
// jobs agree on, or know that they cannot. Where they have not met, neither waits for the other to end: DONE are a file
// that this job has to wait for before MPI_Finalize (-: none).
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "alike.hpp"
#include "points.hpp"

namespace {

int wrong = 0;

void require(bool good, const char* what, int code) {
  if (good) return;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::printf("rank %d: %s (code %d)\n", rank, what, code);
  wrong = 1;
}

int class_of(int code) {
  int error_class = code;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  return error_class;
}

/// 1: all who live of `comm` say yes; 2: none does; 0: some.
int agree(MPI_Comm comm, bool yes) {
  int outcome = yes ? 1 : 2;
  MPIX_Comm_agree(comm, &outcome);  // which fails as somebody has died, and has agreed nevertheless
  return outcome;
}

void await_file(const char* path) {
  if (std::strcmp(path, "-") == 0) return;
  while (!std::ifstream(path)) usleep(1000);  // the other job's launcher ends: nothing here can tell
}

}  // namespace

/// What the two jobs do once they have met, as far as the others still live.
void use(MPI_Comm inter) {
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  // Ends whatever has become of the others; so does what comes then.
  const int heard = agree(inter, true);
  require(agree(MPI_COMM_WORLD, heard == 1) != 0, "this job is not of one mind about the other one", heard);
  MPIX_Comm_revoke(inter);
  int word = 0;
  const int code = MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 3, inter, MPI_STATUS_IGNORE);
  require(class_of(code) == MPIX_ERR_REVOKED, "a message on what has been revoked", class_of(code));
  MPI_Comm left = MPI_COMM_NULL;
  if (MPIX_Comm_shrink(inter, &left) == MPI_SUCCESS && left != MPI_COMM_NULL) {
    MPI_Comm_set_errhandler(left, MPI_ERRORS_RETURN);
    int mine = 1, theirs = 0, size;
    MPI_Comm_remote_size(left, &size);
    const int summed = MPI_Allreduce(&mine, &theirs, 1, MPI_INT, MPI_SUM, left);
    require(summed == MPI_SUCCESS && theirs == size, "a sum of those that are left", summed);
    MPI_Comm_disconnect(&left);
  }
  MPI_Comm_free(&inter);
}

/// A spawned process: argv is "child VICTIM POINT".
int be_child(char** argv) {
  const char* const rank = std::getenv("RMQ_RANK");
  arm(rank && std::atoi(rank) == std::atoi(argv[2]), argv[3]);
  MPI_Init(nullptr, nullptr);
  if (armed) raise(SIGKILL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  use(parent);
  MPI_Finalize();
  return wrong;
}

void spawn(char** argv, int rank) {
  const bool theirs = argv[2][0] == 'c';
  const int victim = theirs ? -1 : std::atoi(argv[2]);
  char* child[] = {const_cast<char*>("child"), theirs ? argv[2] + 1 : const_cast<char*>("-1"), argv[3], nullptr};
  arm(rank == victim, argv[3]);
  MPI_Comm inter = MPI_COMM_NULL;
  const int code = MPI_Comm_spawn(argv[0], child, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  if (armed) raise(SIGKILL);
  const bool met = code == MPI_SUCCESS;
  require(agree(MPI_COMM_WORLD, met) != 0, "the spawners are not of one mind whether they have", class_of(code));
  require(are_alike(MPI_COMM_WORLD, class_of(code)), "this job is not of one mind why", class_of(code));
  if (met) use(inter);
  std::printf("rank %d: %s, class %d\n", rank, met ? "met" : "not met", class_of(code));
}

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "child") == 0) return be_child(argv);
  if (argc < 4 || (argc != 6) == (std::strcmp(argv[1], "spawn") != 0)) return 2;
  const bool accepts = std::strcmp(argv[1], "accept") == 0, all_die = std::strcmp(argv[2], "all") == 0;
  const int victim = all_die ? -1 : std::atoi(argv[2]);
  const bool later = std::strcmp(argv[3], "-1") == 0;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (std::strcmp(argv[1], "spawn") == 0) {
    spawn(argv, rank);
    MPI_Finalize();
    return wrong;
  }
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank == 0 && accepts) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name(argv[4], MPI_INFO_NULL, port);
  } else if (rank == 0) {
    // The other job may have come and gone already; then there is no such port.
    while (MPI_Lookup_name(argv[4], MPI_INFO_NULL, port) != MPI_SUCCESS && !std::ifstream(argv[5])) sched_yield();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Info patience;  // the other side may have ended in the middle
  MPI_Info_create(&patience);
  MPI_Info_set(patience, "timeout", "10");
  MPI_Comm inter = MPI_COMM_NULL;
  arm(rank == victim, argv[3]);
  const int code = accepts ? MPI_Comm_accept(port, patience, 0, MPI_COMM_WORLD, &inter)
                           : MPI_Comm_connect(port, patience, 0, MPI_COMM_WORLD, &inter);
  if (armed) raise(SIGKILL);  // there are fewer points than that
  const bool met = code == MPI_SUCCESS;
  if (met && later && (rank == victim || all_die)) raise(SIGKILL);
  require(agree(MPI_COMM_WORLD, met) != 0, "this job is not of one mind whether it has met the other one", code);
  require(are_alike(MPI_COMM_WORLD, class_of(code)), "this job is not of one mind why", class_of(code));
  if (met) {
    use(inter);
    std::printf("rank %d: met\n", rank);
  } else {
    std::printf("rank %d: not met, class %d\n", rank, class_of(code));
    await_file(argv[5]);
  }
  MPI_Info_free(&patience);
  if (rank == 0 && accepts) MPI_Close_port(port);
  MPI_Finalize();
  return wrong;
}
