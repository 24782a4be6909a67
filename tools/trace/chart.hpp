// SPDX-License-Identifier: BSD-3-Clause
// A trace as a picture: one HTML file that needs nothing else, with a lane for each rank and an arrow for each packet.
// Of a long trace it has how busy each rank was when, and the first packets one by one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/trace/entry.hpp"
#include "tools/trace/reader.hpp"

namespace rmq::trace {

/// Counts over time, in bins whose width doubles whenever time runs out of them.
class Density {
 public:
  static constexpr std::size_t kBins = 1024;  // at most
  void add(int rank, std::int64_t ns);
  std::int64_t width_ns() const { return width_; }
  const std::map<int, std::vector<std::uint32_t>>& counts() const { return counts_; }  // by rank

 private:
  void widen();
  std::int64_t width_ = 1000;
  std::map<int, std::vector<std::uint32_t>> counts_;
};

class Chart {
 public:
  /// Packets and marks that are drawn one by one, each at most.
  static constexpr std::size_t kMost = 100'000;
  /// `command`: what makes a chart of a part of this trace, but for --from and --to; the page shows it.
  Chart(const Reader& of, std::string command) : of_(&of), command_(std::move(command)) {}
  void add(const Entry& e);
  /// The whole HTML document.
  std::string page() const;

 private:
  // One packet. A time is -1 where that end is not in the trace (dropped, or not there yet).
  struct Arrow {
    std::int64_t sent_ns, received_ns;
    int from, to;
    std::uint8_t method;
    Packet packet;
  };
  struct Mark {
    std::int64_t ns;
    int rank, peer;
    Event event;
    std::uint64_t a0, a1;
  };
  void packet(const Entry& e);

  const Reader* of_;
  std::string command_;
  Density density_;
  std::vector<Arrow> arrows_;                              // by time
  std::unordered_map<std::uint64_t, std::size_t> on_way_;  // by flow: which of them
  std::vector<Mark> marks_;
  std::uint64_t packets_ = 0;
  std::int64_t first_ns_ = -1, last_ns_ = 0,
               detail_ns_ = -1;  // detail_ns_: where the packets that are drawn end; -1: all are
};

}  // namespace rmq::trace
