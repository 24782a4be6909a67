// SPDX-License-Identifier: BSD-3-Clause
// Where ranks can be reached: the interfaces of this machine, the choice among them, and the text under which a rank
// publishes its place ("tcp.<rank>" on the bootstrap).
//
// A place is a machine's identity and the endpoints of the listener there. Endpoints on a loopback address mean
// something only to ranks of the same machine and network namespace; `usable` sorts them out. Hosts of a job may be
// pretended
// (--host-split), so the job's host indices are no proof of being apart.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace rmq::tcp {

using Address = boost::asio::ip::address;
using Endpoint = boost::asio::ip::tcp::endpoint;

/// One address of one interface. An interface with several addresses appears several times.
struct Interface {
  std::string name;
  Address address;
  bool up = false;
};

/// All IPv4 and IPv6 addresses of this machine in the system's order. Errc::system when it refuses to tell.
Result<std::vector<Interface>> list_interfaces();

/// The addresses to listen on. `wanted` is Config::tcp_interface: an interface's name, a network (10.0.0.0/8, ::1/128)
/// or an address, or several of these with commas between; of each at most one address of each family is chosen, IPv4
/// first, and callers try them in that order. Those of a list that fit nothing are left out. Empty: loopback and,
/// unless `one_host`, also the first four other interfaces that are up, in the system's order. Errc::config, with a
/// list of what there is, when nothing fits.
Result<std::vector<Address>> choose_addresses(std::string_view wanted, bool one_host,
                                              std::span<const Interface> interfaces);

/// This machine, this boot, this network namespace; no spaces inside.
std::string machine_identity();

struct Place {
  std::string machine;
  std::vector<Endpoint> endpoints;
};

/// "1 <machine> 127.0.0.1:4711 [fd00::2]:4711" and back. Errc::protocol when the text makes no sense.
std::string format_place(const Place& place);
Result<Place> parse_place(std::string_view text);

/// "127.0.0.1:4711", "[::1]:4711"
std::string to_text(const Endpoint& endpoint);

/// The place's endpoints that a process on `machine` can call, the nearest first. May be empty.
std::vector<Endpoint> usable(const Place& place, std::string_view machine);

/// Puts first what has most leading bits in common with `good`, else keeps the order: hosts whose addresses are alike
/// are joined by the same network, as a rule.
void prefer(std::vector<Endpoint>& endpoints, const Address& good);

}  // namespace rmq::tcp
