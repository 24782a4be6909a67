// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/names.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <random>
#include <utility>

namespace rmq::launch {
namespace {

constexpr std::chrono::seconds kPatience{1};            // with launchers that do not answer
constexpr std::chrono::milliseconds kBetweenCalls{20};  // of one whose callers wait in a queue that is full
constexpr std::size_t kLongestPort = 4096;              // bytes; MPI_MAX_PORT_NAME is far less

// A name may be longer than that of a socket.
std::uint64_t hash(std::string_view text, std::uint64_t h) {
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

std::string address_of(std::string_view service) {
  return fmt::format("rmq/name/{}/{:016x}{:016x}", ::getuid(), hash(service, 0xcbf29ce484222325u),
                     hash(service, 0x9e3779b97f4a7c15u));
}

std::string random_letters() {
  std::random_device source;
  return fmt::format("{:08x}{:08x}", source(), source());
}

}  // namespace

Names::~Names() {
  for (const auto& [id, search] : searches_)
    for (const Candidate& candidate : search.candidates)
      if (candidate.socket.is_open()) loop_.forget(candidate.socket.get());
}

// ---- publishing ----------------------------------------------------------------------------------------------------

void Names::publish(const std::string& service, const std::string& port, int owner, Published published) {
  settle(service, port, owner, false, published);
}

// The name itself can be had by one only, which decides between two that publish at once; where a stranger has it, who
// else has published is looked for before and behind it.
void Names::settle(const std::string& service, const std::string& port, int owner, bool name_is_taken,
                   const Published& published) {
  search(service, [=, this](const std::optional<std::string>& other) {
    if (other || names_.contains(service))
      return published(fail(Errc::argument, fmt::format("the name '{}' has been published already", service)));
    const std::string address = address_of(service) + (name_is_taken ? "/" + random_letters() : "");
    auto socket = listen_at(address, SOMAXCONN);
    if (!socket) {
      if (!name_is_taken) return settle(service, port, owner, true, published);
      return published(tl::unexpected(socket.error()));
    }
    auto acceptor = std::make_unique<Acceptor>(loop_, std::move(*socket), [port](UniqueFd caller) {
      // A port's name is far shorter than what an empty socket takes at once.
      if (peer_of(caller.get()).uid == ::getuid())
        static_cast<void>(::send(caller.get(), port.data(), port.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
    });
    names_[service] = {std::move(acceptor), port, owner};
    published({});
  });
}

Result<void> Names::unpublish(const std::string& service) {
  if (names_.erase(service) == 0)
    return fail(Errc::argument, fmt::format("this job has not published the name '{}'", service));
  return {};
}

// ---- looking up ----------------------------------------------------------------------------------------------------

void Names::look_up(const std::string& service, Found found) {
  if (const auto own = names_.find(service); own != names_.end()) return found(own->second.port);
  search(service, [service, found = std::move(found)](std::optional<std::string> port) {
    if (port) return found(*std::move(port));
    found(fail(Errc::argument, fmt::format("nobody has published the name '{}'", service)));
  });
}

void Names::search(const std::string& service, std::function<void(std::optional<std::string> port)> done) {
  const SearchId id = next_search_++;
  Search& one = searches_[id];
  one.done = std::move(done);
  for (std::string& address : names_with(address_of(service))) one.candidates.push_back({std::move(address), {}, {}});
  if (!one.candidates.empty()) timers_.after(kPatience, [this, id] { conclude(id, std::nullopt); });
  call_all(id);
}

void Names::call_all(SearchId id) {
  const auto found = searches_.find(id);
  if (found == searches_.end()) return;
  auto& candidates = found->second.candidates;
  bool any_is_busy = false;
  for (auto at = candidates.begin(); at != candidates.end();) {
    const auto candidate = at++;
    if (candidate->socket.is_open()) continue;
    switch (call(candidate->address, false, candidate->socket)) {
      case Reached::yes:
        loop_.watch(candidate->socket.get(), EPOLLIN, [this, id, candidate](std::uint32_t) { hear(id, candidate); });
        break;
      case Reached::busy:
        any_is_busy = true;
        break;
      case Reached::nobody:
        candidates.erase(candidate);
    }
  }
  if (candidates.empty()) return conclude(id, std::nullopt);
  if (any_is_busy) timers_.after(kBetweenCalls, [this, id] { call_all(id); });
}

void Names::hear(SearchId id, std::list<Candidate>::iterator candidate) {
  std::array<char, 512> bytes;
  const ssize_t got = ::recv(candidate->socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) candidate->port.append(bytes.data(), static_cast<std::size_t>(got));
  if (got > 0 && candidate->port.size() <= kLongestPort) return;
  if (got == 0 && !candidate->port.empty()) return conclude(id, candidate->port);
  loop_.forget(candidate->socket.get());
  auto& candidates = searches_.at(id).candidates;
  candidates.erase(candidate);
  if (candidates.empty()) conclude(id, std::nullopt);
}

void Names::conclude(SearchId id, std::optional<std::string> port) {
  auto search = searches_.extract(id);
  if (search.empty()) return;
  for (const Candidate& candidate : search.mapped().candidates)
    if (candidate.socket.is_open()) loop_.forget(candidate.socket.get());
  search.mapped().done(std::move(port));
}

}  // namespace rmq::launch
