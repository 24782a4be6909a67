// SPDX-License-Identifier: BSD-3-Clause
// A bootstrap around a board in this process's memory: for tests and simulation (many ranks), and as the base of the
// singleton (one).
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "start/bootstrap.hpp"

namespace rmq::boot {

/// What the ranks of one process share. Any thread may call.
class LocalBoard {
 public:
  explicit LocalBoard(int size) : size_(size) {}

  Result<void> put(std::string_view key, std::string_view value);
  Result<std::string> get(std::string_view key);
  Result<std::optional<std::string>> look_up(std::string_view key);
  Result<void> fence();
  void abort(int rank, int code, std::string_view why);

 private:
  Result<void> check_alive() const;  // with mutex_ held

  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string, std::less<>> values_;  // published keys
  int fence_arrived_ = 0;                                   // ranks in the current fence
  unsigned fence_round_ = 0;                                // completed fences
  std::string aborted_;                                     // why, empty while the job lives
};

class LocalBootstrap : public Bootstrap {
 public:
  LocalBootstrap(JobInfo job, std::shared_ptr<LocalBoard> board) : job_(std::move(job)), board_(std::move(board)) {}

  const JobInfo& job() const override { return job_; }
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<std::string> get(std::string_view key) override { return board_->get(key); }
  Result<std::optional<std::string>> look_up(std::string_view key) override { return board_->look_up(key); }
  Result<void> fence() override { return board_->fence(); }
  void abort(int code, std::string_view why, Blame) override { board_->abort(job_.rank, code, why); }
  Result<void> finalize() override { return {}; }

 private:
  JobInfo job_;
  std::shared_ptr<LocalBoard> board_;
};

/// Errc::argument unless key and value may be put.
Result<void> check_put(std::string_view key, std::string_view value);

}  // namespace rmq::boot
