// SPDX-License-Identifier: BSD-3-Clause
#include "engine/message/task.hpp"

#include <new>
#include <utility>

#include "engine/object/failure.hpp"

namespace rmq::mpi {
namespace {

// Tasks whose request is complete, in the order of completion. Where there are several devices, whose polls one thread
// makes, the next poll of any goes on with the tasks of all.
Task* first_ready = nullptr;
Task* last_ready = nullptr;

}  // namespace

constinit Task* Task::current_ = nullptr;

void Task::run() {
  fiber_ = os::Fiber::take();
  fiber_->prepare(on_fiber, this);
  ended_ = false;
  resume();
}

void Task::on_fiber(void* task) {
  auto& t = *static_cast<Task*>(task);
  try {
    t.result_ = t.body();
  } catch (const Failure& f) {
    t.result_ = f.code;
  } catch (const std::bad_alloc&) {
    t.result_ = MPI_ERR_NO_MEM;
  }
  t.ended_ = true;
}

void Task::resume() {
  for (;;) {
    current_ = this;
    fiber_->resume();
    current_ = nullptr;
    if (!outside_) break;
    std::exchange(outside_, nullptr)(outside_argument_);
  }
  if (ended_) os::Fiber::give(std::exchange(fiber_, nullptr));
}

void Task::sleep_until(Request* r) {
  r->user = this;
  r->on_complete = wake;
  asleep_on_ = r;
  fiber_->pause();
  asleep_on_ = nullptr;
}

// In the middle of the device's work, which must not be entered again: the next poll goes on from here.
void Task::wake(Request* r) {
  auto* const task = static_cast<Task*>(r->user);
  task->next_ = nullptr;
  (first_ready ? last_ready->next_ : first_ready) = task;
  last_ready = task;
  task->device_.after_progress(run_ready);
}

void Task::run_ready() {
  while (Task* const task = first_ready) {
    first_ready = task->next_;
    if (!first_ready) task->device_.after_progress(nullptr);
    task->resume();
  }
}

}  // namespace rmq::mpi
