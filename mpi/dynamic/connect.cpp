// SPDX-License-Identifier: BSD-3-Clause
// Chapter 11.9: MPI_Comm_accept, MPI_Comm_connect, MPI_Comm_join, and the ports they need.
#include "mpi/dynamic/connect.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <list>

#include "engine/call/error_codes.hpp"
#include "engine/comm/by_line.hpp"
#include "engine/life/life.hpp"
#include "engine/object/deaths.hpp"
#include "engine/worlds/intercomm.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

/// Touched with the device held.
std::list<std::shared_ptr<Port>>& ports() {
  static auto* const all = new std::list<std::shared_ptr<Port>>;
  return *all;
}

void check_time(const Limit& limit, const char* who) {
  if (limit && std::chrono::steady_clock::now() > *limit)
    fail_call(MPI_ERR_PORT, fmt::format("{} has come to the port in time (info key timeout)", who));
}

void check_root(const Comm& c, int root) {
  if (root < 0 || root >= c.size()) detail::bad_root(c, root);
}

/// A line over a socket of the user's: one end opens a port with a key that both have agreed on there.
std::unique_ptr<Line> join(int fd) {
  int type = 0;
  socklen_t length = sizeof type;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM)
    fail_call(MPI_ERR_ARG, fmt::format("argument fd ({}) is no stream socket", fd));
  const int own = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) fail_call(MPI_ERR_OTHER, fmt::format("no descriptor for fd {} (see ulimit -n)", fd));
  const std::unique_ptr<Line> line = Line::join(own);
  const auto end = [](const Error& e) { fail_call(MPI_ERR_OTHER, "argument fd: " + e.what); };
  await_fd(own, false, [&] {
    const auto open = line->step();
    if (!open) end(open.error());
    return *open;
  });
  if (line->first()) {
    auto port = Port::open(runtime().device->config().tcp_interface, &line->secret());
    if (!port) fail_call(MPI_ERR_OTHER, port.error().what);
    line->say((*port)->name());
    await_fd(own, true, [&] {
      const auto left = line->flush();
      if (!left) end(left.error());
      return *left;
    });
    // What is left on the socket is the user's, who may go on at the other end as soon as that has come.
    return await_caller(**port, {}, [&] {
      char next = 0;
      if (::recv(own, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        fail_call(MPI_ERR_OTHER, "argument fd: the other side has hung up");
    });
  }
  std::string name;
  await_fd(own, false, [&] {
    const auto word = line->hear();
    if (!word) end(word.error());
    if (*word) name = **word;
    return word->has_value();
  });
  return call_port(name, {}, &line->secret());
}

}  // namespace

std::shared_ptr<Port> open_port(Port::Callers callers) {
  auto port = Port::open(runtime().device->config().tcp_interface, nullptr, callers);
  if (!port) fail_call(MPI_ERR_OTHER, port.error().what);
  return ports().emplace_back(std::move(*port));
}

std::shared_ptr<Port> find_port(std::string_view name) {
  for (const auto& port : ports())
    if (port->name() == name) return port;
  return nullptr;
}

void close_port(std::string_view name) {
  std::erase_if(ports(), [&](const auto& port) { return port->name() == name; });
}

Limit limit_of(const Info* info) {
  if (!info) return {};
  for (const auto& [key, value] : info->entries) {
    if (key != "timeout") continue;
    char* end = nullptr;
    const double seconds = std::strtod(value.c_str(), &end);
    if (end == value.c_str() || *end != '\0' || !(seconds >= 0 && seconds < 1e9))
      fail_call(MPI_ERR_INFO_VALUE, fmt::format("timeout='{}' is no number of seconds", value));
    return std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<long>(seconds * 1000));
  }
  return {};
}

/// MPI leaves it to us how long MPI_Comm_connect waits for somebody to accept (MPI-4.1, section 11.9.3), but not for
/// ever.
Limit limit_of_call(const Info* info) {
  constexpr std::chrono::seconds kPatience{120};
  const Limit wanted = limit_of(info);
  return wanted ? wanted : std::chrono::steady_clock::now() + kPatience;
}

void at_root(Comm& c, int root, const std::function<void()>& what) {
  std::vector<std::uint64_t> word{MPI_SUCCESS};
  if (c.rank != root) {
    broadcast(party_behind(c, root), word);
    if (word.at(0) == MPI_SUCCESS) return;
    Failure failure{class_of_code(static_cast<int>(word[0])),
                    fmt::format("the root (rank {}) has failed; it says why", root)};
    failure.is_known = true;
    throw failure;
  }
  try {
    what();
  } catch (Failure& f) {
    word[0] = static_cast<std::uint64_t>(f.code);
    broadcast(party_behind(c, root), word);
    f.is_known = true;
    throw;
  } catch (...) {
    word[0] = MPI_ERR_INTERN;
    broadcast(party_behind(c, root), word);
    throw;
  }
  broadcast(party_behind(c, root), word);
}

