// SPDX-License-Identifier: BSD-3-Clause
// One rank of the shared-memory method with a sink that records, for tests in threads and in forked processes.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/os/clock.hpp"
#include "shm/method.hpp"

namespace rmq::test {

struct Got {
  Rank from;
  Packet packet;
  std::vector<std::byte> payload;
};

/// The pattern of message `number` from `from`: any mix-up of bytes, messages or senders shows.
inline std::byte pattern(Rank from, std::uint32_t number, std::size_t i) {
  return static_cast<std::byte>((static_cast<std::uint32_t>(from) * 131 + number * 31 +
                                 static_cast<std::uint32_t>(i) * 7 + static_cast<std::uint32_t>(i >> 8)) &
                                0xff);
}

struct ShmRank {
  Bootstrap& bootstrap;
  Config config;
  Trace trace;
  std::unique_ptr<Doorbell> bell;
  methods::Sink sink;
  std::unique_ptr<methods::Method> method;
  std::string failure;  // why it could not be opened

  std::vector<Got> got;
  bool keep = true;  // keep packets in `got`, else only count and check the pattern (message number in `msg`)
  std::uint64_t packets = 0;
  std::vector<std::uint32_t> next;  // by sender: number of the next message, when not keeping
  std::uint64_t damaged = 0;        // payloads or orders that are wrong
  std::vector<std::pair<Request*, std::uint64_t>> moved;
  std::vector<Errc> moved_errors;
  std::vector<std::pair<Rank, Error>> lost;
  void (*on_any)(ShmRank&, Rank, const Packet&) = nullptr;

  ShmRank(Bootstrap& boot, const Config& settings) : bootstrap(boot), config(settings) {
    next.assign(static_cast<std::size_t>(boot.job().size), 0);
    bell = Doorbell::open(boot.job().job, boot.job().rank).value();
    sink.device = this;
    sink.on_packet.fill([](void* self, Rank from, const Packet& packet, const std::byte* payload) {
      static_cast<ShmRank*>(self)->take(from, packet, payload);
    });
    sink.on_moved = [](void* self, Request* owner, std::uint64_t bytes, Errc error) {
      static_cast<ShmRank*>(self)->moved.emplace_back(owner, bytes);
      static_cast<ShmRank*>(self)->moved_errors.push_back(error);
    };
    sink.on_peer_lost = [](void* self, Rank rank, const Error& error) {
      static_cast<ShmRank*>(self)->lost.emplace_back(rank, error);
    };
    auto made = shm::make_shm({config, bootstrap, sink, trace, *bell});
    if (made)
      method = std::move(*made);
    else
      failure = made.error().what;
  }

  shm::ShmMethod& shm() { return static_cast<shm::ShmMethod&>(*method); }

  void take(Rank from, const Packet& packet, const std::byte* payload) {
    ++packets;
    if (keep) {
      got.push_back({from, packet, std::vector<std::byte>(payload, payload + packet.length)});
    } else {
      bool good = packet.msg == next[static_cast<std::size_t>(from)]++;
      for (std::size_t i = 0; i < packet.length; ++i) good = good && payload[i] == pattern(from, packet.msg, i);
      damaged += good ? 0 : 1;
    }
    if (on_any) on_any(*this, from, packet);
  }

  methods::Outcome try_send(Rank to, Kind kind, std::uint32_t msg, const std::byte* data, std::size_t bytes) {
    Packet packet(kind);
    packet.msg = msg;
    packet.length = static_cast<std::uint32_t>(bytes);
    return method->send(to, packet, {DataView::contiguous(data, bytes), 0, bytes}, nullptr);
  }

  /// Sends message `msg` with its pattern, polling while the ring is full. False when the peer is lost.
  bool send_pattern(Rank to, std::uint32_t msg, std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = pattern(bootstrap.job().rank, msg, i);
    for (;;) {
      const methods::Outcome outcome = try_send(to, Kind::SHORT, msg, data.data(), bytes);
      if (outcome == methods::Outcome::done) return true;
      if (outcome == methods::Outcome::failed) return false;
      if (method->poll() == 0) ::usleep(1);
    }
  }

  /// Polls until `done`, giving the core away when idle. False after 60 s (a watchdog).
  template <class Done>
  bool poll_until(const Done& done) {
    const std::uint64_t end = os::now_ns() + 60'000'000'000u;
    while (!done()) {
      if (method->poll() == 0) ::usleep(1);
      if (os::now_ns() > end) return false;
    }
    return true;
  }
};

}  // namespace rmq::test
