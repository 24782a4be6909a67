// SPDX-License-Identifier: BSD-3-Clause
#include "tools/process/acceptor.hpp"

#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>

namespace rmq::launch {

namespace {

constexpr int kShare = 16;                        // callers accepted before the loop goes on
constexpr std::chrono::milliseconds kMoment{50};  // until descriptors may have come free

socklen_t address_of(sockaddr_un& address, const std::string& name) {
  address = {};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), size);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
}

UniqueFd make_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

Acceptor::Acceptor(EventLoop& loop, UniqueFd socket, Called called)
    : loop_(loop), timers_(loop), socket_(std::move(socket)), called_(std::move(called)) {
  listen();
}

Acceptor::~Acceptor() {
  if (listens_) loop_.forget(socket_.get());
}

void Acceptor::listen() {
  listens_ = loop_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t) { accept_some(); });
}

void Acceptor::accept_some() {
  for (int i = 0; i < kShare; ++i) {
    UniqueFd caller(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (caller.is_open()) {
      called_(std::move(caller));
      continue;
    }
    if (!is_exhausted(errno)) return;
    loop_.forget(socket_.get());
    listens_ = false;
    timers_.after(kMoment, [this] { listen(); });
    return;
  }
}

bool is_exhausted(int error) {
  return os::lacks_descriptors(error) || error == ENOBUFS || error == ENOMEM;
}

Result<UniqueFd> listen_at(const std::string& name, int backlog) {
  UniqueFd socket = make_socket();
  if (!socket.is_open()) return fail_errno("no socket to listen (see ulimit -n)");
  sockaddr_un address;
  const socklen_t length = address_of(address, name);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(socket.get(), backlog) != 0)
    return fail_errno("cannot listen at " + name);
  return socket;
}

std::vector<std::string> names_with(const std::string& start) {
  std::vector<std::string> out;
  const std::string wanted = " @" + start;
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);)
    if (const std::size_t at = line.find(wanted); at != std::string::npos) out.push_back(line.substr(at + 2));
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

ucred peer_of(int socket) {
  ucred peer{0, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
  socklen_t size = sizeof peer;
  ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return peer;
}

Reached call(const std::string& name, bool root_too, UniqueFd& socket) {
  UniqueFd fresh = make_socket();
  if (!fresh.is_open()) return is_exhausted(errno) ? Reached::busy : Reached::nobody;
  sockaddr_un address;
  const socklen_t length = address_of(address, name);
  if (::connect(fresh.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
    return errno == EAGAIN ? Reached::busy : Reached::nobody;
  const uid_t who = peer_of(fresh.get()).uid;
  if (who != ::getuid() && !(root_too && who == 0)) return Reached::nobody;
  socket = std::move(fresh);
  return Reached::yes;
}

}  // namespace rmq::launch
