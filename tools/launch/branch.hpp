// SPDX-License-Identifier: BSD-3-Clause
// One agent's part of a job's connection server: serves the ranks of its host, so that the launcher hears once of what
// many ask. Values that have passed are kept; a fence goes up when all ranks of this host and of the agents below have
// come, but the last one of a job that goes on when ranks die: it is the launcher that knows who lives. That, and
// everything else that a rank says, goes up as it is, and what the launcher answers comes down.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "start/boot_wire.hpp"
#include "tools/launch/line.hpp"
#include "tools/launch/link.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

class Branch {
 public:
  class Upcalls {
   public:
    virtual ~Upcalls() = default;
    /// Towards the launcher.
    virtual void up(Word word, std::string_view body) = 0;
    /// To the agent below in this place.
    virtual void down(std::size_t place, Word word, std::string_view body) = 0;
    /// A rank of this host has initialised MPI, in this process.
    virtual void on_join(int rank, pid_t pid) = 0;
  };

  /// `ranks`: of this host and of all agents below.
  Branch(EventLoop& loop, int ranks, Upcalls& upcalls) : loop_(loop), ranks_(ranks), upcalls_(upcalls) {}
  Branch(const Branch&) = delete;
  Branch& operator=(const Branch&) = delete;

  /// Serves this rank on the socket from now on.
  void add(int rank, UniqueFd socket);
  void drain(int rank);
  /// The rank's process is gone: whoever waits for it in a fence waits in vain.
  void depart(int rank);

  /// What an agent below has sent: a key, or ranks that have come to the fence.
  void hear_get(std::size_t place, std::string_view key);
  void hear_fence(int ranks);
  /// It is gone, or does not want to hear.
  void forget(std::size_t place);

  /// What comes from the launcher: for a rank of this host, or for whoever waits for it here and below.
  void to_rank(int rank, std::string_view frame);
  void value(std::string_view key, std::string_view value);
  void fence_done(std::size_t below);

 private:
  struct Entry {
    bool published = false, asked = false;
    std::string value;
    std::vector<int> waiting;         // ranks of this host
    std::vector<std::size_t> places;  // agents below
  };
  void hear(int rank, const boot::Frame& frame);
  void ask(Entry& entry, std::string_view key);
  bool refuses(int rank, const boot::Frame& frame);
  void check_fence();

  EventLoop& loop_;
  const int ranks_;
  Upcalls& upcalls_;
  std::map<int, RankLine> lines_;
  std::map<int, bool> in_mpi_;  // ranks that have said hello; false: and have left
  std::set<int> fenced_;        // ranks of this host that are in the fence
  std::map<std::string, Entry, std::less<>> values_;
  int in_fence_ = 0;
  int left_ = -1;  // a rank of this host that will not come to a fence any more
};

}  // namespace rmq::launch
