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

#include "base/bootstrap_env.hpp"
#include "base/line.hpp"
#include "base/os/children.hpp"
#include "base/os/clock.hpp"

namespace rmq {
namespace {

constexpr std::size_t kMostCallers = 64;           // whose proof is not there yet; more wait to be let in …
constexpr std::uint64_t kSilence = 1'000'000'000;  // … until the oldest have said nothing for so long, ns
constexpr std::size_t kMostAddresses = 4;          // a name has 255 characters

std::string text_of(const sockaddr_in& a) {
  char text[INET_ADDRSTRLEN];
  ::inet_ntop(AF_INET, &a.sin_addr, text, sizeof text);
  return text;
}

// Loopback first: who lives here gets there, and others fail at once and try the next.
std::vector<sockaddr_in> choose(std::string_view interface) {
  std::vector<sockaddr_in> out;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return out;
  for (const ifaddrs* i = all; i; i = i->ifa_next) {
    if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || (i->ifa_flags & IFF_UP) == 0) continue;
    sockaddr_in a{};
    std::memcpy(&a, i->ifa_addr, sizeof a);
    const bool wanted = interface.empty() || interface == i->ifa_name || interface == text_of(a);
    const bool loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
    if (wanted && out.size() < kMostAddresses) out.insert(loopback ? out.begin() : out.end(), a);
  }
  ::freeifaddrs(all);
  return out;
}

}  // namespace

Result<std::unique_ptr<Port>> Port::open(std::string_view interface, const Secret* key) {
  std::unique_ptr<Port> port(new Port);
  if (key != nullptr)
    port->key_ = *key;
  else
    boot::fill_random(port->key_);
  port->epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (port->epoll_ < 0) return fail_errno("no descriptor for a port (see ulimit -n)");
  auto addresses = choose(interface);
  // A network, as RMQ_TCP_INTERFACE may name one, says nothing about single addresses here.
  if (addresses.empty()) addresses = choose("");
  std::string places;
  for (sockaddr_in a : addresses) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return fail_errno("no socket for a port (see ulimit -n)");
    os::keep_from_children(fd);
    port->listeners_.push_back(fd);
    a.sin_port = 0;
    socklen_t length = sizeof a;
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&a), length) != 0 || ::listen(fd, SOMAXCONN) != 0 ||
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &length) != 0) {
      return fail_errno(fmt::format("cannot listen on {}", text_of(a)));
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    ::epoll_ctl(port->epoll_, EPOLL_CTL_ADD, fd, &event);
    places += fmt::format("{}{}:{}", places.empty() ? "" : ",", text_of(a), ntohs(a.sin_port));
  }
  if (port->listeners_.empty()) return fail(Errc::system, "no interface with an IPv4 address is up: a port needs one");
  port->name_ = fmt::format("rmq1:{}@{}", key != nullptr ? "" : boot::to_hex(port->key_), places);
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
