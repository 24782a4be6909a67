// SPDX-License-Identifier: BSD-3-Clause
// What the command line of rmqrun (and of rmqboot) asks for.
//
// Parsed by hand: the options of MPI launchers (-np 4, -genv NAME VALUE, -bind-to core), sections separated by ':' and
// "all after the program belongs to the program" are not what a general option library speaks. Long options may be
// written with one dash or two, and with --name=value.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "tools/launch/binding.hpp"
#include "tools/launch/hostlist.hpp"

namespace rmq::launch {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// One section of the command line: the same program in so many ranks.
struct App {
  int ranks = 1;
  bool ranks_given = false;
  std::vector<std::string> command;  // program and its arguments
  std::string folder;                // --wdir; empty: the launcher's
  std::string path;                  // -path: folders where programs are looked for first
  std::string soft;                  // -soft: numbers of ranks that are good as well
  Variables environment;             // -env
  std::vector<std::string> sets;     // --pset without ranks: names of process sets that are this section
};

struct Options {
  enum class Action { run, help, version };
  Action action = Action::run;
  std::vector<App> apps;
  Variables environment;           // -x and -genv: for all ranks
  std::vector<int> host_of_rank;   // by rank: host of `hosts`, or pretended one (--host-split); all 0 without either
  std::vector<std::string> hosts;  // names of --hosts, --hostfile or the allocation; empty: this machine
  HostList universe;               // all of them, those without a rank as well, and their slots
  std::string methods;             // --method; empty: the library's default
  std::string trace;               // --trace, an absolute path; empty: off
  std::string sets;                // --pset, of sections as well, in the words of RMQ_PSETS
  std::string coll;                // --coll: the file's words, with commas
  std::string trace_max;    // --trace-max, bytes of each rank's file (K, M, G); empty: RMQ_TRACE_MAX of the environment
  bool tag_output = false;  // -l
  bool takes_input = true;  // rank 0 reads the launcher's standard input; -stdin none: nobody
  Binding binding;          // --bind, --map-by a part of the machine, --report-bindings
  bool pmi = false;         // --pmi
  std::string launcher;     // --launcher: what runs a command on another host; empty: ssh
  int fan_out = 32;         // --fan-out: agents that one process starts
  std::chrono::milliseconds silence{10'000};  // --host-timeout: after which a host is given up
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::chrono::milliseconds> hang_after;  // --hang-after
  bool hang_abort = false;                              // --hang-abort
  int universe_size = 0;                                // --usize; 0: CPUs, or twice the ranks
  bool ft = false;                                      // --ft: the job goes on when a rank dies
  std::vector<std::string> notes;                       // lines for the user: what was taken otherwise than written

  int size() const;  // ranks of all sections; one too many where they are more than possible
};

/// What the environment says where the command line does not: texts of variables, nullptr where they are not set.
struct Defaults {
  const char* timeout = nullptr;         // MPIEXEC_TIMEOUT
  const char* slurm_tasks = nullptr;     // SLURM_NTASKS: ranks, inside of an allocation
  const char* slurm_nodes = nullptr;     // SLURM_JOB_NUM_NODES
  const char* slurm_list = nullptr;      // SLURM_JOB_NODELIST: "n[1-3,7],m"
  const char* slurm_per_node = nullptr;  // SLURM_TASKS_PER_NODE: "2(x3),1"
  const char* pbs_file = nullptr;        // PBS_NODEFILE: a name for each rank
  const char* hydra_file = nullptr;      // HYDRA_HOST_FILE, of MPICH: a hostfile
  const char* openmpi_file = nullptr;    // OMPI_MCA_orte_default_hostfile, of Open MPI: a hostfile
  static Defaults of_environment();
};

/// Reads the arguments (without argv[0]). Errc::argument names the option and the remedy.
Result<Options> parse_options(std::span<const char* const> arguments, const Defaults& defaults);

/// The text of --help, for a launcher of this name.
std::string help_text();

}  // namespace rmq::launch
