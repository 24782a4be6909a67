// SPDX-License-Identifier: BSD-3-Clause
#include "tools/boot/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace rmq::launch {

namespace {

// Both families where the machine has IPv6, else IPv4; on the loopback IPv4, unless the machine has none.
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
  if (four.is_open() && ::bind(four.get(), reinterpret_cast<const sockaddr*>(&any4), sizeof any4) == 0) return four;
  if (!loopback_only) return {};
  any6.sin6_addr = in6addr_loopback;
  UniqueFd six(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (six.is_open() && ::bind(six.get(), reinterpret_cast<const sockaddr*>(&any6), sizeof any6) != 0) six.reset();
  return six;
}

struct Place {
  std::string address, port;
};

Place place_of(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, 8> port{};
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  ::getnameinfo(reinterpret_cast<sockaddr*>(&address), length, host.data(), host.size(), port.data(), port.size(),
                NI_NUMERICHOST | NI_NUMERICSERV);
  return {host.data(), port.data()};
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

}  // namespace

Result<Listener> listen_for_ranks(bool loopback_only) {
  Listener out{bind_to(loopback_only), {}};
  if (!out.socket.is_open() || ::listen(out.socket.get(), SOMAXCONN) != 0)
    return fail_errno("the connection server cannot listen on a TCP port");
  const Place place = place_of(out.socket.get());
  out.addresses = fmt::format("{} {}", place.port, loopback_only ? place.address : interface_addresses());
  return out;
}

Result<std::optional<boot::Frame>> receive_frame(int socket, boot::FrameReader& reader) {
  constexpr std::size_t chunk = 2048;
  const ssize_t got = ::recv(socket, reader.reserve(chunk), chunk, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (got <= 0) return fail(Errc::peer_lost, "the connection has ended");
  reader.commit(static_cast<std::size_t>(got));
  return reader.next();
}

}  // namespace rmq::launch
