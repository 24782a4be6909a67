// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "tools/launch/link.hpp"
#include "tools/process/printable.hpp"

namespace rmq::launch {

namespace {

constexpr std::size_t longest_line = 64 * 1024;
constexpr std::size_t most_held = 1024 * 1024;
constexpr std::chrono::milliseconds moment{100};  // without more of a line
// What a pipe takes without blocking once poll has called it writable (PIPE_BUF). Our stdout is shared with others, who
// would be surprised if we made it non-blocking.
constexpr std::size_t safe_write = 4096;

bool is_terminal(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) != 0 || S_ISCHR(info.st_mode);
}

bool is_plain_file(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

bool is_same_file(int a, int b) {
  struct stat left {
  }, right{};
  return ::fstat(a, &left) == 0 && ::fstat(b, &right) == 0 && left.st_dev == right.st_dev &&
         left.st_ino == right.st_ino;
}

// Of a line that begins with one, as "[label] ".
std::string_view label_of(std::string_view line) {
  const std::size_t end = line.find("] ");
  return line.starts_with('[') && end != std::string_view::npos ? line.substr(1, end - 1) : std::string_view();
}

bool has_room(int fd) {
  return wait_for(fd, POLLOUT, std::chrono::milliseconds(0));
}

}  // namespace

OutputRelay::OutputRelay(EventLoop& loop, bool tag) : loop_(loop), timers_(loop), tag_(tag) {
  set_up(output_, STDOUT_FILENO);
  set_up(error_, STDERR_FILENO);
  shared_ = is_same_file(STDOUT_FILENO, STDERR_FILENO);
}

OutputRelay::OutputRelay(EventLoop& loop, bool tag, bool shared, Pass pass)
    : loop_(loop), timers_(loop), tag_(tag), pass_(std::move(pass)), shared_(shared) {
  output_.fd = output_.number = STDOUT_FILENO;
  error_.fd = error_.number = STDERR_FILENO;
}

void OutputRelay::set_up(Sink& sink, int fd) {
  sink.number = fd;
  sink.own = open_unshared(fd, O_WRONLY);
  sink.fd = sink.own.is_open() ? sink.own.get() : fd;
  sink.terminal = is_terminal(fd);
  sink.plain_file = is_plain_file(fd);
}

void OutputRelay::accept(std::size_t place, std::string_view output, Answer answer) {
  FieldReader body(output);
  const std::uint32_t fd = body.number();
  const std::string_view text = body.rest();
  Stream& stream = stream_of(place, fd == STDERR_FILENO ? error_ : output_);
  pass_lines(stream, text);
  await_more(stream);
  stream.sink->awaits_room.push_back([fd, bytes = text.size(), answer = std::move(answer)](bool is_read) {
    answer(Fields().number(static_cast<std::uint32_t>(bytes)).number(fd).number(!is_read));
  });
  write_out(*stream.sink);
}

// The end of an agent's last line is not told from a pause: what is incomplete is passed on after a moment.
OutputRelay::Stream& OutputRelay::stream_of(std::size_t place, Sink& sink) {
  Stream*& stream = of_agents_[{place, sink.number}];
  if (stream == nullptr) stream = &streams_.emplace_back(Stream{kAgents, {}, &sink, {}, pipes_made_++, true});
  return *stream;
}

void OutputRelay::hear(std::string_view printed) {
  FieldReader body(printed);
  not_taken_ -= std::min<std::size_t>(body.number(), not_taken_);
  Sink& of = body.number() == STDERR_FILENO ? error_ : output_;
  if (body.number() != 0 && !std::exchange(of.broken, true)) write_out(of);
  for (Sink* sink : {&output_, &error_})
    if (!sink->held.empty()) resume(*sink);
  if (written_) written_();
}

void OutputRelay::pass_on(Sink& sink) {
  constexpr std::size_t kMostAtOnce = 2 * longest_line;
  std::size_t done = 0;
  while (done < sink.held.size() && not_taken_ < most_held) {
    const auto some = std::string_view(sink.held).substr(done, kMostAtOnce);
    const std::size_t end = some.rfind('\n');
    const auto part = end == std::string_view::npos ? some : some.substr(0, end + 1);
    done += part.size();
    not_taken_ += part.size();
    pass_(sink.number, part);
  }
  sink.held.erase(0, done);
}

int OutputRelay::descriptors_per_rank(int ranks) const {
  if (!relays(output_, ranks)) return relays(error_, ranks) ? 1 : 0;
  return relays(error_, ranks) && !shared_ ? 2 : 1;
}

Result<OutputRelay::Ends> OutputRelay::connect(const std::string& label, int ranks, bool asks) {
  Ends ends;
  ends.stream = streams_made_++;
  const bool output = relays(output_, ranks), error = relays(error_, ranks);
  if (output) {
    auto opened = open_stream(label, output_, asks);
    if (!opened) return tl::make_unexpected(opened.error());
    ends.output = std::move(*opened);
  }
  if (output && error && shared_) {
    ends.error.reset(::fcntl(ends.output.get(), F_DUPFD_CLOEXEC, 3));
    if (!ends.error.is_open()) return fail_errno("no descriptor left for a rank's stderr");
  } else if (error) {
    auto opened = open_stream(label, error_, asks);
    if (!opened) return tl::make_unexpected(opened.error());
    ends.error = std::move(*opened);
  }
  return ends;
}

Result<UniqueFd> OutputRelay::open_stream(const std::string& label, Sink& sink, bool asks) {
  auto pipe = Pipe::create();
  if (!pipe) return tl::make_unexpected(pipe.error());
  const int fd = pipe->reader.get();
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  Stream& stream =
      streams_.emplace_back(Stream{streams_made_ - 1, label, &sink, std::move(pipe->reader), pipes_made_++, asks});
  loop_.watch(fd, EPOLLIN, [this, &stream](std::uint32_t) { read_some(stream); });
  return std::move(pipe->writer);
}

// Reads one chunk and passes its lines on; false when there is nothing (more) to read now.
bool OutputRelay::read_some(Stream& stream) {
  std::array<char, 64 * 1024> chunk;
  const ssize_t got = ::read(stream.pipe.get(), chunk.data(), chunk.size());
  if (got < 0) return errno == EINTR;
  if (got == 0) {
    close(stream);
    return false;
  }
  pass_lines(stream, {chunk.data(), static_cast<std::size_t>(got)});
  await_more(stream);
  write_out(*stream.sink);
  if (stream.pipe.is_open() && stream.sink->held.size() > most_held && !stream.paused) {
    stream.paused = true;
    loop_.change(stream.pipe.get(), 0);
  }
  return stream.pipe.is_open();
}

void OutputRelay::pass_lines(Stream& stream, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const bool complete = end != std::string_view::npos;
    const std::string_view part = text.substr(0, complete ? end + 1 : text.size());
    text.remove_prefix(part.size());
    if (complete && stream.line.empty()) {
      append(stream, part);
      continue;
    }
    stream.line += part;
    if (complete || stream.line.size() >= (is_behind(stream) ? most_held : longest_line))
      append(stream, std::exchange(stream.line, {}));
  }
}

