// SPDX-License-Identifier: BSD-3-Clause
// Who listens for a rank: the program, several threads of it, and the agent that serves while the program computes, all
// of whom sleep on one doorbell (adi/progress.cpp, adi/serve.cpp). The whole device, above a method that announces
// sleep and is rung as shm is. Sleeps are for ever; a ring that nobody who needs it hears shows as a schedule in which
// nobody can go on.
#include <memory>
#include <utility>
#include <vector>

#include "adi/device.hpp"
#include "start/bootstrap_local.hpp"
#include "tests/explore/check.hpp"
#include "tests/explore/seams.hpp"

namespace rmq::adi {
namespace {

using explore::Bounds;
using explore::Change;
using explore::expect;
using explore::Mutant;
using explore::Program;

/// What rank 1 sends to rank 0: message number n has the tag n.
struct Wire {
  Atomic<std::uint32_t> sent{0}, sleeping{0};

  void send() {
    sent.fetch_add(1, std::memory_order_release);
    os::thread_fence(std::memory_order_seq_cst);
    if (sleeping.exchange(0, std::memory_order_relaxed) != 0) explore::seams().bells[0].ring();
  }
};

class WireMethod final : public methods::Method {
 public:
  WireMethod(const methods::MethodContext& context, Wire& wire) : sink_(context.sink), wire_(wire) {}
  methods::MethodId id() const override { return methods::MethodId::inproc; }
  bool reaches(Rank) const override { return true; }
  int reached() const override { return 1; }
  std::size_t eager_max(Rank) const override { return 100; }
  std::size_t fragment_max(Rank) const override { return 100; }
  methods::Outcome send(Rank, const Packet&, const Payload&, Request*) override { return methods::Outcome::done; }
  int poll() override {
    explore::plain_write(this, "the method");
    const std::uint32_t sent = wire_.sent.load(std::memory_order_acquire);
    const int brought = static_cast<int>(sent - taken_);
    for (; taken_ != sent; ++taken_) {
      Packet p(Kind::SHORT);
      p.source = 1;
      p.tag = static_cast<std::int32_t>(taken_);
      sink_.on_packet[static_cast<std::uint8_t>(p.kind)](sink_.device, 1, p, nullptr);
    }
    return brought;
  }
  bool arm() override {
    explore::plain_write(this, "the method");
    wire_.sleeping.store(1, std::memory_order_relaxed);
    os::thread_fence(std::memory_order_seq_cst);
    return wire_.sent.load(std::memory_order_relaxed) == taken_;
  }
  void disarm() override {
    explore::plain_write(this, "the method");
    wire_.sleeping.store(0, std::memory_order_relaxed);
  }
  void drop(Rank, const Error& error) override { expect(false, error.what); }
  bool drained() const override { return true; }
  void close() override {}

 private:
  const methods::Sink& sink_;
  Wire& wire_;
  std::uint32_t taken_ = 0;
};

/// What a floor above has put off until the rank polls.
struct Deferred final : Extension {
  Device* device = nullptr;
  bool waits = false, done = false;
  void on_packet(Rank, const Packet&, const std::byte*) override {}
  methods::Landing on_arriving(Rank, const Packet&) override { return {}; }
  void on_landed(Rank, const Packet&, const methods::Landing&, Errc) override {}
  void on_peer_lost(Rank) override {}
  int advance() override {
    if (!std::exchange(waits, false)) return 0;
    done = true;
    device->want_turns(false);
    return 1;
  }
  bool may_sleep() override { return advance() == 0; }
};

/// Rank 0, with two receives posted, and what its threads and the peer do.
struct World {
  Wire wire;
  std::unique_ptr<Bootstrap> boot;
  std::unique_ptr<Device> device;
  Deferred deferred;
  Request* receives[2];
  Atomic<bool> stop{false};
  bool agent = true, stopped = false;

