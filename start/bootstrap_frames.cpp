// SPDX-License-Identifier: BSD-3-Clause
// The frames that go between a rank and its connection server: read, sorted, and answered where the server asks.
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
#include "start/bootstrap_server.hpp"
#include "start/exit.hpp"
#include "start/launcher.hpp"

namespace rmq::boot {

// Reads what is there (flags 0: waits for at least one byte) into reader_.
Result<void> ServerBootstrap::receive(int flags) {
  constexpr std::size_t chunk = 4096;
  while (true) {
    const ssize_t got = ::recv(fd_, reader_.reserve(chunk), chunk, flags);
    if (got > 0) {
      reader_.commit(static_cast<std::size_t>(got));
      return {};
    }
    if (got == 0 || errno == ECONNRESET) return lost("the connection server closed the socket");
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
    if (errno != EINTR) return lost("the connection server cannot be read from");
  }
}

// The next frame an answer may be; those that the server sends unasked are dealt with here.
Result<std::optional<Frame>> ServerBootstrap::next_frame() {
  auto frame = reader_.next();
  for (; frame && *frame; frame = reader_.next()) {
    if ((*frame)->kind == FrameKind::ask) {
      if (auto answered = answer((*frame)->body); !answered) return tl::make_unexpected(answered.error());
    } else if ((*frame)->kind == FrameKind::value) {
      BodyReader body((*frame)->body);
      const std::string key(body.short_text());
      if (body.ok() && key.starts_with(answer_prefix)) {  // of which the server says each once
        if (abandoned_.erase(key) == 0) heard_.insert_or_assign(key, std::string(body.rest()));
        answers_.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      const auto asked = asked_.find(key);
      if (!body.ok() || asked == asked_.end() || asked->second) return unasked(**frame);
      asked->second = body.rest();
      answers_.fetch_add(1, std::memory_order_relaxed);
    } else if ((*frame)->kind == FrameKind::gone && job_.ft) {
      BodyReader body((*frame)->body);
      const auto rank = static_cast<int>(body.u32());
      std::string_view jobs = body.short_text();
      if (!body.ok() || rank < -1 || (jobs.empty() && (rank < 0 || rank >= job_.size))) return unasked(**frame);
      do {
        departures_.push_back({std::string(next_word(jobs)), rank, std::string(body.rest())});
      } while (!jobs.empty());
      has_departures_.store(true, std::memory_order_relaxed);
      answers_.fetch_add(1, std::memory_order_relaxed);
    } else if ((*frame)->kind == FrameKind::fence_done && fence_ == Fence::asked) {
      fence_ = Fence::done;
      fence_more_ = (*frame)->body == "1";
      answers_.fetch_add(1, std::memory_order_relaxed);
    } else {
      break;
    }
  }
  if (!frame || !*frame) return frame;
  BodyReader body((*frame)->body);
  switch ((*frame)->kind) {
    case FrameKind::end:
      leave(static_cast<int>(body.u32()));  // the launcher has already said why
    case FrameKind::refused:
      return fail(Errc::argument, fmt::format("rank {}: the connection server refused: {}", job_.rank, body.rest()));
    default:
      return frame;
  }
}

Result<void> ServerBootstrap::answer(std::string_view body) {
  BodyReader reader(body);
  const std::uint32_t number = reader.u32();
  const bool all = reader.u32() != 0;
  const std::lock_guard lock(send_mutex_);
  // In a round trip the device may be in the middle of something.
  return send_answer(number, teller_ && !in_call_ ? teller_(teller_who_, all) : R"({"state":"connecting"})");
}

// With send_mutex_ held.
Result<void> ServerBootstrap::send_answer(std::uint32_t number, std::string_view text) {
  const auto head = encode_answer(number, text.size());
  if (auto sent = send_locked({head.data(), head.size()}); !sent) return sent;
  return send_locked(text);
}

void ServerBootstrap::on_ask(Teller teller, void* who) {
  const std::lock_guard lock(call_mutex_);
  teller_ = teller;
  teller_who_ = who;
}

bool ServerBootstrap::tell(std::string_view report) {
  // Whoever holds it may be the thread that the signal has interrupted: no waiting here.
  const std::unique_lock lock(send_mutex_, std::try_to_lock);
  return lock && !finalized_.load(std::memory_order_relaxed) && send_answer(0, report).has_value();
}

tl::unexpected<Error> ServerBootstrap::break_with(const Error& error) {
  broken_ = error;
  return tl::make_unexpected(error);
}

tl::unexpected<Error> ServerBootstrap::unasked(const Frame& frame) const {
  return fail(Errc::protocol, fmt::format("rank {}: the connection server sent frame {}, which nobody asked for",
                                          job_.rank, static_cast<int>(frame.kind)));
}

Result<void> ServerBootstrap::check_key(std::string_view key) const {
  if (auto open = check_open(); !open) return open;
  if (key.size() > max_boot_key) return fail(Errc::argument, "a start-up key that is too long to exist");
  return {};
}

}  // namespace rmq::boot
