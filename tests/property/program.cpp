// SPDX-License-Identifier: BSD-3-Clause
#include "property/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace rmq::testing {

Program::Program(std::uint64_t seed, bool deaths)
    : seed_(seed), chance_(seed * 2 + 1), rules_(methods::InprocRules::drawn(seed)), deaths_(deaths) {
  ranks_ = static_cast<int>(chance_.in(30) ? chance_.between(7, 16) : chance_.between(2, 6));
  actions_ = static_cast<int>(chance_.between(20, 200));
  Setup setup;
  setup.name = "inproc";
  setup.inproc = rules_;
  const bool get_mode = chance_.in(600);
  const std::uint64_t eager_override = chance_.pick<std::uint64_t>({0, 0, 40, 600});
  scarce_ = chance_.in(500);
  world_ = std::make_unique<World>(ranks_, setup, [&](Config& c) {
    c.get_mode = get_mode;
    c.eager_max = eager_override;
    c.wait = "spin";                    // no clock decides: a seed replays exactly
    if (scarce_) c.unexpected_max = 1;  // the device makes it the least that works
  });
  eager_ = eager_override ? std::min<std::size_t>(eager_override, rules_.eager_max) : rules_.eager_max;
}

Program::~Program() = default;

std::string Program::describe() const {
  return fmt::format(
      "seed {}: {} ranks, {} actions, eager {}, fragment {}, link {}, latency {}, burst {}, retry {}, queued "
      "{}, told_late {}, pieces {}, no_expose {}",
      seed_, ranks_, actions_, eager_, rules_.fragment_max, rules_.link_frames, rules_.latency_ns, rules_.burst,
      rules_.retry, rules_.queued, rules_.told_late, rules_.pieces, rules_.no_expose);
}

std::vector<std::string> Program::run() {
  if (!world_->ok()) return {"the devices did not start"};
  for (int i = 0; i < actions_; ++i) {
    act();
    poll_some();
    sweep();
  }
  end();
  if (dead_ < 0) note_leaks();
  std::vector<std::string> all = faults_;
  for (std::string& v : check(history_)) all.push_back(std::move(v));
  if (!all.empty()) world_->abandon();
  return all;
}

Match Program::a_pattern() {
  Match m;
  m.context = static_cast<std::uint32_t>(chance_.between(1, 2));
  m.source = chance_.in(300) ? kAnySource : any_rank();
  m.tag = chance_.in(300) ? kAnyTag : a_tag();
  return m;
}

std::size_t Program::a_size() {
  switch (chance_.below(6)) {
    case 0:
      return chance_.pick<std::size_t>({0, 0, 1, 7, 8, 9});
    case 1:
      return chance_.pick<std::size_t>({23, 24, 25, 31, 32, 33, 63, 64, 65});
    case 2:
      return eager_ + chance_.pick<std::size_t>({0, 1, 2}) - (eager_ > 0 ? 1 : 0);
    case 3:
      return rules_.fragment_max * chance_.between(1, 2) + chance_.pick<std::size_t>({0, 1, 2}) - 1;
    case 4:
      return chance_.below(300);
    default:
      return chance_.below(20000);
  }
}

void Program::act() {
  const std::uint64_t what = chance_.below(100);
  if (what < 38) {
    const SendMode mode = chance_.pick({SendMode::standard, SendMode::standard, SendMode::synchronous});
    return send(any_rank(), any_rank(), a_tag(), mode, chance_.in(100));
  }
  if (what < 42) return send_ready();
  if (what < 76) return receive(any_rank(), a_pattern(), chance_.in(150) ? a_size() : 140000);
  if (what < 82) return probe(any_rank(), a_pattern());
  if (what < 88) return take(any_rank(), a_pattern());
  if (what < 91) return held_.empty() ? void() : receive_held(chance_.below(held_.size()));
  if (what < 97) return cancel();
  if (what < 99) return scarce_ ? flood() : cancel();
  if (deaths_ && dead_ < 0 && now_ > 60) die();
}