  /// Of the program; the agent comes in addition.
  enum class Threads : bool { one, several };
  explicit World(Threads threads) {
    explore::seams() = {};
    JobInfo job;
    job.size = 2;
    job.host_of_rank = Hosts::blocks(2, 1);
    job.machine_size = 1 << 20;  // on every machine nobody spins, and the agent does not linger
    boot = std::make_unique<boot::LocalBootstrap>(job, std::make_shared<boot::LocalBoard>(2));
    explore::seams().bells = std::vector<explore::Bell>(2);
    DeviceOptions options;
    options.threads = threads == Threads::several;
    options.config.wait = "sleep";
    options.sleep_for_ever = true;
    options.methods.push_back([this](const methods::MethodContext& c) -> Result<std::unique_ptr<methods::Method>> {
      return std::make_unique<WireMethod>(c, wire);
    });
    device = std::move(Device::MPID_Init(std::move(options), *boot).value());
    const Device::Entry entry(*device);
    device->enable_threads();
    deferred.device = device.get();
    device->register_extension(Kind::RMA_PUT, Kind::RMA_PUT, deferred);
    for (int i = 0; i < 2; ++i) {
      Request* r = receives[i] = device->MPID_Request_create(RequestKind::recv);
      r->peer = 1;
      r->match = {0, 1, i};
      device->MPID_Irecv(r);
    }
  }

