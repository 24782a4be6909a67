// SPDX-License-Identifier: BSD-3-Clause
// The side of the port: listening, and the choice among callers.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/os/children.hpp"
#include "base/os/clock.hpp"
#include "base/os/fd.hpp"
#include "start/bootstrap_env.hpp"
#include "start/line.hpp"

namespace rmq {
namespace {

constexpr std::size_t kMostCallers = 64;           // whose proof is not there yet; more wait to be let in …
constexpr std::uint64_t kSilence = 1'000'000'000;  // … until the oldest have said nothing for so long, ns
constexpr std::size_t kMostAddresses = 4;
constexpr std::size_t kLongestName = 255;  // MPI_MAX_PORT_NAME is one more

struct Address {
  sockaddr_storage place{};
  socklen_t length = 0;
  bool is_loopback = false;
  int family() const { return place.ss_family; }
  const sockaddr* any() const { return reinterpret_cast<const sockaddr*>(&place); }
  sockaddr* any() { return reinterpret_cast<sockaddr*>(&place); }
};

std::string text_of(const Address& a) {
  char text[INET6_ADDRSTRLEN] = "";
  const void* const bytes = a.family() == AF_INET
                                ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(a.place).sin_addr)
                                : &reinterpret_cast<const sockaddr_in6&>(a.place).sin6_addr;
  ::inet_ntop(a.family(), bytes, text, sizeof text);
  return text;
}

// Those of IPv6 that mean something on one link only are nobody's to call from elsewhere.
std::optional<Address> address_of(const ifaddrs& i) {
  if (i.ifa_addr == nullptr || (i.ifa_flags & IFF_UP) == 0) return {};
  const int family = i.ifa_addr->sa_family;
  if (family != AF_INET && family != AF_INET6) return {};
  Address a;
  a.length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::memcpy(&a.place, i.ifa_addr, a.length);
  if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6&>(a.place).sin6_addr)) return {};
  a.is_loopback = (i.ifa_flags & IFF_LOOPBACK) != 0;
  return a;
}

// Loopback first: who lives here gets there, and others fail at once and try the next. One of it is enough, and IPv4
// comes before IPv6, as long as there is room.
std::vector<Address> choose(std::string_view interface, Port::Callers callers) {
  std::vector<Address> all;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return all;
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next)
    if (const auto a = address_of(*i); a && (interface.empty() || interface == i->ifa_name || interface == text_of(*a)))
      all.push_back(*a);
  ::freeifaddrs(list);
  const auto place = [](const Address& a) { return (a.is_loopback ? 0 : 2) + (a.family() == AF_INET6); };
  std::ranges::stable_sort(all, {}, place);
  std::vector<Address> out;
  for (const Address& a : all) {
    if (a.is_loopback && !out.empty()) continue;
    if (!a.is_loopback && !out.empty() && callers == Port::Callers::on_this_machine) break;
    if (out.size() < kMostAddresses) out.push_back(a);
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<Port>> Port::open(std::string_view interface, const Secret* key, Callers callers) {
  std::unique_ptr<Port> port(new Port);
  if (key != nullptr)
    port->key_ = *key;
  else
    boot::fill_random(port->key_);
  port->epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (port->epoll_ < 0) return fail_errno("no descriptor for a port (see ulimit -n)");
  auto addresses = choose(interface, callers);
  // A network, as RMQ_TCP_INTERFACE may name one, says nothing about single addresses here.
  if (addresses.empty()) addresses = choose("", callers);
  port->name_ = fmt::format("rmq1:{}@", key != nullptr ? "" : boot::to_hex(port->key_));
  std::string trouble = "no interface with an address is up: a port needs one";
  for (Address a : addresses) {
    const int fd = ::socket(a.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return fail_errno("no socket for a port (see ulimit -n)");
    // One that cannot be had, as IPv6 has them while it looks for their like, leaves the others.
    if (::bind(fd, a.any(), a.length) != 0 || ::listen(fd, SOMAXCONN) != 0 ||
        ::getsockname(fd, a.any(), &a.length) != 0) {
      trouble = fmt::format("cannot listen on {}: {}", text_of(a), std::strerror(errno));
      ::close(fd);
      continue;
    }
    os::keep_from_children(fd);
    port->listeners_.push_back(fd);
    const bool is_6 = a.family() == AF_INET6;
    const int number = ntohs(is_6 ? reinterpret_cast<const sockaddr_in6&>(a.place).sin6_port
                                  : reinterpret_cast<const sockaddr_in&>(a.place).sin_port);
    const std::string place = fmt::format("{}{}{}{}:{}", port->listeners_.size() > 1 ? "," : "", is_6 ? "[" : "",
                                          text_of(a), is_6 ? "]" : "", number);
    if (port->name_.size() + place.size() > kLongestName) break;
    port->name_ += place;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    ::epoll_ctl(port->epoll_, EPOLL_CTL_ADD, fd, &event);
  }
  if (port->listeners_.empty()) return fail(Errc::system, trouble);
  return port;
}

Port::~Port() {
  for (const int fd : listeners_) ::close(fd);
  callers_.clear();
  proven_.clear();
  if (epoll_ >= 0) ::close(epoll_);
}

// As many as there is room for. Those that have not proved themselves for a while make room: nobody who knows the key
// takes that long once this side has spoken, which it has when it has looked at them here.
void Port::let_in() {
  const std::uint64_t now = os::now_ns();
  for (const int listener : listeners_) {
    while (callers_.size() < kMostCallers || now - callers_.front().since > kSilence) {
      const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      // Without descriptors the listener stays readable all the while: the oldest makes room.
      if (fd < 0 && os::lacks_descriptors(errno) && !callers_.empty()) callers_.pop_front();
      if (fd < 0) break;
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.fd = fd;
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
      if (callers_.size() >= kMostCallers) callers_.pop_front();
      callers_.push_back({Line::answer(fd, key_), now});
    }
  }
}

std::unique_ptr<Line> Port::accept() {
  for (auto at = callers_.begin(); at != callers_.end();) {
    const auto open = at->line->step();
    if (open && !*open) {
      ++at;
      continue;
    }
    if (open) {
      ::epoll_ctl(epoll_, EPOLL_CTL_DEL, at->line->fd(), nullptr);
      proven_.push_back(std::move(at->line));
    }
    at = callers_.erase(at);
  }
  let_in();
  while (!proven_.empty()) {
    std::unique_ptr<Line> line = std::move(proven_.front());
    proven_.pop_front();
    if (line->ended()) continue;
    line->take_call();
    return line;
  }
  return nullptr;
}

}  // namespace rmq
