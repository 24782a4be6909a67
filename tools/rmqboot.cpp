// SPDX-License-Identifier: BSD-3-Clause
// rmqboot: the start of a job through another MPI, `mpiexec -n N rmqboot [options] program …`. Chooses the helper that
// was built for the MPI whose mpiexec started it (tools/boot/helper.cpp); the helper spreads the server's address with
// that MPI, leaves it, and becomes the program. Also the connection server itself, when the helper of rank 0 asks for
// it.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "start/bootstrap_env.hpp"
#include "start/pmi_server.hpp"
#include "tools/boot/minder.hpp"
#include "tools/boot/server.hpp"
#include "tools/launch/env.hpp"
#include "tools/launch/verdict.hpp"
#include "tools/process/printable.hpp"

namespace {

using namespace rmq::launch;
using std::string;

int complain(const string& what, int code) {
  std::fprintf(stderr, "rmqboot: %s\n", printable(what).c_str());
  return code;
}

bool is_set(const char* name) {
  return std::getenv(name) != nullptr;
}

struct Helper {
  const char* file;  // in libexec/rmq
  const char* mpi;   // for people
  const char* compiler;
};

// Open MPI first: it sets PMIX_RANK too, as do launchers that speak only PMIx, which its library understands.
std::optional<Helper> choose_helper() {
  if (is_set("OMPI_COMM_WORLD_RANK") || is_set("PMIX_RANK"))
    return Helper{"rmqboot-openmpi", "Open MPI", "mpicc.openmpi"};
  if (is_set("PMI_RANK") || is_set("PMI_FD") || is_set("PMI_PORT"))
    return Helper{"rmqboot-mpich", "MPICH", "mpicc.mpich"};
  return std::nullopt;
}

string nobody_started_us() {
  if (is_set("SLURM_PROCID"))
    return "srun has started this process without an MPI; use 'srun --mpi=pmi2 rmqboot ./prog' (or --mpi=pmix, see "
           "srun "
           "--mpi=list), or 'salloc -n N mpiexec rmqboot ./prog'";
  return "no MPI's mpiexec has started this process; use 'mpiexec -n N rmqboot ./prog', or 'rmqrun -n N ./prog' on one "
         "machine";
}

// The helper must find the host's MPI, not ours that answers to the same library name.
void forget_own_libraries(const string& prefix) {
  const char* path = std::getenv("LD_LIBRARY_PATH");
  if (path == nullptr) return;
  string kept;
  for (std::string_view rest = path; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string_view folder = rest.substr(0, end);
    if (!folder.starts_with(prefix + "/lib")) kept += (kept.empty() ? "" : ":") + string(folder);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  ::setenv("LD_LIBRARY_PATH", kept.c_str(), 1);
}

int serve(char** argv) {
  const int listener = std::atoi(argv[2]), size = std::atoi(argv[3]);
  if (listener < 3 || size < 1) return exit_usage;
  // The host MPI's descriptors came along; held open here, they would keep its launcher waiting.
  ::close_range(3, static_cast<unsigned>(listener) - 1, 0);
  ::close_range(static_cast<unsigned>(listener) + 1, ~0U, 0);
  // Away from rank 0's minder, which ends with all its descendants while other ranks may still need us.
  if (::fork() > 0) ::_exit(0);
  return serve_remote_ranks(UniqueFd(listener), size, argv[4]);
}

// Started by rank 0 of a job under another launcher, from inside of its program.
int serve_started(char** argv) {
  const int size = std::atoi(argv[2]), launcher = std::atoi(argv[5]);
  ::close_range(launcher < 0 ? 3 : rmq::pmi::server_launcher_fd + 1, ~0U, 0);  // the program's descriptors
  if (size < 1) return exit_usage;
  return serve_started_ranks(size, argv[3], std::string_view(argv[4]) == "loopback", UniqueFd(launcher));
}

int mind(int argc, char** argv) {
  MindedRank rank{UniqueFd(std::atoi(argv[2])), UniqueFd(std::atoi(argv[3])), argv[4], {argv + 5, argv + argc}};
  for (const int fd : {rank.control.get(), rank.socket.get()}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return mind_rank(std::move(rank));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (argc == 5 && first == serve_option) return serve(argv);
  if (argc == 6 && first == rmq::pmi::serve_started_option) return serve_started(argv);
  if (argc >= 6 && first == mind_option) return mind(argc, argv);
  if (first == "--version") {
    std::puts("rmqboot (RMQ) " RMQ_VERSION);
    return 0;
  }
  if (argc == 1 || first == "-h" || first == "--help") {
    std::puts(
        "Usage: mpiexec -n N rmqboot [--method shm|tcp|shm,tcp] [--trace DIR] [-x VAR=VALUE] [--wdir DIR] program "
        "[arguments]\n"
        "Starts an MPI program through the mpiexec of MPICH or Open MPI, which is used for nothing else.");
    return argc == 1 ? exit_usage : 0;
  }
  if (is_set("RMQ_SERVER"))
    return complain("this process belongs to a job of rmqrun already; start the program itself", exit_usage);
  const auto helper = choose_helper();
  if (!helper) return complain(nobody_started_us(), exit_usage);
  const string prefix = install_prefix(1);
  const string file = prefix + "/libexec/rmq/" + helper->file;
  forget_own_libraries(prefix);
  ::execv(file.c_str(), argv);
  return complain(errno == ENOENT
                      ? fmt::format("{} started this process, but RMQ was built without {} (at configure time)",
                                    helper->mpi, helper->compiler)
                      : fmt::format("{}: {}", file, std::strerror(errno)),
                  exit_cannot_start);
}
