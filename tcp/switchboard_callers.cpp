// SPDX-License-Identifier: BSD-3-Clause
// The called side of the switchboard.
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/os/clock.hpp"
#include "tcp/switchboard.hpp"
#include "tcp/switchboard_parts.hpp"

namespace rmq::tcp {
namespace {

constexpr std::size_t kUnmarked = 64;  // callers without the mark of a member that are heard at once
constexpr int kAnswersAtOnce = 64;

}  // namespace

// Whether there is one.
bool Switchboard::keep_spare() {
  if (spare_ < 0) spare_ = ::eventfd(0, EFD_CLOEXEC);  // of any kind
  return spare_ >= 0;
}

void Switchboard::give_spare() {
  if (spare_ >= 0) ::close(spare_);
  spare_ = -1;
}

void Switchboard::answer(std::size_t listener_index) {
  if (!listener_) return;
  for (int i = 0; i < kAnswersAtOnce; ++i) {
    if (static_cast<int>(held_.size()) >= held_most()) return listen_later();
    ErrorCode ec;
    Socket socket = listener_->accept(setup_.io, listener_index, ec);
    if (out_of_descriptors(ec) && keep_spare()) {
      give_spare();
      socket = listener_->accept(setup_.io, listener_index, ec);
    }
    if (ec == boost::asio::error::would_block) return;
    if (out_of_descriptors(ec) || ec == boost::asio::error::no_memory || ec == boost::asio::error::no_buffer_space) {
      return listen_later();
    }
    if (ec) continue;  // that caller has given up already
    tune(socket, setup_.silence);
    make_room();
    const std::uint32_t id = next_id_++;
    const auto [place, fresh] = incoming_.try_emplace(
        id, Incoming{Greeting(std::move(socket), Handshake::called(setup_.identity), false, setup_.silence),
                     os::now_ns() + setup_.time_limit});
    if (!setup_.ready.add(place->second.greeting.fd(), {Tag::Sort::incoming, id})) {
      incoming_.erase(place);
    } else {
      hear(id);  // a member has said its first word already
    }
  }
}

// Callers stay in the backlog. Looking away for a while keeps a sleeping rank from spinning on them.
void Switchboard::listen_later() {
  for (std::size_t k = 0; k < listener_->size(); ++k) setup_.ready.remove(listener_->fd(k));
  deaf_until_ = os::now_ns() + kLongestPause;
}

void Switchboard::listen_again() {
  if (deaf_until_ == 0 || !listener_) return;
  deaf_until_ = 0;
  for (std::size_t i = 0; i < listener_->size(); ++i) {
    setup_.ready.remove(listener_->fd(i));
    if (!setup_.ready.add(listener_->fd(i), listener_tag(i))) deaf_until_ = os::now_ns() + kLongestPause;
  }
}

// Who has the mark is not pushed out by who has none; only a crowd that replays recorded marks makes the oldest go.
void Switchboard::make_room() {
  const auto is_unmarked = [](const auto& one) { return one.second.greeting.peer() == kNoRank; };
  const auto unmarked = static_cast<std::size_t>(std::ranges::count_if(incoming_, is_unmarked));
  const bool full = incoming_.size() >= static_cast<std::size_t>(setup_.identity.size) + kUnmarked;
  if (unmarked < kUnmarked && !full) return;
  if (unmarked == 0) return drop(incoming_.begin());
  const std::uint32_t oldest = std::ranges::find_if(incoming_, is_unmarked)->first;
  hear(oldest);  // its first word may have come since
  const auto place = incoming_.find(oldest);
  if (place != incoming_.end() && is_unmarked(*place)) drop(place);
}

void Switchboard::hear(std::uint32_t id) {
  const auto place = incoming_.find(id);
  if (place == incoming_.end()) return;
  Incoming& caller = place->second;
  auto state = caller.greeting.step();
  if (state == Greeting::State::proven) {
    judge(id, caller);
    state = caller.greeting.step();
    if (state == Greeting::State::proven) return;  // it waits for room
  }
  if (state == Greeting::State::talking) {
    setup_.ready.change(caller.greeting.fd(), {Tag::Sort::incoming, id}, caller.greeting.wants_write());
    return;
  }
  const Rank peer = caller.greeting.peer();
  const bool accepted = caller.connection != 0;
  if (state != Greeting::State::open) {
    drop(place);
    if (accepted) setup_.keeper.on_interrupted(peer);
    return;
  }
  setup_.ready.remove(caller.greeting.fd());
  Opened opened{caller.greeting.take_socket(), "?", caller.greeting.session(), caller.greeting.theirs().received,
                caller.connection};
  incoming_.erase(place);
  ErrorCode ec;
  const Endpoint from = opened.socket.remote_endpoint(ec);
  if (!ec) {
    opened.address = to_text(from);
    remember(from);
  }
  setup_.keeper.on_connected(peer, std::move(opened));
}

// The caller has proved that it is the rank it claims to be.
void Switchboard::judge(std::uint32_t id, Incoming& incoming) {
  Greeting& greeting = incoming.greeting;
  const Rank from = greeting.peer();
  const auto own = outgoing_.find(from);
  switch (setup_.keeper.answer(from, greeting.session(), greeting.theirs().connection)) {
    case Verdict::lost:
      return turned_away_.contains(from) ? turn_away(incoming) : greeting.reject(Handshake::kLost);
    case Verdict::stale:
      // Our own call has won, and the other side, which has accepted it before, does not hear this any more; or it has
      // never heard that we have accepted an earlier call, and calls once more.
      return greeting.reject(Handshake::kStale, setup_.keeper.last_connection(from));
    case Verdict::accept:
      break;
  }
  const bool under_way = own != outgoing_.end() && own->second.greeting && !own->second.greeting->connecting();
  if (under_way && setup_.identity.self < from) return greeting.reject(Handshake::kGivesWay);
  if (own != outgoing_.end()) give_way(own->second);
  if (!keep_spare()) return turn_away(incoming);
  if ((own == outgoing_.end() || !own->second.has_place()) && !has_room(held_most())) {
    setup_.ready.remove(greeting.fd());  // or it would be reported for ever if it hangs up
    held_.push_back(id);
    return;
  }
  turned_away_.erase(from);
  forget(from);
  const Past past = setup_.keeper.give_up_connection(from, greeting.theirs().connection);
  incoming.connection = past.connection;
  greeting.accept(past);
}

void Switchboard::turn_away(Incoming& incoming) {
  const Rank from = incoming.greeting.peer();
  incoming.greeting.reject(Handshake::kNoDescriptor);
  const std::uint64_t now = os::now_ns(), since = turned_away_.try_emplace(from, now).first->second;
  if (setup_.keeper.is_settled(from) || now - since < setup_.time_limit / 2) return;
  const std::string trouble = "its call finds no file descriptor left here; raise the limit (ulimit -n)";
  setup_.keeper.on_unreachable(from, {Errc::peer_lost, fmt::format("rank {} cannot be reached: {}", from, trouble)},
                               trouble);
}

void Switchboard::drop(std::map<std::uint32_t, Incoming>::iterator incoming) {
  setup_.ready.remove(incoming->second.greeting.fd());
  incoming_.erase(incoming);
}

}  // namespace rmq::tcp
