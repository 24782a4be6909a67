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
constexpr std::uint64_t kShortestTry = 250 * kMillisecond;  // far longer than a way there and back
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
  queue_.clear();
  held_.clear();
  asking_.clear();
  for (std::size_t i = 0; listener_ && i < listener_->size(); ++i) setup_.ready.remove(listener_->fd(i));
  listener_.reset();
  give_spare();
  deaf_until_ = 0;
  set_timer();
}

void Switchboard::call(Rank to) {
  if (outgoing_.contains(to)) return;
  if (queue_.empty() && has_room(0)) return start(to, 0);
  queue_.push_back(to);
  if (queue_.size() == 1) set_timer();
}

void Switchboard::call_again(Rank to, std::uint64_t give_up_at) {
  if (!outgoing_.contains(to)) start(to, give_up_at);
}

void Switchboard::start(Rank to, std::uint64_t give_up_at) {
  Outgoing& call = outgoing_[to];
  call.again = give_up_at != 0;
  call.give_up_at = give_up_at;
  if (!look_up(to, call)) asking_.push_back(to);
  set_timer();
}

void Switchboard::forget(Rank to) {
  std::erase(queue_, to);
  const auto place = outgoing_.find(to);
  if (place == outgoing_.end()) return;
  hang_up(place->second);
  std::erase(asking_, to);
  outgoing_.erase(place);
  set_timer();
}

// Calls take half of the connections at most while they are under way, so that there is something to close.
bool Switchboard::has_room(int beyond) const {
  const auto calls = static_cast<int>(outgoing_.size());
  return setup_.keeper.connections() + calls < setup_.most + beyond && (beyond != 0 || calls < setup_.most / 2);
}

int Switchboard::held_most() const {
  return std::max(2, setup_.most / 8);
}

int Switchboard::advance_queue() {
  int happened = 0;
  while (!held_.empty() && has_room(held_most())) {
    const std::uint32_t id = held_.front();
    held_.pop_front();
    const auto place = incoming_.find(id);
    if (place == incoming_.end()) continue;
    ++happened;
    if (!setup_.ready.add(place->second.greeting.fd(), {Tag::Sort::incoming, id})) {
      incoming_.erase(place);
    } else {
      hear(id);
    }
  }
  if (happened != 0) listen_again();
  while (!queue_.empty() && has_room(0)) {
    const Rank to = queue_.front();
    queue_.pop_front();
    if (!outgoing_.contains(to)) start(to, 0);
    ++happened;
  }
  if (happened != 0) set_timer();
  return happened;
}

int Switchboard::look_up() {
  if (asking_.empty()) return 0;
  const auto find = [this](Rank to) { return look_up(to, outgoing_.find(to)->second); };
  // Each question is a system call. The first reads what has come for all of them.
  const bool one_found = find(asking_.front());
  if (one_found) asking_.erase(asking_.begin());
  const std::uint64_t answers = setup_.bootstrap.answers();
  if (setup_.bootstrap.watch_fd() >= 0 && std::exchange(answers_, answers) == answers && !one_found) return 0;
  const auto found = static_cast<int>(std::erase_if(asking_, find)) + one_found;
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
  auto known = known_.find(to);
  if (known == known_.end()) {
    const auto text = setup_.bootstrap.look_up(fmt::format("tcp.{}", to));
    if (text && !*text) return false;
    call.asking = false;
    const auto theirs = text ? parse_place(**text) : Result<Place>(tl::unexpected(text.error()));
    if (!theirs) return give_up(theirs.error().what), true;
    known = known_.try_emplace(to, Known{usable(*theirs, setup_.machine)}).first;
    if (good_ && theirs->machine != setup_.machine) prefer(known->second.endpoints, *good_);
  } else {
    call.asking = false;
  }
  call.known = &known->second;
  if (call.known->endpoints.empty()) {
    give_up("it listens only on the loopback of another machine; set RMQ_TCP_INTERFACE");
  } else {
    dial(to, call);
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
  if (own == outgoing_.end() && !has_room(held_most())) {
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

// ---- the calling side ----

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
  // Who was there and does not listen any more has ended. Of several addresses some may mean other machines elsewhere,
  // but not the one that was good.
  const std::size_t all = call.known->endpoints.size();
  const bool ended = call.again && (call.refused == all || (refused && tried == 0 && call.known->first_is_good));
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
  if (deaf_until_ <= now) listen_again();
}

// May erase the call.
void Switchboard::overdue(Rank to, Outgoing& call) {
  // It may have answered while this rank was computing.
  if (call.greeting && is_writable(call.greeting->fd())) return advance(to);
  if (call.greeting) return try_failed(to, call, "it does not answer");
  if (!call.hopeless) {
    call.awaited = false;
    return dial(to, call);
  }
  const Error error{Errc::peer_lost, fmt::format("rank {}{}{} cannot be reached: {}", to, call.at.empty() ? "" : " at ",
                                                 call.at, call.trouble)};
  const std::string trouble = call.trouble;
  outgoing_.erase(to);
  setup_.keeper.on_unreachable(to, error, trouble);
}

std::uint64_t Switchboard::Outgoing::due() const {
  if (asking) return ReadySet::kNever;
  if (greeting) return greeting->connecting() ? connect_by : ReadySet::kNever;
  return retry_at;
}

void Switchboard::set_timer() {
  std::uint64_t earliest = deaf_until_ != 0 ? deaf_until_ : ReadySet::kNever;
  if (waits_for_room()) earliest = std::min(earliest, os::now_ns() + kPatience);
  for (const auto& [id, caller] : incoming_) earliest = std::min(earliest, caller.deadline);
  for (const auto& [rank, call] : outgoing_) earliest = std::min(earliest, call.due());
  setup_.ready.set_timer(earliest);
}

}  // namespace rmq::tcp
