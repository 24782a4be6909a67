// SPDX-License-Identifier: BSD-3-Clause
#include "tools/perf/limits.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>

#include "base/os/clock.hpp"
#include "base/os/pace.hpp"
#include "tools/perf/process.hpp"
#include "tools/process/fd.hpp"

namespace rmq::perf {
namespace {

constexpr int kBatches = 7;  // as the benchmark's
constexpr std::size_t kCopy = 4 << 20;
constexpr std::uint64_t kMost = 1 << 26;  // repetitions of what takes no time, for it fails

/// Binds the calling thread to the n-th CPU that it may use, if there are so many.
void bind_to(int n) {
  cpu_set_t mine;
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0 || CPU_COUNT(&mine) <= n) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mine) || n-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
    return;
  }
}

/// Both at once, on two CPUs.
void by_two(const std::function<void()>& first, const std::function<void()>& second) {
  std::thread other([&] {
    bind_to(1);
    second();
  });
  std::thread one([&] {
    bind_to(0);
    first();
  });
  one.join();
  other.join();
}

/// Microseconds that one repetition of `body(n)`, which does n of them, takes: the median of batches of about
/// `seconds`.
double time_of(double seconds, const std::function<void(std::uint64_t)>& body) {
  const auto timed = [&](std::uint64_t n) {
    const std::uint64_t from = os::now_ns();
    body(n);
    return static_cast<double>(std::max<std::uint64_t>(os::now_ns() - from, 1)) / 1e9;
  };
  std::uint64_t n = 1;
  double took = timed(n);
  while (took < seconds / 4 && n < kMost) took = timed(n *= 4);
  n = static_cast<std::uint64_t>(static_cast<double>(n) * seconds / took) + 1;
  std::vector<double> batches;
  for (int i = 0; i < kBatches; ++i) batches.push_back(timed(n) / static_cast<double>(n) * 1e6);
  return median(std::move(batches));
}

struct alignas(64) Line {
  std::atomic<std::uint64_t> value{0};
  std::uint64_t payload = 0;
};

constexpr std::uint64_t kStop = UINT64_MAX;

/// Million lines a second through a ring of them. Each is full when it says which turn of the ring it belongs to
/// (release, acquire: the payload with it); the reader tells how far it is four times a turn, as rings of messages do.
double ring_rate(double seconds) {
  constexpr std::uint64_t kCells = 512;
  const auto cells = std::make_unique<Line[]>(kCells);
  alignas(64) std::atomic<std::uint64_t> read{0}, last{kStop};
  double us = 0;
  by_two(
      [&] {
        std::uint64_t at = 0, room_until = kCells;
        us = time_of(seconds, [&](std::uint64_t n) {
          for (; n > 0; --n, ++at) {
            while (at == room_until) room_until = read.load(std::memory_order_acquire) + kCells;
            Line& cell = cells[at % kCells];
            cell.payload = at;
            cell.value.store(at / kCells + 1, std::memory_order_release);
          }
        });
        last.store(at, std::memory_order_release);
      },
      [&] {
        for (std::uint64_t at = 0;; ++at) {
          Line& cell = cells[at % kCells];
          while (cell.value.load(std::memory_order_acquire) != at / kCells + 1) {
            if (last.load(std::memory_order_acquire) == at) return;
          }
          if (cell.payload != at) return;  // never, and the compiler cannot know
          if ((at + 1) % (kCells / 4) == 0) read.store(at + 1, std::memory_order_release);
        }
      });
  return 1 / us;
}

double copy_us(double seconds) {
  std::vector<std::byte> from(kCopy, std::byte{1}), to(kCopy, std::byte{2});
  return time_of(seconds, [&](std::uint64_t n) {
    for (; n > 0; --n) {
      std::memcpy(to.data(), from.data(), kCopy);
      asm volatile("" : : "r"(to.data()) : "memory");  // each copy is to be made
    }
  });
}

/// Two ends of a connection over the loopback interface.
Result<std::array<launch::UniqueFd, 2>> connection() {
  const launch::UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t bytes = sizeof address;
  if (listener.get() < 0 || ::bind(listener.get(), any, bytes) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), any, &bytes) != 0)
    return fail_errno("cannot listen on 127.0.0.1");
  launch::UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (client.get() < 0 || ::connect(client.get(), any, bytes) != 0) return fail_errno("cannot connect to 127.0.0.1");
  launch::UniqueFd server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (server.get() < 0) return fail_errno("cannot accept a connection on 127.0.0.1");
  const int yes = 1;
  for (const launch::UniqueFd* end : {&client, &server}) {
    ::setsockopt(end->get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }
  return std::array<launch::UniqueFd, 2>{std::move(client), std::move(server)};
}

