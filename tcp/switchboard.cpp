#include "tcp/switchboard.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/os/clock.hpp"

namespace rmq::tcp {
namespace {

constexpr std::uint64_t kMillisecond = 1000000;
constexpr std::uint64_t kShortestPause = 2 * kMillisecond, kLongestPause = 100 * kMillisecond;
constexpr std::size_t kUnmarked = 64;  // callers without the mark of a member that are heard at once
constexpr int kAnswersAtOnce = 64;

Tag listener_tag(std::size_t index) {
  return {Tag::Sort::listener, static_cast<std::uint32_t>(index)};
}
Tag outgoing_tag(Rank to) {
  return {Tag::Sort::outgoing, static_cast<std::uint32_t>(to)};
}

bool out_of_descriptors(const ErrorCode& ec) {
  return ec == boost::asio::error::no_descriptors || ec == boost::system::errc::too_many_files_open_in_system;
}

}  // namespace

Switchboard::Switchboard(Setup setup, std::unique_ptr<Listener> listener)
    : setup_(std::move(setup)), listener_(std::move(listener)) {
  for (std::size_t i = 0; listener_ && i < listener_->size(); ++i) {
    // Without memory for the watch nobody would be heard; expire() tries again.
    if (!setup_.ready.add(listener_->fd(i), listener_tag(i))) deaf_until_ = os::now_ns() + kLongestPause;
  }
  if (listener_) keep_spare();
  set_timer();
}

Switchboard::~Switchboard() {
  stop();
}

void Switchboard::stop() {
  while (!incoming_.empty()) drop(incoming_.begin());
  for (auto& [rank, call] : outgoing_) hang_up(call);
  outgoing_.clear();
  asking_ = 0;
  for (std::size_t i = 0; listener_ && i < listener_->size(); ++i) setup_.ready.remove(listener_->fd(i));
  listener_.reset();
  give_spare();
  deaf_until_ = 0;
  set_timer();
}

void Switchboard::call(Rank to) {
  const auto [place, fresh] = outgoing_.try_emplace(to);
  if (!fresh) return;
  ++asking_;
  look_up(to, place->second);
  set_timer();
}

int Switchboard::look_up() {
  if (asking_ == 0) return 0;
  int found = 0;
  for (auto& [to, call] : outgoing_) found += call.asking && look_up(to, call);
  if (found != 0) set_timer();
  return found;
}

// False while there is no answer.
bool Switchboard::look_up(Rank to, Outgoing& call) {
  const auto give_up = [&](std::string why) {
    call.trouble = std::move(why);
    call.hopeless = true;
    call.retry_at = os::now_ns();
  };
  const auto text = setup_.bootstrap.look_up(fmt::format("tcp.{}", to));
  if (text && !*text) return false;
  call.asking = false;
  --asking_;
  const auto theirs = text ? parse_place(**text) : Result<Place>(tl::unexpected(text.error()));
  if (!theirs) {
    give_up(theirs.error().what);
  } else {
    call.endpoints = usable(*theirs, setup_.machine);
    if (call.endpoints.empty()) {
      give_up("it listens only on the loopback of another machine; set RMQ_TCP_INTERFACE");
    } else {
      dial(to, call);
    }
  }
  return true;
}

int Switchboard::on_ready(Tag tag) {
  switch (tag.sort) {
    case Tag::Sort::timer:
      expire();
      break;
    case Tag::Sort::listener:
      answer(tag.index);
      break;
    case Tag::Sort::incoming:
      hear(tag.index);
      break;
    case Tag::Sort::outgoing:
      advance(static_cast<Rank>(tag.index));
      break;
    default:
      return 0;
  }
  if (listener_) keep_spare();
  set_timer();
  return 1;
}

// ---- the called side ----

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
    ErrorCode ec;
    Socket socket = listener_->accept(setup_.io, listener_index, ec);
    if (out_of_descriptors(ec) && keep_spare()) {
      give_spare();
      socket = listener_->accept(setup_.io, listener_index, ec);
    }
    if (ec == boost::asio::error::would_block) return;
    if (out_of_descriptors(ec) || ec == boost::asio::error::no_memory || ec == boost::asio::error::no_buffer_space) {
      // The caller stays in the backlog. Looking away for a while keeps a sleeping rank from spinning on it.
      for (std::size_t k = 0; k < listener_->size(); ++k) setup_.ready.remove(listener_->fd(k));
      deaf_until_ = os::now_ns() + kLongestPause;
      return;
    }
    if (ec) continue;  // that caller has given up already
    tune(socket);
    make_room();
    const std::uint32_t id = next_id_++;
    const auto [place, fresh] =
        incoming_.try_emplace(id, Incoming{Greeting(std::move(socket), Handshake::called(setup_.identity), false),
                                           os::now_ns() + setup_.time_limit});
    if (!setup_.ready.add(place->second.greeting.fd(), {Tag::Sort::incoming, id})) {
      incoming_.erase(place);
    } else {
      hear(id);  // a member has said its first word already
    }
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
    judge(caller);
    state = caller.greeting.step();
  }
  if (state == Greeting::State::talking) {
    setup_.ready.change(caller.greeting.fd(), {Tag::Sort::incoming, id}, caller.greeting.wants_write());
    return;
  }
  if (state == Greeting::State::open) {
    const Rank peer = caller.greeting.peer();
    setup_.ready.remove(caller.greeting.fd());
    Socket socket = caller.greeting.take_socket();
    incoming_.erase(place);
    ErrorCode ec;
    const Endpoint from = socket.remote_endpoint(ec);
    setup_.keeper.on_connected(peer, std::move(socket), ec ? "?" : to_text(from));
    return;
  }
  drop(place);
}

