// SPDX-License-Identifier: BSD-3-Clause
// Fence: all operations of the epoch are complete everywhere when it returns.
//
// Each rank completes its own operations at their targets, then all meet in a barrier. The barrier is by dissemination:
// in round k a rank signals the one 2^k places on and waits for the one 2^k places back. A signal that goes by packets
// stands behind the operations to the same rank. With two ranks those therefore need no acknowledgement, and a fence
// over packets is one packet each way. With more, a third rank could leave the barrier before they are there; and where
// only the target can find out that an operation is wrong (dynamic windows), its word is waited for in any case.
//
// Without an acknowledgement a rank may leave the fence before the other has executed what it has sent. The other will
// have before it leaves: so nobody sees it, but for a copy at once (OpStream::copy), which asks nobody. None is made to
// a rank until that is known to have left the fence, by an acknowledgement or by its coming to the next one.
#include <atomic>

#include "rma/epoch/active_target.hpp"
#include "rma/origin/signal.hpp"

namespace rmq::rma {

bool ActiveTarget::barrier_covers() const {
  return core_.size() == 2 && !targets_find_out();
}

// Sends what may leave; where no acknowledgement is waited for, one is asked for that lets datatypes go, or lets the
// next epoch copy.
bool ActiveTarget::drain(const Completion& completion) {
  const OpStream& stream = completion.channel->stream();
  return completion.channel->drain(completion,
                                   completion.until != Until::local || stream.names_types() || stream.wants_word());
}

Fault ActiveTarget::fence(unsigned assertions) {
  if (core_.in_lock() || core_.accessing || core_.exposed) return Fault::sync;
  core_.note(Event::win_fence, -1, assertions);
  std::vector<Completion> all = sender_.completions(barrier_covers() ? Until::local : Until::remote);
  constexpr unsigned neither = assertion::noprecede | assertion::nosucceed;
  const bool meets = (assertions & neither) != neither;
  bool told = false;  // the barrier's first signal has left with the operations
  for (Completion& c : all) c.channel->begin(c);
  for (const Completion& c : all) {
    const adi::Device::Together together(core_.device(), c.channel->to());
    drain(c);
    if (!barrier_covers() || !meets || c.channel->stream().is_unfinished()) continue;
    core_.domain.order();
    signal(core_, c.channel->rank(), Signal::fence, 0, barriers_ + 1);
    told = true;
  }
  for (const Completion& c : all)
    core_.wait_until({WaitFor::What::operations, c.channel->rank()}, [&] { return drain(c); });
  core_.domain.order();
  Fault fault = meets ? barrier(told) : Fault::none;
  for (const Completion& c : all) {
    c.channel->end(c);
    const Fault f = c.channel->take_fault();
    if (fault == Fault::none) fault = f;
    c.channel->stream().assume_covered(meets);
    sender_.close(*c.channel);
  }
  core_.all = (assertions & assertion::nosucceed) != 0 ? 0 : access::fence;
  core_.fence_used = false;
  return fault;
}

Fault ActiveTarget::barrier(bool told) {
  const std::uint32_t count = ++barriers_;
  std::uint32_t round = 0;
  for (int step = 1; step < core_.size(); step *= 2, ++round) {
    if (!told || round > 0) signal(core_, (core_.me + step) % core_.size(), Signal::fence, round, count);
    const auto& word = core_.control->rounds[round];
    const auto come = [&] { return has_reached(word, count); };
    core_.wait_until({WaitFor::What::fence, (core_.me + core_.size() - step) % core_.size()},
                     [&] { return come() || !core_.lost_members.empty(); });
    if (!come()) return core_.lost_because_of(core_.lost_members.front(), "");
  }
  return Fault::none;
}

}  // namespace rmq::rma
