// SPDX-License-Identifier: BSD-3-Clause
// The protocol of a link with the real journal, inbox, outbox and rules of succession, over streams and calls that a
// seed breaks and delays at any point: both sides send, call, are called, pause. What must hold: every packet comes
// once, in order and whole, every owner is told once, and when nothing breaks any more all of it comes through.
//
//   model [--seeds N] [--first SEED]
//
// CMakeLists.txt builds it again from sources with one rule damaged each ("mutants"); each of those must fail here.
// What tcp/relink.cpp and tcp/switchboard.cpp do with sockets is done here with socket pairs, step by step.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tcp/inbox.hpp"
#include "tcp/outbox.hpp"
#include "tcp/succession.hpp"

namespace {

using namespace rmq;
using namespace rmq::tcp;
using methods::Landing;
using methods::Outcome;

struct Violation {
  std::string what;
};

void require(bool ok, const char* what) {
  if (!ok) throw Violation{what};
}

std::byte byte_of(int from, std::uint32_t number, std::size_t at) {
  return static_cast<std::byte>((at * 31 + number * 7 + static_cast<std::size_t>(from) * 3) >> 2);
}

struct End {
  int self = 0;
  Inbox in;
  Outbox out{in};
  methods::Sink sink;
  int fd = -1;
  bool pausing = false;
  std::uint32_t connection = 0, clock = 0;
  int refusals = 0;  // of calls in a row
  Pause pause;
  std::uint32_t sent = 0, got = 0;
  std::map<Request*, std::unique_ptr<std::pair<Request, std::vector<std::byte>>>> owed;
  std::vector<std::byte> landing;
  bool wants_to_send = false;  // a send was refused for want of a connection

  void hang_up() {
    if (fd < 0) return;
    ::close(fd);
    fd = -1;
    pause = {};
    pausing = false;
    in.disconnected();
    out.disconnected();
  }
  void check(const Packet& packet, const std::byte* payload, std::size_t bytes) {
    require(packet.tag == static_cast<std::int32_t>(got), "a packet is missing, doubled or out of order");
    for (std::size_t i = 0; i < bytes; ++i) require(payload[i] == byte_of(1 - self, got, i), "a packet is damaged");
    ++got;
  }
};

methods::Sink sink_of(End& of) {
  methods::Sink sink;
  sink.device = &of;
  sink.on_packet.fill([](void* device, Rank, const Packet& packet, const std::byte* payload) {
    static_cast<End*>(device)->check(packet, payload, packet.length);
  });
  sink.on_arriving = [](void* device, Rank, const Packet& packet) {
    auto& landing = static_cast<End*>(device)->landing;
    landing.assign(packet.length, std::byte{});
    return Landing{DataView::contiguous(landing.data(), landing.size()), 0, packet.length, nullptr};
  };
  sink.on_landed = [](void* device, Rank, const Packet& packet, const Landing&, Errc error) {
    auto& end = *static_cast<End*>(device);
    require(error == Errc::ok, "a landing has failed");
    end.check(packet, end.landing.data(), end.landing.size());
  };
  sink.on_sent = [](void* device, Request* owner, Errc error) {
    require(error == Errc::ok, "an owner was told of a failure");
    require(static_cast<End*>(device)->owed.erase(owner) == 1, "an owner was told twice");
  };
  return sink;
}

// A call on its way: the caller's and the called side's socket, and how far it has come.
struct Call {
  int from = 0;
  Past past;
  int caller = -1, called = -1;
  bool answered = false, accepted = false;
  Received received;
  std::uint32_t connection = 0, later = 0;
  ~Call() {
    if (caller >= 0) ::close(caller);
    if (called >= 0) ::close(called);
  }
};

class Run {
 public:
  explicit Run(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < 2; ++i) {
      ends_[i].self = i;
      ends_[i].sink = sink_of(ends_[i]);
      ends_[i].clock = ends_[i].connection = seed % 3 == 0 ? 0xfffffff8u : 0;  // they wrap
    }
  }
  ~Run() {
    for (End& end : ends_) {
      if (end.fd >= 0) ::close(end.fd);
    }
  }

