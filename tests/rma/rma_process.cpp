// SPDX-License-Identifier: BSD-3-Clause
// rma_process WORDS…: windows of real processes under rmqrun, without MPI. Each word is a scenario; they print figures,
// and fail when an answer is wrong. `create`, `allocate` and `shared` choose the kind of window for the words behind
// them.
//
//   check           a little of everything, verified
//   latency         put, get, accumulate, fetch-and-op and compare-and-swap of 8 bytes with flush; lock-put-unlock
//   bandwidth       put and get of 4 MB, accumulate of 4 MB of doubles
//   sync            fence and post-start-complete-wait around a put
//   busy            the last rank computes without a call while rank 0 puts and flushes, and while nobody does
//   killed          the last rank dies with the lock of rank 0: the others must get an error that names it
#include <fmt/format.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adi/device.hpp"
#include "base/os/clock.hpp"
#include "rma/heard.hpp"
#include "rma/window/domain.hpp"
#include "rma/window/window.hpp"
#include "start/bootstrap.hpp"

namespace {

using namespace rmq;
using rma::Fault;
using rma::LockType;
using rma::Window;

const LayoutRef kLong = Layout::basic(Basic::i64, 8);
const LayoutRef kDouble = Layout::basic(Basic::f64, 8);

struct Job {
  std::unique_ptr<Bootstrap> boot;
  std::unique_ptr<adi::Device> device;
  std::unique_ptr<rma::Domain> domain;
  rma::Flavor flavor = rma::Flavor::allocate;
  std::uint32_t next_id = 1;
  std::vector<std::vector<std::byte>> memory;  // of windows of the program's own
  int me() const { return device->rank(); }
  int size() const { return device->size(); }
};

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "rma_process: %s\n", why.c_str());
  std::_Exit(1);
}

void require(bool ok, const char* what) {
  if (!ok) give_up(what);
}

void require(Fault f, const char* what) {
  if (f != Fault::none) give_up(fmt::format("{}: {}", what, rma::fault_text(f)));
}

std::vector<std::uint64_t> gather(Job& j, std::span<const std::uint64_t> mine) {
  const adi::Device::Entry entry(*j.device);
  const std::size_t n = mine.size();
  std::vector<std::uint64_t> all(std::max<std::size_t>(n, 1) * static_cast<std::size_t>(j.size()));
  std::vector<Request*> requests;
  const std::uint64_t none = 0;
  for (int r = 0; r < j.size(); ++r) {
    std::uint64_t* to = all.data() + static_cast<std::size_t>(r) * std::max<std::size_t>(n, 1);
    if (r == j.me()) {
      std::copy(mine.begin(), mine.end(), to);
      continue;
    }
    Request* recv = j.device->MPID_Request_create(RequestKind::recv);
    recv->peer = r;
    recv->match = {1, r, 7};
    recv->view = DataView::contiguous(to, std::max<std::size_t>(n, 1) * 8);
    j.device->MPID_Irecv(recv);
    Request* send = j.device->MPID_Request_create(RequestKind::send);
    send->peer = r;
    send->match = {1, j.me(), 7};
    send->view = DataView::contiguous(n ? mine.data() : &none, std::max<std::size_t>(n, 1) * 8);
    j.device->MPID_Isend(send);
    requests.push_back(recv);
    requests.push_back(send);
  }
  for (Request* r : requests) {
    j.device->MPID_Wait(r);
    j.device->MPID_Request_free(r);
  }
  return all;
}

void barrier(Job& j) {
  gather(j, {});
}

std::unique_ptr<Window> open(Job& j, std::uint64_t bytes) {
  rma::WindowOptions o;
  o.id = j.next_id++;
  o.flavor = j.flavor;
  o.me = j.me();
  o.ranks = Ranks::rule(0, j.size());
  o.size = bytes;
  o.sizes.assign(static_cast<std::size_t>(o.ranks.size()), bytes);  // of a shared window
  if (o.flavor == rma::Flavor::create) {
    j.memory.emplace_back(bytes);
    o.base = j.memory.back().data();
  }
  std::unique_ptr<Window> w;
  {
    const adi::Device::Entry entry(*j.device);
    w = Window::prepare(*j.domain, o);
  }
  const testing::Heard heard(*w, [&](std::span<const std::uint64_t> words) { return gather(j, words); });
  {
    const adi::Device::Entry entry(*j.device);
    const auto opened = w->open(heard.told());
    if (!opened) give_up(opened.error().what);
  }
  std::memset(w->base(), 0, bytes);
  barrier(j);
  return w;
}

