// SPDX-License-Identifier: BSD-3-Clause
// A non-blocking TCP socket as the method uses it.
//
// Boost.Asio owns the descriptor, sets the options and names endpoints and errors. Its reactor is never run: the device
// sleeps on the doorbell, which has to see every descriptor itself, and each further epoll registration of a socket
// costs 0.17 us a message (of 3.2). So rmq_tcp is built with BOOST_ASIO_DISABLE_EPOLL, and sockets stand in no set but
// tcp/ready_set.hpp's. Descriptors are made here rather than by Asio because Asio leaves them open across exec, which
// would hide a rank's death while one of its children lives.
#pragma once

#include <sys/uio.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tcp/address.hpp"

namespace rmq::tcp {

using Socket = boost::asio::ip::tcp::socket;
using Acceptor = boost::asio::ip::tcp::acceptor;
using ErrorCode = boost::system::error_code;

/// What a transfer came to.
struct Moved {
  std::size_t bytes = 0;
  int error = 0;       // errno, EAGAIN when the socket would block; 0 when bytes moved or the stream ended
  bool ended = false;  // reading: the peer has shut down its side
};

/// A new socket for the endpoint's family: non-blocking, closed on exec, with kernel buffers of `buffer` bytes each way
/// (0: 256 KB over loopback, else left to the system, which follows the network's delay). `ec` tells why not.
Socket open_socket(boost::asio::io_context& io, const Endpoint& endpoint, std::uint64_t buffer, ErrorCode& ec);

/// Starts connecting. True: under way or done; then writability and connect_result() tell.
bool start_connect(Socket& socket, const Endpoint& endpoint, ErrorCode& ec);
ErrorCode connect_result(Socket& socket);
/// Whether something may be done with it now: written, or else read. That the first can, tells that connect_result()
/// is known.
bool is_ready(int fd, bool to_write);

/// Whether all that was written to the connected socket has come to the other machine, where it waits to be read.
bool has_arrived(int fd);

/// The next caller waiting at `acceptor`; `ec` is would_block when there is none.
Socket accept_socket(boost::asio::io_context& io, Acceptor& acceptor, ErrorCode& ec);

/// For a connected socket: no delay for small packets, and, between machines, an end with ETIMEDOUT when the other
/// machine has answered nothing for two fifths of `silence` (ns): the kernel asks it once a second (keep-alive), and
/// waits no longer for an answer to data (TCP_USER_TIMEOUT). It is the peer's kernel that answers, whatever the rank
/// does. But data that a rank does not read for so long, because it computes, ends the connection too; then it is made
/// again.
void tune(Socket& socket, std::uint64_t silence);

/// Sends or receives as much as the socket takes now: one system call (more only when a signal interrupts it). The
/// pieces must not be empty. write() of one piece is the fast path: send() is cheaper than sendmsg().
Moved write(int fd, const void* data, std::size_t bytes);
Moved write(int fd, std::span<iovec> pieces);
Moved read(int fd, void* data, std::size_t bytes);
Moved read(int fd, std::span<iovec> pieces);

}  // namespace rmq::tcp
