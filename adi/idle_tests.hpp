// SPDX-License-Identifier: BSD-3-Clause
// Whether the program does nothing but test: it calls MPI_Test, MPI_Iprobe and the like in a loop, perhaps with sleeps
// between, and they find nothing. Such a rank waits, as one does whose call waits, and answers for itself; one that
// computes between its tests does not.
#pragma once

#include <cstdint>

namespace rmq::adi {

/// Counts tests and reads clocks now and then. With the device held, but for keep_on().
class IdleTests {
 public:
  /// Something was found.
  void reset() { count_ = 0; }
  /// One more has found nothing. True some hundred times a second while the program does nothing but test: then it is
  /// time to look whether the launcher asks.
  bool again() {
    ++count_;
    return --to_clock_ == 0 && has_idled();
  }
  /// In a row that have found nothing.
  std::uint32_t count() const { return count_; }
  /// Whether the program has done nothing but test lately, and has not begun to compute since. Between two tests; also
  /// for a signal handler.
  bool keep_on() const;

 private:
  bool has_idled();

  std::uint32_t count_ = 0;
  std::uint32_t to_clock_ = 1;  // tests until the clock is read again
  // What the latest judgement was made of: the period since the one before.
  std::uint32_t first_ = 0;      // count_ as it began
  std::uint64_t since_ns_ = 0;   // CLOCK_MONOTONIC
  std::uint64_t cpu_ns_ = 0;     // of all threads of the process, by then
  std::uint64_t clock_ns_ = 0;   // when the clock was last read
  std::uint64_t period_ns_ = 0;  // of the latest period; 0: the program computes, or has found something
};

}  // namespace rmq::adi
