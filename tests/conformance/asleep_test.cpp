// SPDX-License-Identifier: BSD-3-Clause
// Who listens while threads of a rank sleep: the program, its agent, other threads. Above a method that has nothing to
// say and writes down whether it is armed. All sleeps are for ever: who is not woken when it must be never listens
// again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "adi/device.hpp"
#include "start/bootstrap_local.hpp"

namespace rmq::testing {
namespace {

class SilentMethod final : public methods::Method {
 public:
  /// `arming` is called as part of each arm().
  SilentMethod(std::atomic<bool>& armed, const std::function<void()>& arming) : armed_(armed), arming_(arming) {}
  methods::MethodId id() const override { return methods::MethodId::inproc; }
  bool reaches(Rank) const override { return true; }
  int reached() const override { return 1; }
  std::size_t eager_max(Rank) const override { return 100; }
  std::size_t fragment_max(Rank) const override { return 100; }
  methods::Outcome send(Rank, const Packet&, const Payload&, Request*) override { return methods::Outcome::retry; }
  int poll() override { return 0; }
  bool arm() override {
    armed_ = true;
    if (arming_) arming_();
    return true;
  }
  void disarm() override { armed_ = false; }
  void drop(Rank, const Error&) override {}
  bool drained() const override { return true; }
  void close() override {}

 private:
  std::atomic<bool>& armed_;
  const std::function<void()>& arming_;
};

/// Whose connection server has answered as often as the test says.
class AnsweredBootstrap final : public boot::LocalBootstrap {
 public:
  explicit AnsweredBootstrap(const JobInfo& job) : LocalBootstrap(job, std::make_shared<boot::LocalBoard>(job.size)) {}
  std::uint64_t answers() const override { return answers_; }
  void answer() { ++answers_; }

 private:
  std::uint64_t answers_ = 0;
};

class Asleep : public ::testing::Test {
 protected:
  void open(bool threads) {
    bootstrap_ = std::make_unique<AnsweredBootstrap>(local_bootstraps(2)[0]->job());
    adi::DeviceOptions options;
    options.threads = threads;
    options.config.wait = "sleep";
    options.sleep_for_ever = true;
    options.methods.push_back(
        [this](const methods::MethodContext& context) -> Result<std::unique_ptr<methods::Method>> {
          bell_ = &context.doorbell;
          return std::make_unique<SilentMethod>(armed_, arming_);
        });
    auto device = adi::Device::MPID_Init(std::move(options), *bootstrap_);
    ASSERT_TRUE(device) << device.error().what;
    device_ = std::move(*device);
  }
  /// A watchdog, not a bound: what comes at all comes in a moment.
  [[nodiscard]] static bool comes(const std::function<bool()>& what) {
    for (int ms = 0; ms < 30000; ++ms) {
      if (what()) return true;
      ::usleep(1000);
    }
    return false;
  }
  /// The same for what needs a ring of the bell, perhaps several, since any sleeper may take it.
  [[nodiscard]] bool rung_now_and_then(const std::function<bool()>& what) {
    int looks = 0;
    return comes([&] {
      if (++looks % 20 == 0) bell_->ring(0);
      return what();
    });
  }
  bool armed() const { return armed_; }
  /// Polls as a call that waits does, until the thread has slept and woken. Inside an Entry.
  void sleep_once() {
    const std::uint64_t before = device_->counters().sleeps;
    while (device_->counters().sleeps == before) device_->MPID_Poll(true);
  }
  std::uint64_t sleeps() {
    const adi::Device::Entry entry(*device_);
    return device_->counters().sleeps;
  }

