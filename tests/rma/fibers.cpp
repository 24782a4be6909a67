// SPDX-License-Identifier: BSD-3-Clause
#include "rma/fibers.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "rma/heard.hpp"
#include "start/bootstrap.hpp"

namespace rmq::testing {
namespace {

// Turns without an event of the method and without a meeting, after which the ranks are taken for stuck.
constexpr std::uint64_t kIdleTurns = 300'000;
// At the end: turns without an event, after which nothing more comes, and at most.
constexpr int kQuietTurns = 8, kMostTurns = 2000;

/// Unwinds the fiber of a rank that dies.
struct Died {};

}  // namespace

// The in-process method of one rank, which gives the turn away whenever it is polled inside of a fiber.
class Fibers::FiberMethod final : public methods::Method {
 public:
  FiberMethod(Fibers& fibers, int rank, std::unique_ptr<methods::Method> inner)
      : fibers_(fibers), rank_(rank), inner_(std::move(inner)) {}

  methods::MethodId id() const override { return inner_->id(); }
  bool reaches(Rank rank) const override { return inner_->reaches(rank); }
  int reached() const override { return inner_->reached(); }
  std::size_t eager_max(Rank to) const override { return inner_->eager_max(to); }
  std::size_t fragment_max(Rank to) const override { return inner_->fragment_max(to); }
  methods::Outcome send(Rank to, const Packet& packet, const Payload& payload, Request* owner) override {
    const methods::Outcome o = inner_->send(to, packet, payload, owner);
    if (o == methods::Outcome::done || o == methods::Outcome::queued) {
      const std::string_view name = packet_name(packet.kind).substr(8);
      fibers_.ranks_[static_cast<std::size_t>(rank_)]->peers.insert(to);
      fibers_.sent(rank_).push_back(packet.flags ? fmt::format("{} {}", name, packet.flags) : std::string(name));
    }
    return o;
  }
  int poll() override {
    fibers_.yield();
    return inner_->poll();
  }
  bool arm() override { return false; }
  std::uint64_t expose(Rank peer, const DataView& view) override { return inner_->expose(peer, view); }
  methods::Outcome get(Rank from, std::uint64_t address, const DataView& into, std::uint64_t bytes,
                       Request* owner) override {
    return inner_->get(from, address, into, bytes, owner);
  }
  methods::Outcome put(Rank to, std::uint64_t address, const DataView& data, std::uint64_t bytes,
                       Request* owner) override {
    return inner_->put(to, address, data, bytes, owner);
  }
  void* mem_alloc(std::size_t bytes) override { return inner_->mem_alloc(bytes); }
  bool mem_free(void* memory) override { return inner_->mem_free(memory); }
  std::uint64_t mem_token(const void* memory, std::uint64_t bytes) const override {
    return inner_->mem_token(memory, bytes);
  }
  std::byte* mem_map(Rank owner, std::uint64_t token, std::uint64_t bytes) const override {
    return inner_->mem_map(owner, token, bytes);
  }
  bool wake(Rank rank) override { return inner_->wake(rank); }
  void drop(Rank rank, const Error& why) override { inner_->drop(rank, why); }
  bool drained() const override { return inner_->drained(); }
  void close() override { inner_->close(); }

