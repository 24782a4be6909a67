// SPDX-License-Identifier: BSD-3-Clause
// The calling side of the switchboard.
#include <algorithm>
#include <utility>

#include "base/os/clock.hpp"
#include "tcp/switchboard.hpp"
#include "tcp/switchboard_parts.hpp"

namespace rmq::tcp {
namespace {

constexpr std::uint64_t kShortestTry = 250 * kMillisecond;  // far longer than a way there and back

Tag outgoing_tag(Rank to) {
  return {Tag::Sort::outgoing, static_cast<std::uint32_t>(to)};
}

}  // namespace

void Switchboard::dial(Rank to, Outgoing& call) {
  const std::vector<Endpoint>& endpoints = call.known->endpoints;
  const Endpoint& endpoint = endpoints[call.next];
  call.at = to_text(endpoint);
  ErrorCode ec;
  Socket socket = open_socket(setup_.io, endpoint, setup_.buffer, ec);
  if (ec || !start_connect(socket, endpoint, ec)) {
    call.refused_now = ec == boost::asio::error::connection_refused;
    return try_failed(
        to, call, out_of_descriptors(ec) ? "no file descriptor left here; raise the limit (ulimit -n)" : ec.message());
  }
  // A machine that is there answers at once, whatever the rank does. Which of several addresses leads there is found
  // out by rounds of short tries: one that leads nowhere, without a word, costs little. The rounds grow longer.
  const std::uint64_t now = os::now_ns(), limit = call.again ? setup_.silence / 2 : setup_.time_limit;
  std::uint64_t patience = limit;
  if (endpoints.size() > 1) patience = std::min(limit / (2 * endpoints.size()), kShortestTry << call.round);
  call.connect_by = now + patience;
  call.stands_from = now + limit;
  if (call.again) call.connect_by = std::min(call.connect_by, call.give_up_at);
  call.greeting.emplace(std::move(socket),
                        Handshake::calling(setup_.identity, to, setup_.keeper.next_call(to, call.later)), true,
                        setup_.silence);
  if (auto added = setup_.ready.add(call.greeting->fd(), outgoing_tag(to), true); !added) {
    call.greeting.reset();
    try_failed(to, call, added.error().what);
  }
}

void Switchboard::advance(Rank to) {
  const auto place = outgoing_.find(to);
  if (place == outgoing_.end() || !place->second.greeting) return;
  Outgoing& call = place->second;
  switch (call.greeting->step()) {
    case Greeting::State::talking:
      setup_.ready.change(call.greeting->fd(), outgoing_tag(to), call.greeting->wants_write());
      break;
    case Greeting::State::open: {
      setup_.ready.remove(call.greeting->fd());
      const Past theirs = call.greeting->theirs();
      Opened opened{call.greeting->take_socket(), std::move(call.at), call.greeting->session(), theirs.received,
                    theirs.connection};
      auto& endpoints = call.known->endpoints;
      std::rotate(endpoints.begin(), endpoints.begin() + static_cast<std::ptrdiff_t>(call.next),
                  endpoints.begin() + static_cast<std::ptrdiff_t>(call.next) + 1);
      call.known->first_is_good = true;
      remember(endpoints.front());
      outgoing_.erase(place);
      setup_.keeper.on_connected(to, std::move(opened));
      break;
    }
    case Greeting::State::rejected:
      rejected(to, call);
      break;
    default:
      try_failed(to, call, call.greeting->trouble());
      break;
  }
}

void Switchboard::rejected(Rank to, Outgoing& call) {
  switch (call.greeting->reason()) {
    case Handshake::kGivesWay:
      return give_way(call);
    case Handshake::kNoDescriptor:
      return try_failed(to, call, "it has no file descriptor left; raise its limit (ulimit -n)");
    case Handshake::kLost:
      hang_up(call);
      call.trouble = "it has lost this rank";
      call.hopeless = true;
      call.retry_at = os::now_ns();
      return;
    default:
      call.later = call.greeting->later();
      return try_failed(to, call, "it refuses the connection");
  }
}

// The other side is calling. If its call does not come through, ours is repeated: it may have died meanwhile.
void Switchboard::give_way(Outgoing& call) {
  hang_up(call);
  call.awaited = true;
  call.retry_at = os::now_ns() + std::min(setup_.time_limit, call.again ? setup_.silence / 5 : setup_.time_limit);
}

void Switchboard::try_failed(Rank to, Outgoing& call, std::string why) {
  const std::uint64_t now = os::now_ns();
  // A connection that broke after it had stood for longer than the limit shows that the rank was there: what failed
  // before is forgotten.
  const bool stood = call.greeting && !call.greeting->connecting() && now > call.stands_from;
  if (stood && !call.greeting->trouble().empty()) call.give_up_at = call.again ? now + setup_.silence : 0;
  const std::size_t tried = call.next++;
  const bool refused = std::exchange(call.refused_now, false) || (call.greeting && call.greeting->refused());
  call.refused += refused;
  hang_up(call);
  call.trouble = std::move(why);
  // Who was there and does not listen any more has ended; so has who does not when all have come to the end. Of several
  // addresses some may mean other machines elsewhere, but not the one that was good.
  const std::size_t all = call.known->endpoints.size();
  const bool ended =
      (call.again || ending_) && (call.refused == all || (refused && tried == 0 && call.known->first_is_good));
  if (call.next < all && !ended) {
    dial(to, call);
    return;
  }
  call.next = call.refused = 0;
  call.round = std::min(call.round + 1, 10);
  call.pause = std::clamp(call.pause * 2, kShortestPause, kLongestPause);
  call.retry_at = now + call.pause;
  if (call.give_up_at == 0) call.give_up_at = now + setup_.time_limit;
  call.hopeless = ended || now >= call.give_up_at;
  if (call.hopeless) call.retry_at = now;
}

void Switchboard::remember(const Endpoint& endpoint) {
  if (!endpoint.address().is_loopback()) good_ = endpoint.address();
}

void Switchboard::hang_up(Outgoing& call) {
  if (call.greeting) setup_.ready.remove(call.greeting->fd());
  call.greeting.reset();
}

}  // namespace rmq::tcp
