// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Two groups come together while duplicates of communicators of all are under way. Which agreement goes first has to be
// the same on both sides, although a group's own communicator has another context on each: on one side lower than those
// of the communicators that are duplicated, on the other side higher.
#include <array>

#include "check.hpp"

namespace {

constexpr int kRounds = 20;

struct World {
  bool second;         // whether this rank is of the second group
  MPI_Group own;       // of this rank's side
  MPI_Group theirs;    // of the other one
  MPI_Comm low, high;  // of this side
  std::array<MPI_Comm, 4> between;

  World() : second(check::rank() >= 2) {
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    int first_range[][3] = {{0, 1, 1}}, second_range[][3] = {{2, 3, 1}};
    MPI_Group_range_incl(all, 1, second ? second_range : first_range, &own);
    MPI_Group_range_incl(all, 1, second ? first_range : second_range, &theirs);
    MPI_Group_free(&all);
    MPI_Comm_create_group(MPI_COMM_WORLD, own, 1, &low);
    for (MPI_Comm& c : between) MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Comm_create_group(MPI_COMM_WORLD, own, 2, &high);
  }
  ~World() {
    for (MPI_Comm& c : between) MPI_Comm_free(&c);
    if (low != MPI_COMM_NULL) MPI_Comm_free(&low);
    MPI_Comm_free(&high);
    MPI_Group_free(&own);
    MPI_Group_free(&theirs);
  }
};

void use(MPI_Comm c) {
  const int one = 1;
  int sum = 0;
  CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c) == MPI_SUCCESS && sum > 0);
}

/// `make` makes a communicator of both sides.
template <class Make>
void among_duplicates(const World& w, Make make) {
  for (int round = 0; round < kRounds; ++round) {
    std::array<MPI_Comm, 4> copies;
    std::array<MPI_Request, 4> under_way;
    for (std::size_t i = 0; i < copies.size(); ++i) MPI_Comm_idup(w.between[i], &copies[i], &under_way[i]);
    MPI_Comm made = MPI_COMM_NULL;
    CHECK(make(&made) == MPI_SUCCESS);
    use(made);
    MPI_Waitall(static_cast<int>(under_way.size()), under_way.data(), MPI_STATUSES_IGNORE);
    for (MPI_Comm& c : copies) {
      use(c);
      MPI_Comm_free(&c);
    }
    MPI_Comm_free(&made);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    World w;
    const int their_leader = w.second ? 0 : 2;
    among_duplicates(w, [&](MPI_Comm* made) {
      return MPI_Intercomm_create(w.second ? w.low : w.high, 0, MPI_COMM_WORLD, their_leader, 5, made);
    });
    MPI_Comm inter;
    MPI_Intercomm_create(w.second ? w.low : w.high, 0, MPI_COMM_WORLD, their_leader, 5, &inter);
    among_duplicates(w, [&](MPI_Comm* made) { return MPI_Intercomm_merge(inter, w.second, made); });
    among_duplicates(w, [&](MPI_Comm* made) { return MPI_Comm_dup(inter, made); });
    among_duplicates(w, [&](MPI_Comm* made) { return MPI_Comm_split(inter, 0, 0, made); });
    MPI_Comm_free(&inter);
    // On one side a low context is free again, for what is made of the group.
    if (w.second) MPI_Comm_free(&w.low);
    among_duplicates(w, [&](MPI_Comm* made) {
      return MPI_Intercomm_create_from_groups(w.own, 0, w.theirs, 0, "order", MPI_INFO_NULL, MPI_ERRORS_RETURN, made);
    });
  }
  return check::finish();
}