void Program::send(int from, int to, int tag, SendMode mode, bool detached) {
  send(from, to, tag, mode, detached, a_size());
}

// Messages that nobody has asked for, and behind them one that somebody waits for.
void Program::flood() {
  const int from = any_rank();
  const int to = any_rank();
  const auto size = [&] { return chance_.pick<std::size_t>({0, 500, 2891, eager_, eager_ + 1}); };
  const bool mixed = chance_.in(500);
  std::size_t bytes = size();
  const int tag = 100000 + static_cast<int>(now_);
  receive(to, {1, from, tag}, 200);
  receive(to, {2, from, tag}, 200);
  for (std::uint64_t n = chance_.between(20, 200); n > 0; --n) {
    if (mixed) bytes = size();
    send(from, to, a_tag(), chance_.in(100) ? SendMode::synchronous : SendMode::standard, false, bytes);
  }
  send(from, to, tag, SendMode::standard, false, 100);
}

void Program::send(int from, int to, int tag, SendMode mode, bool detached, std::size_t bytes) {
  if (!alive(from)) return;
  SentMessage m;
  m.id = history_.messages.size() + 1;
  m.from = from;
  m.to = to;
  m.context = static_cast<std::uint32_t>(chance_.between(1, 2));
  m.tag = tag;
  m.bytes = bytes;
  m.synchronous = mode == SendMode::synchronous;
  m.started = tick();
  auto op = std::make_unique<Operation>();
  op->rank = from;
  op->buffer = std::make_unique<Buffer>(bytes, a_shape(), m.id);
  op->buffer->fill(message_bytes(m.id, bytes));
  op->message = static_cast<std::ptrdiff_t>(history_.messages.size());
  adi::Device& device = (*world_)[from];
  if (mode == SendMode::standard && op->buffer->view().is_contiguous() && chance_.in(250) &&
      device.send_now(to, {m.context, from, tag}, op->buffer->view().base, bytes)) {
    m.completed = m.started;
    history_.messages.push_back(m);
    return;  // and the buffer goes at once
  }
  Request* r = world_->make_send(from, to, tag, *op->buffer, mode);
  r->match.context = m.context;
  op->request = r;
  if (detached && mode == SendMode::standard) {  // as a buffered send does it: nobody waits
    r->mode = SendMode::buffered;
    r->owned = static_cast<std::byte*>(std::malloc(bytes + 1));
    r->owned_bytes = bytes;
    pack(r->owned, op->buffer->view(), 0, bytes);
    r->view = DataView::contiguous(r->owned, bytes);
    r->layout = LayoutRef{};
    m.completed = m.started;
    history_.messages.push_back(m);
    device.MPID_Isend(r);
    device.MPID_Request_free(r);
    return;
  }
  history_.messages.push_back(m);
  running_.push_back(std::move(op));
  device.MPID_Isend(r);
}

void Program::send_ready() {
  const int from = any_rank();
  const int to = any_rank();
  if (!alive(from) || !alive(to)) return;
  const int tag = 1000 + static_cast<int>(now_);  // of its own, so that the receive is surely there
  receive(to, {1, from, tag}, 140000);
  receive(to, {2, from, tag}, 140000);
  send(from, to, tag, SendMode::ready, false);
}

void Program::receive(int at, const Match& pattern, std::size_t capacity) {
  if (!alive(at)) return;
  auto op = std::make_unique<Operation>();
  op->rank = at;
  op->buffer = std::make_unique<Buffer>(capacity, a_shape(), now_ + 7);
  op->receive = std::make_unique<Receive>();
  op->receive->at = at;
  op->receive->pattern = pattern;
  op->receive->capacity = capacity;
  op->receive->posted = tick();
  Request* r = world_->make_recv(at, pattern.source, pattern.tag, *op->buffer);
  r->match.context = pattern.context;
  op->request = r;
  running_.push_back(std::move(op));
  (*world_)[at].MPID_Irecv(r);
}

