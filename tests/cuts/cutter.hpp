// SPDX-License-Identifier: BSD-3-Clause
// Breaks TCP connections of this process, for tests of what survives that: really, in the kernel, at any moment,
// without a word to the method.
#pragma once

#include <atomic>
#include <cstdint>
#include <random>
#include <thread>

namespace rmq::test {

class Cutter {
 public:
  explicit Cutter(std::uint64_t seed) : random_(seed) {}

  /// Breaks one connected TCP socket, drawn by lot: by a reset that loses what lies in the buffers of both sides, or by
  /// the end of both streams. False when there is none.
  bool cut_one();
  /// How many have been broken.
  std::uint64_t cuts() const { return cuts_; }

 private:
  std::mt19937_64 random_;
  std::uint64_t cuts_ = 0;
};

/// Breaks connections from a thread of its own, about `every_us` microseconds apart. Where many processes share a
/// processor that is less often, up to `kRarest` times: after this one has had its turn `kTurns` times. A connection
/// takes some turns of both sides to be made again, and a job whose connections never stand does not come on.
class CuttingThread {
 public:
  static constexpr unsigned kRarest = 64, kTurns = 16;
  CuttingThread(std::uint64_t seed, unsigned every_us);
  ~CuttingThread() { stop(); }
  void stop();
  std::uint64_t cuts() const { return cuts_.load(std::memory_order_relaxed); }  // a count, nothing behind it

 private:
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> cuts_{0};
  std::thread thread_;
};

/// How many descriptors this process has open.
int open_descriptors();

}  // namespace rmq::test
