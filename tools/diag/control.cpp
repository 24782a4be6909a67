#include "tools/diag/control.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <utility>

#include "tools/process/reap.hpp"

namespace rmq::launch {

namespace {

std::string name_start() {
  return fmt::format("rmq-job/{}/", ::getuid());
}

socklen_t address_of(sockaddr_un& address, const std::string& job) {
  address = {};
  address.sun_family = AF_UNIX;
  // A leading zero byte puts the name in the abstract namespace.
  const auto end = fmt::format_to_n(address.sun_path + 1, sizeof address.sun_path - 1, "{}{}", name_start(), job);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + std::min(end.size, sizeof address.sun_path - 1));
}

UniqueFd make_socket(int flags) {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
}

// Who is at the other end.
ucred peer_of(int socket) {
  ucred peer{0, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
  socklen_t size = sizeof peer;
  ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return peer;
}

bool is_friend(uid_t user) {
  return user == ::getuid() || user == 0;
}

// A launcher answers within the patience of an inquiry (1.5 s); one that is stopped never does.
constexpr timeval longest_silence{5, 0};

UniqueFd connect_to(const std::string& job) {
  UniqueFd socket = make_socket(0);
  for (const int direction : {SO_RCVTIMEO, SO_SNDTIMEO})
    ::setsockopt(socket.get(), SOL_SOCKET, direction, &longest_silence, sizeof longest_silence);
  sockaddr_un address;
  const socklen_t length = address_of(address, job);
  const bool reached =
      socket.is_open() && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0;
  // The name is anybody's to take: what another user says there is not listened to.
  if (!reached || !is_friend(peer_of(socket.get()).uid)) socket.reset();
  return socket;
}

}  // namespace

std::unique_ptr<Control> Control::open(EventLoop& loop, const std::string& job, Asked asked) {
  UniqueFd listener = make_socket(SOCK_NONBLOCK);
  sockaddr_un address;
  const socklen_t length = address_of(address, job);
  if (!listener.is_open() || ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(listener.get(), 8) != 0)
    return nullptr;
  return std::unique_ptr<Control>(new Control(loop, std::move(listener), std::move(asked)));
}

Control::Control(EventLoop& loop, UniqueFd listener, Asked asked)
    : loop_(loop), listener_(std::move(listener)), asked_(std::move(asked)) {
  loop_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept(); });
}

Control::~Control() {
  loop_.forget(listener_.get());
  for (const auto& client : clients_) loop_.forget(client->socket.get());
}

void Control::accept() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.is_open() || !is_friend(peer_of(socket.get()).uid)) return;
  auto client = std::make_shared<Client>();
  client->socket = std::move(socket);
  clients_.push_back(client);
  const std::weak_ptr<Client> weak = client;
  loop_.watch(client->socket.get(), EPOLLIN, [this, weak](std::uint32_t) {
    if (const auto c = weak.lock()) on_ready(c);
  });
}

void Control::on_ready(const std::shared_ptr<Client>& who) {
  Client& client = *who;
  std::array<char, 64> said;
  const ssize_t got = ::recv(client.socket.get(), said.data(), said.size(), MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return drop(client);
  if (got > 0 && !std::exchange(client.has_asked, true)) {
    asked_([this, weak = std::weak_ptr<Client>(who)](std::string_view document) {
      const auto c = weak.lock();
      if (!c) return;
      c->outgoing = document;
      loop_.change(c->socket.get(), EPOLLIN | EPOLLOUT);
    });
  }
  if (client.outgoing.empty()) return;
  const ssize_t sent =
      ::send(client.socket.get(), client.outgoing.data(), client.outgoing.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0) client.outgoing.erase(0, static_cast<std::size_t>(sent));
  if ((sent < 0 && errno != EAGAIN && errno != EINTR) || client.outgoing.empty()) drop(client);
}

void Control::drop(Client& client) {
  loop_.forget(client.socket.get());
  clients_.remove_if([&](const auto& c) { return c.get() == &client; });
}

std::vector<std::string> list_jobs() {
  std::vector<std::string> out;
  const std::string start = " @" + name_start();
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    const std::size_t at = line.find(start);
    if (at != std::string::npos) out.push_back(line.substr(at + start.size()));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Result<std::string> ask_job(const std::string& job) {
  const UniqueFd socket = connect_to(job);
  if (!socket.is_open())
    return fail(Errc::argument, fmt::format("there is no job {} of yours on this host; rmqps lists them", job));
  ::send(socket.get(), "?", 1, MSG_NOSIGNAL);
  std::string out;
  std::array<char, 16 * 1024> chunk;
  for (;;) {
    const ssize_t got = ::recv(socket.get(), chunk.data(), chunk.size(), 0);
    if (got > 0) out.append(chunk.data(), static_cast<std::size_t>(got));
    if (got == 0) return out;
    if (got < 0 && errno == EAGAIN) {
      const pid_t launcher = peer_of(socket.get()).pid;
      return fail(Errc::system, fmt::format("the launcher of job {} (process {}, {}) has not answered for {} s", job,
                                            launcher, process_state(launcher), longest_silence.tv_sec));
    }
    if (got < 0 && errno != EINTR) return fail_errno(fmt::format("job {} ended while it was asked", job));
  }
}

pid_t launcher_of(const std::string& job) {
  const UniqueFd socket = connect_to(job);
  return socket.is_open() ? peer_of(socket.get()).pid : 0;
}

}  // namespace rmq::launch
