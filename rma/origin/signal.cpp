// SPDX-License-Identifier: BSD-3-Clause
#include "rma/origin/signal.hpp"

#include <atomic>

namespace rmq::rma {
namespace {

// The word of `control` that tells its owner what the `place`-th member on its host has signalled.
std::atomic<std::uint32_t>& word_of(Control& control, int place, Signal what, std::uint32_t round) {
  if (what == Signal::fence) return control.rounds[round];
  Pair& pair = control.pair(place);
  return what == Signal::post ? pair.posts : pair.completes;
}

}  // namespace

void signal(const WindowCore& core, int rank, Signal what, std::uint32_t round, std::uint32_t count) {
  const Reach& t = core.at(rank);
  if (!t.near) {
    Packet p = core.packet(Kind::RMA_SYNC);
    p.rma_sync = {static_cast<std::uint32_t>(what), round, count};
    return core.device().send_packet(core.world(rank), p, Payload{}, nullptr);
  }
  // Release pairs with the acquires of whoever waits for it.
  word_of(*t.control, core.host_me, what, round).store(count, std::memory_order_release);
  if (rank != core.me) core.device().wake(core.world(rank));
}

bool signalled(WindowCore& core, const Sender& sender, int from, const Packet& p) {
  const auto [number, round, count] = p.rma_sync;
  if (number < 1 || number > 3 || round >= core.control->rounds.size()) return false;
  const auto what = static_cast<Signal>(number);
  const int place = core.on_host(from);
  if (what == Signal::fence || place >= 0)
    word_of(*core.control, place, what, round).store(count, std::memory_order_release);
  else
    (what == Signal::post ? core.counts[from].posts : core.counts[from].completes) = count;
  if (what != Signal::post) return true;
  if (Channel* c = sender.find(from); c && c->state() == Channel::State::unposted) c->pump();
  return true;
}

}  // namespace rmq::rma
