// SPDX-License-Identifier: BSD-3-Clause
#include "start/bootstrap_server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/os/clock.hpp"
#include "start/bootstrap_local.hpp"
#include "start/exit.hpp"
#include "start/launcher.hpp"

namespace rmq::boot {

tl::unexpected<Error> ServerBootstrap::lost(const char* how) const {
  return fail(Errc::peer_lost,
              fmt::format("rank {}: {}; rmqrun (or rmqboot's server) has ended, and the job with it", job_.rank, how));
}

// The job is over. A launcher that is not ours makes of the first exit it sees what it likes; an abort has a code.
void ServerBootstrap::leave(int code) const {
  if (launcher_) {
    // Told to abort, Hydra drops what it has not carried yet, and that is why.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    launcher_->abort(status_of(code), "RMQ's connection server has said why");
  }
  exit_with(code);
}

Result<void> ServerBootstrap::check_open() const {
  // relaxed: finalize against a put of another thread is the caller's race; this only catches the order of one thread.
  if (finalized_.load(std::memory_order_relaxed))
    return fail(Errc::argument, "a start-up call after finalize: this rank has left the job");
  return {};
}

Result<void> ServerBootstrap::send(std::string_view frame) {
  const std::lock_guard lock(send_mutex_);
  return send_locked(frame);
}

Result<void> ServerBootstrap::send_locked(std::string_view frame) {
  while (!frame.empty()) {
    const ssize_t sent = ::send(fd_, frame.data(), frame.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      frame.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EINTR) {
      return lost(errno == EPIPE || errno == ECONNRESET ? "the connection server closed the socket"
                                                        : "the connection server cannot be written to");
    }
  }
  return {};
}

Result<void> ServerBootstrap::put(std::string_view key, std::string_view value) {
  if (auto open = check_open(); !open) return open;
  if (auto good = check_put(key, value); !good) return good;
  return send(encode_put(key, value));
}

Result<void> ServerBootstrap::wish(std::string_view what, std::string_view text) {
  if (auto open = check_open(); !open) return open;
  if (grants_) return send(encode_wish(what, text));
  if (!own_) {
    auto started = start_own(job_);
    if (!started) return tl::make_unexpected(started.error());
    own_ = std::move(*started);
  }
  return own_->wish(what, text);
}

Result<std::optional<std::string>> ServerBootstrap::hear(std::string_view answer) {
  return own_ ? own_->take_answer(answer) : take_answer(answer);
}

Result<std::optional<std::string>> ServerBootstrap::take_answer(std::string_view name) {
  if (auto open = check_open(); !open) return tl::make_unexpected(open.error());
  const std::unique_lock lock(call_mutex_, std::try_to_lock);
  if (!lock) return std::nullopt;  // a thread is in a call, and reads for us too
  if (broken_) return tl::make_unexpected(*broken_);
  const InCall in_call(in_call_);
  const auto take = [&] {
    const auto found = heard_.find(name);
    if (found == heard_.end()) return std::optional<std::string>();
    std::optional<std::string> text = std::move(found->second);
    heard_.erase(found);
    return text;
  };
  if (auto text = take()) return text;
  if (auto got = receive(MSG_DONTWAIT); !got) return break_with(got.error());
  const auto frame = next_frame();
  if (!frame) return break_with(frame.error());
  if (*frame) return break_with(unasked(**frame).value());
  return take();
}

void ServerBootstrap::abandon(std::string_view answer) {
  if (own_) return own_->abandon(answer);
  const std::lock_guard lock(call_mutex_);
  const auto found = heard_.find(answer);
  if (found == heard_.end())
    abandoned_.emplace(answer);
  else
    heard_.erase(found);
}

// To it this process is a job of one.
Result<std::unique_ptr<ServerBootstrap>> ServerBootstrap::start_own(JobInfo job) {
  job.rank = 0;
  job.size = 1;
  const auto fd = start_launcher(job);
  if (!fd) return tl::make_unexpected(fd.error());
  auto own = std::make_unique<ServerBootstrap>(std::move(job), *fd, true);
  if (auto sent = own->hello(); !sent) return tl::make_unexpected(sent.error());
  return own;
}

// Who is not wanted hears of it here, for it might never ask the server for anything.
Result<void> ServerBootstrap::hello() {
  if (auto sent = send(encode_hello(job_.rank)); !sent) return sent;
  return call(FrameKind::clock, FrameKind::time).map([](const std::string&) {});
}

Result<void> ServerBootstrap::fetch_hosts() {
  auto hosts = boot::fetch_hosts(*this);
  if (!hosts) return tl::make_unexpected(hosts.error());
  const int machine = job_.machine_size;
  job_.host_of_rank = std::move(*hosts);
  place_on_host(job_);
  job_.machine_size = std::max(machine, job_.host_size);
  return {};
}

Result<void> ServerBootstrap::fence() {
  return call(FrameKind::fence, FrameKind::fence_done).map([](const std::string&) {});
}

Result<ClockOffset> ServerBootstrap::clock_offset() {
  constexpr int kTries = 8;
  ClockOffset best{0, ~std::uint64_t{0}};
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = os::now_ns();
    const auto answer = call(FrameKind::clock, FrameKind::time);
    const std::uint64_t after = os::now_ns();
    if (!answer) return tl::make_unexpected(answer.error());
    BodyReader body(*answer);
    const std::uint64_t low = body.u32(), high = body.u32();
    // The server read its clock at some time of the round trip: taken to be the middle.
    const std::uint64_t error = (after - before) / 2 + 1;
    if (body.ok() && after >= before && error < best.error_ns)
      best = {static_cast<std::int64_t>((high << 32 | low) - (before + (after - before) / 2)), error};
  }
  return best;
}

