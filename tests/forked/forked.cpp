// SPDX-License-Identifier: BSD-3-Clause
#include "forked/forked.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

namespace rmq::test {

/// What has been published, and the fence. No locks: a writer takes an entry, fills it and says so.
struct ForkedJob::Board {
  static constexpr std::size_t kEntries = 512, kKey = 128, kValue = 4096;
  struct Entry {
    std::atomic<std::uint32_t> ready;  // released by put when the rest is written, acquired by get
    std::uint32_t bytes;
    char key[kKey], value[kValue];
  };
  std::atomic<std::uint32_t> used;
  std::atomic<std::uint32_t> arrived;  // at fences, of all ranks together
  Entry entries[kEntries];

  static Board* make() {
    void* memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    RMQ_CHECK(memory != MAP_FAILED);
    return new (memory) Board;
  }
};

namespace {

constexpr unsigned kPause_us = 50;

class ForkedBootstrap final : public Bootstrap {
 public:
  ForkedBootstrap(ForkedJob::Board& board, JobInfo job) : board_(board), job_(std::move(job)) {}
  const JobInfo& job() const override { return job_; }

  Result<void> put(std::string_view key, std::string_view value) override {
    using Board = ForkedJob::Board;
    if (key.size() >= Board::kKey || value.size() > Board::kValue) return fail(Errc::argument, "key or value too long");
    const std::uint32_t at = board_.used.fetch_add(1, std::memory_order_relaxed);  // an entry of my own
    if (at >= Board::kEntries) return fail(Errc::no_memory, "the test's board is full");
    Board::Entry& e = board_.entries[at];
    std::memcpy(e.key, key.data(), key.size());
    std::memcpy(e.value, value.data(), value.size());
    e.bytes = static_cast<std::uint32_t>(value.size());
    e.ready.store(1, std::memory_order_release);  // pairs with get
    return {};
  }

  Result<std::string> get(std::string_view key) override {
    for (;; ::usleep(kPause_us)) {
      for (const ForkedJob::Board::Entry& e : board_.entries) {
        if (e.ready.load(std::memory_order_acquire) != 0 && key == e.key) return std::string(e.value, e.bytes);
      }
    }
  }

  Result<void> fence() override {
    awaited_ += static_cast<std::uint32_t>(job_.size);
    board_.arrived.fetch_add(1, std::memory_order_acq_rel);  // what was before it is seen by those that have passed
    while (board_.arrived.load(std::memory_order_acquire) < awaited_) ::usleep(kPause_us);
    return {};
  }

  void abort(int code, std::string_view, Blame) override { ::_exit(code == 0 ? 1 : code); }
  Result<void> finalize() override { return {}; }

 private:
  ForkedJob::Board& board_;
  JobInfo job_;
  std::uint32_t awaited_ = 0;
};

}  // namespace

ForkedJob::ForkedJob(int size) : board_(Board::make()) {
  static unsigned jobs = 0;
  job_.job = fmt::format("{:08x}{:08x}", static_cast<unsigned>(::getpid()), ++jobs);
  job_.size = job_.host_size = job_.machine_size = job_.universe_size = size;
  job_.host_of_rank = Hosts::blocks(size, size);
  job_.host_name = "here";
  job_.secret.fill(std::byte{0x5a});
}

ForkedJob::~ForkedJob() {
  ::munmap(board_, sizeof(Board));
}

std::unique_ptr<Bootstrap> ForkedJob::join(int rank) const {
  JobInfo job = job_;
  job.rank = job.host_rank = rank;
  return std::make_unique<ForkedBootstrap>(*board_, std::move(job));
}

std::vector<int> run_forked(int size, const std::function<int(int)>& rank_main, unsigned watchdog_s) {
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = ::fork();
    RMQ_CHECK(child >= 0);
    if (child == 0) {
      ::alarm(watchdog_s);
      const int code = rank_main(rank);
      std::fflush(nullptr);
      ::_exit(code);
    }
    children.push_back(child);
  }
  std::vector<int> statuses;
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    statuses.push_back(status);
  }
  return statuses;
}

bool private_dev_shm(const std::string& size) {
  return ::unshare(CLONE_NEWNS) == 0 && ::mount("", "/", nullptr, MS_PRIVATE | MS_REC, nullptr) == 0 &&
         ::mount("tmpfs", "/dev/shm", "tmpfs", 0, ("size=" + size).c_str()) == 0;
}

}  // namespace rmq::test