  void go() {
    const int steps = 300 + below(700);
    trouble_ = 1 + below(60);
    for (int i = 0; i < steps; ++i) step(true);
    for (int i = 0; i < 200000 && !quiet(); ++i) step(false);
    require(quiet(), "not everything has come through");
    require(ends_[0].got == ends_[1].sent && ends_[1].got == ends_[0].sent, "packets are missing");
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool quiet() {
    for (const End& end : ends_) {
      if (!end.owed.empty() || !end.out.idle() || end.wants_to_send) return false;
    }
    return ends_[0].got == ends_[1].sent && ends_[1].got == ends_[0].sent;
  }

  void step(bool troubled) {
    End& end = ends_[below(2)];
    const int what = below(100);
    if (troubled && what < 40) return send(end);
    if (troubled && below(trouble_) == 0) return trouble(end);
    if (what < 80) return poll(end);
    if (!calls_.empty() && below(3) != 0)
      return advance(static_cast<std::size_t>(below(static_cast<int>(calls_.size()))));
    if (end.fd < 0 && needs(end)) call(end);
  }

  // Nobody calls for a paused link that has nothing to say.
  bool needs(const End& end) { return end.wants_to_send || cut_[end.self] || !end.out.idle(); }

  void send(End& end) {
    if (end.fd < 0 || end.pausing) {
      end.wants_to_send = true;
      return;
    }
    static constexpr int kMost[] = {1, 40, 40, 600, 9000, 70000, 90000};
    const auto bytes = static_cast<std::size_t>(below(kMost[below(7)]));
    const bool owned = bytes > Outbox::kCopied || below(2) == 0;
    auto owner = std::make_unique<std::pair<Request, std::vector<std::byte>>>();
    owner->second.resize(bytes);
    for (std::size_t i = 0; i < bytes; ++i) owner->second[i] = byte_of(end.self, end.sent, i);
    Packet packet(Kind::SHORT);
    packet.tag = static_cast<std::int32_t>(end.sent);
    packet.length = static_cast<std::uint32_t>(bytes);
    Request* const request = owned ? &owner->first : nullptr;
    const Payload payload{DataView::contiguous(owner->second.data(), bytes), 0, bytes};
    const Outcome outcome = end.out.send(end.fd, packet, payload, request, below(2) == 0);
    require(outcome != Outcome::failed, "a send has failed");
    if (outcome == Outcome::retry) return;
    ++end.sent;
    if (outcome == Outcome::queued) {
      end.owed.emplace(request, std::move(owner));
    } else {
      std::ranges::fill(owner->second, std::byte{0xdd});
    }
  }

  void cut(End& end) {
    end.hang_up();
    cut_[end.self] = true;
  }

  void poll(End& end) {
    if (end.fd < 0) return;
    end.wants_to_send = false;
    if (below(3) != 0) end.out.pump(end.fd, end.sink);
    const Arrival arrival = end.in.receive(end.fd, 1 - end.self, end.sink);
    require(arrival.trouble == nullptr, arrival.trouble == nullptr ? "" : arrival.trouble);
    if (arrival.pause) end.pause.heard = true;
    if (end.out.owes_owners()) end.out.acknowledge(end.sink);
    if (end.in.ack_is_due()) end.out.owe(Kind::LINK_ACK);
    if (end.pause.begun()) advance_pause(end);
    if (end.fd < 0) return;
    if (arrival.ended || arrival.error != 0 || end.out.error() != 0) {
      end.pause.is_over(end.out.acknowledged()) ? unlink(end) : cut(end);
    } else if (end.pausing && below(4) == 0) {
      close_alone(end);
    }
  }

  // The other side is not waited for. What it has not read yet stays in the stream.
  void close_alone(End& end) {
    if (end.pause.may_close_alone(end.out.idle() && !end.out.owes_owners())) {
      unlink(end);
    } else if (below(4) == 0) {
      cut(end);
    }
  }

  void unlink(End& end) {
    end.hang_up();
    cut_[end.self] = false;
    end.in.release();
    end.out.release();
  }

  void advance_pause(End& end) {
    end.out.acknowledge(end.sink);
    if (end.pause.heard && !end.pause.said) {
      start_pause(end);
    } else if (end.pause.heard && end.in.owes()) {
      end.out.owe(Kind::LINK_ACK);
    } else if (end.pause.may_close(end.out.settled())) {
      require(end.out.settled(), "a connection was closed though not all is acknowledged");
      unlink(end);
    }
  }

  void start_pause(End& end) {
    end.pausing = end.pause.said = true;
    end.out.owe(Kind::LINK_PAUSE);
  }

  // Both streams of the connection break, each side finds out for itself; or a call does; or one side wants a pause.
  void trouble(End& end) {
    const int what = below(4);
    if (what == 0 && !calls_.empty()) {
      calls_.erase(calls_.begin() + below(static_cast<int>(calls_.size())));  // each side of it finds out
    } else if (what == 1 && end.fd >= 0 && !end.pausing) {
      start_pause(end);
    } else if (end.fd >= 0) {
      if (below(2) == 0) drain(end.fd);  // what has arrived but was not read is lost as well
      ::shutdown(end.fd, SHUT_RDWR);
    }
  }

  static void drain(int fd) {
    char bytes[4096];
    while (::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
    }
  }

  Call* own(int self) {
    for (const auto& call : calls_) {
      if (call->from == self && call->caller >= 0) return call.get();
    }
    return nullptr;
  }

  void call(End& end) {
    if (own(end.self) != nullptr) return;
    int pair[2];
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0, "no socket");
    for (const int fd : pair) {
      const int bytes = 4096 << below(6);
      ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    }
    auto call = std::make_unique<Call>();
    call->from = end.self;
    call->past = {end.in.standing(), ++end.clock};
    call->caller = pair[0];
    call->called = pair[1];
    calls_.push_back(std::move(call));
  }