 private:
  Fibers& fibers_;
  int rank_;
  std::unique_ptr<methods::Method> inner_;
};

Fibers::Fibers(const Hosts& hosts, const methods::InprocRules& rules, const std::function<void(Config&)>& adjust)
    : chance_(rules.seed + 77), living_(hosts.size()) {
  const int ranks = hosts.size();
  bootstraps_ = local_bootstraps(hosts);
  world_ = std::make_unique<methods::InprocWorld>(ranks, rules);
  met_.resize(static_cast<std::size_t>(ranks));
  for (int i = 0; i < ranks; ++i) {
    adi::DeviceOptions options;
    options.config.wait = "spin";
    options.config.rma_agent = false;  // one thread only
    if (adjust) adjust(options.config);
    options.methods.push_back([this](const methods::MethodContext& c) -> Result<std::unique_ptr<methods::Method>> {
      return std::make_unique<FiberMethod>(*this, c.bootstrap.job().rank, world_->open(c));
    });
    auto rank = std::make_unique<Rank1>();
    auto device = adi::Device::MPID_Init(std::move(options), *bootstraps_[static_cast<std::size_t>(i)]);
    RMQ_CHECK(device.has_value());
    rank->device = std::move(*device);
    rank->domain = std::make_unique<rma::Domain>(*rank->device);
    ranks_.push_back(std::move(rank));
  }
}

Fibers::~Fibers() {
  for (auto& r : ranks_) r->domain.reset();
}

void Fibers::entry() {
  const int me = running_;
  try {
    (*program_)(me);
  } catch (const Died&) {  // what its frames owned is freed
    return;
  }
  ranks_[static_cast<std::size_t>(me)]->done = true;
  ++progress_;
}

void Fibers::yield() {
  if (running_ < 0) return;
  const int me = running_;
  running_ = -1;
  ranks_[static_cast<std::size_t>(me)]->fiber->pause();
}

bool Fibers::run(const std::function<void(int)>& program) {
  program_ = &program;
  for (auto& r : ranks_) {
    if (r->dead) continue;
    r->done = false;
    r->fiber = std::make_unique<os::Fiber>();
    r->fiber->prepare([](void* self) { static_cast<Fibers*>(self)->entry(); }, this);
  }
  std::uint64_t events = 0, steps = 0, idle = 0;
  std::vector<int> alive, ended;  // by rank
  for (int i = 0; i < size(); ++i) (ranks_[static_cast<std::size_t>(i)]->done ? ended : alive).push_back(i);
  while (!alive.empty()) {
    const auto at = alive.begin() + static_cast<std::ptrdiff_t>(chance_.below(alive.size()));
    const int next = *at;
    running_ = next;
    ranks_[static_cast<std::size_t>(next)]->fiber->resume();
    running_ = -1;
    if (ranks_[static_cast<std::size_t>(next)]->done) {
      alive.erase(at);
      ended.insert(std::lower_bound(ended.begin(), ended.end(), next), next);
    }
    // Ranks that have ended still poll, as those would that wait elsewhere.
    for (const int i : ended) {
      Rank1& r = *ranks_[static_cast<std::size_t>(i)];
      if (!r.dead) r.device->MPID_Poll(false);
    }
    idle = world_->events() == events && progress_ == steps ? idle + 1 : 0;
    events = world_->events();
    steps = progress_;
    if (idle > kIdleTurns) {
      ADD_FAILURE() << "stuck, seed " << world_->rules().seed << ", " << alive.size() << " ranks are left, "
                    << world_->under_way() << " under way";
      return false;
    }
  }
  for (int turns = 0, quiet = 0; quiet < kQuietTurns && turns < kMostTurns; ++turns) {
    for (auto& r : ranks_) {
      if (!r->dead) r->device->MPID_Poll(false);
    }
    quiet = world_->under_way() == 0 && world_->events() == events ? quiet + 1 : 0;
    events = world_->events();
  }
  return true;
}

std::vector<std::uint64_t> Fibers::gather(int rank, std::span<const std::uint64_t> mine) {
  const std::uint64_t number = met_[static_cast<std::size_t>(rank)]++;
  while (meetings_.size() <= number) meetings_.push_back(std::make_unique<Meeting>());
  Meeting& m = *meetings_[number];
  m.words.resize(mine.size() * static_cast<std::size_t>(size()));
  std::copy(mine.begin(), mine.end(),
            m.words.begin() + static_cast<std::ptrdiff_t>(mine.size() * static_cast<std::size_t>(rank)));
  ++m.arrived;
  ++progress_;
  while (m.arrived < living_) device(rank).MPID_Poll(true);
  return m.words;
}

void Fibers::stand_by(const std::function<bool()>& come) {
  constexpr int kMost = 100'000;
  for (int turns = 0; !come(); ++turns) {
    if (turns == kMost) {
      ADD_FAILURE() << "stood by in vain";
      return;
    }
    yield();
  }
}

void Fibers::barrier(int rank) {
  gather(rank, {});
}

std::unique_ptr<rma::Window> Fibers::window(int rank, rma::WindowOptions options) {
  options.me = rank;
  options.ranks = Ranks::rule(0, size());
  if (options.flavor == rma::Flavor::shared) {
    const std::uint64_t size = options.size;
    options.sizes = gather(rank, {&size, 1});
  }
  auto window = rma::Window::prepare(domain(rank), std::move(options));
  const Heard heard(*window, [&](std::span<const std::uint64_t> words) { return gather(rank, words); });
  const auto opened = window->open(heard.told());
  EXPECT_TRUE(opened) << opened.error().what;
  return window;
}

void Fibers::close(int rank, std::unique_ptr<rma::Window> window) {
  EXPECT_EQ(window->may_close(), rma::Fault::none);
  barrier(rank);
  window.reset();
}

void Fibers::die(int rank) {
  Rank1& r = *ranks_[static_cast<std::size_t>(rank)];
  r.done = r.dead = true;
  --living_;
  ++progress_;
  world_->kill(rank);
  throw Died{};
}

}  // namespace rmq::testing
