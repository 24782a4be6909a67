// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/address.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <charconv>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>

namespace rmq::tcp {
namespace {

namespace ip = boost::asio::ip;

constexpr std::size_t kMostInterfaces = 4;  // besides the loopback: each costs every rank a descriptor

std::optional<Address> address_of(const sockaddr* from) {
  if (from == nullptr) return std::nullopt;
  if (from->sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, from, sizeof in);
    return ip::address_v4(ntohl(in.sin_addr.s_addr));
  }
  if (from->sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, from, sizeof in);
    ip::address_v6::bytes_type bytes;
    std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
    return ip::address_v6(bytes, in.sin6_scope_id);
  }
  return std::nullopt;
}

// Link-local addresses need a scope that means nothing on another machine.
bool is_publishable(const Address& address) {
  return !address.is_v6() || !address.to_v6().is_link_local();
}

// The first IPv4 and the first IPv6 address that `fits`, so that a rank costs two file descriptors at most.
template <class Fits>
std::vector<Address> first_of_each_family(std::span<const Interface> interfaces, Fits fits) {
  std::vector<Address> chosen;
  for (const bool v6 : {false, true}) {
    const auto found = std::ranges::find_if(interfaces, [&](const Interface& one) {
      return one.up && one.address.is_v6() == v6 && is_publishable(one.address) && fits(one);
    });
    if (found != interfaces.end()) chosen.push_back(found->address);
  }
  return chosen;
}

std::string list_text(std::span<const Interface> interfaces) {
  std::string text;
  for (const Interface& one : interfaces) {
    text +=
        fmt::format("{}{} {}{}", text.empty() ? "" : ", ", one.name, one.address.to_string(), one.up ? "" : " (down)");
  }
  return text.empty() ? "no interface at all" : text;
}

// Whether `text` is written as a network or an address; then whether `address` lies inside.
struct Network {
  std::optional<ip::network_v4> v4;
  std::optional<ip::network_v6> v6;
  bool contains(const Address& address) const {
    if (address.is_v4()) return v4 && ip::network_v4(address.to_v4(), v4->prefix_length()).canonical() == *v4;
    return v6 && ip::network_v6(ip::address_v6(address.to_v6().to_bytes()), v6->prefix_length()).canonical() == *v6;
  }
};

std::optional<Network> parse_network(std::string_view text) {
  boost::system::error_code ec;
  std::string cidr(text);
  if (cidr.find('/') == std::string::npos) {
    const Address address = ip::make_address(cidr, ec);
    if (ec) return std::nullopt;
    cidr += address.is_v4() ? "/32" : "/128";
  }
  if (const auto v4 = ip::make_network_v4(cidr, ec); !ec) return Network{v4.canonical(), std::nullopt};
  if (const auto v6 = ip::make_network_v6(cidr, ec); !ec) return Network{std::nullopt, v6.canonical()};
  return std::nullopt;
}

}  // namespace

Result<std::vector<Interface>> list_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return fail_errno("cannot list the network interfaces");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  std::vector<Interface> found;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (const auto address = address_of(one->ifa_addr)) {
      constexpr unsigned kWorks = IFF_UP | IFF_RUNNING;  // with a cable that is plugged in
      found.push_back({one->ifa_name, *address, (one->ifa_flags & kWorks) == kWorks});
    }
  }
  return found;
}

