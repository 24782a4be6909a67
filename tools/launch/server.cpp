// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/os/clock.hpp"
#include "start/bootstrap_env.hpp"

namespace rmq::launch {

using boot::FrameKind;

Server::Server(EventLoop& loop, int size, Upcalls& upcalls) : upcalls_(upcalls) {
  for (int rank = 0; rank < size; ++rank) peers_.emplace_back(loop);
}

void Server::add(int rank, UniqueFd socket) {
  ++connected_;
  peer(rank).connected = true;
  peer(rank).line.open(
      std::move(socket), [this, rank](const boot::Frame& frame) { handle(rank, frame); },
      [this, rank](const std::string& damage) {
        if (damage.empty()) return hear_end(rank);
        hear_damage(rank, damage);
      });
}

void Server::add_remote(int rank, Route& via) {
  ++connected_;
  peer(rank).connected = true;
  peer(rank).via = &via;
}

void Server::hear(int rank, const boot::Frame& frame) {
  if (is_connected(rank)) handle(rank, frame);
}

void Server::hear_end(int rank) {
  if (!is_connected(rank)) return;
  disconnect(rank);
  upcalls_.on_disconnect(rank);
  check_absent();
}

void Server::hear_damage(int rank, std::string_view what) {
  disconnect(rank);
  upcalls_.on_violation(rank, what);
}

void Server::disconnect(int rank) {
  Peer& p = peer(rank);
  if (!std::exchange(p.connected, false)) return;
  p.line.close();
  --connected_;
}

void Server::drain(int rank) {
  peer(rank).line.drain();
}

void Server::handle(int rank, const boot::Frame& frame) {
  boot::BodyReader body(frame.body);
  if (peer(rank).state != RankState::joined && frame.kind != FrameKind::hello) {
    send(rank, boot::encode(FrameKind::refused, "a start-up call outside of MPI_Init … MPI_Finalize"));
    return;
  }
  switch (frame.kind) {
    case FrameKind::hello:
      return on_hello(rank, frame.body);
    case FrameKind::put:
      return on_put(rank, frame.body);
    case FrameKind::get:
      return on_get(rank, frame.body);
    case FrameKind::wish:
      return on_wish(rank, frame.body);
    case FrameKind::wish_part:
      peer(rank).wish += frame.body;
      return;
    case FrameKind::fence:
      return on_fence(rank, frame.body);
    case FrameKind::clock: {
      const std::uint64_t now = os::now_ns();
      std::string text(sizeof now, '\0');
      std::memcpy(text.data(), &now, sizeof now);  // little-endian, as this machine (base/packet/packet.hpp insists)
      return send(rank, boot::encode(FrameKind::time, text));
    }
    case FrameKind::abort:
    case FrameKind::lost: {
      const int code = static_cast<int>(body.u32());
      upcalls_.on_abort(rank, body.ok() ? code : 1, body.rest(), frame.kind == FrameKind::lost);
      return;
    }
    case FrameKind::answer: {
      const std::uint32_t number = body.u32();
      return upcalls_.on_answer(rank, number, body.rest());
    }
    case FrameKind::accuse: {
      const int accused = static_cast<int>(body.u32());
      const std::string_view job = body.short_text();
      const bool exists = !job.empty() || (accused >= 0 && accused < static_cast<int>(peers_.size()));
      if (body.ok() && exists) upcalls_.on_accuse(rank, job, accused, body.rest());
      return;
    }
    case FrameKind::finalize:
      peer(rank).state = RankState::finalized;
      return depart(rank);
    default:
      disconnect(rank);
      upcalls_.on_violation(
          rank, fmt::format("it sent frame {}, which only the server may send", static_cast<int>(frame.kind)));
  }
}

void Server::on_hello(int rank, std::string_view body) {
  boot::BodyReader reader(body);
  const std::uint32_t version = reader.u32();
  const std::uint32_t claimed = reader.u32();
  if (!reader.done() || version != boot::wire_version) {
    disconnect(rank);
    upcalls_.on_violation(
        rank, fmt::format("its library speaks version {} of the start-up protocol, this launcher {}; use the "
                          "rmqrun that belongs to the library",
                          version, boot::wire_version));
  } else if (claimed != static_cast<std::uint32_t>(rank) || peer(rank).state != RankState::silent) {
    send(rank,
         boot::encode(FrameKind::refused, "a second MPI program in one rank; start each with an rmqrun of its own"));
  } else {
    peer(rank).state = RankState::joined;
    RankLine& line = peer(rank).line;
    const pid_t sender = line.sender();
    if (line.is_open()) line.forget_senders();
    any_joined_ = true;
    for (const std::string& note : death_notes_) send(rank, note);
    upcalls_.on_join(rank, sender);
    check_absent();
  }
}

void Server::on_put(int rank, std::string_view body) {
  boot::BodyReader reader(body);
  const std::string_view key = reader.short_text();
  if (!reader.ok() || key.empty()) {
    disconnect(rank);
    upcalls_.on_violation(rank, "it sent a damaged put");
    return;
  }
  if (const auto found = board_.find(key); found != board_.end() && found->second.published) {
    send(rank, boot::encode(FrameKind::refused, fmt::format("the start-up key '{}' was published twice", key)));
    return;
  }
  publish(key, reader.rest());
}

void Server::publish(std::string_view key, std::string_view value) {
  Entry& entry = board_[std::string(key)];
  if (entry.published) return;
  entry.published = true;
  entry.value = value;
  for (const int waiting : std::exchange(entry.waiting, {})) send(waiting, boot::encode_value(key, entry.value));
  for (Route* waiting : std::exchange(entry.routes, {})) waiting->value(key, entry.value);
}

void Server::answer(int rank, std::string_view key, std::string_view text) {
  send(rank, boot::encode_value(key, text));
}

void Server::publish_hosts(const Hosts& hosts) {
  if (hosts.is_one()) return;
  const auto table = boot::host_table(hosts);
  for (std::size_t part = 0; part < table.size(); ++part) publish(boot::host_table_key(part), table[part]);
}

void Server::on_wish(int rank, std::string_view body) {
  boot::BodyReader reader(body);
  const std::string what(reader.short_text());
  const std::string text = std::exchange(peer(rank).wish, {}) + std::string(reader.rest());
  if (!reader.ok()) {
    disconnect(rank);
    return upcalls_.on_violation(rank, "it sent a damaged wish");
  }
  if (upcalls_.on_wish(rank, what, text)) return;
  const auto wish = nlohmann::json::parse(text, nullptr, false);
  if (!wish.is_object() || !wish.contains("answer") || !wish["answer"].is_string()) return;
  answer(rank, wish["answer"].get<std::string>(), nlohmann::json{{"error", "this launcher cannot do that"}}.dump());
}

void Server::on_get(int rank, std::string_view key) {
  Entry& entry = board_[std::string(key)];
  if (entry.published) {
    send(rank, boot::encode_value(key, entry.value));
  } else {
    entry.waiting.push_back(rank);
  }
}

void Server::hear_get(Route& via, std::string_view key) {
  Entry& entry = board_[std::string(key)];
  if (entry.published) return via.value(key, entry.value);
  if (std::ranges::find(entry.routes, &via) == entry.routes.end()) entry.routes.push_back(&via);
}

void Server::hear_fence(Route& via, int ranks) {
  via.in_fence += ranks;
  fence_arrived_ += ranks;
  finish_fence();
}

void Server::forget(const Route& via) {
  for (auto& [key, entry] : board_) std::erase(entry.routes, &via);
  for (Peer& p : peers_)
    if (p.via == &via && std::exchange(p.connected, false)) --connected_;
}

void Server::on_fence(int rank, std::string_view body) {
  if (peer(rank).in_fence) {
    send(rank, boot::encode(FrameKind::refused, "two fences of one rank at once"));
    return;
  }
  peer(rank).in_fence = true;
  fence_is_last_ = fence_is_last_ || !body.empty();
  fence_more_ = fence_more_ || body == "1";
  ++fence_arrived_;
  finish_fence();
}

// Opens the fence when all have come who live.
void Server::finish_fence() {
  if (fence_arrived_ == 0) return;
  if (fence_arrived_ < static_cast<int>(peers_.size()) - dead_) return check_fence();
  if (!fence_is_last_) return open_fence({});
  if (upcalls_.on_all_leaving()) let_leave(fence_more_);
}

bool Server::all_leaving() const {
  return fence_is_last_ && fence_arrived_ > 0 && fence_arrived_ == static_cast<int>(peers_.size()) - dead_;
}

void Server::let_leave(bool any_goes_on) {
  fence_is_last_ = fence_more_ = false;
  open_fence(any_goes_on ? "1" : "");
}

void Server::open_fence(std::string_view body) {
  fence_arrived_ = 0;
  const std::string done = boot::encode(FrameKind::fence_done, body);
  std::vector<Route*> routes;
  for (std::size_t r = 0; r < peers_.size(); ++r) {
    Peer& p = peers_[r];
    if (p.via == nullptr ? p.in_fence : p.state != RankState::dead) p.met = true;
    if (std::exchange(p.in_fence, false)) {
      send(static_cast<int>(r), done);
    } else if (p.via != nullptr && std::exchange(p.via->in_fence, 0) > 0) {
      routes.push_back(p.via);
    }
  }
  for (Route* route : routes) route->fence_done();
}

void Server::depart(int rank) {
  if (peer(rank).departed) return;
  peer(rank).departed = true;
  ++departed_;
  check_fence();
  check_absent();
}

void Server::bury(int rank, std::string_view how) {
  Peer& p = peer(rank);
  if (p.state == RankState::dead) return;
  p.state = RankState::dead;
  ++dead_;
  if (p.in_fence) --fence_arrived_;
  p.in_fence = false;
  tell_death({}, rank, how);
  depart(rank);
  finish_fence();
}

void Server::tell_death(std::string_view jobs, int rank, std::string_view how) {
  const std::string& note = death_notes_.emplace_back(boot::encode_fate(FrameKind::gone, jobs, rank, how));
  for (std::size_t r = 0; r < peers_.size(); ++r)
    if (peers_[r].state == RankState::joined) send(static_cast<int>(r), note);
}

// Finds that somebody will not come.
void Server::check_fence() {
  if (fence_arrived_ == 0 || departed_ <= dead_) return;
  for (std::size_t r = 0; r < peers_.size(); ++r)
    if (peers_[r].departed && peers_[r].state != RankState::dead && !peers_[r].in_fence &&
        (peers_[r].via == nullptr || peers_[r].via->in_fence == 0))
      return upcalls_.on_violation(static_cast<int>(r),
                                   "it left while other ranks wait for it in MPI_Init or MPI_Finalize");
}

// MPI ends when all ranks do, so one that will never begin is missed, at the latest then. While its socket is open, a
// descendant of its process may still call MPI_Init.
void Server::check_absent() {
  if (!any_joined_ || departed_ == 0) return;
  for (std::size_t r = 0; r < peers_.size(); ++r)
    if (peers_[r].departed && peers_[r].state == RankState::silent && !peers_[r].connected)
      return upcalls_.on_violation(static_cast<int>(r),
                                   "it left without calling MPI_Init, which other ranks have called");
}

void Server::end(int code, std::string_view why) {
  const std::string frame = boot::encode_code(FrameKind::end, code, why);
  for (std::size_t r = 0; r < peers_.size(); ++r) send(static_cast<int>(r), frame);
}

void Server::send(int rank, const std::string& frame) {
  Peer& p = peer(rank);
  if (!p.connected) return;
  if (p.via != nullptr) return p.via->to_rank(rank, frame);
  p.line.send(frame);
}

}  // namespace rmq::launch
