// The MPI implementations that are compared: how each compiles the benchmark and how each is started at its best.
#pragma once

#include <string>
#include <vector>

#include "tools/perf/process.hpp"

namespace rmq::perf {

/// One way to start one implementation; the best of an implementation's ways counts (with and without single copy,
/// say).
struct Way {
  std::vector<std::string> before;  // words before "-n"
  std::vector<std::pair<std::string, std::string>> variables;
};

struct Implementation {
  std::string name;      // rmq, mpich, openmpi
  std::string compiler;  // mpicc of this implementation
  std::string program;   // the benchmark, compiled

  /// Ways for `ranks` ranks over a transport on a machine with `cpus` CPUs: "shm", "tcp" or "hosts", two pretended
  /// hosts with half of them each; peers know none such, and go by TCP.
  std::vector<Way> ways(const std::string& transport, int ranks, int cpus) const;
};

/// The MPIs that can be compared with, as `installed` names them.
inline const std::vector<std::string> kPeers{"mpich", "openmpi"};

/// RMQ first (from `bin`, the folder of this program), then those of `peers` whose compiler and launcher are installed.
std::vector<Implementation> installed(const std::string& bin, const std::vector<std::string>& peers);

/// Compiles the benchmark's source for the implementation into `folder`; sets `program`.
Result<void> compile(Implementation& implementation, const std::string& sources, const std::string& folder);

}  // namespace rmq::perf
