// SPDX-License-Identifier: BSD-3-Clause
// The remote queue buffer: one interface, two implementations.
//
//   PortableQueueBuffer  MPI-3 remote memory access alone, the steps of the original design; compiles with any MPI
//   NativeQueueBuffer    RMQ's own (rmq_queue.h): a message costs one count and one copy in shared memory, one packet
//                        elsewhere; needs librmqmpi
//
// Each rank owns a buffer of `capacity` messages of `message_bytes` bytes. Any rank puts; only the owner gets, which
// empties the buffer. While the owner has it locked, puts are refused. Header only, C++17.
//
// Making and destroying are collective over the communicator (destroy before MPI_Finalize, when no rank puts any more).
// Errors of MPI go to the error handler of the communicator or window. One thread at a time for each object.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#if __has_include(<rmq_queue.h>)
#include <rmq_queue.h>
#define RMQ_HAS_NATIVE_QUEUE 1
#endif

namespace rmq {

struct QueueBufferCounters {
  std::uint64_t puts = 0;     // that succeeded here
  std::uint64_t refused = 0;  // tries that found the buffer full or locked
  std::uint64_t taken = 0;    // messages that this rank has got
  std::uint64_t rounds = 0;   // gets that brought any
};

class QueueBuffer {
 public:
  virtual ~QueueBuffer() = default;
  QueueBuffer() = default;
  QueueBuffer(const QueueBuffer&) = delete;
  QueueBuffer& operator=(const QueueBuffer&) = delete;

  /// Puts a message into the buffer of `target`; false while that is full or locked.
  virtual bool try_put(int target, const void* message) = 0;
  /// The same, trying again for `seconds` (for ever when negative). Its owner must get in the meantime.
  virtual bool put(int target, const void* message, double seconds = -1) {
    const double start = MPI_Wtime();
    while (!try_put(target, message)) {
      if (seconds >= 0 && MPI_Wtime() - start >= seconds) return false;
    }
    return true;
  }
  /// All messages that have come, one behind the other; valid until the next call. `count` tells how many.
  virtual const std::byte* get(int& count) = 0;
  /// Closes this rank's buffer to puts, and opens it again. Gets go on in between.
  virtual void lock() = 0;
  virtual void unlock() = 0;
  virtual QueueBufferCounters counters() const = 0;
};

/// The window of each rank:   reserved | completed | message 0 | message 1 …
///
/// put: add 1 to `reserved`; at the capacity the buffer is full or locked; else write the message to that place and,
/// when it has arrived, add 1 to `completed`. get: set `reserved` to the capacity, which locks; wait until `completed`
/// has reached all that was ever reserved; copy out; zero `reserved`, which unlocks.
///
/// What several ranks may do to one word at the same time is one operation, as the window's accumulate_ops says
/// (same_op_no_op, the default): compare-and-swap for `reserved`, sums and reading for `completed`.
class PortableQueueBuffer final : public QueueBuffer {
 public:
  PortableQueueBuffer(MPI_Comm comm, int message_bytes, int capacity)
      : bytes_(message_bytes), capacity_(capacity), out_(std::size_t(message_bytes) * std::size_t(capacity)) {
    MPI_Comm_rank(comm, &me_);
    const MPI_Aint size = kMessages + MPI_Aint{message_bytes} * capacity;
    MPI_Win_allocate(size, 1, MPI_INFO_NULL, comm, &memory_, &window_);
    std::memset(memory_, 0, kMessages);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    MPI_Win_sync(window_);
    MPI_Barrier(comm);
  }
  ~PortableQueueBuffer() override {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }

  bool try_put(int target, const void* message) override {
    const std::int64_t index = change(target, [](std::int64_t taken) { return taken + 1; });
    if (index >= capacity_) {
      ++counters_.refused;
      return false;
    }
    MPI_Put(message, bytes_, MPI_BYTE, target, kMessages + MPI_Aint{index} * bytes_, bytes_, MPI_BYTE, window_);
    MPI_Win_flush(target, window_);
    const std::int64_t one = 1;
    MPI_Accumulate(&one, 1, MPI_INT64_T, target, kCompleted, 1, MPI_INT64_T, MPI_SUM, window_);
    MPI_Win_flush(target, window_);
    ++counters_.puts;
    return true;
  }