std::unique_ptr<Line> await_caller(Port& port, const Limit& limit, const std::function<void()>& failed) {
  std::unique_ptr<Line> line;
  await_fd(port.fd(), false, [&] {
    line = port.accept();
    if (!line) check_time(limit, "nobody");
    if (!line && failed) failed();
    return line != nullptr;
  });
  return line;
}

std::unique_ptr<Line> call_port(std::string_view name, const Limit& limit, const Secret* key,
                                const std::function<void()>& failed) {
  auto call = Call::to(name, key);
  if (!call) fail_call(MPI_ERR_PORT, call.error().what);
  std::unique_ptr<Line> line;
  const auto step = [&] {
    auto open = (*call)->step();
    if (!open) fail_call(MPI_ERR_PORT, open.error().what);
    line = std::move(*open);
  };
  step();
  while (!line) {
    const int fd = (*call)->fd();
    await_fd(fd, (*call)->is_connecting(), [&] {
      step();
      if (!line) check_time(limit, "nobody who accepts");
      if (!line && failed) failed();
      return line != nullptr || (*call)->fd() != fd;
    });
  }
  return line;
}

MPI_Comm connect_by(Comm& c, int root, const std::function<std::unique_ptr<Line>(Comm& own)>& find) {
  return create_intercomm(c, root, [&](Comm& own) {
    Way way;
    way.line = find(own);
    way.bridge.line = way.line.get();
    return way;
  });
}

RMQ_MPI(int, Open_port, (MPI_Info info, char* port_name)) {
  return enter([&] {
    optional_info_arg(info);
    out(port_name, "port_name");
    const std::string& name = open_port(Port::Callers::anywhere)->name();
    RMQ_CHECK(name.size() < MPI_MAX_PORT_NAME);
    port_name[name.copy(port_name, name.size())] = '\0';
  });
}

RMQ_MPI(int, Close_port, (const char* port_name)) {
  return enter([&] {
    if (!find_port(out(port_name, "port_name")))
      fail_call(MPI_ERR_PORT, fmt::format("'{}' (argument port_name) is no open port of this process", port_name));
    close_port(port_name);
  });
}

RMQ_MPI(int, Comm_accept, (const char* port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm)) {
  return enter(comm, [&](Comm& c) {
    *out(newcomm, "newcomm") = MPI_COMM_NULL;
    if (c.is_inter()) fail_call(MPI_ERR_COMM, "argument comm is an inter-communicator");
    check_root(c, root);
    connect_job();
    *newcomm = connect_by(c, root, [&](Comm& own) {
      std::unique_ptr<Line> line;
      at_root(own, root, [&] {
        const std::shared_ptr<Port> port = find_port(out(port_name, "port_name"));
        if (!port)
          fail_call(MPI_ERR_PORT, fmt::format("'{}' (argument port_name) is no open port of this process", port_name));
        line = await_caller(*port, limit_of(optional_info_arg(info)), [&] {
          ft::check_whole(own);
          if (!find_port(port->name())) fail_call(MPI_ERR_PORT, "another thread has closed the port");
        });
      });
      return line;
    });
  });
}

RMQ_MPI(int, Comm_connect, (const char* port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm)) {
  return enter(comm, [&](Comm& c) {
    *out(newcomm, "newcomm") = MPI_COMM_NULL;
    if (c.is_inter()) fail_call(MPI_ERR_COMM, "argument comm is an inter-communicator");
    check_root(c, root);
    connect_job();
    *newcomm = connect_by(c, root, [&](Comm& own) {
      std::unique_ptr<Line> line;
      at_root(own, root, [&] {
        line = call_port(out(port_name, "port_name"), limit_of_call(optional_info_arg(info)), nullptr,
                         [&] { ft::check_whole(own); });
      });
      return line;
    });
  });
}

RMQ_MPI(int, Comm_join, (int fd, MPI_Comm* intercomm)) {
  return enter([&] {
    *out(intercomm, "intercomm") = MPI_COMM_NULL;
    connect_job();
    *intercomm = connect_by(*runtime().self, 0, [&](Comm&) { return join(fd); });
  });
}

}  // namespace rmq::mpi
