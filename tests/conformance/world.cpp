// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace rmq::testing {
namespace {

// In-process: turns without any event after which nothing will happen any more. More than the idle polls after which a
// device takes itself for starving, several times over (adi/progress.cpp: 512).
constexpr std::uint64_t kIdleTurns = 6000;

Setup inproc(std::string name, const methods::InprocRules& rules) {
  Setup s;
  s.name = std::move(name);
  s.inproc = rules;
  return s;
}

Setup shm(std::string name, std::string segment, bool single_copy) {
  Setup s;
  s.name = std::move(name);
  s.method = "shm";
  s.adjust = [segment, single_copy](Config& c) {
    c.shm_segment = segment;
    c.shm_single_copy = single_copy;
  };
  return s;
}

Setup tcp() {
  Setup s;
  s.name = "tcp";
  s.method = "tcp";
  return s;
}

// Connections break all the time, and a rank keeps few of them.
Setup tcp_cut() {
  Setup s = tcp();
  s.name = "tcp_cut";
  s.turns_to_a_cut = 40;
  s.adjust = [](Config& c) { c.tcp_links = 4; };
  return s;
}

// Rules that exercise every branch of the device: small packets, refusals, queued sends, payload in pieces.
methods::InprocRules rough() {
  methods::InprocRules r;
  r.seed = 11;
  r.eager_max = 1000;
  r.fragment_max = 700;
  r.link_frames = 5;
  r.latency_ns = 2000;
  r.burst = 3;
  r.retry = 100;
  r.queued = 500;
  r.told_late = 300;
  r.pieces = 500;
  r.no_expose = 300;
  return r;
}

}  // namespace

bool Setup::available() const {
  if (inproc) return true;
  const std::vector<std::string> built_in = adi::built_in_methods();
  return built_in.empty() || std::find(built_in.begin(), built_in.end(), method) != built_in.end();
}

const std::vector<Setup>& all_setups() {
  static const std::vector<Setup> setups = {
      inproc("inproc", {}),
      inproc("inproc_rough", rough()),
      shm("shm_memfd", "memfd", true),
      shm("shm_posix", "posix", true),
      shm("shm_sysv", "sysv", true),
      shm("shm_no_single_copy", "memfd", false),
      tcp(),
      tcp_cut(),
  };
  return setups;
}

World::World(int n, const Setup& setup, const std::function<void(Config&)>& adjust)
    : dead_(static_cast<std::size_t>(n)) {
  open(n, setup, adjust);
}

void World::open(int n, const Setup& setup, const std::function<void(Config&)>& adjust) {
  failures.clear();
  turns_to_a_cut_ = setup.turns_to_a_cut;
  bootstraps_ = local_bootstraps(n);
  devices_.resize(static_cast<std::size_t>(n));
  if (setup.inproc) inproc_ = std::make_unique<methods::InprocWorld>(n, *setup.inproc);
  std::vector<std::string> errors(static_cast<std::size_t>(n));
  const auto open_one = [&](std::size_t i) {
    adi::DeviceOptions options;
    if (auto c = Config::from_environment()) options.config = *c;  // a plug-in build is told its path there
    options.config.shm_heap = 1 << 20;
    options.minds = [](const Request&) { return true; };
    options.on_lost = [](adi::Core& d, Rank peer) { failures.emplace_back(d.peer_error(peer)); };
    if (setup.adjust) setup.adjust(options.config);
    if (adjust) adjust(options.config);
    if (inproc_) {
      options.methods.push_back([this](const methods::MethodContext& c) -> Result<std::unique_ptr<methods::Method>> {
        return inproc_->open(c);
      });
    } else {
      options.config.methods = setup.method;
    }
    auto device = adi::Device::MPID_Init(std::move(options), *bootstraps_[i]);
    if (device) {
      devices_[i] = std::move(*device);
    } else {
      errors[i] = device.error().what;
    }
  };
  if (inproc_) {
    for (std::size_t i = 0; i < devices_.size(); ++i) open_one(i);
  } else {  // opening may wait for the other ranks
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < devices_.size(); ++i) threads.emplace_back(open_one, i);
    for (std::thread& t : threads) t.join();
  }
  ok_ = true;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i]) continue;
    ADD_FAILURE() << "rank " << i << " did not start: " << errors[i];
    ok_ = false;
  }
}

World::~World() {
  if (ok_ && !::testing::Test::HasFailure()) finalize();
}

void World::turn() {
  if (turns_to_a_cut_ != 0 && random_() % static_cast<unsigned>(turns_to_a_cut_) == 0) cutter_.cut_one();
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (!dead_[i]) devices_[i]->MPID_Poll(false);
  }
}

bool World::run_until(const std::function<bool()>& done, std::string_view what) {
  std::uint64_t events = inproc_ ? inproc_->events() : 0;
  std::uint64_t idle = 0;
  while (!done()) {
    turn();
    if (!inproc_) continue;
    idle = inproc_->events() == events ? idle + 1 : 0;
    events = inproc_->events();
    if (idle > kIdleTurns) {
      ADD_FAILURE() << "stuck: " << what << " (seed " << inproc_->rules().seed << ", " << inproc_->under_way()
                    << " under way)";
      return false;
    }
  }
  return true;
}

bool World::wait(Request* r, std::string_view what) {
  return run_until([r] { return r->complete(); }, what);
}

bool World::wait_all(const std::vector<Request*>& requests, std::string_view what) {
  std::size_t first = 0;
  return run_until(
      [&] {
        while (first < requests.size() && requests[first]->complete()) ++first;
        return first == requests.size();
      },
      what);
}

void World::settle() {
  if (!inproc_) {
    for (int i = 0; i < 2000; ++i) turn();
    return;
  }
  std::uint64_t events = inproc_->events();
  for (std::uint64_t idle = 0; idle <= kIdleTurns; ++idle) {
    turn();
    if (inproc_->events() != events) idle = 0;
    events = inproc_->events();
  }
}

void World::kill(int rank) {
  RMQ_CHECK(inproc_ != nullptr);
  dead_[static_cast<std::size_t>(rank)] = true;
  inproc_->kill(rank);
}

void World::finalize() {
  if (finalized_) return;
  finalized_ = true;
  if (inproc_) {
    settle();
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      if (dead_[i]) continue;
      EXPECT_TRUE(devices_[i]->MPID_Finalize());
    }
    return;
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    threads.emplace_back([this, i] {
      const auto end = devices_[i]->MPID_Finalize();
      EXPECT_TRUE(end) << end.error().what;
    });
  }
  for (std::thread& t : threads) t.join();
}

Request* World::make_send(int from, int to, int tag, const Buffer& data, SendMode mode) {
  Request* r = (*this)[from].MPID_Request_create(RequestKind::send);
  r->peer = to;
  r->match = {1, from, tag};
  r->view = data.view();
  r->layout = data.layout();
  r->mode = mode;
  return r;
}

Request* World::isend(int from, int to, int tag, const Buffer& data, SendMode mode) {
  Request* r = make_send(from, to, tag, data, mode);
  (*this)[from].MPID_Isend(r);
  return r;
}

Request* World::make_recv(int at, int from, int tag, Buffer& into) {
  Request* r = (*this)[at].MPID_Request_create(RequestKind::recv);
  r->peer = from == kAnySource ? kNoRank : from;
  r->match = {1, from, tag};
  r->view = into.view();
  r->layout = into.layout();
  return r;
}

Request* World::irecv(int at, int from, int tag, Buffer& into) {
  Request* r = make_recv(at, from, tag, into);
  (*this)[at].MPID_Irecv(r);
  return r;
}

}  // namespace rmq::testing
