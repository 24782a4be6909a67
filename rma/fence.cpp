// Fence: all operations of the epoch are complete everywhere when it returns.
//
// Each rank completes its own operations at their targets, then all meet in a barrier. The barrier is by dissemination:
// in round k a rank signals the one 2^k places on and waits for the one 2^k places back. A signal that goes by packets
// stands behind the operations to the same rank. With two ranks those therefore need no acknowledgement, and a fence
// over packets is one packet each way. With more, a third rank could leave the barrier before they are there; and where
// only the target can find out that an operation is wrong (dynamic windows), its word is waited for in any case.
#include <atomic>

#include "rma/active.hpp"
#include "rma/sender.hpp"

namespace rmq::rma {

Fault Active::fence(unsigned assertions) {
  if (w_.epochs.has(access::lock_all) || !w_.epochs.locked.empty() || w_.epochs.accessing || w_.epochs.exposed)
    return Fault::sync;
  w_.note(Event::win_fence, -1, assertions);
  const std::vector<Goal> all = sender_.goals();
  constexpr unsigned neither = assertion::noprecede | assertion::nosucceed;
  const bool meets = (assertions & neither) != neither;
  bool told = false;  // the barrier's first signal has left with the operations
  for (const Goal& g : all) {
    Channel& c = sender_.of(g);
    const adi::Device::Together together(w_.device(), c.to);
    sender_.drain(c, g, false, !barrier_covers() || c.typed > 0);
    if (!barrier_covers() || !meets || c.head || c.answers > 0) continue;
    w_.domain.order();
    signal(g.rank, kRound, 0, barriers_ + 1);
    told = true;
  }
  for (const Goal& g : all) {
    Channel& c = sender_.of(g);
    w_.wait_until({WaitFor::What::operations, g.rank}, [&] {
      sender_.drain(c, g, false, !barrier_covers() || c.typed > 0);
      return sender_.is_settled(c, g, !barrier_covers());
    });
  }
  w_.domain.order();
  Fault fault = meets ? barrier(told) : Fault::none;
  for (const Goal& g : all) {
    Channel& c = sender_.of(g);
    const Fault f = sender_.take_fault(c);
    if (fault == Fault::none) fault = f;
    sender_.close_synchronised(c);
  }
  w_.epochs.all = (assertions & assertion::nosucceed) != 0 ? 0 : access::fence;
  w_.epochs.fence_used = false;
  return fault;
}

Fault Active::barrier(bool told) {
  const std::uint32_t count = ++barriers_;
  std::uint32_t round = 0;
  for (int step = 1; step < w_.size(); step *= 2, ++round) {
    if (!told || round > 0) signal((w_.me() + step) % w_.size(), kRound, round, count);
    const auto come = [&] { return WindowState::reached(w_.my_control->rounds[round], count); };
    w_.wait_until({WaitFor::What::fence, (w_.me() + w_.size() - step) % w_.size()},
                  [&] { return come() || !w_.lost_members.empty(); });
    if (!come()) return w_.lost_because_of(w_.lost_members.front(), "");
  }
  return Fault::none;
}

std::atomic<std::uint32_t>& Active::word(Control& control, int of, std::uint32_t what, std::uint32_t round) const {
  Pair& pair = control.pair(of);
  return what == kPost ? pair.posts : what == kComplete ? pair.completes : control.rounds[round];
}

// Tells a member something: by a store where both share their controls, else by a packet.
void Active::signal(int rank, What what, std::uint32_t round, std::uint32_t value) {
  const Reach& t = w_.at(rank);
  if (!t.near) {
    Packet p = w_.packet(Kind::RMA_SYNC);
    p.rma_sync = {what, round, value};
    return w_.device().MPID_Send_packet(w_.world(rank), p, Payload{}, nullptr);
  }
  // Release pairs with the acquires of whoever waits for it.
  word(*t.control, w_.me(), what, round).store(value, std::memory_order_release);
  if (rank != w_.me()) w_.device().MPID_Wake(w_.world(rank));
}

bool Active::signalled(int from, const Packet& p) {
  const auto [what, round, value] = p.rma_sync;
  if (what < kPost || what > kRound || round >= w_.my_control->rounds.size()) return false;
  word(*w_.my_control, from, what, round).store(value, std::memory_order_release);
  if (what == kPost) sender_.posted(from);
  return true;
}

}  // namespace rmq::rma