void Program::probe(int at, const Match& pattern) {
  if (!alive(at)) return;
  adi::Envelope e;
  const Step when = tick();
  if (!(*world_)[at].MPID_Iprobe(pattern, e)) return;
  history_.probes.push_back({at, pattern, when, e.source, e.tag, static_cast<std::size_t>(e.bytes)});
  if (chance_.in(500)) receive(at, {pattern.context, e.source, e.tag}, e.bytes);
}

void Program::take(int at, const Match& pattern) {
  if (!alive(at)) return;
  Held h{at, nullptr, {}, {}};
  h.receive.at = at;
  h.receive.pattern = pattern;
  h.receive.posted = tick();
  h.message = (*world_)[at].MPID_Improbe(pattern, h.envelope);
  if (!h.message) return;
  history_.probes.push_back(
      {at, pattern, h.receive.posted, h.envelope.source, h.envelope.tag, static_cast<std::size_t>(h.envelope.bytes)});
  held_.push_back(std::move(h));
}

void Program::receive_held(std::size_t index) {
  Held h = std::move(held_[index]);
  held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
  if (!alive(h.rank)) return;
  auto op = std::make_unique<Operation>();
  op->rank = h.rank;
  const std::size_t capacity = chance_.in(150) ? h.envelope.bytes / 2 : h.envelope.bytes;
  op->buffer = std::make_unique<Buffer>(capacity, a_shape(), now_ + 9);
  op->receive = std::make_unique<Receive>(std::move(h.receive));
  op->receive->capacity = capacity;
  tick();
  op->request = world_->make_recv(h.rank, h.envelope.source, h.envelope.tag, *op->buffer);
  op->request->match.context = op->receive->pattern.context;
  running_.push_back(std::move(op));
  (*world_)[h.rank].MPID_Imrecv(running_.back()->request, h.message);
}

void Program::cancel() {
  if (running_.empty()) return;
  Operation& op = *running_[chance_.below(running_.size())];
  if (op.cancel_tried || !alive(op.rank)) return;
  op.cancel_tried = true;
  tick();
  (*world_)[op.rank].MPID_Cancel(op.request);
}

void Program::die() {
  dead_ = any_rank();
  history_.dead.push_back(dead_);
  tick();
  world_->kill(dead_);
}

void Program::poll_some() {
  for (std::uint64_t n = chance_.below(2 * static_cast<std::uint64_t>(ranks_)); n > 0; --n) {
    const int r = any_rank();
    if (alive(r)) (*world_)[r].MPID_Poll(chance_.in(200));
    sweep();
  }
}

