// SPDX-License-Identifier: BSD-3-Clause
#include "tools/diag/control.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "tools/process/reap.hpp"

namespace rmq::launch {

namespace {

std::string name_start() {
  return fmt::format("rmq-job/{}/", ::getuid());
}

// A launcher answers within the patience of an inquiry (1.5 s); one that is stopped never does.
constexpr std::chrono::seconds longest_silence{5};
// For launchers whose callers wait in a queue that is full. Names are anybody's to take, so that all of a list together
// have no more.
constexpr std::chrono::milliseconds longest_queue{500};

using Deadline = std::chrono::steady_clock::time_point;

UniqueFd connect_to(const std::string& job, Deadline deadline) {
  UniqueFd socket;
  while (call(name_start() + job, true, socket) == Reached::busy && std::chrono::steady_clock::now() < deadline)
    ::poll(nullptr, 0, 10);
  return socket;
}

}  // namespace

std::unique_ptr<Control> Control::open(EventLoop& loop, const std::string& job, Asked asked) {
  auto socket = listen_at(name_start() + job, 8);
  if (!socket) return nullptr;
  return std::unique_ptr<Control>(new Control(loop, std::move(*socket), std::move(asked)));
}

Control::Control(EventLoop& loop, UniqueFd socket, Asked asked)
    : loop_(loop),
      asked_(std::move(asked)),
      acceptor_(loop, std::move(socket), [this](UniqueFd caller) { accept(std::move(caller)); }) {}

Control::~Control() {
  for (const auto& client : clients_) loop_.forget(client->socket.get());
}

void Control::accept(UniqueFd socket) {
  const uid_t user = peer_of(socket.get()).uid;
  if (user != ::getuid() && user != 0) return;
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

std::vector<Running> list_jobs() {
  const std::string start = name_start();
  const Deadline deadline = std::chrono::steady_clock::now() + longest_queue;
  std::vector<Running> out;
  for (const std::string& name : names_with(start)) {
    const std::string job = name.substr(start.size());
    if (const UniqueFd socket = connect_to(job, deadline); socket.is_open())
      out.push_back({job, peer_of(socket.get()).pid});
  }
  return out;
}

Result<std::string> ask_job(const std::string& job) {
  const UniqueFd socket = connect_to(job, std::chrono::steady_clock::now() + longest_queue);
  if (!socket.is_open())
    return fail(Errc::argument, fmt::format("there is no job {} of yours on this host; rmqps lists them", job));
  ::send(socket.get(), "?", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  std::string out;
  std::array<char, 16 * 1024> chunk;
  for (;;) {
    if (!wait_for(socket.get(), POLLIN, longest_silence)) {
      const pid_t launcher = peer_of(socket.get()).pid;
      return fail(Errc::system, fmt::format("the launcher of job {} (process {}, {}) has not answered for {} s", job,
                                            launcher, process_state(launcher), longest_silence.count()));
    }
    const ssize_t got = ::recv(socket.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (got > 0) out.append(chunk.data(), static_cast<std::size_t>(got));
    if (got == 0) return out;
    if (got < 0 && errno != EINTR && errno != EAGAIN)
      return fail_errno(fmt::format("job {} ended while it was asked", job));
  }
}

}  // namespace rmq::launch
