#include "tools/launch/names.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace rmq::launch {
namespace {

// A name may be longer than that of a socket.
std::uint64_t hash(std::string_view text, std::uint64_t h) {
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

socklen_t address_of(sockaddr_un& address, std::string_view service) {
  address = {};
  address.sun_family = AF_UNIX;
  const auto end = fmt::format_to_n(address.sun_path + 1, sizeof address.sun_path - 1, "rmq/name/{}/{:016x}{:016x}",
                                    ::getuid(), hash(service, 0xcbf29ce484222325u), hash(service, 0x9e3779b97f4a7c15u));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + end.size);
}

bool is_ours(int socket) {
  ucred other{};
  socklen_t length = sizeof other;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0 && other.uid == ::getuid();
}

}  // namespace

Result<void> Names::publish(const std::string& service, const std::string& port, int owner) {
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un address;
  const socklen_t length = address_of(address, service);
  if (!listener.is_open()) return fail_errno("no socket for a name (see ulimit -n)");
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0) {
    return fail(Errc::argument, fmt::format("the name '{}' has been published already", service));
  }
  loop_.watch(listener.get(), EPOLLIN, [this, service](std::uint32_t) { answer(service); });
  names_[service] = {std::move(listener), port, owner};
  return {};
}

void Names::answer(const std::string& service) {
  const Name& name = names_.at(service);
  for (int fd; (fd = ::accept4(name.listener.get(), nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
    const UniqueFd caller(fd);
    // A port's name is far shorter than what an empty socket takes at once.
    if (is_ours(fd)) static_cast<void>(::send(fd, name.port.data(), name.port.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  }
}

Result<void> Names::unpublish(const std::string& service) {
  const auto found = names_.find(service);
  if (found == names_.end()) return fail(Errc::argument, fmt::format("the name '{}' has not been published", service));
  loop_.forget(found->second.listener.get());
  names_.erase(found);
  return {};
}

void Names::forget(int owner) {
  std::erase_if(names_, [&](const auto& entry) {
    if (entry.second.owner != owner) return false;
    loop_.forget(entry.second.listener.get());
    return true;
  });
}

Result<std::string> Names::look_up(const std::string& service) const {
  if (const auto own = names_.find(service); own != names_.end()) return own->second.port;
  const auto nobody = [&] { return fail(Errc::argument, fmt::format("nobody has published the name '{}'", service)); };
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address;
  const socklen_t length = address_of(address, service);
  // Launchers never keep each other waiting for long: they do nothing else that waits.
  const timeval patience{2, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (!socket.is_open() || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      !is_ours(socket.get()))
    return nobody();
  std::string port;
  char bytes[512];
  for (ssize_t got; (got = ::recv(socket.get(), bytes, sizeof bytes, 0)) > 0;)
    port.append(bytes, static_cast<std::size_t>(got));
  if (port.empty()) return nobody();
  return port;
}

}  // namespace rmq::launch