// Takes note of what has completed. Some finished operations stay for a while, so that they can be cancelled too late.
void Program::sweep() {
  tick();
  for (std::size_t i = 0; i < running_.size();) {
    Operation& op = *running_[i];
    const bool mine_died = !alive(op.rank);
    if (!mine_died && (!op.request->complete() || (op.message >= 0 && !op.cancel_tried && chance_.in(700)))) {
      ++i;
      continue;
    }
    if (mine_died) {
      if (op.message >= 0) history_.messages[static_cast<std::size_t>(op.message)].fate_unknown = op.cancel_tried;
      kept_.push_back(std::move(op.buffer));  // the dead rank's memory
    } else {
      finish(op);
    }
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Program::finish(Operation& op) {
  Request* r = op.request;
  if (op.message >= 0) {
    SentMessage& m = history_.messages[static_cast<std::size_t>(op.message)];
    m.completed = now_;
    m.cancelled = r->status.cancelled;
    const bool excused = r->status.error == Errc::peer_lost && (m.to == dead_);
    if (r->status.error != Errc::ok && !excused) {
      faults_.push_back(
          fmt::format("the send of message {} ended in error {}", m.id, static_cast<int>(r->status.error)));
    }
  } else {
    Receive& got = *op.receive;
    got.completed = now_;
    got.cancelled = r->status.cancelled;
    got.status = r->status;
    got.lost_peer = r->status.error == Errc::peer_lost;
    if (got.lost_peer && r->peer != dead_) {
      faults_.push_back(fmt::format("a receive at rank {} was ended by the loss of rank {}", op.rank, r->peer));
    }
    const std::size_t bytes = got.cancelled || got.lost_peer ? 0 : std::min<std::size_t>(r->status.bytes, got.capacity);
    got.data = op.buffer->take(bytes);
    got.guards_held = got.lost_peer || op.buffer->guards_hold(bytes);
    history_.receives.push_back(std::move(got));
  }
  (*world_)[op.rank].MPID_Request_free(r);
}

// Receives everything that is left, and cancels what nothing can match.
void Program::end() {
  while (!held_.empty()) receive_held(0);
  const auto settle = [&] {
    world_->settle();
    sweep();
  };
  settle();
  for (const auto& op : running_) {
    if (op->receive == nullptr || op->request->complete() || !alive(op->rank)) continue;
    op->cancel_tried = true;
    op->receive->at_rest = true;
    (*world_)[op->rank].MPID_Cancel(op->request);
  }
  settle();
  std::size_t turns = 0;
  for (bool found = true; found;) {
    found = false;
    if (++turns > history_.messages.size() + 10) {
      faults_.push_back("receiving what is left comes to no end");
      break;
    }
    for (int at = 0; at < ranks_; ++at) {
      for (std::uint32_t context : {1u, 2u}) {
        adi::Envelope e;
        if (!alive(at)) continue;
        std::size_t left = (*world_)[at].unexpected() + 1;
        while (left-- > 0 && (*world_)[at].MPID_Iprobe({context, kAnySource, kAnyTag}, e)) {
          found = true;
          const Match exact{context, e.source, e.tag};
          const Match any{context, kAnySource, kAnyTag};
          history_.probes.push_back({at, any, tick(), e.source, e.tag, static_cast<std::size_t>(e.bytes)});
          receive(at, chance_.in(500) ? exact : any, e.bytes);
        }
      }
    }
    settle();
  }
  sweep();
  while (!running_.empty()) {
    // Sends that were kept back for a late cancel are complete: the draw of sweep() lets them go sooner or later.
    const bool stuck = std::any_of(running_.begin(), running_.end(),
                                   [&](const auto& op) { return alive(op->rank) && !op->request->complete(); });
    if (stuck) break;
    sweep();
  }
  for (const auto& op : running_) {
    if (op->receive) history_.receives.push_back(std::move(*op->receive));
    kept_.push_back(std::move(op->buffer));
  }
}

void Program::note_leaks() {
  if (!running_.empty()) return;
  for (int r = 0; r < ranks_; ++r) {
    adi::Device& d = (*world_)[r];
    const adi::Counters& c = d.counters();
    if (d.pool().alive() != 0) faults_.push_back(fmt::format("rank {} leaks {} requests", r, d.pool().alive()));
    if (d.posted() + d.unexpected() != 0) faults_.push_back(fmt::format("rank {} has entries left in its queues", r));
    if (c.protocol_errors != 0)
      faults_.push_back(fmt::format("rank {} counts {} protocol errors", r, c.protocol_errors));
    if (c.unexpected_bytes != 0)
      faults_.push_back(fmt::format("rank {} counts {} unexpected bytes", r, c.unexpected_bytes));
    const std::uint64_t ceiling = d.unexpected_ceiling() + d.config().envelopes_max * adi::kMessageRecord;
    if (c.unexpected_peak > ceiling + (std::uint64_t{1} << 23)) {  // messages to oneself come on top
      faults_.push_back(fmt::format("rank {} held {} bytes, above its ceiling of {}", r, c.unexpected_peak, ceiling));
    }
  }
}

}  // namespace rmq::testing
