// SPDX-License-Identifier: BSD-3-Clause
// A function on a stack of its own, which can stop in its middle and go on later, also on another thread.
//
// It runs with the floating-point control words of whoever resumes it. No exception may leave the function, and none
// may be in flight where it pauses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/os/stacks.hpp"

namespace rmq::os {

class Fiber {
 public:
  /// Bytes of a stack, of which the kernel fills in the pages that are used. Behind them lies a page that faults.
  static constexpr std::size_t kStack = kStackBytes;

  /// A fiber with nothing to do. Throws std::bad_alloc.
  Fiber();
  /// The same on a stack of the caller's, which outlives it: `stack` is its lowest byte. No page behind it faults.
  Fiber(std::byte* stack, std::size_t bytes);
  /// Also in the middle of its function, of whose frames nothing is then destroyed.
  ~Fiber();
  /// The same from a pool, or new; who calls take() and give() sees to it that no two threads do so at once.
  static Fiber* take();
  /// Back to the pool: its function has returned.
  static void give(Fiber* f);

  /// What the next resume() calls.
  void prepare(void (*function)(void*), void* argument) {
    function_ = function;
    argument_ = argument;
  }
  /// On another stack: goes on until the function pauses or returns.
  void resume();
  /// On the fiber: back to the caller of resume().
  void pause();

  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

 private:
  void lay_out();
  static void main(Fiber* f);

  bool mine_ = false;  // the stack; else it is another's
  std::byte* stack_;
  std::size_t bytes_;       // of the stack
  void* state_ = nullptr;   // where it goes on: a stack pointer, or a ucontext_t
  void* caller_ = nullptr;  // the same of the caller of resume()
  void (*function_)(void*) = nullptr;
  void* argument_ = nullptr;
  Fiber* next_ = nullptr;  // in the pool
  // What sanitizers want to know.
  void* shadow_ = nullptr;  // ASan: fake stack of the fiber; TSan: its context
  void* caller_shadow_ = nullptr;
  const void* caller_stack_ = nullptr;
  std::size_t caller_size_ = 0;  // bytes
};

}  // namespace rmq::os