// With call_mutex_ held, as below. Once for each key until its value has been taken.
Result<void> ServerBootstrap::ask_for(const std::string& key) {
  if (broken_) return tl::make_unexpected(*broken_);
  if (!asked_.try_emplace(key).second) return {};
  if (auto sent = send(encode(FrameKind::get, key)); !sent) return break_with(sent.error());
  return {};
}

std::optional<std::string> ServerBootstrap::take_value(const std::string& key) {
  const auto asked = asked_.find(key);
  if (asked == asked_.end() || !asked->second) return std::nullopt;
  std::optional<std::string> value = std::move(asked->second);
  asked_.erase(asked);
  return value;
}

Result<std::string> ServerBootstrap::get(std::string_view key) {
  if (auto good = check_key(key); !good) return tl::make_unexpected(good.error());
  const std::lock_guard lock(call_mutex_);
  const InCall in_call(in_call_);
  const std::string name(key);
  if (auto asked = ask_for(name); !asked) return tl::make_unexpected(asked.error());
  while (true) {
    const auto frame = next_frame();
    if (!frame) return break_with(frame.error());
    if (*frame) return break_with(unasked(**frame).value());
    if (auto value = take_value(name)) return *std::move(value);
    if (auto got = receive(0); !got) return break_with(got.error());
  }
}

Result<std::optional<std::string>> ServerBootstrap::look_up(std::string_view key) {
  if (auto good = check_key(key); !good) return tl::make_unexpected(good.error());
  const std::unique_lock lock(call_mutex_, std::try_to_lock);
  if (!lock) return std::nullopt;  // a thread is in a call, and reads for us too
  const InCall in_call(in_call_);
  const std::string name(key);
  if (auto asked = ask_for(name); !asked) return tl::make_unexpected(asked.error());
  if (auto value = take_value(name)) return value;
  if (auto got = receive(MSG_DONTWAIT); !got) return break_with(got.error());
  const auto frame = next_frame();
  if (!frame) return break_with(frame.error());
  if (*frame) return break_with(unasked(**frame).value());
  return take_value(name);
}

