// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/option_table.hpp"

#include <iterator>
#include <vector>

#include "tools/launch/words.hpp"

namespace rmq::launch {

namespace {

constexpr std::string_view kFiles =
    "redirect in a shell, as in rmqrun -n 4 sh -c './prog >out.$RMQ_RANK', or label lines with -l";
constexpr std::string_view kPreload = "programs and files have to be on all hosts before";
constexpr std::string_view kAllocation = "that is said to salloc or sbatch, and rmqrun runs in the allocation";
constexpr std::string_view kDebugger =
    "start rmqrun under a debugger that knows MPIR, or attach one: gdb -p PID of a rank";
constexpr std::string_view kPlaces = "--hosts in the order that is wanted, --map-by and --bind say where ranks are";
constexpr std::string_view kVerbose = "there is no more to tell; --report-bindings and rmqps say what is where";
constexpr std::string_view kOwnLibrary = "agents find their program and libraries where rmqrun lies";
constexpr std::string_view kNoStart = "--launcher COMMAND names what runs a command on another host";
constexpr std::string_view kCheckpoint = "there are no checkpoints; --ft lets a job go on when ranks die";
constexpr std::string_view kCpus = "--bind core:N binds each rank to N cores";

using Sort = KnownOption::Sort;

constexpr KnownOption kOthers[] = {
    // It is so here in any case: all variables reach all ranks, for instance, and the job ends with the first failure.
    {"oversubscribe", 0, Sort::ignored},
    {"overcommit", 0, Sort::ignored},
    {"O", 0, Sort::ignored},
    {"allow-run-as-root", 0, Sort::ignored},
    {"envall", 0, Sort::ignored},
    {"genvall", 0, Sort::ignored},
    {"genvlist", 1, Sort::ignored},
    {"envlist", 1, Sort::ignored},
    {"preserve-env", 0, Sort::ignored},
    {"q", 0, Sort::ignored},
    {"quiet", 0, Sort::ignored},
    {"unbuffered", 0, Sort::ignored},
    {"u", 0, Sort::ignored},
    {"kill-on-bad-exit", 0, Sort::ignored},
    {"K", 0, Sort::ignored},
    {"use-hwthread-cpus", 0, Sort::ignored},
    {"noprefix", 0, Sort::ignored},
    {"disable-recovery", 0, Sort::ignored},
    {"wait", 1, Sort::ignored},

    // Scripts that pass them keep working, and are told.
    {"mca", 2, Sort::foreign},
    {"gmca", 2, Sort::foreign},
    {"omca", 2, Sort::foreign},
    {"gomca", 2, Sort::foreign},
    {"prtemca", 2, Sort::foreign},
    {"pmixmca", 2, Sort::foreign},
    {"am", 1, Sort::foreign},
    {"tune", 1, Sort::foreign},
    {"personality", 1, Sort::foreign},
    {"mpi", 1, Sort::foreign},
    {"prefix", 1, Sort::foreign, kOwnLibrary},
    {"localhost", 1, Sort::foreign, "the machine's name is what the system says"},
    {"disable-hostname-propagation", 0, Sort::foreign},
    {"pmi-port", 0, Sort::foreign},
    {"rmk", 1, Sort::foreign, "allocations of Slurm and PBS are found by their variables"},
    {"v", 0, Sort::foreign, kVerbose},
    {"verbose", 0, Sort::foreign, kVerbose},
    {"vv", 0, Sort::foreign, kVerbose},
    {"display", 1, Sort::foreign, kVerbose},
    {"display-map", 0, Sort::foreign, kVerbose},
    {"display-devel-map", 0, Sort::foreign, kVerbose},
    {"display-allocation", 0, Sort::foreign, kVerbose},
    {"print-rank-map", 0, Sort::foreign, kVerbose},
    {"print-all-exitcodes", 0, Sort::foreign, "the code of the first rank that has failed is told"},
    {"report-state-on-timeout", 0, Sort::foreign, "--hang-after SECONDS says who waits for whom"},
    {"get-stack-traces", 0, Sort::foreign, "--hang-after SECONDS says who waits for whom"},
    {"order-nodes", 1, Sort::foreign, "hosts are used in the order of --hosts"},
    {"memory-alloc-kinds", 1, Sort::foreign, "memory is the system's, on every host"},

    // What to do instead.
    {"file", 1, Sort::refused, "-configfile FILE has an option line for each program"},
    {"initial-errhandler", 1, Sort::refused, "the program sets it with the info key mpi_initial_errhandler"},
    {"output-filename", 1, Sort::refused, kFiles},
    {"output", 1, Sort::refused, kFiles},
    {"o", 1, Sort::refused, kFiles},
    {"error", 1, Sort::refused, kFiles},
    {"e", 1, Sort::refused, kFiles},
    {"outfile-pattern", 1, Sort::refused, kFiles},
    {"errfile-pattern", 1, Sort::refused, kFiles},
    {"merge-stderr-to-stdout", 0, Sort::refused, "write rmqrun … 2>&1"},
    {"timestamp-output", 0, Sort::refused, "write rmqrun … | ts (of moreutils)"},
    {"prepend-pattern", 1, Sort::refused, "-l puts [rank] before each line"},
    {"xml", 0, Sort::refused, "-l puts [rank] before each line"},
    {"xterm", 1, Sort::refused, kDebugger},
    {"input", 1, Sort::refused, "write rmqrun … <FILE; rank 0 reads it"},
    {"i", 1, Sort::refused, "write rmqrun … <FILE; rank 0 reads it"},
    {"genvnone", 0, Sort::refused, "write env -i NAME=VALUE rmqrun …"},
    {"envnone", 0, Sort::refused, "write env -i NAME=VALUE rmqrun …"},
    {"envexcl", 1, Sort::refused, "write env -u NAME rmqrun …"},
    {"genvexcl", 1, Sort::refused, "write env -u NAME rmqrun …"},
    {"export", 1, Sort::refused, "-x NAME=VALUE sets a variable for all ranks, which have all of rmqrun's"},
    {"npersocket", 1, Sort::refused, kPlaces},
    {"cpus-per-proc", 1, Sort::refused, kCpus},
    {"cpus-per-rank", 1, Sort::refused, kCpus},
    {"cpus-per-task", 1, Sort::refused, kCpus},
    {"cpu-bind", 1, Sort::refused, "--bind hwthread, core, l3cache, numa or socket"},
    {"cpu-set", 1, Sort::refused, "taskset -c LIST rmqrun …, and --bind within that"},
    {"binding", 1, Sort::refused, "--bind hwthread, core, l3cache, numa or socket"},
    {"distribution", 1, Sort::refused, kPlaces},
    {"m", 1, Sort::refused, kPlaces},
    {"rankfile", 1, Sort::refused, kPlaces},
    {"rf", 1, Sort::refused, kPlaces},
    {"nolocal", 0, Sort::refused, "--hosts names the others alone"},
    {"nooversubscribe", 0, Sort::refused, "a hostfile with max_slots=N for each host refuses more"},
    {"nodes", 1, Sort::refused, "--hosts names them, -ppn N says how many ranks each has"},
    {"launcher-exec", 1, Sort::refused, kNoStart},
    {"bootstrap-exec", 1, Sort::refused, kNoStart},
    {"launch-agent", 1, Sort::refused, kNoStart},
    {"preload-binary", 0, Sort::refused, kPreload},
    {"preload-files", 1, Sort::refused, kPreload},
    {"set-cwd-to-session-dir", 0, Sort::refused, "--wdir DIR"},
    {"multi-prog", 0, Sort::refused, "programs follow each other behind ':', or stand in -configfile FILE"},
    {"continuous", 0, Sort::refused, kCheckpoint},
    {"max-restarts", 1, Sort::refused, kCheckpoint},
    {"ckpoint-interval", 1, Sort::refused, kCheckpoint},
    {"ckpoint-prefix", 1, Sort::refused, kCheckpoint},
    {"ckpointlib", 1, Sort::refused, kCheckpoint},
    {"debug", 0, Sort::refused, kDebugger},
    {"debugger", 1, Sort::refused, kDebugger},
    {"tv", 0, Sort::refused, kDebugger},
    {"gdb", 0, Sort::refused, kDebugger},
    {"gdba", 1, Sort::refused, kDebugger},
    {"info", 0, Sort::refused, "rmqinfo prints what this build has"},
    {"time", 1, Sort::refused, "--timeout SECONDS"},
    {"t", 1, Sort::refused, "--timeout SECONDS"},
    {"partition", 1, Sort::refused, kAllocation},
    {"p", 1, Sort::refused, kAllocation},
    {"account", 1, Sort::refused, kAllocation},
    {"A", 1, Sort::refused, kAllocation},
    {"job-name", 1, Sort::refused, kAllocation},
    {"J", 1, Sort::refused, kAllocation},
    {"exclusive", 0, Sort::refused, kAllocation},
    {"overlap", 0, Sort::refused, kAllocation},
    {"mem", 1, Sort::refused, kAllocation},
    {"gres", 1, Sort::refused, kAllocation},
};

}  // namespace

std::span<const KnownOption> known_options() {
  static const std::vector<KnownOption> all = [] {
    std::vector<KnownOption> options(std::begin(kOthers), std::end(kOthers));
#define RMQ_OPTION(verb, values, names, left, right) \
  for (const std::string_view name : split(names, ' ')) options.push_back({name, values, Sort::own, {}, on_##verb});
#define RMQ_OPTION_AS(verb, name, value) options.push_back({name, 0, Sort::own, value, on_##verb});
#include "tools/launch/options.def"
#undef RMQ_OPTION
#undef RMQ_OPTION_AS
    return options;
  }();
  return all;
}

}  // namespace rmq::launch
