// Fence: all operations of the epoch are complete everywhere when it returns.
//
// Each rank completes its own operations at their targets, then all meet in a barrier. The barrier is by dissemination:
// in round k a rank signals the one 2^k places on and waits for the one 2^k places back. A signal that goes by packets
// stands behind the operations to the same rank. With two ranks those therefore need no acknowledgement, and a fence
// over packets is one packet each way. With more, a third rank could leave the barrier before they are there; and where
// only the target can find out that an operation is wrong (dynamic windows), its word is waited for in any case.
#include <atomic>

#include "rma/window_state.hpp"

namespace rmq::rma {

bool Window::barrier_covers() const {
  return size() == 2 && !targets_find_out();
}

Fault Window::fence(unsigned assertions) {
  if ((all_ & kLockAll) != 0 || !locked_.empty() || accessing_ || exposed_) return Fault::sync;
  note(Event::win_fence, -1, assertions);
  const std::vector<Goal> all = goals();
  constexpr unsigned neither = assertion::noprecede | assertion::nosucceed;
  const bool meets = (assertions & neither) != neither;
  bool told = false;  // the barrier's first signal has left with the operations
  for (const Goal& g : all) {
    Channel& c = *channels_[static_cast<std::size_t>(g.rank)];
    const adi::Device::Together together(device(), c.to);
    drain(c, g, false, !barrier_covers() || c.typed > 0);
    if (!barrier_covers() || !meets || c.head || c.answers > 0) continue;
    domain_.order();
    signal(g.rank, 3, 0, barriers_ + 1);
    told = true;
  }
  for (const Goal& g : all) {
    Channel& c = *channels_[static_cast<std::size_t>(g.rank)];
    wait_until({WaitFor::What::operations, g.rank}, [&] {
      drain(c, g, false, !barrier_covers() || c.typed > 0);
      return is_settled(c, g, !barrier_covers());
    });
  }
  domain_.order();
  Fault fault = meets ? barrier(told) : Fault::none;
  for (const Goal& g : all) {
    Channel& c = *channels_[static_cast<std::size_t>(g.rank)];
    const Fault f = take_fault(c);
    if (fault == Fault::none) fault = f;
    c.acked = c.asked_to = c.sent;
    close(c);
  }
  all_ = (assertions & assertion::nosucceed) != 0 ? 0 : kFence;
  fence_used_ = false;
  return fault;
}

Fault Window::barrier(bool told) {
  const std::uint32_t count = ++barriers_;
  std::uint32_t round = 0;
  for (int step = 1; step < size(); step *= 2, ++round) {
    if (!told || round > 0) signal((me() + step) % size(), 3, round, count);
    const auto& word = control_->rounds[round];
    // Acquire pairs with signal()'s release: what the others have stored. Counts may wrap.
    const auto come = [&] { return static_cast<std::int32_t>(word.load(std::memory_order_acquire) - count) >= 0; };
    wait_until({WaitFor::What::fence, (me() + size() - step) % size()},
               [&] { return come() || !lost_members_.empty(); });
    if (!come()) return lost_because_of(lost_members_.front(), "");
  }
  return Fault::none;
}

// Tells a member something: by a store where both share their controls, else by a packet.
void Window::signal(int rank, std::uint32_t what, std::uint32_t round, std::uint32_t value) {
  const Reach& t = at(rank);
  if (!t.near) {
    Packet p(Kind::RMA_SYNC);
    p.context = options_.id;
    p.source = me();
    p.rma_sync = {what, round, value};
    return device().MPID_Send_packet(world(rank), p, Payload{}, nullptr);
  }
  Pair& pair = t.control->pair(me());
  std::atomic<std::uint32_t>& word = what == 1 ? pair.posts : what == 2 ? pair.completes : t.control->rounds[round];
  word.store(value, std::memory_order_release);  // pairs with the acquires of whoever waits for it
  if (rank != me()) device().MPID_Wake(world(rank));
}

void Window::signalled(int from, const Packet& p) {
  const auto [what, round, value] = p.rma_sync;
  Pair& pair = control_->pair(from);
  std::atomic<std::uint32_t>& word = what == 1 ? pair.posts : what == 2 ? pair.completes : control_->rounds[round];
  word.store(value, std::memory_order_release);
  if (what != 1) return;
  if (auto& c = channels_[static_cast<std::size_t>(from)]; c && c->state == Channel::State::unposted) pump(*c);
}

}  // namespace rmq::rma
