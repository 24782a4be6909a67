// SPDX-License-Identifier: BSD-3-Clause
// A trace in figures: packets by kind and method, how messages were matched, what had to wait, how long a rendezvous
// took, where the program's time in MPI went and who waited for whom.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/trace/reader.hpp"
#include "tools/trace/waits.hpp"

namespace rmq::trace {

/// Times counted in classes a hundredth wide: any number of them in 16 KiB.
class Times {
 public:
  void add(std::int64_t ns);
  std::uint64_t count() const { return count_; }
  double median_us() const;

 private:
  static constexpr int kPart = 32;  // classes in each power of two
  std::array<std::uint32_t, 64 * kPart> classes_{};
  std::uint64_t count_ = 0;
};

class Stats {
 public:
  void add(const Entry& e);
  /// The summary as a table of text, ending in a line feed.
  std::string text(const Reader& of) const;

 private:
  struct Traffic {
    std::uint64_t packets = 0, bytes = 0;
  };
  void packet(const Entry& e);
  std::uint64_t count(Event e) const { return events_[static_cast<std::size_t>(e)]; }

  std::uint64_t all_ = 0;
  std::int64_t last_ns_ = 0;
  std::map<unsigned, Traffic> sent_;  // by method << 8 | kind
  Traffic* latest_ = nullptr;         // which of them grew last
  unsigned latest_key_ = ~0u;
  std::array<std::uint64_t, 256> events_{};
  std::array<std::uint64_t, 4> pending_{};  // by reason
  std::uint64_t slept_ns_ = 0, rendezvous_ = 0;
  std::unordered_map<MessageKey, std::int64_t, MessageKey::Hash>
      announced_;            // REQUEST_SEND sent at, while it is not answered
  Times matched_, fetched_;  // since the announcement, seen by the sender
  Waits waits_;
};

}  // namespace rmq::trace