// The caller has proved that it is the rank it claims to be.
void Switchboard::judge(Incoming& incoming) {
  const Rank from = incoming.greeting.peer();
  const auto own = outgoing_.find(from);
  const bool own_wins = setup_.identity.self < from, settled = setup_.keeper.is_settled(from);
  if (settled && !turned_away_.contains(from)) {
    // If our own call has just won, the other side has accepted it before and does not hear this any more.
    incoming.greeting.reject(Handshake::kRefused);
  } else if (own != outgoing_.end() && own_wins && !own->second.asking) {
    incoming.greeting.reject(Handshake::kGivesWay);
  } else {
    if (own != outgoing_.end()) hang_up(own->second);
    if (settled || !keep_spare()) return turn_away(incoming);
    turned_away_.erase(from);
    if (own != outgoing_.end()) {
      asking_ -= own->second.asking;
      outgoing_.erase(own);
    }
    incoming.greeting.accept();
  }
}

void Switchboard::turn_away(Incoming& incoming) {
  const Rank from = incoming.greeting.peer();
  incoming.greeting.reject(Handshake::kNoDescriptor);
  const std::uint64_t now = os::now_ns(), since = turned_away_.try_emplace(from, now).first->second;
  if (setup_.keeper.is_settled(from) || now - since < setup_.time_limit / 2) return;
  setup_.keeper.on_unreachable(
      from,
      {Errc::peer_lost, fmt::format("rank {} cannot be reached: its call finds no file descriptor left here; raise "
                                    "the limit (ulimit -n)",
                                    from)});
}

void Switchboard::drop(std::map<std::uint32_t, Incoming>::iterator incoming) {
  setup_.ready.remove(incoming->second.greeting.fd());
  incoming_.erase(incoming);
}

// ---- the calling side ----

