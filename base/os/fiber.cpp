// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/fiber.hpp"

#include "base/os/stacks.hpp"

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace rmq::os {
namespace {

// Stacks that are kept when nobody needs them: more than most programs have collectives under way.
constexpr int kSpare = 64;

Fiber* spare = nullptr;
int spares = 0;

}  // namespace

// ---- the switch ----

#if defined(__x86_64__)

// The registers that a called function has to keep go on the stack that is left, and come from the one that is entered:
// what swapcontext() does, without its two system calls for the signal mask. A new stack "returns" to the start, which
// finds the fiber and Fiber::main in registers that were laid out for it.
extern "C" {
[[gnu::visibility("hidden")]] void rmq_fiber_switch(void** leave, void* enter);
[[gnu::visibility("hidden")]] void rmq_fiber_start();
}
asm(R"(
  .pushsection .text
  .hidden rmq_fiber_switch
  .globl rmq_fiber_switch
  .type rmq_fiber_switch, @function
rmq_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size rmq_fiber_switch, . - rmq_fiber_switch
  .hidden rmq_fiber_start
  .globl rmq_fiber_start
  .type rmq_fiber_start, @function
rmq_fiber_start:
  .cfi_startproc
  .cfi_undefined rip
  movq %r12, %rdi
  call *%r13
  ud2
  .cfi_endproc
  .size rmq_fiber_start, . - rmq_fiber_start
  .popsection
)");

void Fiber::lay_out() {
  auto* top = reinterpret_cast<void**>(stack_ + bytes_) - 8;
  void** const sp = top - 7;  // r15, r14, r13, r12, rbx, rbp, return address
  for (void** word = sp; word < top; ++word) *word = nullptr;
  sp[2] = reinterpret_cast<void*>(&Fiber::main);
  sp[3] = this;
  sp[6] = reinterpret_cast<void*>(&rmq_fiber_start);
  state_ = sp;
}

#define RMQ_SWITCH(leave, enter) rmq_fiber_switch(&(leave), enter)

#else

void Fiber::lay_out() {
  // makecontext() passes ints only.
  static thread_local Fiber* starting;
  auto* context = new ucontext_t;
  ::getcontext(context);
  context->uc_stack.ss_sp = stack_;
  context->uc_stack.ss_size = bytes_;
  context->uc_link = nullptr;
  starting = this;
  ucontext_t here;
  ::makecontext(
      context,
      [] {
        Fiber* const self = starting;
        ::swapcontext(static_cast<ucontext_t*>(self->state_), static_cast<ucontext_t*>(self->caller_));
        main(self);
      },
      0);
  state_ = context;
  caller_ = &here;
  ::swapcontext(&here, context);
}

#define RMQ_SWITCH(leave, enter) ::swapcontext(static_cast<ucontext_t*>(leave), static_cast<ucontext_t*>(enter))

#endif

void Fiber::resume() {
#if !defined(__x86_64__)
  ucontext_t here;
  caller_ = &here;
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&caller_shadow_, stack_, bytes_);
#elif defined(__SANITIZE_THREAD__)
  caller_shadow_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(shadow_, 0);
#endif
  RMQ_SWITCH(caller_, state_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(caller_shadow_, nullptr, nullptr);
#endif
}

void Fiber::pause() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&shadow_, caller_stack_, caller_size_);
#elif defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(caller_shadow_, 0);
#endif
  RMQ_SWITCH(state_, caller_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(shadow_, &caller_stack_, &caller_size_);
#endif
}

void Fiber::main(Fiber* f) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(f->shadow_, &f->caller_stack_, &f->caller_size_);
#endif
  for (;;) {
    f->function_(f->argument_);
    f->pause();
  }
}

// ---- stacks: base/os/stacks.hpp ----

Fiber::Fiber() : Fiber(take_stack(), kStack) {
  mine_ = true;
}

Fiber::Fiber(std::byte* stack, std::size_t bytes) : stack_(stack), bytes_(bytes) {
#if defined(__SANITIZE_THREAD__)
  shadow_ = __tsan_create_fiber(0);
#endif
  lay_out();
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(shadow_);
#endif
#if !defined(__x86_64__)
  delete static_cast<ucontext_t*>(state_);
#endif
  if (mine_) give_stack(stack_);
}

Fiber* Fiber::take() {
  if (!spare) return new Fiber;
  Fiber* const f = spare;
  spare = f->next_;
  --spares;
  return f;
}

void Fiber::give(Fiber* f) {
  if (spares == kSpare) {
    delete f;
    return;
  }
  f->next_ = spare;
  spare = f;
  ++spares;
}

}  // namespace rmq::os
