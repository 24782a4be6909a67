// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/node.hpp"

#include <gtest/gtest.h>

#include "base/os/clock.hpp"

namespace rmq::tcp::test {

using methods::Landing;
using methods::Outcome;

Node::Node(Bootstrap& bootstrap, const Config& config) : config_(config) {
  auto bell = Doorbell::open(bootstrap.job().job, bootstrap.job().rank);
  if (!bell) {
    ADD_FAILURE() << bell.error().what;
    return;
  }
  doorbell_ = std::move(*bell);
  sink_.device = this;
  sink_.on_packet.fill([](void* device, Rank from, const Packet& packet, const std::byte* payload) {
    Node& node = of(device);
    node.received.push_back({from, packet, {payload, payload + packet.length}});
    if (node.on_packet) node.on_packet(Received(node.received.back()));
  });
  sink_.on_arriving = [](void* device, Rank from, const Packet& packet) {
    Node& node = of(device);
    if (node.arriving) return node.arriving(from, packet);
    node.arriving_.assign(packet.length, std::byte{});
    return Landing{DataView::contiguous(node.arriving_.data(), packet.length), 0, packet.length, nullptr};
  };
  sink_.on_landed = [](void* device, Rank from, const Packet& packet, const Landing& landing, Errc error) {
    Node& node = of(device);
    node.landed.emplace_back(landing, error);
    node.received.push_back({from, packet, node.arriving ? std::vector<std::byte>{} : node.arriving_});
  };
  sink_.on_sent = [](void* device, Request* owner, Errc error) { of(device).sent.emplace_back(owner, error); };
  sink_.on_room = [](void* device, Rank rank) { of(device).refused.erase(rank); };
  sink_.on_moved = [](void*, Request*, std::uint64_t, Errc) { ADD_FAILURE() << "tcp moves nothing"; };
  sink_.on_peer_lost = [](void* device, Rank rank, const Error& error) {
    of(device).lost.emplace_back(rank, error);
    of(device).refused.erase(rank);
  };
  auto opened = TcpMethod::open({config_, bootstrap, sink_, trace_, *doorbell_});
  if (opened) {
    method_ = std::move(*opened);
  } else {
    open_error_ = opened.error();
  }
}

Node::~Node() = default;

Outcome Node::offer(Rank to, const Packet& packet, const Payload& payload, Request* owner) {
  if (refused.contains(to)) return Outcome::retry;
  const Outcome outcome = method_->send(to, packet, payload, owner);
  if (outcome == Outcome::retry) refused.insert(to);
  return outcome;
}

bool Node::send(Rank to, const Packet& packet, const DataView& data, Request* owner) {
  const std::uint64_t until = os::now_ns() + 20000000000u;
  while (os::now_ns() < until) {
    const Outcome outcome = offer(to, packet, {data, 0, data.bytes}, owner);
    if (outcome != Outcome::retry) return outcome != Outcome::failed;
    method_->poll();
    for (Node* other : others) other->method().poll();
  }
  ADD_FAILURE() << "a packet was not taken within 20 s";
  return false;
}

bool Node::say(Rank to, int tag, std::string_view text, Request* owner) {
  return send(to, short_packet(tag, text.size()), DataView::contiguous(text.data(), text.size()), owner);
}

World::World(int n, const Config& config, const std::vector<int>& hosts)
    : boots(hosts.empty() ? local_bootstraps(n) : local_bootstraps(Hosts(hosts))) {
  for (auto& boot : boots) {
    nodes.push_back(std::make_unique<Node>(*boot, config));
    if (!nodes.back()->is_open()) {
      ADD_FAILURE() << nodes.back()->open_error().what;
      std::abort();
    }
  }
  for (auto& one : nodes) {
    for (auto& other : nodes) {
      if (one != other) one->others.push_back(other.get());
    }
  }
}

bool World::until(const std::function<bool()>& done, const char* what) {
  const std::uint64_t end = os::now_ns() + 20000000000u;
  while (!done()) {
    for (auto& node : nodes) node->method().poll();
    if (os::now_ns() > end) {
      ADD_FAILURE() << "not within 20 s: " << what;
      return false;
    }
  }
  return true;
}

void World::connect() {
  nodes[0]->say(1, 0);
  until([&] { return nodes[1]->received.size() == 1; }, "the first packet");
  nodes[1]->say(0, 0);
  until([&] { return nodes[0]->received.size() == 1; }, "the answer");
  nodes[0]->received.clear();
  nodes[1]->received.clear();
}

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>((i * 2654435761u + seed * 40503u) >> 13);
  return made;
}

std::string text_of(const Received& received) {
  return {reinterpret_cast<const char*>(received.payload.data()), received.payload.size()};
}

Packet short_packet(int tag, std::size_t bytes) {
  Packet packet(Kind::SHORT);
  packet.tag = tag;
  packet.length = static_cast<std::uint32_t>(bytes);
  return packet;
}

}  // namespace rmq::tcp::test
