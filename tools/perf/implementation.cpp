#include "tools/perf/implementation.hpp"

#include <fmt/format.h>
#include <unistd.h>

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

std::vector<Way> openmpi(const std::string& transport, bool crowded) {
  std::vector<std::string> start{"mpiexec.openmpi", "--oversubscribe", "--mca", "pml", "ob1"};
  if (::geteuid() == 0) start.emplace_back("--allow-run-as-root");
  start = with(start, crowded ? std::vector<std::string>{"--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"}
                              : std::vector<std::string>{"--bind-to", "core"});
  if (transport != "shm") {
    return {
        {with(start, {"--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo", "--mca", "osc", "pt2pt"}), {}}};
  }
  start = with(start, {"--mca", "btl", "self,vader"});
  return {{start, {}}, {with(start, {"--mca", "btl_vader_single_copy_mechanism", "none"}), {}}};
}

bool is_installed(const std::string& program) {
  return launch::find_program(program, launch::Environment::inherited().get("PATH"), "").has_value();
}

}  // namespace

std::vector<Way> Implementation::ways(const std::string& transport, int ranks, int cpus) const {
  const bool crowded = ranks > cpus;
  if (name == "mpich") return mpich(transport, crowded);
  if (name == "openmpi") return openmpi(transport, crowded);
  const std::string launcher = compiler.substr(0, compiler.rfind('/') + 1) + "rmqrun";
  std::vector<std::string> words{launcher};
  if (transport == "hosts") {
    words = with(words, {"--host-split", fmt::format("{},{}", ranks / 2, ranks - ranks / 2)});
  } else {
    words = with(words, {"--method", transport});
  }
  return {{crowded ? words : with(words, {"--bind", "core"}), {}}};
}

std::vector<Implementation> installed(const std::string& bin, const std::vector<std::string>& peers) {
  std::vector<Implementation> all{{"rmq", bin + "/rmqcc", ""}};
  for (const std::string& peer : peers)
    if (is_installed("mpicc." + peer) && is_installed("mpiexec." + peer)) all.push_back({peer, "mpicc." + peer, ""});
  return all;
}

Result<void> compile(Implementation& implementation, const std::string& sources, const std::string& folder) {
  implementation.program = folder + "/bench." + implementation.name;
  // -w: what a compiler finds in another implementation's mpi.h is not ours to mend.
  const auto done = run({{implementation.compiler, "-O2", "-w", sources + "/bench.c", sources + "/bench_rma.c", "-o",
                          implementation.program},
                         {}},
                        std::chrono::seconds(120));
  if (!done) return tl::unexpected(done.error());
  return {};
}

}  // namespace rmq::perf