// Another round trip, of a request without a body.
Result<std::string> ServerBootstrap::call(FrameKind request, FrameKind answer) {
  if (auto open = check_open(); !open) return tl::make_unexpected(open.error());
  const std::lock_guard lock(call_mutex_);
  if (broken_) return tl::make_unexpected(*broken_);
  const InCall in_call(in_call_);
  if (auto sent = send(encode(request)); !sent) return break_with(sent.error());
  while (true) {
    const auto frame = next_frame();
    if (!frame) return break_with(frame.error());
    if (*frame && (*frame)->kind == answer) {
      std::string value((*frame)->body);
      // What the server said unasked in the same breath is in our buffer now: watch_fd() will not announce it again.
      if (const auto more = next_frame(); !more) broken_ = more.error();
      return value;
    }
    if (*frame) return break_with(unasked(**frame).value());
    if (auto got = receive(0); !got) return break_with(got.error());
  }
}

void ServerBootstrap::abort(int code, std::string_view why, Blame blame) {
  // The server spares the aborting rank its SIGTERM, so that what the program has printed gets out.
  static_cast<void>(send(encode_code(blame == Blame::itself ? FrameKind::abort : FrameKind::lost, code, why)));
  if (!launcher_) flush_and_exit(code);
  flush_and_exit(code, [&] {
    // The server names the cause before the launcher ends everything. Its answer is the end of the job.
    constexpr int kServerTime = 1000;  // milliseconds
    pollfd server{fd_, POLLIN, 0};
    ::poll(&server, 1, kServerTime);
    leave(code);
  });
}

Result<bool> ServerBootstrap::try_fence(bool& more) {
  if (auto open = check_open(); !open) return tl::make_unexpected(open.error());
  const std::unique_lock lock(call_mutex_, std::try_to_lock);
  if (!lock) return false;  // a thread is in a call, and reads for us too
  if (broken_) return tl::make_unexpected(*broken_);
  if (fence_ == Fence::none) {
    fence_ = Fence::asked;
    if (auto sent = send(encode(FrameKind::fence, more ? "1" : "0")); !sent) return break_with(sent.error());
  }
  if (fence_ == Fence::asked) return false;  // on_watch() reads the answer
  fence_ = Fence::none;
  more = fence_more_;
  return true;
}

std::vector<Bootstrap::Departure> ServerBootstrap::departures() {
  if (!has_departures_.load(std::memory_order_relaxed)) return {};
  const std::unique_lock lock(call_mutex_, std::try_to_lock);
  if (!lock) return {};
  has_departures_.store(false, std::memory_order_relaxed);
  return std::exchange(departures_, {});
}

void ServerBootstrap::accuse(std::string_view job, int rank, std::string_view why) {
  static_cast<void>(send(encode_fate(FrameKind::accuse, job, rank, why)));
}

Result<void> ServerBootstrap::finalize() {
  if (finalized_.exchange(true, std::memory_order_relaxed)) return {};  // relaxed: guards no other data
  if (own_) static_cast<void>(own_->finalize());
  if (auto sent = send(encode(FrameKind::finalize)); !sent || !launcher_) return sent;
  return launcher_->finalize();
}

void ServerBootstrap::on_watch() {
  if (own_) own_->on_watch();
  const std::unique_lock lock(call_mutex_, std::try_to_lock);
  if (!lock || finalized_.load(std::memory_order_relaxed)) return;  // the thread in a call reads for itself
  const auto got = receive(MSG_DONTWAIT);
  const auto frame = got ? next_frame() : Result<std::optional<Frame>>(tl::make_unexpected(got.error()));
  if (frame && !*frame) return;
  if (!frame && frame.error().code == Errc::argument) {
    broken_ = frame.error();
    return;
  }
  std::fprintf(stderr, "rmq: %s\n", (frame ? unasked(**frame).value() : frame.error()).what.c_str());
  leave(1);
}

}  // namespace rmq::boot