// Whole lines, or a part of one. Another's, of which a part has been passed on, comes first, as long as it goes on.
void OutputRelay::append(Stream& stream, std::string_view text) {
  Sink& sink = *stream.sink;
  const bool is_whole = text.ends_with('\n'), goes_on = sink.owner == stream.number;
  if (is_behind(stream) && (!is_whole || sink.behind.size() > most_held)) end_line(sink, tag_);
  const bool waits = is_behind(stream);
  std::string& to = waits ? sink.behind : sink.held;
  const bool begins = !std::exchange(stream.in_line, !is_whole), has_label = stream.id == kAgents && begins;
  if (has_label) stream.label = label_of(text);
  if (tag_ && !goes_on && !has_label) fmt::format_to(std::back_inserter(to), "[{}] ", stream.label);
  to += text;
  if (waits) {
    if (!std::exchange(sink.is_patient, true))
      timers_.after(moment, [this, &sink] {
        sink.is_patient = false;
        end_line(sink, tag_);
        write_out(sink);
        if (written_) written_();
      });
  } else if (is_whole) {
    end_line(sink, false);
  } else {
    sink.owner = stream.number;
  }
}

// The line that has been passed on in part is over, or others break into it: without labels nothing is added to what
// ranks print.
void OutputRelay::end_line(Sink& sink, bool breaks) {
  if (breaks && sink.owner != kNobody) sink.held += '\n';
  sink.owner = kNobody;
  sink.held += std::exchange(sink.behind, {});
}

