// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Splits by parts of the hardware (hwloc), unguided splits, splits by process sets and by folders; what is bound to
// what.
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "check.hpp"

namespace {

constexpr const char* kKey = "mpi_hw_resource_type";

/// Binds this rank to a CPU: the one after the other of those that it may use. Which.
int bind(int rank) {
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  int wanted = rank % CPU_COUNT(&all), cpu = 0;
  while (!CPU_ISSET(cpu, &all) || wanted-- > 0) ++cpu;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
  return cpu;
}

MPI_Comm split(int type, const char* key, const char* value) {
  MPI_Info info = MPI_INFO_NULL;
  if (value) {
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
  }
  MPI_Comm made = MPI_COMM_WORLD;
  MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &made);
  if (value) MPI_Info_free(&info);
  return made;
}

/// Whether the communicator has all ranks with my value, and no others; a communicator that is null has none.
bool divides_by(MPI_Comm c, int value) {
  int values[64], mine = 0;
  MPI_Allgather(&value, 1, MPI_INT, values, 1, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < check::size(); ++r) mine += values[r] == value;
  if (c == MPI_COMM_NULL) return false;
  int same[64];
  MPI_Allgather(&value, 1, MPI_INT, same, 1, MPI_INT, c);
  bool alike = true;
  for (int r = 0; r < check::size(c); ++r) alike = alike && same[r] == value;
  return alike && check::size(c) == mine;
}

int host() {
  MPI_Comm c = split(MPI_COMM_TYPE_SHARED, nullptr, nullptr);
  int first = check::rank();
  MPI_Bcast(&first, 1, MPI_INT, 0, c);
  MPI_Comm_free(&c);
  return first;
}

bool has_hwloc() {
  MPI_Info info;
  int n = 0;
  MPI_Get_hw_resource_info(&info);
  MPI_Info_get_nkeys(info, &n);
  MPI_Info_free(&info);
  return n > 1;
}

std::string bound_to(const char* resource) {
  MPI_Info info;
  char value[16] = "";
  int flag = 0;
  MPI_Get_hw_resource_info(&info);
  MPI_Info_get(info, resource, 15, value, &flag);
  MPI_Info_free(&info);
  return flag ? value : "";
}

void guided(int cpu) {
  const int where = host();
  for (const int type : {MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED}) {
    MPI_Comm c = split(type, kKey, "mpi_shared_memory");
    CHECK(divides_by(c, where));
    MPI_Comm_free(&c);
    for (const char* nothing : {"no such thing", "hwloc://", "pci:x"})
      CHECK(split(type, kKey, nothing) == MPI_COMM_NULL);
    CHECK(split(type, kKey, nullptr) == MPI_COMM_NULL);
    if (!has_hwloc()) continue;
    for (const char* name : {"hwloc://PU", "pu", "HWLOC://pu"}) {
      c = split(type, kKey, name);
      CHECK(divides_by(c, where * 4096 + cpu));
      if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
    }
    c = split(type, kKey, "machine");
    CHECK(divides_by(c, where));
    if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
  }
  // Who asks for nothing gets nothing, and those who ask for another thing come to other communicators.
  const bool asks = check::rank() % 2 == 0;
  MPI_Comm c = split(asks ? MPI_COMM_TYPE_HW_GUIDED : MPI_UNDEFINED, kKey, "mpi_shared_memory");
  CHECK((c != MPI_COMM_NULL) == asks);
  if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
}

/// Several hosts are divided by hosts; one whose ranks are bound to different CPUs by these, or by what they are in.
void unguided(int cpu) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Comm c;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &c);
  char value[64] = "";
  int flag = 0, cpus[64];
  MPI_Info_get(info, kKey, 63, value, &flag);
  MPI_Info_free(&info);
  MPI_Allgather(&cpu, 1, MPI_INT, cpus, 1, MPI_INT, MPI_COMM_WORLD);
  bool same_cpu = true;
  for (int r = 0; r < check::size(); ++r) same_cpu = same_cpu && cpus[r] == cpu;
  int where = host(), others = 0;
  MPI_Allreduce(&where, &others, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (others > 0) {
    CHECK(flag && std::strcmp(value, "mpi_shared_memory") == 0 && divides_by(c, where));
  } else if (has_hwloc() && !same_cpu) {
    CHECK(flag && std::strncmp(value, "hwloc://", 8) == 0 && c != MPI_COMM_NULL);
    if (c != MPI_COMM_NULL) CHECK(check::size(c) < check::size());
    CHECK(bound_to(value) == "true");
  } else {
    CHECK(!flag && c == MPI_COMM_NULL);
  }
  if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
}

void by_set() {
  const std::string own = "rmq://host/" + std::to_string(host() ? 1 : 0);  // at most two hosts
  MPI_Comm c = split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", own.c_str());
  CHECK(divides_by(c, host()));
  if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
  c = split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "rmq://host/0");
  CHECK((c != MPI_COMM_NULL) == (host() == 0));
  if (c != MPI_COMM_NULL) MPI_Comm_free(&c);
  // Each process has a set of this name of its own.
  c = split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://SELF");
  CHECK(c != MPI_COMM_NULL && check::size(c) == 1);
  MPI_Comm_free(&c);
  c = split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD");
  CHECK(c != MPI_COMM_NULL && check::size(c) == check::size());
  MPI_Comm_free(&c);
  CHECK(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://NOWHERE") == MPI_COMM_NULL);
}

/// MPICH's extension, under both its numbers.
void by_folder() {
  char folder[] = "/tmp/rmq-folder-XXXXXX";
  if (check::rank() == 0 && !mkdtemp(folder)) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (const int type : {MPIX_COMM_TYPE_NEIGHBORHOOD, 4}) {
    MPI_Comm c = split(type, "nbhd_common_dirname", folder);
    CHECK(c != MPI_COMM_NULL);
    if (c != MPI_COMM_NULL) {
      CHECK(check::size(c) == check::size());
      MPI_Comm_free(&c);
    }
    CHECK(split(type, "nbhd_common_dirname", "/no/such/folder") == MPI_COMM_NULL);
    CHECK(split(type, "nbhd_common_dirname", check::rank() == 1 ? folder : "/tmp") == MPI_COMM_NULL);  // not the same
    c = split(check::rank() == 1 ? MPI_UNDEFINED : type, "nbhd_common_dirname", folder);
    CHECK((c == MPI_COMM_NULL) == (check::rank() == 1));
    if (c != MPI_COMM_NULL) {
      CHECK(check::size(c) == check::size() - 1);
      MPI_Comm_free(&c);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (check::rank() == 0) CHECK(rmdir(folder) == 0);  // nothing is left in it
}

}  // namespace

int main(int argc, char** argv) {
  const char* const rank = std::getenv("RMQ_RANK");
  const int cpu = bind(rank ? std::atoi(rank) : 0);  // before MPI has threads
  MPI_Init(&argc, &argv);
  if (has_hwloc()) {
    CHECK(bound_to("hwloc://PU") == "true");
  } else if (check::rank() == 0) {
    std::printf("libhwloc is not there: parts of a host are not looked at\n");
  }
  guided(cpu);
  unguided(cpu);
  by_set();
  by_folder();
  return check::finish();
}
