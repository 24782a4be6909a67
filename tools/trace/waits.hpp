// SPDX-License-Identifier: BSD-3-Clause
// Time in MPI calls, and which of it a rank waited for another: what the tools of performance analysis call late
// sender, late receiver and wait in a collective.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "tools/trace/entry.hpp"

namespace rmq::trace {

/// Names a message while it is open.
struct MessageKey {
  int from, to;
  std::uint32_t msg;
  bool operator==(const MessageKey&) const = default;
  struct Hash {
    std::size_t operator()(const MessageKey& k) const {
      const auto pair = std::uint64_t{static_cast<std::uint32_t>(k.from)} << 32 | static_cast<std::uint32_t>(k.to);
      return (pair ^ k.msg) * 0x9e3779b97f4a7c15u >> 7;
    }
  };
};

class Waits {
 public:
  void add(const Entry& e);
  /// Tables of the calls that took most of the time, and of the pairs of ranks that waited most; empty without calls.
  std::string text() const;

 private:
  // late_sender: in a call until a message left that was posted for. late_receiver: in a call until a message that
  // waits for its receive (long, or synchronous) was matched. collective: either, in a collective call.
  enum Reason : std::uint8_t { late_sender, late_receiver, collective, reasons };
  struct Thread {
    std::uint32_t call = 0;  // the outermost that runs
    int depth = 0;
    std::int64_t since = 0;  // it runs
  };
  struct Rank {
    std::map<std::uint64_t, Thread> threads;  // by number
    std::int64_t waited_until = 0;            // so that no time is counted twice
    int came_from = -1;                       // the last message that came …
    std::uint32_t came = 0;                   // … its number …
    std::int64_t left_ns = 0;                 // … and when it left
  };
  struct Call {
    std::uint64_t times = 0;
    std::uint64_t ns = 0;
  };
  struct Sums {
    std::uint64_t ns[reasons] = {};
    std::uint64_t all() const { return ns[late_sender] + ns[late_receiver] + ns[collective]; }
  };
  struct Asked {
    std::int64_t left_ns = 0, matched_ns = 0;
  };
  struct Round {
    int come = 0;  // ranks that have not gone on
    int last = -1;
    std::int64_t last_ns = 0;
  };
  Rank& rank(int r);
  const Thread* inside(const Rank& r) const;
  void waited(int who, int for_whom, Reason why, std::int64_t from, std::int64_t until);
  void matched(const Entry& e);
  void packet(const Entry& e);
  void met(const Entry& e);

  std::vector<Rank> ranks_;
  std::map<std::uint32_t, Call> calls_;
  std::map<std::tuple<int, std::uint64_t, std::uint64_t>, Round> rounds_;  // of boards: whose, context, number
  std::unordered_map<std::uint64_t, Sums> pairs_;                          // who << 32 | for whom
  std::unordered_map<MessageKey, Asked, MessageKey::Hash> unanswered_;     // long and synchronous messages
};

}  // namespace rmq::trace
