// SPDX-License-Identifier: BSD-3-Clause
// The implementations of MPI and OpenSHMEM that are compared: how each compiles the benchmark and how each is started
// at its best.
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

/// What the benchmark is written for.
enum class Face { mpi, shmem };

struct Implementation {
  std::string name;      // rmq, mpich, openmpi, sos; windows: RMQ's MPI, beside its OpenSHMEM
  std::string compiler;  // mpicc or oshcc of this implementation
  std::string launcher;
  Face face = Face::mpi;
  std::string program = {};  // the benchmark, compiled

  /// Ways for `ranks` ranks over a transport on a machine with `cpus` CPUs: "shm", "tcp" or "hosts", two pretended
  /// hosts with half of them each; peers know none such, and go by TCP.
  std::vector<Way> ways(const std::string& transport, int ranks, int cpus) const;
  /// Whether it is not RMQ.
  bool is_peer() const { return name != "rmq" && name != "windows"; }
};

/// The MPIs, and the OpenSHMEMs, that can be compared with, as `installed` names them.
inline const std::vector<std::string> kPeers{"mpich", "openmpi"}, kShmemPeers{"openmpi", "sos"};

/// RMQ first (from `bin`, the folder of this program), then those of `peers` whose compiler and launcher are installed:
/// mpicc.X and mpiexec.X, oshcc.X and oshrun.X. Open MPI's oshcc has no such name in Debian: it is the one beside
/// oshmem_info.
std::vector<Implementation> installed(const std::string& bin, const std::vector<std::string>& peers, Face face);

/// Compiles the benchmark's source for the implementation into `folder`; sets `program`.
Result<void> compile(Implementation& implementation, const std::string& sources, const std::string& folder);

}  // namespace rmq::perf