void close(Job& j, std::unique_ptr<Window> w) {
  {
    const adi::Device::Entry entry(*j.device);
    require(w->may_close(), "close");
  }
  barrier(j);
  const adi::Device::Entry entry(*j.device);
  w.reset();
}

double seconds() {
  return static_cast<double>(os::now_ns()) * 1e-9;
}

/// ns of one call, after a warm-up.
double time_of(Job& j, int times, const std::function<void()>& call) {
  double best = 1e30;
  for (int round = 0; round < 5; ++round) {
    const double from = seconds();
    for (int i = 0; i < times; ++i) {
      const adi::Device::Entry entry(*j.device);
      call();
    }
    best = std::min(best, (seconds() - from) / times * 1e9);
  }
  return best;
}

template <class Body>
void alone(Job& j, Body&& body) {
  if (j.me() == 0) body();
  barrier(j);
}

void check(Job& j) {
  auto w = open(j, 1 << 20);
  const auto n = static_cast<std::size_t>(j.size());
  {
    const adi::Device::Entry entry(*j.device);
    require(w->lock_all(0), "lock_all");
    std::int64_t one = 1, mine = 1000 + j.me(), got = 0;
    const std::vector<double> many(50000, 1.0);
    for (int t = 0; t < j.size(); ++t) {
      for (int i = 0; i < 100; ++i) require(w->fetch_and_op(&one, &got, {t, 0, kLong.get(), 1}, ReduceOp::sum), "fop");
      require(w->put(DataView::contiguous(&mine, 8), {t, 8 + 8 * j.me(), kLong.get(), 1}), "put");
      require(w->accumulate(DataView::contiguous(many.data(), 400000), {t, 4096, kDouble.get(), 50000}, ReduceOp::sum),
              "accumulate");
      require(w->flush(t), "flush");
      got = 0;
      require(w->get(DataView::contiguous(&got, 8), {t, 8 + 8 * j.me(), kLong.get(), 1}), "get");
      require(w->flush(t), "flush");
      require(got == mine, "what was put is got");
    }
    require(w->unlock_all(), "unlock_all");
  }
  barrier(j);
  const auto* words = static_cast<const std::int64_t*>(w->base());
  require(words[0] == 100 * j.size(), "every fetch-and-op counts");
  for (std::size_t r = 0; r < n; ++r) require(words[1 + r] == 1000 + static_cast<int>(r), "every put arrives");
  const auto* sums = reinterpret_cast<const double*>(static_cast<const std::byte*>(w->base()) + 4096);
  for (int i = 0; i < 50000; ++i) require(sums[i] == j.size(), "every accumulate counts");
  for (int i = 0; i < 200; ++i) {
    const adi::Device::Entry entry(*j.device);
    std::int64_t x = 0;
    require(w->lock(LockType::exclusive, 0, 0), "lock");
    require(w->get(DataView::contiguous(&x, 8), {0, 512, kLong.get(), 1}), "get");
    require(w->flush(0), "flush");
    ++x;
    require(w->put(DataView::contiguous(&x, 8), {0, 512, kLong.get(), 1}), "put");
    require(w->unlock(0), "unlock");
  }
  barrier(j);
  if (j.me() == 0) require(words[64] == 200 * j.size(), "exclusive locks exclude");
  close(j, std::move(w));
  if (j.me() == 0) fmt::print("check: good\n");
}

