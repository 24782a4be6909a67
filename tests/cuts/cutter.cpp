// SPDX-License-Identifier: BSD-3-Clause
#include "cuts/cutter.hpp"

#include <dirent.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <vector>

namespace rmq::test {
namespace {

bool is_connected_tcp(int fd) {
  int protocol = 0;
  socklen_t length = sizeof protocol;
  if (::getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) != 0 || protocol != IPPROTO_TCP) return false;
  sockaddr_storage address{};
  length = sizeof address;
  return ::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
}

template <class Use>
void each_descriptor(Use use) {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return;
  while (const dirent* entry = ::readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != ::dirfd(folder)) use(fd);
  }
  ::closedir(folder);
}

// What this process has had of the processors: how many times, and how long.
struct Share {
  long turns = 0;
  std::chrono::microseconds time{};
};
Share share() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {usage.ru_nvcsw + usage.ru_nivcsw,
          std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
              std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)};
}

}  // namespace

bool Cutter::cut_one() {
  std::vector<int> sockets;
  each_descriptor([&](int fd) {
    if (fd > 2 && is_connected_tcp(fd)) sockets.push_back(fd);
  });
  if (sockets.empty()) return false;
  const int fd = sockets[random_() % sockets.size()];
  if (random_() % 4 == 0) {
    ::shutdown(fd, SHUT_RDWR);
  } else {
    sockaddr nobody{};
    nobody.sa_family = AF_UNSPEC;  // dissolves the association: the other side gets a reset
    if (::connect(fd, &nobody, sizeof nobody) != 0) return false;
  }
  ++cuts_;
  return true;
}

CuttingThread::CuttingThread(std::uint64_t seed, unsigned every_us)
    : thread_([this, seed, every_us] {
        std::mt19937_64 random(seed);
        Cutter cutter(seed + 1);
        while (!over_.load(std::memory_order_relaxed)) {
          const std::chrono::microseconds pause(random() % (2 * every_us));
          const Share before = share();
          const auto is_early = [&](long slept) {
            const Share now = share();
            return now.turns - before.turns - slept < kTurns || now.time - before.time < pause / 2;
          };
          for (unsigned slept = 0; slept < kRarest && is_early(slept); ++slept) std::this_thread::sleep_for(pause);
          cutter.cut_one();
          cuts_.store(cutter.cuts(), std::memory_order_relaxed);
        }
      }) {}

void CuttingThread::stop() {
  over_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

int open_descriptors() {
  int count = 0;
  each_descriptor([&](int) { ++count; });
  return count;
}

}  // namespace rmq::test
