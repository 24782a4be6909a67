// A bootstrap for ranks that a test forks: a board of keys in memory that all of them share.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/bootstrap.hpp"

namespace rmq::test {

/// The board; lives in a shared anonymous mapping.
struct ForkBoard {
  struct Entry {
    std::atomic<std::uint32_t> ready;
    char key[64], value[256];
  };
  std::atomic<std::uint32_t> used;
  std::atomic<std::uint32_t> fenced;
  std::atomic<std::uint32_t> scratch[16];  // for the test's own use
  Entry entries[64];

  static ForkBoard* make() {
    void* at = ::mmap(nullptr, sizeof(ForkBoard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? nullptr : static_cast<ForkBoard*>(at);
  }
};

class ForkBootstrap final : public Bootstrap {
 public:
  ForkBootstrap(ForkBoard& board, int rank, int size, std::string job) : board_(board) {
    job_.job = std::move(job);
    job_.rank = job_.host_rank = rank;
    job_.size = job_.host_size = size;
    job_.host_of_rank.assign(static_cast<std::size_t>(size), 0);
  }

  const JobInfo& job() const override { return job_; }

  Result<void> put(std::string_view key, std::string_view value) override {
    ForkBoard::Entry& entry = board_.entries[board_.used.fetch_add(1, std::memory_order_relaxed)];
    std::snprintf(entry.key, sizeof entry.key, "%s", std::string(key).c_str());
    std::snprintf(entry.value, sizeof entry.value, "%s", std::string(value).c_str());
    entry.ready.store(1, std::memory_order_release);  // acquired in get
    return {};
  }

  Result<std::string> get(std::string_view key) override {
    for (;;) {
      for (ForkBoard::Entry& entry : board_.entries) {
        if (entry.ready.load(std::memory_order_acquire) != 0 && key == entry.key) return std::string(entry.value);
      }
      ::usleep(50);
    }
  }

  Result<void> fence() override {
    ++fences_;
    board_.fenced.fetch_add(1, std::memory_order_acq_rel);
    while (board_.fenced.load(std::memory_order_acquire) < fences_ * static_cast<std::uint32_t>(job_.size))
      ::usleep(50);
    return {};
  }

  void abort(int code, std::string_view) override { ::_exit(code); }
  Result<void> finalize() override { return {}; }

 private:
  ForkBoard& board_;
  JobInfo job_;
  std::uint32_t fences_ = 0;
};

/// Runs `rank_main(rank)` in `size` forked processes; its value is their exit code. Returns their wait statuses.
inline std::vector<int> run_forked(int size, const std::function<int(int)>& rank_main) {
  std::fflush(nullptr);
  std::vector<pid_t> pids;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::alarm(100);  // a watchdog: a hang ends as a failure
      const int code = rank_main(rank);
      std::fflush(nullptr);
      ::_exit(code);
    }
    pids.push_back(pid);
  }
  std::vector<int> statuses;
  for (const pid_t pid : pids) {
    int status = -1;
    ::waitpid(pid, &status, 0);
    statuses.push_back(status);
  }
  return statuses;
}

}  // namespace rmq::test