void latency(Job& j) {
  auto w = open(j, 4096);
  const int t = j.size() - 1;
  alone(j, [&] {
    std::int64_t x = 1, y = 0;
    const DataView in = DataView::contiguous(&x, 8), out = DataView::contiguous(&y, 8);
    const rma::Target to{t, 64, kLong.get(), 1};
    {
      const adi::Device::Entry entry(*j.device);
      require(w->lock_all(0), "lock_all");
      require(w->put(in, to), "put");
      require(w->flush(t), "flush");
    }
    const int times = j.device->method_of(t) == methods::MethodId::tcp ? 2000 : 20000;
    fmt::print("put + flush 8 B        {:9.1f} ns\n", time_of(j, times, [&] {
                 w->put(in, to);
                 w->flush(t);
               }));
    fmt::print("get + flush 8 B        {:9.1f} ns\n", time_of(j, times, [&] {
                 w->get(out, to);
                 w->flush(t);
               }));
    fmt::print("accumulate + flush 8 B {:9.1f} ns\n", time_of(j, times, [&] {
                 w->accumulate(in, to, ReduceOp::sum);
                 w->flush(t);
               }));
    fmt::print("fetch_and_op + flush   {:9.1f} ns\n", time_of(j, times, [&] {
                 w->fetch_and_op(&x, &y, to, ReduceOp::sum);
                 w->flush(t);
               }));
    fmt::print("cas + flush            {:9.1f} ns\n", time_of(j, times, [&] {
                 w->compare_and_swap(&x, &y, &y, to);
                 w->flush(t);
               }));
    {
      const adi::Device::Entry entry(*j.device);
      require(w->unlock_all(), "unlock_all");
    }
    const std::uint64_t sent = j.device->counters().sent;
    fmt::print("lock + put + unlock    {:9.1f} ns\n", time_of(j, times, [&] {
                 w->lock(LockType::exclusive, t, 0);
                 w->put(in, to);
                 w->unlock(t);
               }));
    fmt::print("  packets sent for each: {:.2f}\n",
               static_cast<double>(j.device->counters().sent - sent) / (5.0 * times));
  });
  close(j, std::move(w));
}

void bandwidth(Job& j) {
  constexpr std::size_t kBytes = 4 << 20;
  auto w = open(j, kBytes);
  const int t = j.size() - 1;
  std::vector<double> data(kBytes / 8, 1.0), other(kBytes / 8);
  alone(j, [&] {
    const DataView view = DataView::contiguous(data.data(), kBytes);
    const rma::Target to{t, 0, kDouble.get(), kBytes / 8};
    {
      const adi::Device::Entry entry(*j.device);
      require(w->lock_all(0), "lock_all");
    }
    const auto gbs = [&](double ns) { return static_cast<double>(kBytes) / ns; };
    fmt::print("memcpy 4 MB            {:9.2f} GB/s\n",
               gbs(time_of(j, 20, [&] { copy_bytes(other.data(), data.data(), kBytes); })));
    fmt::print("put + flush 4 MB       {:9.2f} GB/s\n", gbs(time_of(j, 20, [&] {
                 w->put(view, to);
                 w->flush(t);
               })));
    fmt::print("get + flush 4 MB       {:9.2f} GB/s\n", gbs(time_of(j, 20, [&] {
                 w->get(view, to);
                 w->flush(t);
               })));
    fmt::print("accumulate 4 MB double {:9.2f} GB/s\n", gbs(time_of(j, 20, [&] {
                 w->accumulate(view, to, ReduceOp::sum);
                 w->flush(t);
               })));
    const adi::Device::Entry entry(*j.device);
    require(w->unlock_all(), "unlock_all");
  });
  close(j, std::move(w));
}

void sync(Job& j) {
  auto w = open(j, 4096);
  std::int64_t x = 1;
  const DataView in = DataView::contiguous(&x, 8);
  const int times = 1000;
  double ns = 0;
  {
    const adi::Device::Entry entry(*j.device);
    require(w->fence(0), "fence");
  }
  barrier(j);
  ns = time_of(j, times, [&] {
    if (j.me() == 0) w->put(in, {j.size() - 1, 0, kLong.get(), 1});
    w->fence(0);
  });
  if (j.me() == 0) fmt::print("put + fence            {:9.1f} ns\n", ns);
  {
    const adi::Device::Entry entry(*j.device);
    require(w->fence(rma::assertion::nosucceed), "fence");
  }
  barrier(j);
  const std::vector<int> first{0}, last{j.size() - 1};
  ns = time_of(j, times, [&] {
    if (j.me() == last[0]) {
      w->post(first, 0);
      w->wait();
    } else if (j.me() == 0) {
      w->start(last, 0);
      w->put(in, {last[0], 0, kLong.get(), 1});
      w->complete();
    }
  });
  if (j.me() == 0) fmt::print("post-start-put-wait    {:9.1f} ns\n", ns);
  barrier(j);
  close(j, std::move(w));
}

