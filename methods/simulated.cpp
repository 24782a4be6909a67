// SPDX-License-Identifier: BSD-3-Clause
#include "methods/simulated.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "methods/blocks.hpp"
#include "methods/simulated_state.hpp"

namespace rmq::methods {
namespace {

constexpr std::uint64_t kHeader = sizeof(Packet);  // bytes that each packet has on the wire beside its payload

using sim::kStack, sim::ns;

}  // namespace

class SimMethod final : public Method {
 public:
  SimMethod(SimWorld& world, Rank rank) : world_(world), rank_(rank) {}
  ~SimMethod() override { me().sink = nullptr; }

  MethodId id() const override { return MethodId::inproc; }
  bool reaches(Rank) const override { return true; }
  int reached() const override { return world_.hosts_.size() - 1; }
  std::size_t eager_max(Rank to) const override { return world_.link(rank_, to).eager_max; }
  std::size_t fragment_max(Rank to) const override { return world_.link(rank_, to).fragment_max; }
  Outcome send(Rank to, const Packet& packet, const Payload& payload, Request*) override {
    return world_.send(rank_, to, packet, payload);
  }
  int poll() override { return world_.poll(rank_); }
  bool arm() override {
    world_.sleep(rank_);
    return false;  // it has slept
  }
  std::uint64_t expose(Rank peer, const DataView& view) override {
    if (!world_.hosts_.same(rank_, peer) || !view.is_contiguous()) return 0;
    return reinterpret_cast<std::uintptr_t>(view.base);
  }
  Outcome get(Rank from, std::uint64_t address, const DataView& into, std::uint64_t bytes, Request*) override {
    return world_.copy(rank_, from, address, into, bytes, true);
  }
  Outcome put(Rank to, std::uint64_t address, const DataView& data, std::uint64_t bytes, Request*) override {
    return world_.copy(rank_, to, address, data, bytes, false);
  }
  void* mem_alloc(std::size_t bytes) override { return shared_.alloc(bytes); }
  bool mem_free(void* memory) override { return shared_.free(memory); }
  std::uint64_t mem_token(const void* memory, std::uint64_t bytes) const override {
    return shared_.token(memory, bytes);
  }
  std::byte* mem_map(Rank owner, std::uint64_t token, std::uint64_t) const override {
    return world_.hosts_.same(rank_, owner) ? Blocks::at(token) : nullptr;
  }
  bool wake(Rank rank) override {
    world_.wake(rank_, rank);
    return true;
  }
  void drop(Rank, const Error& why) override {
    std::fprintf(stderr, "rmq: rank %d of a simulation: %s\n", rank_, why.what.c_str());
    std::abort();  // only a fault of ours breaks the protocol here
  }
  bool drained() const override { return true; }
  void close() override {}

 private:
  SimWorld::Endpoint& me() { return *world_.endpoints_[static_cast<std::size_t>(rank_)]; }

