// SPDX-License-Identifier: BSD-3-Clause
// The bootstrap of a rank that has a connection server: frames (start/boot_wire.hpp) over one socket.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "start/boot_wire.hpp"
#include "start/bootstrap.hpp"
#include "start/bootstrap_env.hpp"
#include "start/pmi.hpp"

namespace rmq::boot {

class ServerBootstrap final : public Bootstrap {
 public:
  // Takes over the socket `fd`. `grants`: the server does more than to start the job. `launcher`: a foreign one that
  // wants to hear of the end as well.
  ServerBootstrap(JobInfo job, int fd, bool grants, std::unique_ptr<pmi::Launcher> launcher = nullptr)
      : job_(std::move(job)), fd_(fd), grants_(grants), launcher_(std::move(launcher)) {}
  ~ServerBootstrap() override { ::close(fd_); }
  ServerBootstrap(const ServerBootstrap&) = delete;
  ServerBootstrap& operator=(const ServerBootstrap&) = delete;

  /// A launcher for a process that has none, or one that grants nothing.
  static Result<std::unique_ptr<ServerBootstrap>> start_own(JobInfo job);

  const JobInfo& job() const override { return job_; }
  // Errc::argument: the server wants no program in this rank (any more).
  Result<void> hello();
  // Before anybody else asks for the job.
  void place(Hosts hosts) {
    job_.host_of_rank = std::move(hosts);
    place_on_host(job_);
  }
  Result<void> fetch_hosts();
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<std::string> get(std::string_view key) override;
  Result<std::optional<std::string>> look_up(std::string_view key) override;
  std::uint64_t answers() const override {
    return answers_.load(std::memory_order_relaxed) + (own_ ? own_->answers() : 0);
  }
  Result<void> fence() override;
  Result<ClockOffset> clock_offset() override;
  void abort(int code, std::string_view why, Blame blame) override;
  Result<void> finalize() override;
  Result<void> wish(std::string_view what, std::string_view text) override;
  Result<std::optional<std::string>> hear(std::string_view answer) override;
  void abandon(std::string_view answer) override;
  bool has_launcher() const override { return grants_ || own_; }
  int launcher_fd() const override { return own_ ? own_->fd_ : -1; }
  Result<bool> try_fence(bool& more) override;
  std::vector<Departure> departures() override;
  bool tells_deaths() const override { return job_.ft; }
  void accuse(std::string_view job, int rank, std::string_view why) override;
  int watch_fd() const override { return fd_; }
  void on_watch() override;
  void on_ask(Teller teller, void* who) override;
  bool tell(std::string_view report) override;

 private:
  Result<void> check_open() const;
  Result<void> send(std::string_view frame);
  Result<void> send_locked(std::string_view frame);
  Result<std::string> call(FrameKind request, FrameKind answer);
  Result<std::optional<std::string>> take_answer(std::string_view name);
  Result<void> check_key(std::string_view key) const;
  Result<void> ask_for(const std::string& key);
  std::optional<std::string> take_value(const std::string& key);
  tl::unexpected<Error> break_with(const Error& error);
  tl::unexpected<Error> unasked(const Frame& frame) const;
  Result<void> receive(int flags);
  Result<std::optional<Frame>> next_frame();
  Result<void> answer(std::string_view body);
  Result<void> send_answer(std::uint32_t number, std::string_view text);
  tl::unexpected<Error> lost(const char* how) const;
  [[noreturn]] void leave(int code) const;

  JobInfo job_;  // complete, and constant, before anybody else has this object
  const int fd_;
  const bool grants_;
  std::unique_ptr<ServerBootstrap> own_;  // the launcher that this rank has started; touched with the device held
  const std::unique_ptr<pmi::Launcher> launcher_;  // nullptr: the launcher is rmqrun or rmqboot
  std::atomic<bool> finalized_{false};
  // Lock order: call_mutex_ before send_mutex_. call_mutex_ is held for a whole round trip and guards reader_, asked_,
  // heard_, abandoned_ and broken_; send_mutex_ only keeps the bytes of two frames apart, so that abort and put never
  // wait for an answer.
  std::mutex call_mutex_, send_mutex_;
  FrameReader reader_;
  std::optional<Error> broken_;  // what every later call returns
  // Keys that the server has been asked for: with the value once it has come, until it is taken.
  std::map<std::string, std::optional<std::string>> asked_;
  std::map<std::string, std::string, std::less<>> heard_;  // answers to wishes, until they are taken
  std::set<std::string, std::less<>> abandoned_;           // answers that nobody wants, and that have not come yet
  // Relaxed: counted, and compared by who wants to sleep, with the device held.
  std::atomic<std::uint64_t> answers_{0};
  std::vector<Departure> departures_;        // not handed out yet; guarded by call_mutex_
  std::atomic<bool> has_departures_{false};  // relaxed: a hint, for who then takes the mutex
  enum class Fence : std::uint8_t { none, asked, done } fence_ = Fence::none;  // of try_fence
  bool fence_more_ = false;
  Teller teller_ = nullptr;  // guarded by call_mutex_
  void* teller_who_ = nullptr;
  bool in_call_ = false;  // a round trip is under way: the device may be in the middle of something
  struct InCall {
    explicit InCall(bool& flag) : in_call(flag) { in_call = true; }
    ~InCall() { in_call = false; }
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;
    bool& in_call;
  };
};

}  // namespace rmq::boot