// A question has no end of line, and nothing comes behind it.
void OutputRelay::await_more(Stream& stream) {
  ++stream.reads;
  if (!stream.asks || stream.line.empty() || std::exchange(stream.is_awaited, true)) return;
  timers_.after(moment, [this, number = stream.number, reads = stream.reads] {
    const auto found = std::ranges::find(streams_, number, &Stream::number);
    if (found == streams_.end() || !std::exchange(found->is_awaited, false) || found->line.empty()) return;
    if (found->reads != reads || found->paused) return await_more(*found);
    append(*found, std::exchange(found->line, {}));
    write_out(*found->sink);
    if (written_) written_();
  });
}

void OutputRelay::close(Stream& stream) {
  // Only what is labelled has to end.
  if (!stream.line.empty()) append(stream, std::exchange(stream.line, {}));
  if (stream.sink->owner == stream.number) end_line(*stream.sink, tag_);
  write_out(*stream.sink);
  if (!stream.pipe.is_open()) return;
  loop_.forget(stream.pipe.get());
  stream.pipe.reset();
}

void OutputRelay::drain(int id) {
  // A pipe holds 64 KiB, or 1 MiB if the rank enlarged it; more can only come from a process that outlives the rank.
  constexpr int most_chunks = 16;
  for (Stream& stream : streams_)
    for (int i = 0; stream.id == id && stream.pipe.is_open() && i < most_chunks && read_some(stream); ++i) {
    }
  streams_.remove_if([&](const Stream& stream) { return stream.id == id && !stream.pipe.is_open(); });
}

void OutputRelay::say(std::string_view line) {
  end_line(error_, true);
  error_.held += printable(line);
  error_.held += '\n';
  write_out(error_);
}

bool OutputRelay::is_idle() const {
  for (const Sink* sink : {&output_, &error_})
    if (!sink->held.empty() || !sink->behind.empty()) return false;
  const bool waits = std::ranges::any_of(of_agents_, [](const auto& one) { return !one.second->line.empty(); });
  return !waits && not_taken_ == 0;
}

void OutputRelay::write_out(Sink& sink) {
  if (pass_) {
    if (!sink.broken) pass_on(sink);
  } else {
    write_to_file(sink);
  }
  if (sink.broken) close_all(sink);
  if (sink.held.size() > most_held) return;
  for (const auto& taken : std::exchange(sink.awaits_room, {})) taken(!sink.broken);
}

void OutputRelay::write_to_file(Sink& sink) {
  std::size_t done = 0;
  while (done < sink.held.size() && !sink.broken && (sink.plain_file || has_room(sink.fd))) {
    const std::size_t size = sink.plain_file ? sink.held.size() - done : std::min(sink.held.size() - done, safe_write);
    const ssize_t wrote = ::write(sink.fd, sink.held.data() + done, size);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
    if (wrote < 0 && errno == EAGAIN) break;
    if (wrote < 0 && errno == EPIPE) sink.broken = true;
    if (wrote < 0 && errno != EINTR && errno != EPIPE) {
      lose(sink, errno);
      done = sink.held.size();
    }
  }
  sink.held.erase(0, done);
  const bool waits = !sink.held.empty() && !sink.broken;
  if (waits && !sink.waiting) {
    sink.waiting = loop_.watch(sink.fd, EPOLLOUT, [this, &sink](std::uint32_t) { resume(sink); });
  } else if (!waits && sink.waiting) {
    loop_.forget(sink.fd);
    sink.waiting = false;
  }
}

// Whoever read our output is gone. The ranks learn it as they would have without us: by SIGPIPE at their next line.
void OutputRelay::close_all(Sink& sink) {
  sink.held.clear();
  sink.behind.clear();
  for (Stream& stream : streams_)
    if (stream.sink == &sink && stream.pipe.is_open()) {
      loop_.forget(stream.pipe.get());
      stream.pipe.reset();
    }
}

// A full disk, for instance: the ranks go on, as one that writes for itself does.
void OutputRelay::lose(Sink& sink, int error) {
  if (std::exchange(sink.has_failed, true) || &sink == &error_) return;
  say(fmt::format("rmqrun: what ranks print is lost: standard output cannot be written: {}", std::strerror(error)));
}

void OutputRelay::resume(Sink& sink) {
  write_out(sink);
  for (Stream& stream : streams_)
    if (stream.paused && stream.sink == &sink && sink.held.size() <= most_held && stream.pipe.is_open()) {
      stream.paused = false;
      loop_.change(stream.pipe.get(), EPOLLIN);
    }
  if (written_) written_();
}

}  // namespace rmq::launch
