// SPDX-License-Identifier: BSD-3-Clause
// Bytes of strangers at a handshake, on either side of it, and of members on an open connection.
#include <fcntl.h>
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "fuzz/fuzz.hpp"
#include "tcp/handshake.hpp"
#include "tcp/inbox.hpp"

namespace rmq::fuzz {
namespace {

using tcp::Handshake;
using Bytes = std::vector<std::byte>;

// ---- randomness that a script repeats ----

std::uint64_t drawn = 0;

void draw(void* into, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    static_cast<unsigned char*>(into)[i] = static_cast<unsigned char>(drawn >> 56);
  }
}

std::uint32_t draw_word() {
  std::uint32_t word;
  draw(&word, sizeof word);
  return word;
}

bool start() {
  static randombytes_implementation ours{[] { return "script"; }, draw_word, nullptr, nullptr, draw, nullptr};
  return ::randombytes_set_implementation(&ours) == 0 && ::sodium_init() >= 0;
}

tcp::Identity identity(Rank self) {
  tcp::Identity made{self, 4, {}, 77};
  made.secret.fill(std::byte{9});
  return made;
}

// ---- a handshake with somebody in between ----

enum Tamper : std::uint8_t { kPass, kFlip, kReplace, kCut, kRepeat, kTampers };

/// One message on its way: as it was sent, or as the script changes it. `changed` becomes whether it did.
Bytes tamper(Reader& in, const Bytes& sent, const Bytes& earlier, bool& changed) {
  Bytes now = sent;
  switch (in.pick(kTampers)) {
    case kFlip:
      if (!now.empty()) now[in.u8() % now.size()] ^= static_cast<std::byte>(in.u8());
      break;
    case kReplace: {
      const auto some = in.bytes(in.u8());
      now.resize(some.size());
      if (!some.empty()) std::memcpy(now.data(), some.data(), some.size());
      break;
    }
    case kCut:
      now.resize(now.size() - in.u8() % (now.size() + 1));
      break;
    case kRepeat:
      now = earlier;
      break;
    default:
      break;
  }
  changed |= now != sent;
  return now;
}

void feed(Handshake& to, const Bytes& bytes, std::size_t step) {
  for (std::size_t i = 0; i < bytes.size(); i += step) {
    const std::size_t wanted = to.wanted();
    require(wanted <= 128, "at most 128 bytes of a stranger are wanted");
    to.take(std::span(bytes).subspan(i, std::min(step, bytes.size() - i)));
  }
}

Bytes take(Handshake& from) {
  const Bytes bytes(from.output().begin(), from.output().end());
  from.written(bytes.size());
  return bytes;
}

void handshake(Reader& in) {
  drawn = in.u8();
  const std::size_t step = 1 + in.u8();
  Handshake caller = Handshake::calling(identity(1), 2), called = Handshake::called(identity(2));
  bool changed = false;
  Bytes earlier;
  for (int turn = 0; turn < 8; ++turn) {
    Handshake &from = turn % 2 == 0 ? caller : called, &to = turn % 2 == 0 ? called : caller;
    if (from.state() == Handshake::State::proven) in.pick(2) ? from.accept() : from.reject(in.u8());
    const Bytes sent = take(from);
    feed(to, tamper(in, sent, earlier, changed), step);
    earlier = sent;
    // The verdict alone has no proof of its own: it comes by the connection that has proved itself.
    if (changed && turn < 3) {
      require(called.state() != Handshake::State::proven && called.state() != Handshake::State::open,
              "nobody gets in who changes a word");
      require(caller.state() != Handshake::State::open && caller.state() != Handshake::State::rejected,
              "nothing is believed before a proof");
    }
  }
}

// ---- an open connection ----

struct Heard {
  Bytes landing;
  bool under_way = false;
  std::size_t packets = 0;
};

methods::Sink sink_for(Heard& heard) {
  methods::Sink sink;
  sink.device = &heard;
  sink.on_packet.fill([](void* device, Rank, const Packet& packet, const std::byte* payload) {
    auto& h = *static_cast<Heard*>(device);
    require(!h.under_way, "no packet comes between a landing's begin and end");
    ++h.packets;
    std::byte sum{};
    for (std::size_t i = 0; i < packet.length; ++i) sum ^= payload[i];  // all of it can be read
    static_cast<void>(sum);
  });
  sink.on_arriving = [](void* device, Rank, const Packet& packet) {
    auto& h = *static_cast<Heard*>(device);
    require(!h.under_way, "one payload lands at a time");
    h.under_way = true;
    h.landing.resize(std::min<std::size_t>(packet.length / 2 + 1, 100000));
    const std::size_t bytes = std::min<std::size_t>(h.landing.size(), packet.length);
    return methods::Landing{DataView::contiguous(h.landing.data(), bytes), 0, bytes, nullptr};
  };
  sink.on_landed = [](void* device, Rank, const Packet&, const methods::Landing&, Errc) {
    auto& h = *static_cast<Heard*>(device);
    require(h.under_way, "what lands has been announced");
    h.under_way = false;
  };
  sink.on_sent = [](void*, Request*, Errc) {};
  sink.on_moved = [](void*, Request*, std::uint64_t, Errc) {};
  sink.on_peer_lost = [](void*, Rank, const Error&) {};
  return sink;
}

void stream(Reader& in) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return;
  Heard heard;
  const methods::Sink sink = sink_for(heard);
  tcp::Inbox inbox;
  bool over = false;
  while (!in.done() && !over) {
    // Packets by number, so that most of a script goes past the header; payloads of one byte repeated.
    Bytes bytes;
    if (in.pick(8) == 0) {
      const auto raw = in.bytes(in.u8());
      bytes.resize(raw.size());
      if (!raw.empty()) std::memcpy(bytes.data(), raw.data(), raw.size());
    } else {
      Packet p(static_cast<Kind>(in.u8()));
      p.link = in.u8();
      p.length = in.pick(4) == 0 ? in.u32() : in.u16();
      const std::size_t sent = std::min<std::size_t>(p.length, in.u16());
      bytes.resize(wire_bytes(p.kind) + sent, std::byte{0x33});
      std::memcpy(bytes.data(), &p, wire_bytes(p.kind));
    }
    for (std::size_t done = 0; done < bytes.size() && !over;) {
      const ssize_t n = ::send(ends[1], bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
      if (n > 0) done += static_cast<std::size_t>(n);
      const tcp::Arrival arrival = inbox.receive(ends[0], 1, sink);
      over = arrival.trouble != nullptr || arrival.ended || arrival.error != 0;
    }
  }
  inbox.fail(1, sink, Errc::peer_lost);
  require(!heard.under_way, "a landing ends with its connection");
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace

std::vector<Script> seeds() {
  std::vector<Script> all;
  for (const std::size_t verdict : {0, 1}) {
    for (std::size_t turn = 0; turn < 4; ++turn) {
      for (std::size_t how = 0; how < kTampers; ++how) {
        Writer w;
        w.u8(0).u8(1).u8(200);
        for (std::size_t i = 0; i < 4; ++i) {
          if (i == 3) w.u8(verdict);
          w.u8(i == turn ? how : std::size_t{kPass});
          if (i == turn && how == kFlip) w.u8(40).u8(1);
          if (i == turn && how == kReplace) w.u8(8).u64(7);
          if (i == turn && how == kCut) w.u8(1);
        }
        all.push_back(w.script);
      }
    }
  }
  for (const PacketKind& kind : packet_kinds()) {
    Writer w;
    w.u8(1);
    for (std::size_t i = 1; i <= 3; ++i) {
      const std::size_t bytes = i == 2 ? 20000 : 10;
      w.u8(1).u8(static_cast<std::size_t>(kind.kind)).u8(i).u8(1).u16(bytes).u16(bytes);
    }
    all.push_back(w.script);
  }
  return all;
}

}  // namespace rmq::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  static const bool started = rmq::fuzz::start();
  rmq::fuzz::require(started, "libsodium starts");
  rmq::fuzz::Reader in(data, bytes);
  if (in.pick(2) == 0) {
    rmq::fuzz::handshake(in);
  } else {
    rmq::fuzz::stream(in);
  }
  return 0;
}
