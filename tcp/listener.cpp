// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/listener.hpp"

#include <fmt/format.h>

#include <boost/asio/ip/v6_only.hpp>

namespace rmq::tcp {
namespace {

namespace asio = boost::asio;

// One step of setting up after the other, as long as none has failed.
Result<Acceptor> listen_at(asio::io_context& io, const Endpoint& endpoint, std::uint64_t buffer) {
  ErrorCode ec;
  Socket made = open_socket(io, endpoint, buffer, ec);
  Acceptor acceptor(io);
  if (!ec) acceptor.assign(endpoint.protocol(), made.release(ec), ec);
  // So that a fixed port can be used again at once; two listeners on one port stay impossible.
  if (!ec) acceptor.set_option(Acceptor::reuse_address(true), ec);
  if (!ec && endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(true), ec);
  if (!ec) acceptor.bind(endpoint, ec);
  if (!ec) acceptor.listen(Acceptor::max_listen_connections, ec);
  if (!ec) return acceptor;
  const std::string what = fmt::format("cannot listen on {}: {}", to_text(endpoint), ec.message());
  if (ec == asio::error::address_in_use) {
    return fail(Errc::config, what + "; set RMQ_TCP_PORT to a free range, or to 0 for any free port");
  }
  if (ec == asio::error::access_denied) return fail(Errc::config, what + "; set RMQ_TCP_PORT to 1024 or above");
  return fail(Errc::system, what);
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(asio::io_context& io, std::span<const Address> addresses,
                                                 std::uint16_t port, std::uint64_t buffer) {
  std::unique_ptr<Listener> listener(new Listener);
  for (const Address& address : addresses) {
    auto acceptor = listen_at(io, Endpoint(address, port), buffer);
    if (!acceptor) return tl::unexpected(std::move(acceptor.error()));
    ErrorCode ec;
    const Endpoint bound = acceptor->local_endpoint(ec);
    if (ec) return fail(Errc::system, "cannot tell the port of a listener: " + ec.message());
    listener->endpoints_.push_back(bound);
    listener->acceptors_.push_back(std::move(*acceptor));
  }
  return listener;
}

Socket Listener::accept(asio::io_context& io, std::size_t index, ErrorCode& ec) {
  return accept_socket(io, acceptors_[index], ec);
}

}  // namespace rmq::tcp
