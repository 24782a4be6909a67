// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Process sets: of hosts and those that the user has named, by rmqrun or by RMQ_PSETS; which this process is in.
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

std::set<std::string> own_sets(MPI_Session s) {
  int n = 0;
  MPI_Session_get_num_psets(s, MPI_INFO_NULL, &n);
  std::set<std::string> names;
  for (int i = 0; i < n; ++i) {
    char name[MPI_MAX_PSET_NAME_LEN];
    int room = sizeof name;
    CHECK(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &room, name) == MPI_SUCCESS);
    CHECK(room == static_cast<int>(std::strlen(name)) + 1);
    names.insert(name);
  }
  CHECK(std::ssize(names) == n);
  return names;
}

/// World ranks of a set, in order.
std::vector<int> members(MPI_Session s, const char* name) {
  MPI_Group set, world;
  CHECK(MPI_Group_from_session_pset(s, name, &set) == MPI_SUCCESS);
  MPI_Group_from_session_pset(s, "mpi://WORLD", &world);
  int n = 0;
  MPI_Group_size(set, &n);
  std::vector<int> places(static_cast<std::size_t>(n)), ranks(places.size());
  for (int i = 0; i < n; ++i) places[static_cast<std::size_t>(i)] = i;
  MPI_Group_translate_ranks(set, n, places.data(), world, ranks.data());
  MPI_Group_free(&set);
  MPI_Group_free(&world);
  MPI_Info info;
  char size[16] = "";
  int flag = 0;
  MPI_Session_get_pset_info(s, name, &info);
  MPI_Info_get(info, "mpi_size", 15, size, &flag);
  CHECK(flag && std::atoi(size) == n);
  MPI_Info_free(&info);
  return ranks;
}

using Ints = std::vector<int>;

}  // namespace

int main(int argc, char**) {
  const bool launched = argc > 1;  // rmqrun has made the sets
  if (!launched) setenv("RMQ_PSETS", "even=2,0;left=0-1;right=2-3", 1);
  MPI_Session s;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);
  MPI_Group world;
  MPI_Group_from_session_pset(s, "mpi://WORLD", &world);
  int me = -1;
  MPI_Group_rank(world, &me);
  const std::set<std::string> own = own_sets(s);
  CHECK(own.count("mpi://WORLD") == 1 && own.count("mpi://SELF") == 1);
  CHECK(own.count("even") == (me % 2 == 0 ? 1 : 0));
  CHECK(own.count(me < 2 ? "left" : "right") == 1 && own.count(me < 2 ? "right" : "left") == 0);
  CHECK((members(s, "even") == (launched ? Ints{0, 2} : Ints{2, 0})));
  CHECK((members(s, "left") == Ints{0, 1} && members(s, "right") == Ints{2, 3}));
  MPI_Group none;
  CHECK_CLASS(MPI_Group_from_session_pset(s, "odd", &none), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Group_from_session_pset(s, "rmq://host/9", &none), MPI_ERR_ARG);

  // Of hosts: those who share memory. Members of a set talk without the others.
  MPI_Comm all, host, even;
  MPI_Comm_create_from_group(world, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &all);
  MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  std::string mine;
  for (const std::string& name : own) {
    if (name.compare(0, 11, "rmq://host/") == 0) mine = name;
  }
  Ints ranks(static_cast<std::size_t>(check::size(host)));
  MPI_Allgather(&me, 1, MPI_INT, ranks.data(), 1, MPI_INT, host);
  CHECK(members(s, mine.c_str()) == ranks);
  if (me % 2 == 0) {
    MPI_Group g;
    MPI_Group_from_session_pset(s, "even", &g);
    MPI_Comm_create_from_group(g, "even", MPI_INFO_NULL, MPI_ERRORS_RETURN, &even);
    int sum = 0;
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, even);
    CHECK(sum == 2);
    MPI_Comm_free(&even);
    MPI_Group_free(&g);
  }
  MPI_Comm_free(&host);
  MPI_Comm_free(&all);
  MPI_Group_free(&world);
  MPI_Session_finalize(&s);
  return check::failures ? 1 : 0;
}