  const std::byte* get(int& count) override {
    std::int64_t reserved = pending_;
    if (!locked_) {
      if (swap(me_, 0, 0) == 0) {
        count = 0;
        return out_.data();
      }
      reserved = close();
    }
    awaited_ += reserved;
    while (completed() < awaited_) {
    }
    MPI_Win_sync(window_);
    std::memcpy(out_.data(), memory_ + kMessages, std::size_t(reserved) * std::size_t(bytes_));
    pending_ = 0;
    if (!locked_) swap(me_, capacity_, 0);
    counters_.taken += std::uint64_t(reserved);
    if (reserved > 0) ++counters_.rounds;
    count = int(reserved);
    return out_.data();
  }

  void lock() override {
    if (locked_) return;
    pending_ = close();
    locked_ = true;
  }
  void unlock() override {
    if (!locked_) return;
    locked_ = false;
    swap(me_, capacity_, pending_);
    pending_ = 0;
  }
  QueueBufferCounters counters() const override { return counters_; }

 private:
  static constexpr MPI_Aint kReserved = 0, kCompleted = 8, kMessages = 16;  // bytes

  /// Sets `reserved` of the target from `from` to `to`, if that is what it is; what it was.
  std::int64_t swap(int target, std::int64_t from, std::int64_t to) {
    std::int64_t before = 0;
    MPI_Compare_and_swap(&to, &from, &before, MPI_INT64_T, target, kReserved, window_);
    MPI_Win_flush(target, window_);
    return before;
  }
  /// Sets `reserved` of the target to what `next` makes of it, unless it is at the capacity; what it was.
  template <class Next>
  std::int64_t change(int target, Next&& next) {
    for (std::int64_t guess = 0;;) {
      const std::int64_t found = swap(target, guess, next(guess));
      if (found == guess || found >= capacity_) return found;
      guess = found;
    }
  }
  /// Messages that have ever been written here.
  std::int64_t completed() {
    std::int64_t count = 0;
    MPI_Fetch_and_op(&count, &count, MPI_INT64_T, me_, kCompleted, MPI_NO_OP, window_);
    MPI_Win_flush(me_, window_);
    return count;
  }
  /// Locks; how many places were taken.
  std::int64_t close() {
    return change(me_, [this](std::int64_t) { return std::int64_t{capacity_}; });
  }

  int bytes_, capacity_, me_ = 0;
  std::vector<std::byte> out_;
  std::byte* memory_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
  std::int64_t pending_ = 0;  // taken when the owner locked
  std::int64_t awaited_ = 0;  // messages that this rank has got or waits for, since the start
  bool locked_ = false;
  QueueBufferCounters counters_;
};

#ifdef RMQ_HAS_NATIVE_QUEUE
class NativeQueueBuffer final : public QueueBuffer {
 public:
  NativeQueueBuffer(MPI_Comm comm, int message_bytes, int capacity) {
    rmq_queue_create(comm, message_bytes, capacity, &queue_);
    int most = 0;
    rmq_queue_most(queue_, &most);
    out_.resize(std::size_t(most) * std::size_t(message_bytes));
  }
  ~NativeQueueBuffer() override { rmq_queue_free(&queue_); }

  bool try_put(int target, const void* message) override {
    int done = 0;
    rmq_queue_try_put(queue_, target, message, &done);
    return done != 0;
  }
  bool put(int target, const void* message, double seconds = -1) override {
    int done = 0;
    rmq_queue_put(queue_, target, message, seconds, &done);
    return done != 0;
  }
  const std::byte* get(int& count) override {
    rmq_queue_get(queue_, out_.data(), &count);
    return out_.data();
  }
  void lock() override { rmq_queue_lock(queue_); }
  void unlock() override { rmq_queue_unlock(queue_); }
  QueueBufferCounters counters() const override {
    rmq_queue_counters c;
    rmq_queue_get_counters(queue_, &c);
    return {c.puts, c.refused, c.taken, c.rounds};
  }

 private:
  rmq_queue queue_ = nullptr;
  std::vector<std::byte> out_;
};
#endif

}  // namespace rmq
