// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/link.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rmq::launch {

namespace {

constexpr std::string_view kGreeting = "\nrmq-agent 1\n";
constexpr std::size_t kMostNoise = 256 * 1024;  // before the greeting
constexpr std::size_t kHeader = 12;

std::uint32_t number_at(const char* at) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof value);  // little-endian, as this machine (base/packet/packet.hpp insists)
  return value;
}

}  // namespace

Link::Link(EventLoop& loop, UniqueFd input, UniqueFd output, bool awaits_agent, std::chrono::milliseconds silence,
           Hear hear, Lost lost)
    : loop_(loop),
      timers_(loop),
      input_(std::move(input)),
      output_(std::move(output)),
      awaits_agent_(awaits_agent),
      silence_(silence),
      hear_(std::move(hear)),
      lost_(std::move(lost)),
      heard_(EventLoop::Clock::now()),
      beaten_(heard_) {
  for (const int fd : {input_.get(), output_.get()}) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  loop_.watch(input_.get(), EPOLLIN, [this](std::uint32_t) { on_readable(); });
  loop_.watch(output_.get(), 0, [this](std::uint32_t) { flush(); });
  if (!awaits_agent_) outgoing_ = kGreeting;
  flush();
  timers_.after(kBeat, [this] { on_beat(); });
}

Link::~Link() {
  if (input_.is_open()) loop_.forget(input_.get());
  if (output_.is_open()) loop_.forget(output_.get());
}

void Link::send(Word word, int job, std::string_view body) {
  if (!is_up()) return;
  RMQ_CHECK(body.size() <= kMostBody);
  const auto number = [&](std::uint32_t value) {
    outgoing_.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  number(static_cast<std::uint32_t>(body.size()));
  number(static_cast<std::uint8_t>(word));
  number(static_cast<std::uint32_t>(job));
  outgoing_ += body;
  flush();
}

// What fails here fails for reading too, and is reported there.
void Link::flush() {
  if (!output_.is_open()) return;
  std::size_t done = 0;
  while (done < outgoing_.size()) {
    const ssize_t wrote = ::write(output_.get(), outgoing_.data() + done, outgoing_.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno != EAGAIN) done = outgoing_.size();
    if (wrote < 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  outgoing_.erase(0, done);
  if (awaits_room_ == !outgoing_.empty()) return;
  awaits_room_ = !outgoing_.empty();
  loop_.change(output_.get(), awaits_room_ ? static_cast<std::uint32_t>(EPOLLOUT) : 0u);
}

void Link::on_beat() {
  if (!is_up()) return;
  // While this process was stopped (a job that is suspended, a machine that sleeps), it heard nobody.
  const auto now = EventLoop::Clock::now();
  if (const auto late = now - std::exchange(beaten_, now) - kBeat; late > kBeat) heard_ += late;
  const auto silent = now - heard_;
  if (awaits_agent_ && silent >= kStartPatience)
    return lose(fmt::format("no agent has answered for {} s", kStartPatience.count()));
  if (!awaits_agent_ && silent >= silence_)
    return lose(
        fmt::format("it has been silent for {} s", std::chrono::duration_cast<std::chrono::seconds>(silent).count()));
  send(Word::beat, 0);
  timers_.after(kBeat, [this] { on_beat(); });
}

void Link::on_readable() {
  constexpr std::size_t kChunk = 64 * 1024;
  const std::size_t had = incoming_.size();
  incoming_.resize(had + kChunk);
  const ssize_t got = ::read(input_.get(), incoming_.data() + had, kChunk);
  incoming_.resize(had + (got > 0 ? static_cast<std::size_t>(got) : 0));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return lose(awaits_agent_ ? "it ended before an agent answered" : "the connection to it has ended");
  heard_ = EventLoop::Clock::now();
  if (awaits_agent_) read_over_greeting();
  if (awaits_agent_) return;
  std::size_t at = 0;
  const std::string whole = std::exchange(incoming_, {});  // who hears a frame may end this object
  const std::weak_ptr<const char> alive = alive_;
  while (whole.size() - at >= kHeader) {
    const std::size_t length = number_at(whole.data() + at);
    if (length > kMostBody) return lose("it sent what is no frame");
    if (whole.size() - at < kHeader + length) break;
    const Frame frame{static_cast<Word>(number_at(whole.data() + at + 4)),
                      static_cast<int>(number_at(whole.data() + at + 8)),
                      std::string_view(whole).substr(at + kHeader, length)};
    at += kHeader + length;
    if (frame.word != Word::beat) hear_(frame);
    if (alive.expired() || !is_up()) return;
  }
  incoming_ = whole.substr(at);
}

void Link::read_over_greeting() {
  // The line may stand at the very beginning.
  const std::size_t at = ("\n" + incoming_).find(kGreeting);
  if (at != std::string::npos) {
    incoming_.erase(0, at + kGreeting.size() - 1);
    awaits_agent_ = false;
  } else if (incoming_.size() > kMostNoise) {
    lose("what answers there is no agent of RMQ");
  }
}

void Link::lose(const std::string& why) {
  if (!is_up()) return;
  loop_.forget(input_.get());
  loop_.forget(output_.get());
  input_.reset();
  output_.reset();
  outgoing_.clear();
  lost_(why);
}

Fields& Fields::number(std::uint32_t value) {
  text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  return *this;
}

Fields& Fields::text(std::string_view value) {
  number(static_cast<std::uint32_t>(value.size()));
  text_ += value;
  return *this;
}

std::uint32_t FieldReader::number() {
  if (rest_.size() < 4) ok_ = false;
  if (!ok_) return 0;
  const std::uint32_t value = number_at(rest_.data());
  rest_.remove_prefix(4);
  return value;
}

std::string FieldReader::text() {
  const std::uint32_t length = number();
  if (rest_.size() < length) ok_ = false;
  if (!ok_) return {};
  std::string value(rest_.substr(0, length));
  rest_.remove_prefix(length);
  return value;
}

}  // namespace rmq::launch