void Switchboard::dial(Rank to, Outgoing& call) {
  const Endpoint& endpoint = call.endpoints[call.next];
  call.at = to_text(endpoint);
  ErrorCode ec;
  Socket socket = open_socket(setup_.io, endpoint, setup_.buffer, ec);
  if (ec || !start_connect(socket, endpoint, ec)) {
    return try_failed(
        to, call, out_of_descriptors(ec) ? "no file descriptor left here; raise the limit (ulimit -n)" : ec.message());
  }
  call.connect_by = os::now_ns() + setup_.time_limit;
  call.greeting.emplace(std::move(socket), Handshake::calling(setup_.identity, to), true);
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
      Socket socket = call.greeting->take_socket();
      std::string at = std::move(call.at);
      outgoing_.erase(place);
      setup_.keeper.on_connected(to, std::move(socket), std::move(at));
      break;
    }
    case Greeting::State::rejected:
      if (call.greeting->reason() == Handshake::kGivesWay) {
        hang_up(call);
        // If its call does not come through, ours is repeated: it may have died meanwhile.
        call.awaited = true;
        call.retry_at = os::now_ns() + setup_.time_limit;
      } else {
        try_failed(to, call,
                   call.greeting->reason() == Handshake::kNoDescriptor
                       ? "it has no file descriptor left; raise its limit (ulimit -n)"
                       : "it refuses the connection");
      }
      break;
    default:
      try_failed(to, call, call.greeting->trouble());
      break;
  }
}

void Switchboard::try_failed(Rank to, Outgoing& call, std::string why) {
  const std::uint64_t now = os::now_ns();
  // A connection that broke after it had stood for longer than the limit shows that the rank was there: what failed
  // before is forgotten.
  const bool stood = call.greeting && !call.greeting->connecting() && now > call.connect_by;
  if (stood && !call.greeting->trouble().empty()) call.give_up_at = 0;
  hang_up(call);
  call.trouble = std::move(why);
  if (++call.next < call.endpoints.size()) {
    dial(to, call);
    return;
  }
  call.next = 0;
  call.pause = std::clamp(call.pause * 2, kShortestPause, kLongestPause);
  call.retry_at = now + call.pause;
  if (call.give_up_at == 0) call.give_up_at = now + setup_.time_limit;
  call.hopeless = now >= call.give_up_at;
  if (call.hopeless) call.retry_at = now;
}

void Switchboard::hang_up(Outgoing& call) {
  if (call.greeting) setup_.ready.remove(call.greeting->fd());
  call.greeting.reset();
}

// ---- time ----

void Switchboard::expire() {
  const std::uint64_t now = os::now_ns();
  for (auto place = incoming_.begin(); place != incoming_.end();) {
    const auto one = place++;
    if (one->second.deadline <= now) drop(one);
  }
  for (auto place = outgoing_.begin(); place != outgoing_.end();) {
    const auto one = place++;
    if (one->second.due() <= now) overdue(one->first, one->second);
  }
  if (deaf_until_ != 0 && deaf_until_ <= now) {
    deaf_until_ = 0;
    for (std::size_t i = 0; listener_ && i < listener_->size(); ++i) {
      setup_.ready.remove(listener_->fd(i));
      if (!setup_.ready.add(listener_->fd(i), listener_tag(i))) deaf_until_ = now + kLongestPause;
    }
  }
}

// May erase the call.
void Switchboard::overdue(Rank to, Outgoing& call) {
  if (call.greeting) return try_failed(to, call, "it does not answer");
  if (!call.hopeless) {
    call.awaited = false;
    return dial(to, call);
  }
  const Error error{Errc::peer_lost, fmt::format("rank {}{}{} cannot be reached: {}", to, call.at.empty() ? "" : " at ",
                                                 call.at, call.trouble)};
  outgoing_.erase(to);
  setup_.keeper.on_unreachable(to, error);
}

std::uint64_t Switchboard::Outgoing::due() const {
  if (asking) return ReadySet::kNever;
  if (greeting) return greeting->connecting() ? connect_by : ReadySet::kNever;
  return retry_at;
}

void Switchboard::set_timer() {
  std::uint64_t earliest = deaf_until_ != 0 ? deaf_until_ : ReadySet::kNever;
  for (const auto& [id, caller] : incoming_) earliest = std::min(earliest, caller.deadline);
  for (const auto& [rank, call] : outgoing_) earliest = std::min(earliest, call.due());
  setup_.ready.set_timer(earliest);
}

}  // namespace rmq::tcp
