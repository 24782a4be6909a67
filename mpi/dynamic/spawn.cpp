// Chapter 11.8: MPI_Comm_spawn, MPI_Comm_spawn_multiple, MPI_Comm_get_parent. The root opens a port, and asks the
// launcher for a world whose MPI_Init connects there.
#include "mpi/dynamic/spawn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "mpi/dynamic/connect.hpp"
#include "mpi/dynamic/wish.hpp"
#include "mpi/ft/failures.hpp"
#include "mpi/internal/life.hpp"

namespace rmq::mpi {
namespace {

using nlohmann::json;

constexpr const char* kParentPort = "RMQ_PARENT_PORT";

/// One of the programs, as the root's arguments have it.
struct Program {
  const char* command;
  char** argv;
  int maxprocs;
  MPI_Info info;
};

json words_of(char** argv) {
  json words = json::array();
  for (char** word = argv; word && *word; ++word) words.push_back(*word);
  return words;
}

/// What the launcher is to know of one program. It refuses what it does not understand of the values.
json describe(const Program& p, std::size_t number) {
  const std::string which = fmt::format("array_of_commands[{}]", number);
  if (!p.command || !*p.command) fail_call(MPI_ERR_ARG, fmt::format("argument {} is empty", which));
  if (p.maxprocs < 0) fail_call(MPI_ERR_ARG, fmt::format("maxprocs of {} is negative: {}", which, p.maxprocs));
  json one{{"command", p.command}, {"arguments", words_of(p.argv)}, {"processes", p.maxprocs}};
  json keys = json::object();
  if (const Info* info = optional_info_arg(p.info))
    for (const auto& [key, value] : info->entries) keys[key] = value;
  one["info"] = std::move(keys);
  return one;
}

void give_codes(int* codes, int n, int code) {
  if (codes != MPI_ERRCODES_IGNORE) std::fill_n(codes, std::max(n, 0), code);
}

/// Collective over `c`; `programs` at the root alone.
MPI_Comm spawn(Comm& c, int root, const std::vector<Program>& programs, int* codes) {
  if (c.is_inter()) fail_call(MPI_ERR_COMM, "argument comm is an inter-communicator");
  if (root < 0 || root >= c.size()) detail::bad_root(c, root);
  connect_job();
  std::vector<std::uint64_t> outcome{0, 0};  // processes asked for, processes there are
  const auto ask = [&](Comm& own) {
    std::unique_ptr<Line> line;
    json wish{{"programs", json::array()}};
    for (std::size_t i = 0; i < programs.size(); ++i) {
      wish["programs"].push_back(describe(programs[i], i));
      outcome[0] += static_cast<std::uint64_t>(programs[i].maxprocs);
    }
    const std::string name = open_port().name();
    try {
      wish["port"] = name;
      const json answer = ask_launcher("spawn", wish);
      if (answer.contains("error")) fail_call(MPI_ERR_SPAWN, answer["error"].get<std::string>());
      outcome[1] = answer.value("processes", std::uint64_t{0});
      const Process first{job_number(answer.value("job", "")), 0};
      line = await_caller(*find_port(name), {}, [&] {
        ft::check_not_revoked(own);
        if (runtime().device->MPID_Is_dead(first))
          fail_call(MPI_ERR_SPAWN, "the first process of the new world has ended before it came");
      });
    } catch (...) {
      close_port(name);
      throw;
    }
    close_port(name);
    return line;
  };
  return connect_by(c, root, [&](Comm& own) {
    std::unique_ptr<Line> line;
    const auto tell = [&] { broadcast(party_behind(own, root), outcome); };
    try {
      at_root(own, root, [&] { line = ask(own); });
    } catch (const Failure& f) {
      tell();
      give_codes(codes, static_cast<int>(outcome.at(0)), class_of_code(f.code));
      throw;
    }
    tell();
    give_codes(codes, static_cast<int>(outcome.at(0)), MPI_ERR_SPAWN);
    give_codes(codes, static_cast<int>(outcome.at(1)), MPI_SUCCESS);
    return line;
  });
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
    at_root(own, 0, [&] { line = call_port(port, {}, nullptr, [&] { ft::check_not_revoked(own); }); });
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
    *intercomm = spawn(c, root, {{command, argv, maxprocs, info}}, array_of_errcodes);
  });
}

RMQ_MPI(int, Comm_spawn_multiple,
        (int count, char* array_of_commands[], char** array_of_argv[], const int array_of_maxprocs[],
         const MPI_Info array_of_info[], int root, MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[])) {
  return enter(comm, [&](Comm& c) {
    *out(intercomm, "intercomm") = MPI_COMM_NULL;
    std::vector<Program> programs;
    if (c.rank == root) {
      if (count <= 0) fail_call(MPI_ERR_ARG, fmt::format("argument count is {}", count));
      out(array_of_commands, "array_of_commands"), out(array_of_maxprocs, "array_of_maxprocs");
      for (int i = 0; i < count; ++i) {
        char** const argv = array_of_argv == MPI_ARGVS_NULL ? MPI_ARGV_NULL : array_of_argv[i];
        programs.push_back(
            {array_of_commands[i], argv, array_of_maxprocs[i], array_of_info ? array_of_info[i] : MPI_INFO_NULL});
      }
    }
    *intercomm = spawn(c, root, programs, array_of_errcodes);
  });
}

RMQ_MPI(int, Comm_get_parent, (MPI_Comm * parent)) {
  return enter([&] { *out(parent, "parent") = runtime().parent; });
}

}  // namespace rmq::mpi
