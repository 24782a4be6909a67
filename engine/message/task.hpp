// SPDX-License-Identifier: BSD-3-Clause
// A function of engine/ that goes on whenever any MPI call polls, written as if it blocked: it runs on a fiber, which
// pauses where the function waits for a request.
//
// A task that waits costs nothing until its request completes; then it stands in a queue that the next poll of the
// device works off, whoever polls. So tasks run one at a time, with the device held, on the stack of no MPI call, and
// never poll themselves.
#pragma once

#include <type_traits>

#include "adi/device.hpp"
#include "base/os/fiber.hpp"

namespace rmq::mpi {

namespace coll {
class Plan;
}

class Task {
 public:
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  /// The task on whose fiber the caller runs; nullptr on an ordinary stack.
  static Task* current() { return current_; }

  /// Tag of all the collectives that this task runs; negative: each takes the next of its communicator.
  int fixed_tag() const { return fixed_tag_; }
  /// What the collectives of a task that runs again and again have chosen (plan.hpp); nullptr: they choose anew.
  coll::Plan* plan() const { return plan_; }

  /// On the task's fiber: pauses until the request is complete.
  void sleep_until(Request* r);
  /// On the task's fiber: calls a function of the program, on the stack of the MPI call that has resumed the task, so
  /// that it finds as much stack as ever, and may itself call MPI.
  template <class F>
  void call_outside(F&& f) {
    outside_ = [](void* function) { (*static_cast<std::remove_reference_t<F>*>(function))(); };
    outside_argument_ = &f;
    fiber_->pause();
  }

 protected:
  ~Task() = default;
  /// The plan, if there is one, is a member of what derives from this.
  explicit Task(adi::Device& device, int fixed_tag = -1, coll::Plan* plan = nullptr)
      : device_(device), fixed_tag_(fixed_tag), plan_(plan) {}
  /// Runs up to its first wait, or to the end. Throws std::bad_alloc when there is no stack; then nothing has happened.
  void run();
  bool running() const { return fiber_ != nullptr; }
  /// What body() has returned.
  int result() const { return result_; }
  /// The request that it waits for; nullptr: none.
  const Request* asleep_on() const { return running() ? asleep_on_ : nullptr; }

 private:
  /// On the fiber. An error class.
  virtual int body() = 0;
  void resume();
  static void on_fiber(void* task);
  static void wake(Request* r);
  static void run_ready();

  [[gnu::visibility("hidden")]] static Task* current_;

  adi::Device& device_;         // whose polls it goes on in
  os::Fiber* fiber_ = nullptr;  // from run() to the end
  Task* next_ = nullptr;        // in the queue
  const Request* asleep_on_ = nullptr;
  void (*outside_)(void*) = nullptr;
  void* outside_argument_ = nullptr;
  int result_ = 0;
  const int fixed_tag_ = -1;
  coll::Plan* const plan_;
  bool ended_ = false;
};

/// Waits for a request, also in a task.
inline void await(adi::Device& device, Request* r) {
  if (r->complete()) return;
  if (Task* const task = Task::current()) [[unlikely]]
    return task->sleep_until(r);
  device.MPID_Wait(r);
}

}  // namespace rmq::mpi
