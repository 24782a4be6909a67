#include "tools/boot/address.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "base/bootstrap_env.hpp"
#include "tools/boot/ticket.hpp"

namespace rmq::launch {

namespace {

constexpr std::chrono::milliseconds join_timeout{5000};

// Both families where the machine has IPv6, else IPv4.
UniqueFd bind_to(bool loopback_only) {
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_addr = in6addr_any;
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  any4.sin_addr.s_addr = htonl(loopback_only ? INADDR_LOOPBACK : INADDR_ANY);
  if (!loopback_only) {
    UniqueFd both(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int off = 0;
    if (both.is_open() && ::setsockopt(both.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0 &&
        ::bind(both.get(), reinterpret_cast<const sockaddr*>(&any6), sizeof any6) == 0)
      return both;
  }
  UniqueFd four(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (four.is_open() && ::bind(four.get(), reinterpret_cast<const sockaddr*>(&any4), sizeof any4) != 0) four.reset();
  return four;
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  std::array<char, 8> port{};
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  ::getnameinfo(reinterpret_cast<sockaddr*>(&address), length, nullptr, 0, port.data(), port.size(), NI_NUMERICSERV);
  return std::atoi(port.data());
}

// The addresses of all interfaces that are up, real ones before loopback. Link-local IPv6 means nothing elsewhere.
std::string interface_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return "127.0.0.1";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  std::string real, loopback;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    std::array<char, NI_MAXHOST> text{};
    const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::getnameinfo(entry->ifa_addr, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) continue;
    if (std::strchr(text.data(), '%') != nullptr) continue;
    ((entry->ifa_flags & IFF_LOOPBACK) ? loopback : real) += fmt::format(" {}", text.data());
  }
  return (real + loopback).substr(real.empty() && loopback.empty() ? 0 : 1);
}

UniqueFd connect_to(const std::string& ip, const std::string& port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(ip.c_str(), port.c_str(), &hints, &found) != 0) {
    errno = EINVAL;
    return {};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  UniqueFd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return {};
  if (::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0) {
    if (errno != EINPROGRESS || !wait_for(socket.get(), POLLOUT, join_timeout)) return {};
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

// The body of one frame of the server's, of known size, and not a byte of what lies behind it; nothing when it does not
// come, and errno says why.
std::optional<std::string> hear(int socket, boot::FrameKind kind, std::size_t body_bytes) {
  std::string frame(boot::header_bytes + body_bytes, '\0');
  for (std::size_t have = 0; have < frame.size();) {
    if (!wait_for(socket, POLLIN, join_timeout)) return std::nullopt;
    const ssize_t got = ::recv(socket, frame.data() + have, frame.size() - have, 0);
    if (got == 0) errno = ECONNREFUSED;
    if (got <= 0) return std::nullopt;
    have += static_cast<std::size_t>(got);
  }
  std::string body = frame.substr(boot::header_bytes);
  errno = EPROTO;
  if (frame != boot::encode(kind, body)) return std::nullopt;
  return body;
}

bool say(int socket, const std::string& frame) {
  return ::send(socket, frame.data(), frame.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(frame.size());
}

// Each side shows the other that it knows the ticket. Nothing of use is told to whoever else listens there.
bool present(int socket, boot::FrameKind role, int rank, std::string_view ticket) {
  Entry entry(role, rank, ticket);
  if (!say(socket, entry.opening())) return false;
  const auto challenge = hear(socket, boot::FrameKind::challenge, Entry::challenge_bytes);
  if (!challenge) return false;
  const auto answer = entry.answer({boot::FrameKind::challenge, *challenge});
  errno = EPROTO;
  return answer && say(socket, *answer) && hear(socket, boot::FrameKind::joined, 0);
}

}  // namespace

Result<Listener> listen_for_ranks(bool loopback_only) {
  Listener out{bind_to(loopback_only), {}};
  if (!out.socket.is_open() || ::listen(out.socket.get(), SOMAXCONN) != 0)
    return fail_errno("the connection server cannot listen on a TCP port");
  out.addresses = fmt::format("{} {}", port_of(out.socket.get()), loopback_only ? "127.0.0.1" : interface_addresses());
  return out;
}

Result<UniqueFd> join_server(std::string_view addresses, boot::FrameKind role, int rank, std::string_view ticket) {
  std::istringstream words{std::string(addresses)};
  std::string port, ip, tried;
  words >> port;
  while (words >> ip) {
    UniqueFd socket = connect_to(ip, port);
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
                          rank, boot::host_name(), port, tried));
}

Result<std::optional<boot::Frame>> receive_frame(int socket, boot::FrameReader& reader) {
  constexpr std::size_t chunk = 2048;
  const ssize_t got = ::recv(socket, reader.reserve(chunk), chunk, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (got <= 0) return fail(Errc::peer_lost, "the connection has ended");
  reader.commit(static_cast<std::size_t>(got));
  return reader.next();
}

std::string host_identity() {
  std::string out, machine;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> machine;
  out = machine + " " + boot::host_name();
  for (const char* space : {"net", "ipc", "pid"}) {
    std::array<char, 64> link{};
    const ssize_t length = ::readlink(fmt::format("/proc/self/ns/{}", space).c_str(), link.data(), link.size() - 1);
    if (length > 0) out += fmt::format(" {}", link.data());
  }
  return out;
}

}  // namespace rmq::launch
