// SPDX-License-Identifier: BSD-3-Clause
// Processes of several jobs that have met, numbered anew as if they were one job: what methods need to carry packets
// among them. Such a party has an id and a secret of its own, which have nothing to do with those of the jobs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "start/bootstrap.hpp"

namespace rmq {

/// A process as all jobs name it.
struct Process {
  std::uint64_t job = 0;   // JobInfo::job as a number
  std::uint32_t rank = 0;  // in its MPI_COMM_WORLD
  std::uint64_t host = 0;  // a hash, equal where processes can share memory
  bool is(const Process& other) const { return job == other.job && rank == other.rank; }
};

/// JobInfo::job as a number, and back.
std::uint64_t job_number(std::string_view job);
std::string job_name(std::uint64_t number);

/// Process::host of this process: machine, boot, PID namespace, user, and the name of the host, which may be pretended.
std::uint64_t host_identity(const JobInfo& job);

/// What all members of a party know of it.
struct PartyFacts {
  std::uint64_t id = 0;
  std::array<std::byte, 32> secret{};
  std::vector<Process> members;  // in the same order everywhere
  int me = 0;                    // my place among them
  std::uint64_t credit = 0;      // bytes of unexpected memory that each grants each
};

/// The party as a job. What this member puts stays here until all have exchanged their cards(); before that, get()
/// fails for what others will put, and missed() tells.
class PartyBootstrap final : public Bootstrap {
 public:
  explicit PartyBootstrap(const PartyFacts& facts);

  const JobInfo& job() const override { return job_; }
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<std::string> get(std::string_view key) override;
  Result<std::optional<std::string>> look_up(std::string_view key) override;
  Result<void> fence() override { return fail(Errc::argument, "a party has no fence"); }
  void abort(int, std::string_view, Blame) override {}  // the job's bootstrap does that
  Result<void> finalize() override { return {}; }

  /// Whether a get() has failed since the last call because the others' cards are not here yet.
  bool missed() { return std::exchange(missed_, false); }
  /// What this member has put, as text; and what another one has. Errc::protocol when it makes no sense.
  std::string cards() const;
  Result<void> add_cards(std::string_view text);
  /// All have been added.
  void complete() { complete_ = true; }

 private:
  JobInfo job_;
  std::map<std::string, std::string, std::less<>> mine_, board_;
  bool missed_ = false;
  bool complete_ = false;
};

}  // namespace rmq