Result<std::vector<Address>> choose_addresses(std::string_view wanted, bool one_host,
                                              std::span<const Interface> interfaces) {
  if (wanted.empty()) {
    auto chosen = first_of_each_family(interfaces, [](const Interface& one) { return one.address.is_loopback(); });
    if (chosen.size() > 1) chosen.resize(1);  // everybody on this machine can reach the first one
    if (one_host && !chosen.empty()) return chosen;
    // Which of them leads to a peer nobody knows before it is tried.
    std::vector<std::string_view> outer;
    for (const Interface& one : interfaces) {
      if (!one.up || one.address.is_loopback() || !is_publishable(one.address)) continue;
      if (outer.size() == kMostInterfaces || std::ranges::find(outer, one.name) != outer.end()) continue;
      outer.push_back(one.name);
      const auto more =
          first_of_each_family(interfaces, [&](const Interface& other) { return other.name == one.name; });
      chosen.insert(chosen.end(), more.begin(), more.end());
    }
    if (!chosen.empty()) return chosen;
    return fail(Errc::config, "method tcp finds no interface that is up; there is " + list_text(interfaces));
  }
  if (const auto comma = wanted.find(','); comma != std::string_view::npos) {
    auto first = choose_addresses(wanted.substr(0, comma), one_host, interfaces);
    auto others = choose_addresses(wanted.substr(comma + 1), one_host, interfaces);
    if (!first) return others;  // an interface that is down is not missed while there is another
    for (const Address& one : others ? *others : std::vector<Address>{}) {
      if (std::ranges::find(*first, one) == first->end()) first->push_back(one);
    }
    return first;
  }
  const auto network = parse_network(wanted);
  auto chosen = first_of_each_family(
      interfaces, [&](const Interface& one) { return network ? network->contains(one.address) : one.name == wanted; });
  if (!chosen.empty()) return chosen;
  return fail(Errc::config, fmt::format("RMQ_TCP_INTERFACE: no interface that is up {} {}; there is {}",
                                        network ? "has an address in" : "is called", wanted, list_text(interfaces)));
}

std::string machine_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  if (boot.empty()) {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    boot = name;
  }
  struct stat space {};
  if (::stat("/proc/self/ns/net", &space) == 0) boot += fmt::format("/{}", space.st_ino);
  return boot;
}

std::string to_text(const Endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", address, endpoint.port())
                                    : fmt::format("{}:{}", address, endpoint.port());
}

std::string format_place(const Place& place) {
  std::string text = "1 " + place.machine;
  for (const Endpoint& endpoint : place.endpoints) text += " " + to_text(endpoint);
  return text;
}

namespace {

template <class Bytes>
int common_bits(const Bytes& one, const Bytes& other) {
  const auto [a, b] = std::ranges::mismatch(one, other);
  if (a == one.end()) return static_cast<int>(8 * one.size());
  return static_cast<int>(8 * (a - one.begin())) + std::countl_zero(static_cast<unsigned char>(*a ^ *b));
}

int common_bits(const Address& one, const Address& other) {
  if (one.is_v6() != other.is_v6()) return 0;
  return one.is_v4() ? common_bits(one.to_v4().to_bytes(), other.to_v4().to_bytes())
                     : common_bits(one.to_v6().to_bytes(), other.to_v6().to_bytes());
}

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  if (const auto [rest, bad] = std::from_chars(text.data() + colon + 1, end, port); bad != std::errc{} || rest != end) {
    return std::nullopt;
  }
  boost::system::error_code ec;
  const Address address = ip::make_address(std::string(host), ec);
  if (ec || port == 0) return std::nullopt;
  return Endpoint(address, port);
}

}  // namespace

Result<Place> parse_place(std::string_view text) {
  const auto damaged = [&] { return fail(Errc::protocol, fmt::format("\"{}\" is no place of a tcp listener", text)); };
  std::vector<std::string_view> words;
  for (std::string_view rest = text; !rest.empty();) {
    const auto space = std::min(rest.find(' '), rest.size());
    words.push_back(rest.substr(0, space));
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
  if (words.size() < 3 || words[0] != "1") return damaged();
  Place place{std::string(words[1]), {}};
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto endpoint = parse_endpoint(words[i]);
    if (!endpoint) return damaged();
    place.endpoints.push_back(*endpoint);
  }
  return place;
}

std::vector<Endpoint> usable(const Place& place, std::string_view machine) {
  std::vector<Endpoint> near, far;
  for (const Endpoint& endpoint : place.endpoints) {
    (endpoint.address().is_loopback() ? near : far).push_back(endpoint);
  }
  if (place.machine != machine) return far;
  near.insert(near.end(), far.begin(), far.end());
  return near;
}

void prefer(std::vector<Endpoint>& endpoints, const Address& good) {
  std::ranges::stable_sort(endpoints, std::greater{},
                           [&](const Endpoint& one) { return common_bits(one.address(), good); });
}

}  // namespace rmq::tcp