/// Busy for so long, by the CPU; ns of wall time for a fixed amount of work.
double compute(double of_seconds, double& units) {
  const double from = seconds();
  volatile double sink = 1;
  double done = 0;
  while (seconds() - from < of_seconds) {
    for (int i = 0; i < 20000; ++i) sink = sink * 1.0000001;
    done += 1;
  }
  units = done / (seconds() - from);
  return sink;
}

void busy(Job& j) {
  double before = 0, idle = 0, accessed = 0;
  const int last = j.size() - 1;
  if (j.me() == last) compute(1.0, before);
  barrier(j);
  auto w = open(j, 4096);
  if (j.me() == last) compute(1.0, idle);
  barrier(j);
  if (j.me() == last) {
    compute(3.0, accessed);
  } else if (j.me() == 0) {
    ::usleep(200000);
    std::int64_t x = 1;
    const DataView in = DataView::contiguous(&x, 8);
    {
      const adi::Device::Entry entry(*j.device);
      require(w->lock_all(0), "lock_all");
    }
    const double from = seconds();
    int n = 0;
    for (; seconds() - from < 1.0; ++n) {
      const adi::Device::Entry entry(*j.device);
      w->put(in, {last, 0, kLong.get(), 1});
      w->flush(last);
    }
    fmt::print("put + flush 8 B, busy target {:9.1f} ns\n", (seconds() - from) / n * 1e9);
    const adi::Device::Entry entry(*j.device);
    require(w->unlock_all(), "unlock_all");
  }
  barrier(j);
  if (j.me() == last) {
    fmt::print("computation with an idle agent: {:.1f} % of before; while it serves: {:.1f} %\n", 100 * idle / before,
               100 * accessed / before);
  }
  close(j, std::move(w));
}

void killed(Job& j) {
  auto w = open(j, 4096);
  std::int64_t x = 1;
  if (j.me() == j.size() - 1) {
    j.device->wake(0);
    require(w->lock(LockType::exclusive, 0, 0), "lock");
    require(w->put(DataView::contiguous(&x, 8), {0, 0, kLong.get(), 1}), "put");
    require(w->flush(0), "flush");
    barrier(j);
    ::kill(::getpid(), SIGKILL);
  }
  barrier(j);
  const adi::Device::Entry entry(*j.device);
  const Fault f = w->lock(LockType::shared, 0, 0);
  fmt::print("rank {}: {} ({})\n", j.me(), rma::fault_text(f), w->lost());
  std::fflush(stdout);
  std::_Exit(f == Fault::peer_lost ? 0 : 3);
}

}  // namespace

int main(int argc, char** argv) {
  Job j;
  auto boot = connect_bootstrap();
  if (!boot) give_up(boot.error().what);
  j.boot = std::move(*boot);
  adi::DeviceOptions options;
  auto config = Config::from_environment();
  if (!config) give_up(config.error().what);
  options.config = std::move(*config);
  auto device = adi::Device::MPID_Init(std::move(options), *j.boot);
  if (!device) give_up(device.error().what);
  j.device = std::move(*device);
  j.domain = std::make_unique<rma::Domain>(*j.device);
  const std::pair<const char*, void (*)(Job&)> words[] = {{"check", check},         {"latency", latency},
                                                          {"bandwidth", bandwidth}, {"sync", sync},
                                                          {"busy", busy},           {"killed", killed}};
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "create") == 0) j.flavor = rma::Flavor::create;
    if (std::strcmp(argv[i], "allocate") == 0) j.flavor = rma::Flavor::allocate;
    if (std::strcmp(argv[i], "shared") == 0) j.flavor = rma::Flavor::shared;
    for (const auto& [word, scenario] : words) {
      if (std::strcmp(argv[i], word) == 0) scenario(j);
    }
    std::fflush(stdout);
  }
  barrier(j);
  j.domain.reset();
  require(j.boot->fence().has_value(), "fence of the job");
  if (!j.device->MPID_Finalize()) give_up("the device did not end");
  return j.boot->finalize() ? 0 : 1;
}