  std::atomic<bool> armed_{false};
  Doorbell* bell_ = nullptr;
  std::function<void()> arming_;
  std::unique_ptr<AnsweredBootstrap> bootstrap_;
  std::unique_ptr<adi::Device> device_;
};

class AsleepWithAgent : public Asleep {
 protected:
  void SetUp() override {
    open(false);
    {
      const adi::Device::Entry entry(*device_);
      device_->enable_threads();
    }
    agent_ = std::thread([this] { device_->serve(stop_); });
  }
  void TearDown() override {
    stop_ = true;
    device_->rouse_agent();
    agent_.join();
  }
  std::atomic<bool> stop_{false};
  std::thread agent_;
};

TEST_F(AsleepWithAgent, TheAgentListensAgainWhenTheProgramHasPolled) {
  for (int round = 0; round < 30; ++round) {
    ASSERT_TRUE(comes([&] { return armed(); })) << "round " << round;
    const adi::Device::Entry entry(*device_);
    device_->MPID_Poll(false);
    ASSERT_FALSE(armed());
  }
  ASSERT_TRUE(comes([&] { return armed(); }));
}

// The program sleeps on the same bell, and may hear the ring that is for the agent.
TEST_F(AsleepWithAgent, TheAgentListensAgainWhenTheProgramHasSlept) {
  for (int round = 0; round < 30; ++round) {
    ASSERT_TRUE(comes([&] { return armed(); })) << "round " << round;
    std::atomic<bool> awake{false};
    std::thread program([&] {
      {
        const adi::Device::Entry entry(*device_);
        sleep_once();
      }
      awake = true;
    });
    EXPECT_TRUE(rung_now_and_then([&] { return awake.load(); }));
    program.join();
  }
  ASSERT_TRUE(comes([&] { return armed(); }));
}

// A message that cannot leave, for the link is full and stays so.
TEST_F(AsleepWithAgent, TheAgentSleepsThoughAMessageWaitsForItsLink) {
  std::byte data[8]{};
  {
    const adi::Device::Entry entry(*device_);
    Request* r = device_->MPID_Request_create(RequestKind::send);
    r->peer = 1;
    r->match = {1, 0, 1};
    r->view = DataView::contiguous(data, sizeof data);
    device_->MPID_Isend(r);
    device_->MPID_Poll(false);
    ASSERT_EQ(device_->levels().messages, 1u);
  }
  ASSERT_TRUE(comes([&] { return armed(); }));
}

// The ring that wakes one takes away what was announced for all; who leaves hands it on to one who sleeps on.
TEST_F(Asleep, OfSeveralThreadsTheRestListensWhenOneLeaves) {
  open(true);
  constexpr int kThreads = 3;
  std::atomic<int> may_leave{0}, left{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      {
        const adi::Device::Entry entry(*device_);
        while (may_leave == 0) device_->MPID_Poll(true);
        --may_leave;  // the device is held
      }
      ++left;
    });
  }
  EXPECT_TRUE(comes([&] { return sleeps() >= kThreads; }));
  for (int i = 1; i <= kThreads; ++i) {
    EXPECT_TRUE(comes([&] { return armed(); })) << "after " << i - 1 << " have left";
    may_leave = 1;
    bell_->ring(0);
    EXPECT_TRUE(comes([&] { return left == i; }));
  }
  for (std::thread& t : threads) t.join();
}

// Whatever reads the server's socket may read what another call has asked for, also while the rank lies down.
TEST_F(Asleep, WhoeverHasAskedTheServerLooksAgainBeforeItSleeps) {
  open(false);
  for (std::uint64_t answers = 1; answers <= 3; ++answers) {
    arming_ = [&] {
      if (bootstrap_->answers() < answers) bootstrap_->answer();
      bell_->ring(0);  // so that it fails instead of sleeping for ever
    };
    const adi::Device::Entry entry(*device_);
    while (bootstrap_->answers() < answers) device_->MPID_Poll(true);
    EXPECT_EQ(device_->counters().sleeps, 0u);
  }
}

// What one thread could not send waits for the link; the thread that sleeps has to listen for that too.
TEST_F(Asleep, AThreadThatSleepsHearsOfWhatAnotherCouldNotSend) {
  open(true);
  std::atomic<bool> over{false};
  std::thread sleeper([&] {
    const adi::Device::Entry entry(*device_);
    while (!over) device_->MPID_Poll(true);
  });
  EXPECT_TRUE(comes([&] { return armed(); }));
  const std::uint64_t before = sleeps();
  std::byte data[8]{};
  {
    const adi::Device::Entry entry(*device_);
    Request* r = device_->MPID_Request_create(RequestKind::send);
    r->peer = 1;
    r->match = {1, 0, 1};
    r->view = DataView::contiguous(data, sizeof data);
    device_->MPID_Isend(r);
  }
  EXPECT_TRUE(comes([&] { return sleeps() > before; }));
  over = true;
  bell_->ring(0);
  sleeper.join();
}

}  // namespace
}  // namespace rmq::testing
