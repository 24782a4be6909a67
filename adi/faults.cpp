// Of a job that goes on when ranks die (rmqrun --ft): deaths that the launcher tells of, and what is revoked.
//
// A rank is lost to this one when its link breaks, and dead when the launcher says so. Who is lost to one is to be dead
// for all: so a loss that is not known to be a death is reported, and the launcher ends that rank. Whatever needs all
// to be of one mind (mpi/ft) goes by deaths only.
#include <fmt/format.h>

#include <algorithm>

#include "adi/device.hpp"

namespace rmq::adi {

void Device::hear_of_deaths() {
  for (const Bootstrap::Departure& d : bootstrap_.departures()) {
    if (d.rank == rank_ || std::ranges::find(dead_, d.rank) != dead_.end()) continue;
    dead_.push_back(d.rank);
    Channel& c = channels_[d.rank];
    const Error why{Errc::peer_lost, fmt::format("rank {} is dead: {}", d.rank, d.how)};
    if (c.lost) {
      for (Extension* e : extensions_) e->on_peer_dead(d.rank);
    } else if (c.method) {
      c.method->ended(d.rank, why);  // on_peer_lost follows
    } else {
      on_peer_lost(this, d.rank, why);
    }
  }
}

void Device::note_loss(Rank rank) {
  if (bootstrap_.tells_deaths() && std::ranges::find(dead_, rank) == dead_.end()) {
    bootstrap_.accuse(rank, peer_error(rank));
  } else {
    for (Extension* e : extensions_) e->on_peer_dead(rank);
  }
}

void Device::MPID_Revoke(std::span<const std::uint32_t> contexts, bool (*belongs)(const Request&, const void*),
                         const void* whom) {
  careful_ = true;
  revoked_.insert(contexts.begin(), contexts.end());
  const auto is_meant = [&](const Request& r) {
    return std::ranges::find(contexts, r.match.context) != contexts.end() || (belongs && belongs(r, whom));
  };
  for (std::uint32_t i = 0; i < pool_.capacity(); ++i) {
    Request* const r = pool_.at(i);
    if (!(r->self.generation & 1) || (r->flags & request_flag::staged)) continue;
    if (r->kind == RequestKind::message) {
      // An announced or synchronous one is taken back by its sender, who waits for the answer.
      const bool short_one = r->packet.kind == Kind::SHORT && r->unexpected.self_send == nullptr;
      if (r->step != Step::kept || !short_one || !is_meant(*r)) continue;
      match_.take(r);
      release_kept(r);
      pool_.put(r);
    } else if ((r->kind == RequestKind::send || r->kind == RequestKind::recv) && !r->complete() && is_meant(*r)) {
      revoke(r);
    }
  }
}

// A receive that waits is withdrawn, a send that nobody has matched taken back. What has been matched moves, and ends
// by itself: memory is not touched any more when its request is complete.
void Device::revoke(Request* r) {
  if (r->kind == RequestKind::recv) {
    MPID_Give_up(r, Errc::revoked);
  } else if (r->step == Step::queued || r->step == Step::announced || r->step == Step::unacknowledged) {
    r->status.error = Errc::revoked;
    MPID_Cancel(r);
  }
}

bool Device::MPID_Give_up(Request* recv, Errc error) {
  if (recv->step != Step::posted) return false;
  withdraw(recv);
  recv->go(Step::landing);
  for (std::uint32_t missing = recv->parts; missing > 0; --missing) fail_part(recv, error, kNoRank);
  return true;
}

}  // namespace rmq::adi
