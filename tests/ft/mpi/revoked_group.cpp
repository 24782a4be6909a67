// SPDX-License-Identifier: BSD-3-Clause
// ranks: 5
// MPI_Comm_create_group while its communicator is being revoked: all members of the group have a communicator, which
// works, or none has, also where some know of the revocation first and do not call. Contexts and groups are used again
// and again, and what one attempt has left does not get in the way of the next.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "mpi/check.hpp"

namespace {

/// What all ranks know of a round.
struct Plan {
  explicit Plan(unsigned seed) : random(seed) {
    for (int r = 0; r < 5; ++r) members.push_back(r);
    std::shuffle(members.begin(), members.end(), random);
    members.resize(1 + random() % 5);
    revokes = random() % 4 != 0;
    revoker = static_cast<int>(random() % 5);
    late = static_cast<int>(random() % 10);  // a rank, or none
    tag = static_cast<int>(random() % 3);
    for (unsigned& d : delays) d = random() % 200;
  }
  bool is_in(int rank) const { return std::find(members.begin(), members.end(), rank) != members.end(); }
  std::mt19937 random;
  std::vector<int> members;
  bool revokes;
  int revoker, late, tag;
  unsigned delays[6];  // us
};

void wait_us(unsigned us) {
  std::this_thread::sleep_for(std::chrono::microseconds(us));
}

/// What becomes of the call at this rank: an error class.
int attempt(const Plan& plan, MPI_Comm c, MPI_Comm* made) {
  const int me = check::rank();
  std::thread revokes;
  if (plan.revokes && me == plan.revoker) {
    revokes = std::thread([&] {
      wait_us(plan.delays[5]);
      MPIX_Comm_revoke(c);
    });
  }
  if (plan.revokes && me == plan.late)
    for (int is = 0; !is;) MPIX_Comm_is_revoked(c, &is);
  int code = MPIX_ERR_REVOKED;
  if (plan.is_in(me) && (!plan.revokes || me != plan.late || plan.tag == 0)) {
    wait_us(plan.delays[me]);
    MPI_Group all, some;
    MPI_Comm_group(c, &all);
    MPI_Group_incl(all, static_cast<int>(plan.members.size()), plan.members.data(), &some);
    code = check::class_of(MPI_Comm_create_group(c, some, plan.tag, made));
    MPI_Group_free(&some);
    MPI_Group_free(&all);
  }
  if (revokes.joinable()) revokes.join();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int made_of_revoked = 0, refused = 0;
  for (unsigned round = 0; round < 1000 && check::failures == 0; ++round) {
    const Plan plan(round);
    MPI_Comm c, made = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    const int code = attempt(plan, c, &made);
    const bool is_in = plan.is_in(check::rank());
    int well[2] = {is_in ? code == MPI_SUCCESS : 1, is_in ? code != MPI_SUCCESS : 1};
    MPI_Allreduce(MPI_IN_PLACE, well, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    CHECK(well[0] || well[1]);
    CHECK(plan.revokes || well[0]);
    if (is_in) {
      CHECK(code == MPI_SUCCESS || code == MPIX_ERR_REVOKED);
      CHECK((made != MPI_COMM_NULL) == (code == MPI_SUCCESS));
    }
    if (made != MPI_COMM_NULL && well[0]) {
      int one = 1, sum = 0;
      CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made) == MPI_SUCCESS && sum == check::size(made));
      MPI_Comm_free(&made);
    }
    made_of_revoked += plan.revokes && well[0];
    refused += !well[0];
    MPI_Comm_free(&c);
  }
  CHECK(refused > 10);
  CHECK(made_of_revoked > 10);
  return check::finish();
}
