// SPDX-License-Identifier: BSD-3-Clause
#include "start/line.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/os/children.hpp"
#include "start/bootstrap_env.hpp"

namespace rmq {
namespace {

constexpr std::string_view kGreeting = "RMQ-LINE", kJoining = "RMQ-JOIN";
constexpr std::size_t kNonce = 32, kProof = 32;
constexpr std::uint64_t kLongest = std::uint64_t{1} << 32;  // message
constexpr std::size_t kAhead = 64 * 1024;                   // bytes read behind a message of an open line

std::string random_text(std::size_t bytes) {
  std::string text(bytes, '\0');
  boot::fill_random(std::as_writable_bytes(std::span(text)));
  return text;
}

// As the sockets of links: a machine that has died is noticed, and a process whose children live.
void tune(int fd) {
  os::keep_from_children(fd);
  const int on = 1, idle = 5, interval = 2, count = 3;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

tl::unexpected<Error> gone(const char* how) {
  return fail(Errc::peer_lost, how);
}

}  // namespace

Secret derive(const Secret& key, std::string_view text) {
  Secret out;
  static_assert(crypto_auth_hmacsha256_BYTES == std::tuple_size_v<Secret>);
  ::crypto_auth_hmacsha256(reinterpret_cast<unsigned char*>(out.data()),
                           reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                           reinterpret_cast<const unsigned char*>(key.data()));
  return out;
}

std::unique_ptr<Line> Line::answer(int fd, const Secret& key) {
  tune(fd);
  std::unique_ptr<Line> line(new Line(fd, key, State::is_called));
  line->answered_ = true;
  return line;
}

std::unique_ptr<Line> Line::call(int fd, const Secret& key) {
  tune(fd);
  std::unique_ptr<Line> line(new Line(fd, key, State::calls));
  line->nonces_ = random_text(kNonce);
  line->out_ = std::string(kGreeting) + line->nonces_;
  return line;
}

std::unique_ptr<Line> Line::join(int fd) {
  std::unique_ptr<Line> line(new Line(fd, Secret{}, State::joins));
  line->joins_ = true;
  std::string mine(crypto_box_PUBLICKEYBYTES, '\0');
  ::crypto_box_keypair(reinterpret_cast<unsigned char*>(mine.data()),
                       reinterpret_cast<unsigned char*>(line->private_.data()));
  line->out_ = std::string(kJoining) + mine;
  line->nonces_ = mine;
  return line;
}

Line::~Line() {
  ::sodium_memzero(key_.data(), key_.size());
  ::sodium_memzero(private_.data(), private_.size());
  if (fd_ >= 0) ::close(fd_);
}

std::string Line::proof(std::string_view role) const {
  const Secret mac = derive(key_, std::string(role) + nonces_);
  return {reinterpret_cast<const char*>(mac.data()), mac.size()};
}

// Reads no more than is waited for, plus, from a peer that is proven, what comes behind it up to a bound: whoever has
// proven nothing fills no memory, and nobody keeps the caller here.
Result<void> Line::read_some() {
  char bytes[16 * 1024];
  while (!ended_) {
    const std::size_t most = std::min(room(), sizeof bytes);
    if (most == 0) return {};
    const ssize_t got = ::recv(fd_, bytes, most, MSG_DONTWAIT);
    if (got > 0) {
      in_.append(bytes, static_cast<std::size_t>(got));
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return {};
    } else {
      ended_ = true;
    }
  }
  return {};
}

// Bytes of the word, or of the message, that comes next: what is read, and what is taken.
std::size_t Line::wanted() const {
  std::uint64_t length = 0;
  switch (state_) {
    case State::calls:
      return kNonce + kProof;
    case State::rings:
      return 1;
    case State::is_called:
      return kGreeting.size() + kNonce;
    case State::waits_for_proof:
      return kProof;
    case State::joins:
      return kJoining.size() + crypto_box_PUBLICKEYBYTES;
    case State::open:
      break;
  }
  if (in_.size() < sizeof length) return sizeof length;
  std::memcpy(&length, in_.data(), sizeof length);
  return static_cast<std::size_t>(std::min(length, kLongest)) + sizeof length;
}

// On a user's socket what lies behind our last word stays there.
std::size_t Line::room() const {
  const std::size_t until = wanted() + (state_ == State::open && !joins_ ? kAhead : 0);
  return until - std::min(until, in_.size());
}

bool Line::take(std::size_t bytes, std::string& into) {
  if (in_.size() < bytes) return false;
  into = in_.substr(0, bytes);
  in_.erase(0, bytes);
  return true;
}

Result<bool> Line::flush() {
  while (!out_.empty()) {
    const ssize_t sent = ::send(fd_, out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (sent < 0) return gone("the other side has hung up");
    out_.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

Result<bool> Line::step() {
  if (auto sent = flush(); !sent) return tl::unexpected(sent.error());
  if (state_ == State::open) return true;
  static_cast<void>(read_some());
  const auto same = [](const std::string& a, const std::string& b) {
    return ::sodium_memcmp(a.data(), b.data(), kProof) == 0;
  };
  const auto begins = [this](std::string_view greeting) {
    return greeting.starts_with(std::string_view(in_).substr(0, greeting.size()));
  };
  std::string word;
  switch (state_) {
    case State::calls:
      if (!take(wanted(), word)) break;
      nonces_ += word.substr(0, kNonce);
      if (!same(word.substr(kNonce), proof("port"))) return gone("whoever answers there does not know the port");
      out_ = proof("caller");
      secret_ = derive(key_, "secret" + nonces_);
      state_ = State::rings;
      break;
    case State::rings:
      if (!take(wanted(), word)) break;
      state_ = State::open;
      break;
    case State::is_called:
      if (!begins(kGreeting)) return gone("the caller is none of ours");
      if (!take(wanted(), word)) break;
      nonces_ = word.substr(kGreeting.size()) + random_text(kNonce);
      out_ = nonces_.substr(kNonce) + proof("port");
      state_ = State::waits_for_proof;
      break;
    case State::waits_for_proof:
      if (!take(wanted(), word)) break;
      if (!same(word, proof("caller"))) return gone("the caller does not know the port");
      secret_ = derive(key_, "secret" + nonces_);
      state_ = State::open;
      break;
    case State::joins: {
      constexpr const char* kNoJoin = "the other end of the socket is no MPI_Comm_join";
      if (!begins(kJoining)) return gone(kNoJoin);
      if (!take(wanted(), word)) break;
      word.erase(0, kJoining.size());
      Secret shared;
      if (::crypto_scalarmult(reinterpret_cast<unsigned char*>(shared.data()),
                              reinterpret_cast<const unsigned char*>(private_.data()),
                              reinterpret_cast<const unsigned char*>(word.data())) != 0)
        return gone(kNoJoin);
      secret_ = derive(shared, "join");
      first_ = nonces_ < word;
      state_ = State::open;
      break;
    }
    case State::open:
      break;
  }
  if (auto sent = flush(); !sent) return tl::unexpected(sent.error());
  if (state_ != State::open && ended_) return gone("the other side has hung up");
  return state_ == State::open && out_.empty();
}

void Line::take_call() {
  out_ += '\0';
  static_cast<void>(flush());
}

void Line::say(std::string_view message) {
  const std::uint64_t length = message.size();
  out_.append(reinterpret_cast<const char*>(&length), sizeof length);  // little-endian
  out_.append(message);
}

Result<std::optional<std::string>> Line::hear() {
  static_cast<void>(read_some());
  std::uint64_t length = 0;
  if (in_.size() >= sizeof length) {
    std::memcpy(&length, in_.data(), sizeof length);
    if (length > kLongest) return fail(Errc::protocol, "the other side says what no root of ours could");
    if (in_.size() >= sizeof length + length) {
      std::string message = in_.substr(sizeof length, length);
      in_.erase(0, sizeof length + length);
      return message;
    }
  }
  if (ended_) return gone("the other side has hung up");
  return std::nullopt;
}

bool Line::ended() {
  if (!ended_) static_cast<void>(read_some());
  return ended_;
}

// ---- calling ----

Result<std::unique_ptr<Call>> Call::to(std::string_view port_name, const Secret* key) {
  const auto bad = [&] {
    return fail(Errc::argument, fmt::format("'{}' is no name of a port that MPI_Open_port has given", port_name));
  };
  std::unique_ptr<Call> call(new Call);
  const std::size_t key_at = port_name.find(':'), at = port_name.find('@');
  if (!port_name.starts_with("rmq1:") || at == std::string_view::npos) return bad();
  if (key != nullptr)
    call->key_ = *key;
  else if (!boot::from_hex(port_name.substr(key_at + 1, at - key_at - 1), call->key_))
    return bad();
  for (std::string_view rest = port_name.substr(at + 1); !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view one = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const std::size_t colon = one.rfind(':');
    if (colon == std::string_view::npos) return bad();
    const int port = std::atoi(std::string(one.substr(colon + 1)).c_str());
    if (port <= 0 || port > 65535) return bad();
    std::string_view address = one.substr(0, colon);
    if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
    call->addresses_.emplace_back(address, static_cast<std::uint16_t>(port));
  }
  if (call->addresses_.empty()) return bad();
  return call;
}

Call::~Call() {
  if (connecting_ >= 0) ::close(connecting_);
}

int Call::fd() const {
  return line_ ? line_->fd() : connecting_;
}

// The next address; false: none is left.
bool Call::dial() {
  while (next_ < addresses_.size()) {
    const auto& [address, port] = addresses_[next_++];
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    const bool is_4 = ::inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1;
    if (!is_4 && ::inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) != 1) continue;
    const auto* const to = is_4 ? reinterpret_cast<const sockaddr*>(&four) : reinterpret_cast<const sockaddr*>(&six);
    const int fd = ::socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
      trouble_ = std::strerror(errno);
      continue;
    }
    if (::connect(fd, to, is_4 ? sizeof four : sizeof six) == 0 || errno == EINPROGRESS) {
      connecting_ = fd;
      return true;
    }
    trouble_ = fmt::format("{}:{}: {}", address, port, std::strerror(errno));
    ::close(fd);
  }
  return false;
}

Result<std::unique_ptr<Line>> Call::step() {
  for (;;) {
    if (line_) {
      auto open = line_->step();
      if (open && !*open) return nullptr;
      if (open) return std::move(line_);
      trouble_ = open.error().what;
      line_.reset();
    } else if (connecting_ >= 0) {
      pollfd wait{connecting_, POLLOUT, 0};
      if (::poll(&wait, 1, 0) == 0) return nullptr;
      int error = 0;
      socklen_t length = sizeof error;
      ::getsockopt(connecting_, SOL_SOCKET, SO_ERROR, &error, &length);
      if (error == 0) {
        line_ = Line::call(std::exchange(connecting_, -1), key_);
        continue;
      }
      trouble_ =
          fmt::format("{}:{}: {}", addresses_[next_ - 1].first, addresses_[next_ - 1].second, std::strerror(error));
      ::close(std::exchange(connecting_, -1));
    }
    if (!dial()) return fail(Errc::peer_lost, fmt::format("nobody is at the port: {}", trouble_));
  }
}

}  // namespace rmq
