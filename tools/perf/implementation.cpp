// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/implementation.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "tools/process/spawn.hpp"

namespace rmq::perf {
namespace {

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<Way> mpich(const std::string& transport, bool crowded) {
  const std::vector<std::string> start = crowded ? std::vector<std::string>{"mpiexec.mpich"}
                                                 : std::vector<std::string>{"mpiexec.mpich", "-bind-to", "core"};
  if (transport != "shm") return {{start, {{"UCX_TLS", "tcp,self"}, {"UCX_NET_DEVICES", "lo"}}}};
  return {{start, {}}, {start, {{"UCX_TLS", "posix,self"}}}};
}

// Its OpenSHMEM goes by UCX, whatever its MPI does.
std::vector<Way> openmpi(const std::string& transport, bool crowded, Face face) {
  std::vector<std::string> start{"mpiexec.openmpi", "--oversubscribe", "--mca", "pml", "ob1"};
  std::vector<std::pair<std::string, std::string>> ucx;
  if (face == Face::shmem)
    ucx = transport == "shm" ? decltype(ucx){{"UCX_TLS", "posix,cma,self"}}
                             : decltype(ucx){{"UCX_TLS", "tcp,self"}, {"UCX_NET_DEVICES", "lo"}};
  if (::geteuid() == 0) start.emplace_back("--allow-run-as-root");
  start = with(start, crowded ? std::vector<std::string>{"--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"}
                              : std::vector<std::string>{"--bind-to", "core"});
  if (transport != "shm") {
    return {
        {with(start, {"--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo", "--mca", "osc", "pt2pt"}), ucx}};
  }
  start = with(start, {"--mca", "btl", "self,vader"});
  if (face == Face::shmem) return {{start, ucx}};
  return {{start, {}}, {with(start, {"--mca", "btl_vader_single_copy_mechanism", "none"}), {}}};
}

// Sandia OpenSHMEM: within a host the kernel copies, or else whatever its network has.
std::vector<Way> sos(const std::string& launcher, const std::string& transport) {
  if (transport == "shm") return {{{launcher}, {}}};
  return {{{launcher}, {{"SHMEM_CMA_PUT_MAX", "0"}, {"SHMEM_CMA_GET_MAX", "0"}, {"SHMEM_OFI_PROVIDER", "tcp"}}}};
}

std::optional<std::string> find(const std::string& program) {
  const auto found = launch::find_program(program, launch::Environment::inherited().get("PATH"), "");
  return found ? std::optional(*found) : std::nullopt;
}

}  // namespace

std::vector<Way> Implementation::ways(const std::string& transport, int ranks, int cpus) const {
  const bool crowded = ranks > cpus;
  if (name == "mpich") return mpich(transport, crowded);
  if (name == "openmpi") return openmpi(transport, crowded, face);
  if (name == "sos") return sos(launcher, transport);
  std::vector<std::string> words{launcher};
  if (transport == "hosts") {
    words = with(words, {"--host-split", fmt::format("{},{}", ranks / 2, ranks - ranks / 2)});
  } else {
    words = with(words, {"--method", transport});
  }
  return {{crowded ? words : with(words, {"--bind", "core"}), {}}};
}

std::vector<Implementation> installed(const std::string& bin, const std::vector<std::string>& peers, Face face) {
  const std::string run = bin + "/rmqrun";
  if (face == Face::mpi) {
    std::vector<Implementation> all{{"rmq", bin + "/rmqcc", run}};
    for (const std::string& peer : peers)
      if (find("mpicc." + peer) && find("mpiexec." + peer)) all.push_back({peer, "mpicc." + peer, "mpiexec." + peer});
    return all;
  }
  std::vector<Implementation> all{{"rmq", bin + "/oshcc", run, face}, {"windows", bin + "/rmqcc", run, face}};
  for (const std::string& peer : peers) {
    if (const auto info = peer == "openmpi" ? find("oshmem_info") : std::nullopt)
      all.push_back({peer, info->substr(0, info->rfind('/')) + "/oshcc", "mpiexec.openmpi", face});
    else if (find("oshcc." + peer) && find("oshrun." + peer))
      all.push_back({peer, "oshcc." + peer, "oshrun." + peer, face});
  }
  return all;
}

Result<void> compile(Implementation& implementation, const std::string& sources, const std::string& folder) {
  implementation.program = folder + "/bench." + implementation.name;
  // -w: what a compiler finds in another implementation's headers is not ours to mend.
  std::vector<std::string> words{implementation.compiler, "-O2", "-w", "-o", implementation.program};
  if (implementation.face == Face::mpi) {
    words = with(words, {sources + "/bench.c", sources + "/bench_rma.c"});
  } else {
    words.push_back(sources + "/bench_shmem.c");
    if (implementation.name == "windows") words = with(words, {"-DBENCH_WINDOWS", "-DBENCH_QUEUE"});
    if (implementation.name == "openmpi") words.emplace_back("-DBENCH_NO_FINALIZE");
    if (implementation.is_peer()) words.emplace_back("-no-pie");  // static variables at one address, as SOS wants them
  }
  if (const auto done = run({words, {}}, std::chrono::seconds(120)); !done) return tl::unexpected(done.error());
  return {};
}

}  // namespace rmq::perf