  static void hang_up(Call& call) {
    if (call.caller >= 0) ::close(call.caller);
    call.caller = -1;
  }

  // The caller's proof arrives, or the answer to it.
  void advance(std::size_t index) {
    Call& call = *calls_[index];
    const bool over = call.answered ? heard(call) : judged(call);
    if (over) calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  bool judged(Call& call) {
    End& end = ends_[1 - call.from];
    call.answered = true;
    const bool waits = call.caller >= 0;
    const bool accepted = answer_to({false, 1, end.connection}, 1, call.past.connection) == Verdict::accept;
    call.later = accepted ? 0 : end.connection;
    const End& other = ends_[call.from];
    const bool works = end.fd >= 0 && other.fd >= 0 && end.connection == other.connection;
    require(!accepted || waits || !works, "a connection that works was given up for a call that has hung up");
    if (!accepted) return false;
    if (Call* const mine = own(end.self)) {
      if (end.self < call.from) return false;
      hang_up(*mine);
    }
    end.hang_up();
    call.accepted = true;
    call.received = end.in.standing();
    call.connection = connection_number(end.clock, call.past.connection);
    connect(end, std::exchange(call.called, -1), call.past.received, call.connection);
    return false;
  }

  bool heard(Call& call) {
    if (call.caller < 0) return true;  // it has hung up meanwhile
    End& end = ends_[call.from];
    end.refusals = call.accepted || call.later == 0 ? 0 : end.refusals + 1;
    require(end.refusals < 3, "a caller is refused again and again");
    end.clock = connection_number(end.clock, call.later);
    if (call.accepted) connect(end, std::exchange(call.caller, -1), call.received, call.connection);
    return true;
  }

  void connect(End& end, int fd, Received received, std::uint32_t connection) {
    require(end.fd < 0, "two connections at once");
    end.fd = fd;
    end.connection = connection;
    if (is_later(connection, end.clock)) end.clock = connection;
    cut_[end.self] = false;
    require(end.out.resume(received, end.sink), "it has received what was never sent");
  }

  std::mt19937_64 random_;
  End ends_[2];
  bool cut_[2] = {true, false};  // rank 0 calls at the beginning
  std::vector<std::unique_ptr<Call>> calls_;
  int trouble_ = 10;
};

}  // namespace

int main(int argc, char** argv) {
  unsigned long first = 1, seeds = 400;
  for (int i = 1; i + 1 < argc; i += 2) {
    (std::strcmp(argv[i], "--seeds") == 0 ? seeds : first) = std::strtoul(argv[i + 1], nullptr, 10);
  }
  for (unsigned long seed = first; seed < first + seeds; ++seed) {
    try {
      Run(seed).go();
    } catch (const Violation& violation) {
      std::printf("seed %lu: %s\n", seed, violation.what.c_str());
      return 1;
    }
  }
  std::printf("%lu runs hold\n", seeds);
  return 0;
}
