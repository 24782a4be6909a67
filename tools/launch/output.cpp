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

namespace rmq::launch {

namespace {

constexpr std::size_t longest_line = 64 * 1024;
constexpr std::size_t most_held = 1024 * 1024;
// What a pipe takes without blocking once poll has called it writable (PIPE_BUF). Our stdout is shared with others, who
// would be surprised if we made it non-blocking.
constexpr std::size_t safe_write = 4096;

bool needs_relay(int fd, int ranks, bool tag) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return false;
  if (tag) return true;
  return ranks > 1 && !S_ISCHR(info.st_mode);  // a terminal takes line by line, /dev/null does not care
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

bool has_room(int fd) {
  return wait_for(fd, POLLOUT, std::chrono::milliseconds(0));
}

}  // namespace

OutputRelay::OutputRelay(EventLoop& loop, int ranks, bool tag) : loop_(loop), tag_(tag) {
  for (Sink* sink : {&output_, &error_}) {
    sink->fd = sink == &output_ ? STDOUT_FILENO : STDERR_FILENO;
    sink->relayed = needs_relay(sink->fd, ranks, tag);
    sink->plain_file = is_plain_file(sink->fd);
  }
  shared_ = output_.relayed && error_.relayed && is_same_file(output_.fd, error_.fd);
}

int OutputRelay::descriptors_per_rank() const {
  return (output_.relayed ? 1 : 0) + (error_.relayed && !shared_ ? 1 : 0);
}

Result<OutputRelay::Ends> OutputRelay::connect(int rank) {
  Ends ends;
  if (output_.relayed) {
    auto output = open_stream(rank, output_);
    if (!output) return tl::make_unexpected(output.error());
    ends.output = std::move(*output);
  }
  if (shared_) {
    ends.error.reset(::fcntl(ends.output.get(), F_DUPFD_CLOEXEC, 3));
    if (!ends.error.is_open()) return fail_errno("no descriptor left for a rank's stderr");
  } else if (error_.relayed) {
    auto error = open_stream(rank, error_);
    if (!error) return tl::make_unexpected(error.error());
    ends.error = std::move(*error);
  }
  return ends;
}

Result<UniqueFd> OutputRelay::open_stream(int rank, Sink& sink) {
  auto pipe = Pipe::create();
  if (!pipe) return fail(Errc::system, fmt::format("for the output of rank {}: {}", rank, pipe.error().what));
  const int fd = pipe->reader.get();
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  Stream& stream = streams_.emplace_back(Stream{rank, &sink, std::move(pipe->reader), {}, false});
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
    if (complete || stream.line.size() >= longest_line) append(stream, std::exchange(stream.line, {}));
  }
}

void OutputRelay::append(Stream& stream, std::string_view line) {
  std::string& held = stream.sink->held;
  if (tag_) fmt::format_to(std::back_inserter(held), "[{}] ", stream.rank);
  held += line;
  if (tag_ && !line.ends_with('\n')) held += '\n';
}

void OutputRelay::close(Stream& stream) {
  if (!stream.line.empty()) append(stream, std::exchange(stream.line, {}));
  write_out(*stream.sink);
  if (!stream.pipe.is_open()) return;
  loop_.forget(stream.pipe.get());
  stream.pipe.reset();
}

void OutputRelay::drain(int rank) {
  // A pipe holds 64 KiB, or 1 MiB if the rank enlarged it; more can only come from a process that outlives the rank.
  constexpr int most_chunks = 16;
  for (Stream& stream : streams_)
    for (int i = 0; stream.rank == rank && stream.pipe.is_open() && i < most_chunks && read_some(stream); ++i) {
    }
}

void OutputRelay::say(std::string_view line) {
  error_.held += line;
  error_.held += '\n';
  write_out(error_);
}

bool OutputRelay::is_idle() const {
  return output_.held.empty() && error_.held.empty();
}

void OutputRelay::write_out(Sink& sink) {
  std::size_t done = 0;
  while (done < sink.held.size() && !sink.broken && (sink.plain_file || has_room(sink.fd))) {
    const std::size_t size = sink.plain_file ? sink.held.size() - done : std::min(sink.held.size() - done, safe_write);
    const ssize_t wrote = ::write(sink.fd, sink.held.data() + done, size);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
    if (wrote < 0 && errno == EAGAIN) break;
    if (wrote < 0 && errno != EINTR) sink.broken = true;
  }
  sink.held.erase(0, done);
  if (sink.broken) {
    // Whoever read our output is gone. The ranks learn it as they would have without us: by SIGPIPE at their next line.
    sink.held.clear();
    for (Stream& stream : streams_)
      if (stream.sink == &sink && stream.pipe.is_open()) {
        loop_.forget(stream.pipe.get());
        stream.pipe.reset();
      }
  }
  const bool waits = !sink.held.empty();
  if (waits && !sink.waiting) {
    sink.waiting = loop_.watch(sink.fd, EPOLLOUT, [this, &sink](std::uint32_t) { resume(sink); });
  } else if (!waits && sink.waiting) {
    loop_.forget(sink.fd);
    sink.waiting = false;
  }
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
