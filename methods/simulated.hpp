// SPDX-License-Identifier: BSD-3-Clause
// The simulated method: the ranks of a job of any size as fibers of one process, joined by links that cost time and
// nothing else. The device, the collectives and the windows above it are the real code; what a message takes is
// reckoned, after LogGP (A. Alexandrov et al., "LogGP: incorporating long messages into the LogP model", 1995), with
// two sorts of links, inside of a host and between hosts, and one network interface for each host.
//
// Each rank has a clock. It advances by what the rank does: it sends, it receives, it copies, it combines. A rank that
// polls takes in what has arrived by its clock; when it is to sleep, its clock goes on to the next arrival. Ranks run
// in the order of their clocks, so that none hears of a packet late: whoever is ahead of another by more than the least
// latency waits for it. Where a host has fewer CPUs than ranks, ranks take them in turns, each until it sleeps.
//
// Payload longer than `carry_max` is counted and never copied: user memory of all ranks may be the same, and a job that
// moves terabytes needs no memory for them. What programs compute from such data is meaningless.
//
// Single-threaded. The devices need Config::wait = "sleep", for a rank gives its turn away in arm(). Nobody dies here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <span>
#include <vector>

#include "base/os/fiber.hpp"
#include "base/packet/packet.hpp"
#include "methods/method.hpp"
#include "start/hosts.hpp"

namespace rmq::methods {

/// What the packets of one sort of links cost. Times in ns.
struct LinkCost {
  double latency = 0;    // L: from the end of the send to the earliest receive
  double send = 0;       // o: CPU time of a packet at its sender …
  double receive = 0;    // … and at its receiver
  double send_byte = 0;  // of each byte of payload, likewise
  double receive_byte = 0;
  double wire_byte = 0;          // G: each byte holds up the host's network interface, out and in
  double gap = 0;                // g: each packet does
  double look = 0;               // CPU time of a look whether something has come, in vain; in a turn (SimCost) only
  std::size_t eager_max = 4096;  // bytes, as Method's
  std::size_t fragment_max = 64 * 1024;
};

struct SimCost {
  LinkCost within, between;        // hosts
  double copy = 0;                 // of one call that reads or writes memory of another process of the host …
  double copy_byte = 0;            // … and of each byte
  double copy_shared = 1;          // of a copy, the part of its time that it takes where each rank has a CPU, and the
                                   // other one waits: both copy
  double combine_byte = 0;         // of each byte of an operand of a reduction
  int cpus = 0;                    // of each host, for its ranks to share; 0: one for each
  int pretended = 0;               // 1: all hosts share those of one machine, as pretended hosts do
  double turn = 0;                 // of a CPU that goes from one rank to another
  std::uint64_t queue = 1 << 20;   // bytes that a network interface takes ahead of the wire
  std::uint64_t carry_max = 4096;  // longer payload is not moved
};

class SimMethod;

class SimWorld {
 public:
  SimWorld(const Hosts& hosts, const SimCost& cost);
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  /// The method of the rank that context.bootstrap names. Once for each rank; the world must outlive it.
  std::unique_ptr<Method> open(const MethodContext& context);
  /// The rank's clock, ns; also in the form that a device's Simulation wants.
  const std::uint64_t& clock(Rank rank) const;
  /// The rank spends so much CPU time.
  void spend(Rank rank, double ns);

  /// Runs `program(rank)` on all ranks, from the latest of their clocks on, until all have ended; `serve(rank)` polls
  /// once, blocking, and is called for those whose program has ended while others' has not. False when programs wait
  /// and nothing can happen any more: stuck() are those ranks. Then only the destructor may follow.
  bool run(const std::function<void(Rank)>& program, const std::function<void(Rank)>& serve);
  std::span<const Rank> stuck() const { return stuck_; }

  /// Of all ranks since the world was made.
  struct Totals {
    std::uint64_t packets = 0, bytes = 0;                  // payload, by packets
    std::uint64_t packets_between = 0, bytes_between = 0;  // those of them between hosts
    std::uint64_t copied = 0;                              // bytes read or written in another process
    std::uint64_t in_flight_most = 0;                      // packets on their way to one rank
  };
  const Totals& totals() const { return totals_; }
  const SimCost& cost() const { return cost_; }
  const Hosts& hosts() const { return hosts_; }

 private:
  friend class SimMethod;
  struct Frame;
  struct Endpoint;
  struct Host;
  struct Cpus;
  struct Turn {
    std::uint64_t at;      // ns
    std::uint64_t number;  // of all: those of the same time in their order
    Rank rank;
    bool operator<(const Turn& other) const {  // as the queue wants it: the latest first
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  const LinkCost& link(Rank a, Rank b) const { return hosts_.same(a, b) ? cost_.within : cost_.between; }
  Outcome send(Rank from, Rank to, const Packet& packet, const Payload& payload);
  std::uint64_t through_wire(Rank from, Rank to, std::uint64_t bytes);
  int poll(Rank rank);
  void deliver(Endpoint& me, Frame& frame);
  void sleep(Rank rank);
  void wake(Rank by, Rank rank);
  void take_turn_at(Endpoint& e, std::uint64_t at);
  Cpus& cpus_of(const Endpoint& e);
  double turn(const Cpus& cpus) const;
  bool take_cpu(Endpoint& e);
  void leave_cpu(Endpoint& e);
  void pause(Endpoint& e);
  void live(Endpoint& e);
  Outcome copy(Rank at, Rank peer, std::uint64_t address, const DataView& local, std::uint64_t bytes, bool is_get);

  Hosts hosts_;
  SimCost cost_;
  double lookahead_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<Host> host_;
  std::vector<Cpus> cpus_;  // by host; one where hosts are pretended
  std::priority_queue<Turn> turns_;
  std::uint64_t numbered_ = 0;
  Rank running_ = kNoRank;
  int left_ = 0;  // programs that have not ended
  const std::function<void(Rank)>* program_ = nullptr;
  const std::function<void(Rank)>* serve_ = nullptr;
  std::vector<Rank> stuck_;
  Totals totals_;
  std::byte* stacks_ = nullptr;
};

}  // namespace rmq::methods