/// All of it, without sleeping while there is none; false at the end of the connection.
bool receive(int fd, std::byte* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = ::recv(fd, data, bytes, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (got > 0) data += got, bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool transmit(int fd, const std::byte* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = ::send(fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (sent > 0) data += sent, bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

/// Microseconds from the start of a message of `bytes` bytes to the last byte of the answer, of `back` bytes.
Result<double> tcp_round_us(double seconds, std::size_t bytes, std::size_t back) {
  auto both = connection();
  if (!both) return tl::unexpected(both.error());
  double us = 0;
  bool broken = false;
  by_two(
      [&] {
        const int fd = (*both)[0].get();
        std::vector<std::byte> data(std::max(bytes, back), std::byte{1});
        us = time_of(seconds, [&](std::uint64_t n) {
          for (; n > 0; --n) {
            if (!transmit(fd, data.data(), bytes) || !receive(fd, data.data(), back)) return void(broken = true);
          }
        });
        ::shutdown(fd, SHUT_RDWR);
      },
      [&] {
        const int fd = (*both)[1].get();
        std::vector<std::byte> data(std::max(bytes, back));
        while (receive(fd, data.data(), bytes) && transmit(fd, data.data(), back)) {
        }
      });
  if (broken) return fail(Errc::system, "a connection over 127.0.0.1 has broken");
  return us;
}

/// The machine's own figures over a transport; of start-up where there is none.
Result<Reading> measure_machine(const std::string& transport, double seconds) {
  Reading figures;
  const auto note = [&](const char* metric, long size, const char* over, double value) {
    figures[{metric, size, 2, over}] = value;
  };
  if (transport == "shm") {
    note("latency", 8, "shm", line_us(seconds * kBatches));
    note("rate", 8, "shm", ring_rate(seconds));
    const double copy = copy_us(seconds);
    note("bandwidth", kCopy, "shm", static_cast<double>(kCopy) / copy / 1e3);
    note("put_flush", kCopy, "shm", copy);
  } else if (transport == "tcp") {
    const auto round = tcp_round_us(seconds, 8, 8);
    if (!round) return tl::unexpected(round.error());
    note("latency", 8, "tcp", *round / 2);
    note("put_flush", 8, "tcp", *round);
    const auto stream = tcp_round_us(seconds, kCopy, 8);
    if (!stream) return tl::unexpected(stream.error());
    note("bandwidth", kCopy, "tcp", static_cast<double>(kCopy) / *stream / 1e3);
  } else {
    const auto started = run({{"/bin/sh", "-c", "/bin/true & /bin/true & wait"}, {}}, std::chrono::seconds(10));
    if (!started) return tl::unexpected(started.error());
    note("startup", 0, "shm", started->seconds * 1e3);
  }
  return figures;
}

}  // namespace

double line_us(double seconds) {
  Line there, back;
  double us = 0;
  by_two(
      [&] {
        std::uint64_t turn = 0, here = 1;
        us = time_of(seconds / (kBatches + 1), [&](std::uint64_t n) {
          for (; n > 0; --n) {
            there.value.store(++turn, std::memory_order_release);
            while (back.value.load(std::memory_order_acquire) != turn) os::pace(here);
          }
        });
        there.value.store(kStop, std::memory_order_release);
      },
      [&] {
        std::uint64_t here = 1;
        for (std::uint64_t seen = 0; seen != kStop; os::pace(here)) {
          const std::uint64_t now = there.value.load(std::memory_order_acquire);
          if (now != seen) back.value.store(seen = now, std::memory_order_release);
        }
      });
  return us / 2;
}

double probe_us() {
  return line_us(0.002);
}

Result<Table> measure_limits(const std::vector<Implementation>& rmq, const Options& options) {
  const std::pair<const char*, Job> jobs[] = {
      {"shm", {2, "shm", "latency:8,rate:8,bandwidth:4194304,put_flush:4194304"}},
      {"tcp", {2, "tcp", "latency:8,put_flush:8,bandwidth:4194304"}},
      {"", {2, "shm", ""}}};
  Table table;
  Runner runner(options);
  std::optional<Error> failed;
  for (const auto& [transport, job] : jobs) {
    std::vector<Contestant> both{{"machine", [&, over = transport]() -> Reading {
                                    auto figures = measure_machine(over, options.sample_seconds);
                                    if (figures) return std::move(*figures);
                                    failed = figures.error();
                                    return {};
                                  }}};
    for (const Implementation& impl : rmq)
      for (std::size_t way = 0; way < impl.ways(job.transport, job.ranks, options.cpus).size(); ++way)
        both.push_back({impl.name, [&runner, &one = job, &impl, way] { return runner.run(one, impl, way); }});
    Table rows = take_turns(both, static_cast<std::size_t>(options.rounds), probe_us);
    if (failed) return tl::unexpected(*failed);
    table.merge(rows);
  }
  return table;
}

std::string limits_table(const Table& table) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{:<4}  {:<10} {:>8} {:>5} {:>24} {:>24} {:>8}\n", "over", "metric", "size", "unit", "machine",
                 "rmq", "ratio");
  for (const auto& [row, turns] : table) {
    if (turns.rounds_of("machine") == 0) continue;
    // Where no two lie in one phase, medians of the fastest one have to do.
    auto times = turns.advantages("machine", "rmq");
    if (times.empty() && turns.rounds_of("rmq") != 0) {
      const double ours = median(turns.values("rmq")), bound = median(turns.values("machine"));
      times.push_back(higher_is_better(row.metric) ? bound / ours : ours / bound);
    }
    const double better = times.empty() ? 0 : median(times);
    const std::string ratio =
        times.empty() ? "-" : fmt::format("{:.2f}x", higher_is_better(row.metric) ? 1 / better : better);
    fmt::format_to(out, "{:<4}  {:<10} {:>8} {:>5} {:>24} {:>24} {:>8}\n", row.transport, row.metric, row.size,
                   unit_of(row.metric), cell(turns, "machine"), cell(turns, "rmq"), ratio);
  }
  text +=
      "Median (least-most) of runs in turn, in the machine's fastest phase. The machine's own: a bare cache line and a "
      "bare ring of lines between two CPUs, a\n"
      "copy, a connection over the loopback interface, fork and exec of a shell and two programs. ratio: rmq / "
      "machine.\n";
  return text;
}

}  // namespace rmq::perf