  bool got(int i) const { return receives[i]->complete(); }
  // ---- what threads do ----
  void test() {
    const Device::Entry entry(*device);
    device->MPID_Poll(false);
  }
  void receive(int i) {
    const Device::Entry entry(*device);
    device->MPID_Wait(receives[i]);
  }
  /// Puts something off, and does not call again until it has been done.
  void defer() {
    {
      const Device::Entry entry(*device);
      deferred.waits = true;
      device->want_turns(true);
    }
    explore::wait_until([this] { return deferred.done; });
  }
  /// Never calls again until somebody else has received it.
  void compute(int i) {
    explore::wait_until([=, this] { return got(i); });
  }
  void serve() {
    device->serve(stop);
    stopped = true;
  }
  void send() {
    wire.send();
    wire.send();
  }
  /// The agent's end when both messages have come. Of a program with one thread that thread ends it.
  void stop_in_the_end() {
    explore::wait_until([this] { return got(0) && got(1); });
    if (agent) stop_agent();
  }
  /// As rma::Agent does.
  void stop_agent() {
    const Device::Entry entry(*device);
    stop.store(true, std::memory_order_relaxed);
    device->rouse_agent();
    const Device::Absence absence(*device);
    explore::wait_until([this] { return stopped; });
  }
};

using Threads = World::Threads;

Program polls_then_computes(std::uint32_t mute = 0) {
  auto w = std::make_shared<World>(Threads::one);
  explore::seams().mute = mute;
  return {{[=] { w->test(), w->test(), w->compute(1), w->stop_in_the_end(); }, [=] { w->serve(); }, [=] { w->send(); }},
          {}};
}

Program defers_then_computes() {
  auto w = std::make_shared<World>(Threads::one);
  return {{[=] { w->defer(), w->stop_agent(); }, [=] { w->serve(); }}, {}};
}

Program waits_then_computes(std::uint32_t mute = 0) {
  auto w = std::make_shared<World>(Threads::one);
  explore::seams().mute = mute;
  return {{[=] { w->receive(0), w->compute(1), w->stop_in_the_end(); }, [=] { w->serve(); }, [=] { w->send(); }}, {}};
}

Program computes_then_waits(std::uint32_t mute = 0) {
  auto w = std::make_shared<World>(Threads::one);
  explore::seams().mute = mute;
  return {
      {[=] { w->test(), w->compute(0), w->receive(1), w->stop_in_the_end(); }, [=] { w->serve(); }, [=] { w->send(); }},
      {}};
}

// Two threads that wait, a third one that looks now and then, with an agent or without.
Program several(bool agent, bool wakes = true) {
  auto w = std::make_shared<World>(Threads::several);
  explore::seams().wakes = wakes;
  Program p{
      {[=] { w->receive(0); }, [=] { w->receive(1); }, [=] { w->send(), w->stop_in_the_end(); }, [=] { w->test(); }},
      {}};
  w->agent = agent;
  if (agent) p.threads.emplace_back([=] { w->serve(); });
  return p;
}

// The other thread, which may hear the ring, gets its message only when the agent has ended.
Program stopped(bool another) {
  auto w = std::make_shared<World>(another ? Threads::several : Threads::one);
  Program p{{[=] {
               w->test();
               w->stop_agent();
             },
             [=] { w->serve(); }},
            {}};
  if (!another) return p;
  p.threads.emplace_back([=] { w->receive(0); });
  p.threads.emplace_back([=] {
    explore::wait_until([=] { return w->stopped; });
    w->wire.send();
  });
  return p;
}

// A question by signal, which may interrupt a thread that makes no calls, while another one does.
Program asked() {
  auto w = std::make_shared<World>(Threads::one);
  static const void* method;
  method = w->device->methods().front().get();
  w->device->add_to_reports([](ReportText&) { explore::plain_read(method, "the method"); });
  return {{[=] { w->test(), w->test(); }, [=] { w->device->on_interrupt(false); }}, {}};
}

constexpr Bounds kBounds{.preemptions = 2, .stale = 0, .random = 2000};
constexpr Bounds kLong{.preemptions = 0, .stale = 0, .random = 10000};

TEST(Agent, ServesWhileTheProgramComputes) {
  explore::holds([] { return polls_then_computes(); }, kBounds);
}

TEST(Agent, DoesWhatTheProgramHasPutOff) {
  explore::holds([] { return defers_then_computes(); }, kBounds);
}

TEST(Agent, LeavesTheProgramItsRings) {
  explore::holds([] { return waits_then_computes(); }, kBounds);
  // Program and agent may hand a ring to and fro for long: few schedules.
  explore::holds([] { return computes_then_waits(); }, {.preemptions = 1, .stale = 0, .random = 500});
}

TEST(Agent, LeavesThreadsTheirRings) {
  explore::holds([] { return several(true); }, kLong);
}

TEST(Agent, Stops) {
  explore::holds([] { return stopped(false); }, kBounds);
  explore::holds([] { return stopped(true); }, kLong);
}

TEST(Agent, NeedsItsRingsAndAnnouncements) {
  const Mutant mutants[] = {
      {"serve.cpp", "agent_sleeps_.store(sleep, std::memory_order_relaxed);", Change::skipped},  // no wake_agent()
      {"progress.cpp", "visits_.store(visits_.load(", Change::skipped},                          // no ring again
      {"agent_test.cpp", "wire_.sleeping.store(1, std::memory_order_relaxed);", Change::skipped},
  };
  explore::kills([] { return waits_then_computes(); }, kBounds, mutants);
  // The gate that leans to the program.
  const Mutant gate[] = {
      {"seams.cpp", "explore::heavy_fence();", Change::skipped},
      {"fence.hpp", "compiler_fence();", Change::skipped},
      {"gate.hpp", "if (agent_.load(std::memory_order_acquire) != 0) [[unlikely]]", Change::relaxed},
      {"gate.hpp", "inside_.store(0, std::memory_order_release);", Change::relaxed},
      {"gate.cpp", "const bool alone = inside_.load(std::memory_order_acquire) == 0;", Change::relaxed},
      {"gate.cpp", "agent_.store(0, std::memory_order_release);", Change::relaxed},
  };
  explore::kills([] { return polls_then_computes(); }, kBounds, gate);
  // The rings of the program to its agent, and those of the agent to the program.
  EXPECT_TRUE(explore::explore([] { return polls_then_computes(1u << 0); }, kBounds).failed);
  EXPECT_TRUE(explore::explore([] { return waits_then_computes(1u << 1); }, kBounds).failed);
}

TEST(Gate, KeepsCallsOutWhileAReportIsMade) {
  explore::holds([] { return asked(); }, kBounds);
  const Mutant gate[] = {
      {"gate.cpp", "agent_.store(1, std::memory_order_relaxed);", Change::skipped},
      {"seams.cpp", "explore::heavy_fence();", Change::skipped},
      {"gate.cpp", "agent_.store(0, std::memory_order_release);", Change::relaxed},
  };
  explore::kills([] { return asked(); }, kBounds, gate);
}

// Whoever takes a message off the method, a thread that listens or one that just looks, wakes who waits for it; and who
// leaves hands on the listening.
TEST(Threads, WakeEachOther) {
  explore::holds([] { return several(false); }, kLong);
  EXPECT_TRUE(explore::explore([] { return several(false, false); }, kLong).failed);
}

}  // namespace
}  // namespace rmq::adi
