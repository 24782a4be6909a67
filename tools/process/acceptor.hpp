// SPDX-License-Identifier: BSD-3-Clause
// Listening sockets of a launcher process, and names in the abstract namespace of UNIX sockets. Such a name is
// anybody's to take, so whoever calls one asks the kernel whose it is, and nobody waits for it: nothing here blocks.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tools/process/fd.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

/// Accepts callers from the event loop, so many at a time that a crowd of them leaves the loop time for others. Without
/// descriptors it stops listening for a moment, as the socket stays readable all the while.
class Acceptor {
 public:
  /// The caller's socket does not block. This must not end the Acceptor.
  using Called = std::function<void(UniqueFd caller)>;

  Acceptor(EventLoop& loop, UniqueFd socket, Called called);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

 private:
  void listen();
  void accept_some();

  EventLoop& loop_;
  Timers timers_;
  UniqueFd socket_;
  const Called called_;
  bool listens_ = false;
};

/// Whether a socket was not to be had, with this errno, for want of a descriptor or of memory: there may be some soon.
bool is_exhausted(int error);

/// A stream socket that listens at this abstract name (without its leading zero byte). Errc::system, with errno
/// EADDRINUSE where somebody has the name.
Result<UniqueFd> listen_at(const std::string& name, int backlog);

/// The abstract names of this host (this network namespace) that begin so, each once, from /proc/net/unix.
std::vector<std::string> names_with(const std::string& start);

/// Who is at the other end of a connected UNIX socket, or was when it began to listen.
ucred peer_of(int socket);

/// How a call has gone: the socket is connected to a process of this user's (or root's, where that is good enough);
/// so many others call that it may be tried again; or nobody listens there whom we listen to.
enum class Reached { yes, busy, nobody };
Reached call(const std::string& name, bool root_too, UniqueFd& socket);

}  // namespace rmq::launch
