// SPDX-License-Identifier: BSD-3-Clause
// Chapter 11.8: MPI_Comm_spawn, MPI_Comm_spawn_multiple, MPI_Comm_get_parent. The root opens a port, and asks the
// launcher for a world whose MPI_Init connects there.
#include "mpi/dynamic/spawn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/call/error_codes.hpp"
#include "engine/life/life.hpp"
#include "engine/object/deaths.hpp"
#include "engine/worlds/wish.hpp"
#include "mpi/define.hpp"
#include "mpi/dynamic/connect.hpp"
#include "mpi/dynamic/programs.hpp"

namespace rmq::mpi {
namespace {

using nlohmann::json;

constexpr const char* kParentPort = "RMQ_PARENT_PORT";

void give_codes(int* codes, std::uint64_t n, int code) {
  if (codes != MPI_ERRCODES_IGNORE) std::fill_n(codes, n, code);
}

/// A world that the launcher starts and that connects to the port. Fails when it ends before.
std::unique_ptr<Line> await_world(Port& port, const std::string& job, Comm& own) {
  OpenQuestion end("ended", {{"job", job}});
  const Process first{job_number(job), 0};
  return await_caller(port, {}, [&] {
    ft::check_whole(own);
    if (const auto ended = end.answer(); ended && ended->contains("error"))
      fail_call(MPI_ERR_SPAWN, (*ended)["error"].get<std::string>());
    if (runtime().device->is_dead(first))
      fail_call(MPI_ERR_SPAWN, "the first process of the new world has ended before it came");
  });
}

/// Collective over `c`; what `wanted` says counts at the root alone.
MPI_Comm spawn(Comm& c, int root, const Programs& wanted, int* codes) {
  if (c.is_inter()) fail_call(MPI_ERR_COMM, "argument comm is an inter-communicator");
  if (root < 0 || root >= c.size()) detail::bad_root(c, root);
  connect_job();
  std::vector<std::uint64_t> outcome{0, 0};  // processes asked for, processes there are
  // Whom the port is for the launcher knows: it starts nothing when that is too few.
  const auto ask_for = [&](json& wish, Comm& own, Port::Callers callers) -> std::optional<std::unique_ptr<Line>> {
    const std::shared_ptr<Port> port = open_port(callers);
    std::optional<std::unique_ptr<Line>> line;
    try {
      wish["port"] = port->name();
      wish["near"] = callers == Port::Callers::on_this_machine;
      const json answer = ask_launcher("spawn", wish, [&] { ft::check_whole(own); });
      if (answer.contains("error")) fail_call(MPI_ERR_SPAWN, answer["error"].get<std::string>());
      outcome[1] = answer.value("processes", std::uint64_t{0});
      if (!answer.value("far", false)) line = await_world(*port, answer.value("job", ""), own);
    } catch (...) {
      close_port(port->name());
      throw;
    }
    close_port(port->name());
    return line;
  };
  const auto ask = [&](Comm& own) {
    json wish = describe(wanted, outcome[0]);
    auto line = ask_for(wish, own, Port::Callers::on_this_machine);
    if (!line) line = ask_for(wish, own, Port::Callers::anywhere);
    if (!line) fail_call(MPI_ERR_SPAWN, "the launcher cannot tell where the new processes are to be");
    return std::move(*line);
  };
  bool found = false;
  const auto find = [&](Comm& own) {
    std::unique_ptr<Line> line;
    const auto tell = [&] { broadcast(party_behind(own, root), outcome); };
    try {
      at_root(own, root, [&] { line = ask(own); });
    } catch (const Failure& f) {
      tell();
      give_codes(codes, outcome.at(0), class_of_code(f.code));
      throw;
    }
    tell();
    found = true;
    give_codes(codes, outcome.at(0), MPI_ERR_SPAWN);
    return line;
  };
  try {
    const MPI_Comm made = connect_by(c, root, find);
    give_codes(codes, outcome.at(1), MPI_SUCCESS);
    return made;
  } catch (const Failure& f) {
    if (!found || f.code == MPIX_ERR_PROC_FAILED || f.code == MPIX_ERR_REVOKED) throw;
    fail_call(MPI_ERR_SPAWN, "the new processes have been started, and have not connected: " + f.what);
  }
}

}  // namespace

void find_parents() {
  const char* const name = std::getenv(kParentPort);
  if (!name) return;
  Runtime& rt = runtime();
  const std::string port = name;
  ::unsetenv(kParentPort);  // what this process starts has no parents
  connect_job();
  rt.parent = connect_by(*rt.world, 0, [&](Comm& own) {
    std::unique_ptr<Line> line;
    at_root(own, 0, [&] { line = call_port(port, {}, nullptr, [&] { ft::check_whole(own); }); });
    return line;
  });
  find_comm(rt.parent)->name = "MPI_COMM_PARENT";
}

void forget_parent(const Comm& c) {
  if (c.handle == runtime().parent) runtime().parent = MPI_COMM_NULL;
}

RMQ_MPI(int, Comm_spawn,
        (const char* command, char* argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* intercomm,
         int array_of_errcodes[])) {
  return enter(comm, [&](Comm& c) {
    *out(intercomm, "intercomm") = MPI_COMM_NULL;
    auto* commands = const_cast<char*>(command);
    *intercomm = spawn(c, root, {1, &commands, &argv, &maxprocs, &info}, array_of_errcodes);
  });
}

RMQ_MPI(int, Comm_spawn_multiple,
        (int count, char* array_of_commands[], char** array_of_argv[], const int array_of_maxprocs[],
         const MPI_Info array_of_info[], int root, MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[])) {
  return enter(comm, [&](Comm& c) {
    *out(intercomm, "intercomm") = MPI_COMM_NULL;
    *intercomm =
        spawn(c, root, {count, array_of_commands, array_of_argv, array_of_maxprocs, array_of_info}, array_of_errcodes);
  });
}

RMQ_MPI(int, Comm_get_parent, (MPI_Comm * parent)) {
  return enter([&] { *out(parent, "parent") = runtime().parent; });
}

}  // namespace rmq::mpi