  SimWorld& world_;
  Rank rank_;
  Blocks shared_;
};

SimWorld::SimWorld(const Hosts& hosts, const SimCost& cost)
    : hosts_(hosts), cost_(cost), lookahead_(std::min(cost.within.latency, cost.between.latency)) {
  int count = 0;
  for (Rank r = 0; r < hosts.size(); ++r) {
    endpoints_.push_back(std::make_unique<Endpoint>());
    endpoints_.back()->rank = r;
    endpoints_.back()->host = hosts[r];
    count = std::max(count, hosts[r] + 1);
  }
  host_.resize(static_cast<std::size_t>(count));
  cpus_.resize(cost.pretended != 0 ? 1 : host_.size());
  for (const auto& e : endpoints_) ++cpus_of(*e).ranks;
  for (Cpus& c : cpus_) {
    c.idle = cost.cpus;
    c.last.assign(static_cast<std::size_t>(cost.cpus), kNoRank);
  }
}

SimWorld::~SimWorld() {
  for (auto& e : endpoints_) e->fiber.reset();
  if (stacks_) ::munmap(stacks_, endpoints_.size() * kStack);
}

std::unique_ptr<Method> SimWorld::open(const MethodContext& context) {
  const auto rank = static_cast<Rank>(context.bootstrap.job().rank);
  Endpoint& e = *endpoints_[static_cast<std::size_t>(rank)];
  RMQ_CHECK(e.sink == nullptr);
  e.sink = &context.sink;
  return std::make_unique<SimMethod>(*this, rank);
}

const std::uint64_t& SimWorld::clock(Rank rank) const {
  return endpoints_[static_cast<std::size_t>(rank)]->clock;
}

void SimWorld::spend(Rank rank, double time) {
  Endpoint& e = *endpoints_[static_cast<std::size_t>(rank)];
  e.rest += time;
  const double whole = std::floor(e.rest);
  e.clock += static_cast<std::uint64_t>(whole);
  e.rest -= whole;
}

// ---- packets ----

Outcome SimWorld::send(Rank from, Rank to, const Packet& packet, const Payload& payload) {
  RMQ_CHECK(packet.length == payload.bytes);
  Endpoint& me = *endpoints_[static_cast<std::size_t>(from)];
  Endpoint& peer = *endpoints_[static_cast<std::size_t>(to)];
  const LinkCost& cost = link(from, to);
  const auto bytes = static_cast<double>(payload.bytes);
  spend(from, cost.send + bytes * cost.send_byte);
  const bool carried = payload.bytes > 0 && payload.bytes <= cost_.carry_max;
  std::unique_ptr<Frame, Frame::Free> f(Frame::make(packet, carried ? payload.bytes : 0));
  if (carried) pack(f->data(), payload.view, payload.offset, payload.bytes);
  f->from = from;
  f->number = ++numbered_;
  ++totals_.packets;
  totals_.bytes += payload.bytes;
  f->due = me.host == peer.host ? me.clock + ns(cost.latency) : through_wire(from, to, payload.bytes);
  if (peer.asleep) take_turn_at(peer, std::max(f->due, peer.clock));
  peer.in.push_back(std::move(f));
  std::push_heap(peer.in.begin(), peer.in.end(), Endpoint::later);
  totals_.in_flight_most = std::max<std::uint64_t>(totals_.in_flight_most, peer.in.size());
  return Outcome::done;
}

// When it arrives. The sender waits while its host's interface has more ahead than it takes.
std::uint64_t SimWorld::through_wire(Rank from, Rank to, std::uint64_t bytes) {
  Endpoint& me = *endpoints_[static_cast<std::size_t>(from)];
  const LinkCost& cost = cost_.between;
  Host& out = host_[static_cast<std::size_t>(me.host)];
  Host& in = host_[static_cast<std::size_t>(endpoints_[static_cast<std::size_t>(to)]->host)];
  ++totals_.packets_between;
  totals_.bytes_between += bytes;
  const double wire = cost.gap + static_cast<double>(bytes + kHeader) * cost.wire_byte;
  const auto now = static_cast<double>(me.clock);
  out.out_free = std::max(out.out_free, now) + wire;
  const double ahead = out.out_free - now - static_cast<double>(cost_.queue) * cost.wire_byte;
  if (ahead > wire) spend(from, ahead - wire);
  // The first byte is there a latency after it has left; the last one a wire's time later, or after what is before it.
  in.in_free = std::max(in.in_free, out.out_free + cost.latency - wire) + wire;
  return ns(in.in_free);
}

void SimWorld::deliver(Endpoint& me, Frame& f) {
  const Sink& up = *me.sink;
  const LinkCost& cost = link(f.from, me.rank);
  spend(me.rank, cost.receive + static_cast<double>(f.packet.length) * cost.receive_byte);
  f.packet.link = ++me.numbered;
  if (f.packet.length == 0 || f.carried) {
    up.on_packet[static_cast<std::uint8_t>(f.packet.kind)](up.device, f.from, f.packet, f.data());
    return;
  }
  const Landing landing = up.on_arriving(up.device, f.from, f.packet);
  up.on_landed(up.device, f.from, f.packet, landing, Errc::ok);
}

int SimWorld::poll(Rank rank) {
  Endpoint& me = *endpoints_[static_cast<std::size_t>(rank)];
  // Others are behind, and may still send what is due by now.
  while (running_ == rank && !turns_.empty() &&
         static_cast<double>(turns_.top().at) + lookahead_ < static_cast<double>(me.clock)) {
    const Turn& first = turns_.top();
    if (endpoints_[static_cast<std::size_t>(first.rank)]->turn != first.number) {
      turns_.pop();
      continue;
    }
    take_turn_at(me, me.clock);
    pause(me);
  }
  int happened = 0;
  while (!me.in.empty() && me.in.front()->due <= me.clock) {
    std::pop_heap(me.in.begin(), me.in.end(), Endpoint::later);
    const std::unique_ptr<Frame, Frame::Free> f = std::move(me.in.back());
    me.in.pop_back();
    deliver(me, *f);
    ++happened;
  }
  return happened;
}

Outcome SimWorld::copy(Rank at, Rank peer, std::uint64_t address, const DataView& local, std::uint64_t bytes,
                       bool is_get) {
  if (address == 0 || !hosts_.same(at, peer)) return Outcome::failed;
  const Endpoint& me = *endpoints_[static_cast<std::size_t>(at)];
  const Endpoint& other = *endpoints_[static_cast<std::size_t>(peer)];
  const bool has_time = other.asleep && other.clock <= me.clock;  // else it is busy until then
  const double part = has_time && (cost_.cpus == 0 || cpus_of(me).ranks <= cost_.cpus) ? cost_.copy_shared : 1;
  spend(at, cost_.copy + static_cast<double>(bytes) * cost_.copy_byte * part);
  totals_.copied += bytes;
  if (bytes > cost_.carry_max) return Outcome::done;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): as expose() has made it
  const DataView theirs = DataView::contiguous(reinterpret_cast<std::byte*>(address), bytes);
  is_get ? rmq::copy(local, 0, theirs, 0, bytes) : rmq::copy(theirs, 0, local, 0, bytes);
  return Outcome::done;
}

}  // namespace rmq::methods
