// SPDX-License-Identifier: BSD-3-Clause
#include "start/boot_join.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "start/boot_ticket.hpp"
#include "start/bootstrap_env.hpp"

namespace rmq::boot {

namespace {

constexpr std::chrono::milliseconds join_timeout{5000};

os::UniqueFd connect_to(const std::string& ip, const std::string& port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(ip.c_str(), port.c_str(), &hints, &found) != 0) {
    errno = EINVAL;
    return {};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  os::UniqueFd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return {};
  if (::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0) {
    if (errno != EINPROGRESS || !os::wait_for(socket.get(), POLLOUT, join_timeout)) return {};
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) {
      errno = error;
      return {};
    }
  }
  return socket;
}

using Deadline = std::chrono::steady_clock::time_point;

// The body of one frame of the server's, of known size, and not a byte of what lies behind it; nothing when it does not
// come in time, be it a byte now and then, and errno says why.
std::optional<std::string> hear(int socket, FrameKind kind, std::size_t body_bytes, Deadline deadline) {
  std::string frame(header_bytes + body_bytes, '\0');
  for (std::size_t have = 0; have < frame.size();) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    errno = ETIMEDOUT;
    if (left.count() <= 0 || !os::wait_for(socket, POLLIN, left)) return std::nullopt;
    const ssize_t got = ::recv(socket, frame.data() + have, frame.size() - have, 0);
    if (got == 0) errno = ECONNREFUSED;
    if (got <= 0) return std::nullopt;
    have += static_cast<std::size_t>(got);
  }
  std::string body = frame.substr(header_bytes);
  errno = EPROTO;
  if (frame != encode(kind, body)) return std::nullopt;
  return body;
}

bool say(int socket, const std::string& frame) {
  return ::send(socket, frame.data(), frame.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(frame.size());
}

// Each side shows the other that it knows the ticket. Nothing of use is told to whoever else listens there.
bool present(int socket, FrameKind role, int rank, std::string_view ticket) {
  const Deadline deadline = std::chrono::steady_clock::now() + join_timeout;
  Entry entry(role, rank, ticket);
  if (!say(socket, entry.opening())) return false;
  const auto challenge = hear(socket, FrameKind::challenge, Entry::challenge_bytes, deadline);
  if (!challenge) return false;
  const auto answer = entry.answer({FrameKind::challenge, *challenge});
  errno = EPROTO;
  return answer && say(socket, *answer) && hear(socket, FrameKind::joined, 0, deadline);
}

}  // namespace

Result<os::UniqueFd> join_server(std::string_view addresses, FrameKind role, int rank, std::string_view ticket) {
  std::istringstream words{std::string(addresses)};
  std::string port, ip, tried;
  words >> port;
  while (words >> ip) {
    os::UniqueFd socket = connect_to(ip, port);
    if (socket.is_open() && present(socket.get(), role, rank, ticket)) {
      const int on = 1;
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);  // a lost machine is noticed at last
      ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
      return socket;
    }
    tried += fmt::format("{}{} ({})", tried.empty() ? "" : ", ", ip, std::strerror(errno));
  }
  return fail(Errc::peer_lost,
              fmt::format("rank {} on {} cannot reach the connection server of rank 0 at port {} of {}; is there "
                          "a firewall between the machines?",
                          rank, host_name(), port, tried));
}

std::string host_identity() {
  std::string out, machine;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> machine;
  out = machine + " " + host_name();
  for (const char* space : {"net", "ipc", "pid"}) {
    std::array<char, 64> link{};
    const ssize_t length = ::readlink(fmt::format("/proc/self/ns/{}", space).c_str(), link.data(), link.size() - 1);
    if (length > 0) out += fmt::format(" {}", link.data());
  }
  return out;
}

}  // namespace rmq::boot
