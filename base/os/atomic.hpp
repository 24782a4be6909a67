// SPDX-License-Identifier: BSD-3-Clause
// The atomics and fences of all structures that processes or threads share; the device's mutex, and its agent's nap.
//
// Here they are those of the standard library, and nothing else. The tests of interleavings (tests/explore) compile the
// same sources with RMQ_EXPLORED_ATOMIC, the header of a twin in which every access is a point where another thread may
// go on, and a load may bring any value that C++ allows it to.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>
#include <mutex>

#if defined(RMQ_EXPLORED_ATOMIC)
#include RMQ_EXPLORED_ATOMIC
#else

namespace rmq {

template <class T>
using Atomic = std::atomic<T>;
template <class T>
using AtomicRef = std::atomic_ref<T>;
using Mutex = std::mutex;

namespace os {

inline void thread_fence(std::memory_order order) {
  std::atomic_thread_fence(order);
}

/// For the compiler alone: the cheap side of an asymmetric fence (base/os/fence.hpp).
inline void compiler_fence() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// The object of plain data at this address is about to be written: the explorer checks that nobody else uses it.
inline void writes_plain(const void*) {}

/// In a loop that waits for another thread to run.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Sleeps for so long, less than a second, or until a signal comes.
inline void nap(long ns) {
  const timespec time{0, ns};
  ::nanosleep(&time, nullptr);
}

/// nap() of a thread that others may wake: not begun when the word is 0, and ended by end_naps().
inline void nap_while_set(const Atomic<std::uint32_t>& word, long ns) {
  const timespec time{0, ns};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &time, nullptr, 0);
}
/// Of a word that is 1.
inline void end_naps(Atomic<std::uint32_t>& word) {
  word.store(0, std::memory_order_relaxed);  // relaxed: the kernel looks at it once more before it lets anybody sleep
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace os
}  // namespace rmq

#endif
