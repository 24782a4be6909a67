// SPDX-License-Identifier: BSD-3-Clause
// three JOB ROOT VICTIM SERVICE: one of three jobs of --ft, a, b and c, under a launcher each: a meets b, and c then
// meets both, by whom of them ROOT is (a or b). When all have met VICTIM dies, a job and a rank ("b1"). Those who have
// lost the root by which they were connected part from the others, sooner or later: all have to come back from what
// they do then, of one mind with all that they still reach.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

int wrong = 0;

void require(bool good, const char* what, int value) {
  if (good) return;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::printf("rank %d: %s (%d)\n", rank, what, value);
  wrong = 1;
}

/// An intra-communicator of both sides; `behind`: this one comes behind the other.
MPI_Comm merged(MPI_Comm inter, bool behind) {
  MPI_Comm both;
  MPI_Intercomm_merge(inter, behind ? 1 : 0, &both);
  MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
  return both;
}

MPI_Comm accept_at(int root, MPI_Comm over, const std::string& service) {
  int rank;
  MPI_Comm_rank(over, &rank);
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank == root) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name(service.c_str(), MPI_INFO_NULL, port);
  }
  MPI_Comm inter;
  MPI_Comm_accept(port, MPI_INFO_NULL, root, over, &inter);
  if (rank == root) MPI_Unpublish_name(service.c_str(), MPI_INFO_NULL, port);
  return merged(inter, false);
}

MPI_Comm connect_to(const std::string& service) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    while (MPI_Lookup_name(service.c_str(), MPI_INFO_NULL, port) != MPI_SUCCESS) usleep(1000);
  }
  MPI_Comm inter;
  MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  return merged(inter, true);
}

/// Those that this process still reaches, once all of them say so.
int living_of(MPI_Comm all) {
  for (int tries = 0; tries < 20; ++tries) {
    MPI_Comm left = MPI_COMM_NULL;
    if (MPIX_Comm_shrink(all, &left) != MPI_SUCCESS || left == MPI_COMM_NULL) continue;
    MPI_Comm_set_errhandler(left, MPI_ERRORS_RETURN);
    int one = 1, sum = 0, size;
    MPI_Comm_size(left, &size);
    const int code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, left);
    const int well = code == MPI_SUCCESS && sum == size;
    int agreed = well;
    MPIX_Comm_agree(left, &agreed);
    MPI_Comm_free(&left);
    require(code != MPI_SUCCESS || sum == size, "a sum of those that are left", sum);
    if (agreed != 0) return size;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const char job = argv[1][0], root_job = argv[2][0];
  const std::string service = argv[4];
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm all;
  if (job == 'c') {
    all = connect_to(service + "c");
  } else {
    const MPI_Comm two = job == 'a' ? accept_at(0, MPI_COMM_WORLD, service + "b") : connect_to(service + "b");
    MPI_Comm_set_errhandler(two, MPI_ERRORS_RETURN);
    all = accept_at(root_job == 'a' ? 0 : size, two, service + "c");
  }
  MPI_Barrier(all);
  if (argv[3][0] == job && argv[3][1] - '0' == rank) raise(SIGKILL);
  MPI_Barrier(all);  // with whatever comes of it
  const int left = living_of(all);
  require(left > 0, "they come to no end", left);
  MPI_Finalize();
  return wrong;
}
