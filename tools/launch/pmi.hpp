// SPDX-License-Identifier: BSD-3-Clause
// rmqrun --pmi: ranks of another MPI's library, which speaks PMI-1 (start/pmi_wire.hpp) where ours speaks to the
// connection server. Each such rank has a translator in the keeper: lines of PMI on one side, a rank's frames
// (start/boot_wire.hpp) to the connection server on the other, so that who runs the job sees ranks like any other.
//
//   rank ── PMI-1 ── translator ── frames ── Server        init, barrier, finalize, abort become frames;
//                        │                                 put and get, and names, stay here
//                     PmiBoard
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "start/boot_wire.hpp"
#include "start/bootstrap.hpp"
#include "start/pmi_wire.hpp"
#include "tools/process/fd.hpp"
#include "tools/process/loop.hpp"
#include "tools/process/spawn.hpp"

namespace rmq::launch {

class PmiTranslator;

/// What all ranks of the job share, and their translators.
class PmiBoard {
 public:
  /// A line for the user about what a rank has asked for and does not get.
  using Say = std::function<void(const std::string&)>;

  PmiBoard(EventLoop& loop, const JobInfo& job, Say say);
  ~PmiBoard();
  PmiBoard(const PmiBoard&) = delete;
  PmiBoard& operator=(const PmiBoard&) = delete;

  /// `frames`: the rank's end of its connection to the Server. Returns what the rank is to inherit in its place.
  /// Errc::system.
  Result<UniqueFd> translate(int rank, int app_num, UniqueFd frames);

  /// Passes on all that the rank has said.
  void drain(int rank);

  /// Descriptors that each rank needs beyond its connection to the Server.
  static constexpr int descriptors_per_rank = 2;

 private:
  friend class PmiTranslator;

  EventLoop& loop_;
  const std::string name_;  // of the key-value space
  const int universe_size_;
  const Say say_;
  std::map<std::string, std::string, std::less<>> values_, names_;  // puts; published names
  std::vector<std::unique_ptr<PmiTranslator>> ranks_;               // by rank
};

/// Tells a process that it is this rank, by the variables of PMI-1 and by those of MPICH for ranks on one machine.
struct PmiPlace {
  int rank, size, fd;
  int local_rank, local_size;  // among the ranks of its host
};
void set_pmi_rank(Environment& environment, const PmiPlace& place);

}  // namespace rmq::launch
