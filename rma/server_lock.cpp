// The lock of this rank's part of a window, for origins that ask for it by packets: taken and released in their name.
#include "rma/server.hpp"
#include "rma/wire.hpp"
#include "rma/window_lock.hpp"

namespace rmq::rma {

bool Server::take_lock(Origin& o, LockType type) {
  lock_.begin(w_.me(), type, o.place);
  o.lock = o.place.held ? Origin::Lock::held : Origin::Lock::waiting;
  w_.note(o.place.held ? Event::lock_granted : Event::lock_queued, o.rank, 1);
  if (o.place.held) return true;
  ++w_.domain.counters_.locks_queued;
  lock_.announce(*w_.my_control, true);
  waiting_.push_back(o.rank);
  w_.domain.serve_locks_of(*this, true);
  return false;
}

void Server::release_lock(Origin& o) {
  if (o.lock != Origin::Lock::held) return;
  o.lock = Origin::Lock::none;
  w_.note(Event::lock_released, o.rank, 1);
  lock_.release(w_.me(), o.place);
}

int Server::serve_locks() {
  int served = 0;
  const int broken = lock_.broken_by(w_.me());
  // By index: what runs below may add to the list.
  for (std::size_t i = 0; i < waiting_.size();) {
    Origin& o = origin(waiting_[i]);
    if (!lock_.try_take(w_.me(), o.place) && broken < 0) {
      ++i;
      continue;
    }
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    lock_.announce(*w_.my_control, false);
    ++served;
    o.lock = o.place.held ? Origin::Lock::held : Origin::Lock::none;
    if (o.place.held) w_.note(Event::lock_granted, o.rank, 1);
    if (o.lost) {
      release_lock(o);  // its turn has come too late
    } else if (o.place.held) {
      run(o, true);
    } else {
      refuse_lock(o, w_.world(broken));
    }
  }
  if (waiting_.empty()) w_.domain.serve_locks_of(*this, false);
  return served;
}

// The lock that its first kept packet asks for will never be free.
void Server::refuse_lock(Origin& o, Rank culprit) {
  if (o.held.empty()) return;
  const Packet p = o.held.front().packet;
  drop_first(o);
  if (p.kind != Kind::RMA_LOCK) {
    acknowledge(o, ticket_of(p), Fault::peer_lost, culprit);
  } else {
    Packet refused = w_.packet(Kind::RMA_LOCK_GRANTED);
    refused.rma_lock_granted = {static_cast<std::uint32_t>(Fault::peer_lost), static_cast<std::uint32_t>(culprit + 1)};
    w_.device().MPID_Send_packet(o.world, refused, Payload{}, nullptr);
  }
  run(o, false);
}

}  // namespace rmq::rma
