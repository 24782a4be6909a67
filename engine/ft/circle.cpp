// SPDX-License-Identifier: BSD-3-Clause
// The packets of one communicator's failures. A revocation reaches all that live: who hears of it first tells those who
// stand 1, 2, 4 … places behind it among the living, as it knows them, and whoever is next to it again when that one
// dies. So each one's next living neighbour hears of it, and all do, as long as one lives that knows.
#include "engine/ft/circle.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

namespace rmq::mpi::ft {

using Kind = Agreement::Message::Kind;
using Standing = Agreement::Message::Standing;

// In an FT_VOTE that is none, in place of what a voter stands for.
constexpr std::uint32_t kLeaves = 3, kAnswers = 4, kOfGroup = 5;

Circle::Circle(adi::Device& device, std::uint32_t context, Members members)
    : device_(device),
      context_(context),
      members_(std::move(members)),
      me_(members_.place_of(device.rank())),
      agreement_(members_.size(), me_, *this),
      failed_(members_.size()),
      leavers_(members_.size()),
      answered_(members_.size()) {}

// ---- failures ----

void Circle::note_failed(const Places& more) {
  for (int place = 0; place < members_.size(); ++place) {
    if (!more.has(place) || failed_.has(place) || place == me_) continue;  // what others hold for dead lives
    failed_.add(place);
    order_.push_back(place);
  }
}

void Circle::on_death(Rank world) {
  const int place = members_.place_of(world);
  if (place < 0) return;
  Places one(members_.size());
  one.add(place);
  note_failed(one);
  // Those beyond a broken line are dead at the same time: else some of them would be heard by this side, and others
  // not.
  heard_.push_back(place);
  if (is_any_dying()) return;
  agreement_.on_deaths(std::exchange(heard_, {}));
  if (revoked_) spread();
  go_on();
}

std::vector<std::uint64_t> Circle::acknowledgements() const {
  Places known(members_.size());
  for (std::size_t i = 0; i < acknowledged_; ++i) known.add(order_[i]);
  return known.words();
}

// ---- agreements ----

void Circle::ask(Question question) {
  questions_.push_back(std::move(question));
  go_on();
}

void Circle::vote(std::vector<std::uint64_t> words, std::function<void(const Agreement::Value& agreed)> then) {
  ask({[words = std::move(words)] { return words; },
       [then = std::move(then)](const Agreement::Value& agreed) {
         then(agreed);
         return true;
       }});
}

void Circle::go_on() {
  if (std::exchange(going_on_, true)) return;  // what is called below has asked something
  while (!agreement_.running()) {
    if (std::exchange(asking_, false)) {
      note_failed(agreement_.decided().failed);
      const Agreement::Value agreed = agreement_.decided();
      if (questions_.front().hear(agreed)) questions_.pop_front();
    }
    if (questions_.empty()) {
      if (!refuses_) break;
      vote({kRefuses}, [this](const Agreement::Value& agreed) {
        refuses_ = agreed.words.empty() || agreed.words[0] != kRefuses;  // now all do
      });
    }
    if (!heard_.empty() || is_any_dying()) break;  // this vote names all or none: on_death() goes on
    asking_ = true;
    agreement_.begin({questions_.front().words(), failed_});
  }
  going_on_ = false;
}

bool Circle::is_any_dying() const {
  for (int place = 0; place < members_.size(); ++place)
    if (device_.is_dying(members_[place])) return true;
  return false;
}

void Circle::refuse() {
  refuses_ = true;
  go_on();
}

void Circle::refuse_once() {
  refuses_once_ = true;
  makings_->vote({kRefuses}, [](const Agreement::Value&) {});
}

// ---- revocation ----

void Circle::revoke() {
  if (std::exchange(revoked_, true)) return;
  spread();
  if (end_messages) end_messages();
  if (copy_) copy_->revoke();
}

Circle* Circle::set_copy(Circle* copy) {
  if (copy && revoked_) copy->revoke();
  return std::exchange(copy_, copy);
}

void Circle::spread() {
  std::vector<int> living;  // behind me
  for (int i = 1; i < members_.size(); ++i) {
    const int place = (me_ + i) % members_.size();
    if (!agreement_.dead().has(place)) living.push_back(place);
  }
  Packet p(rmq::Kind::FT_REVOKE);
  for (std::size_t distance = 1; distance <= living.size(); distance *= 2) send(living[distance - 1], p, {});
}

// ---- agreements of groups ----

void Circle::tell(const GroupAgreement& agreement) {
  std::vector<std::uint64_t> words{static_cast<std::uint64_t>(agreement.tag)};
  words.insert(words.end(), agreement.places.begin(), agreement.places.end());
  Packet p(rmq::Kind::FT_VOTE);
  p.ft_vote = {.number = agreement.visit, .words = static_cast<std::uint32_t>(words.size()), .standing = kOfGroup};
  for (const int place : agreement.places)
    if (place != me_ && !agreement_.dead().has(place)) send(place, p, words);
}

bool Circle::on_group(int from, std::uint32_t visit, const std::vector<std::uint64_t>& words) {
  constexpr auto kMostTag = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
  if (whose_ || words.empty() || words[0] > kMostTag) return false;
  GroupAgreement agreement{{}, static_cast<int>(words[0]), visit};
  Places members(members_.size());
  for (const std::uint64_t place : std::span(words).subspan(1)) {
    if (place >= static_cast<std::uint64_t>(members_.size()) || members.has(static_cast<int>(place))) return false;
    members.add(static_cast<int>(place));
    agreement.places.push_back(static_cast<int>(place));
  }
  if (!members.has(me_) || !members.has(from)) return false;
  revoke();
  return refuse_in_group && refuse_in_group(*this, agreement);
}

// ---- the end ----

void Circle::leave() {
  left_ = true;
  for (int place = 0; place < members_.size(); ++place)
    if (place != me_ && !agreement_.dead().has(place)) say_of_end(place, kLeaves);
}

void Circle::say_of_end(int place, std::uint32_t standing) {
  Packet p(rmq::Kind::FT_VOTE);
  p.context = context_;
  p.source = me_;
  p.ft_vote = {.number = 0, .words = 0, .standing = standing};
  device_.send_packet(members_[place], p, {}, nullptr);
}

bool Circle::is_over() const {
  if (!left_) return false;
  for (int place = 0; place < members_.size(); ++place)
    if (place != me_ && !agreement_.dead().has(place) && !(leavers_.has(place) && answered_.has(place))) return false;
  return true;
}

bool Circle::is_done_with(int place) const {
  return left_ && leavers_.has(place);
}

// ---- packets ----

void Circle::send(int place, Packet& p, const std::vector<std::uint64_t>& payload) {
  if ((whose_ ? whose_ : this)->is_done_with(place)) return;
  p.context = context_;
  p.source = me_;
  const std::size_t bytes = payload.size() * sizeof(std::uint64_t), most = device_.fragment_max(members_[place]);
  const DataView data = DataView::contiguous(payload.data(), bytes);
  for (std::size_t at = 0; at < bytes || at == 0; at += most)
    device_.send_packet(members_[place], p, Payload{data, at, std::min(bytes - at, most)}, nullptr);
}

void Circle::send(int place, const Agreement::Message& m) {
  const auto words = static_cast<std::uint32_t>(m.value.words.size());
  std::vector<std::uint64_t> payload = m.value.words;
  payload.insert(payload.end(), m.value.failed.words().begin(), m.value.failed.words().end());
  switch (m.kind) {
    case Kind::vote: {
      Packet p(rmq::Kind::FT_VOTE);
      p.ft_vote = {.number = m.number, .words = words, .standing = static_cast<std::uint32_t>(m.standing)};
      return send(place, p, payload);
    }
    case Kind::propose: {
      Packet p(rmq::Kind::FT_PROPOSE);
      p.ft_propose = {.number = m.number, .words = words};
      return send(place, p, payload);
    }
    case Kind::ack: {
      Packet p(rmq::Kind::FT_ACK);
      p.ft_ack.number = m.number;
      return send(place, p, {});
    }
    case Kind::commit: {
      Packet p(rmq::Kind::FT_COMMIT);
      p.ft_commit = {.number = m.number, .words = words};
      return send(place, p, payload);
    }
  }
}

bool Circle::on_packet(int from, const Packet& p, const std::byte* payload) {
  if (p.kind == rmq::Kind::FT_REVOKE) return revoke(), p.length == 0;
  Agreement::Message m;
  std::uint64_t words = 0;
  const bool of_group = p.kind == rmq::Kind::FT_VOTE && p.ft_vote.standing == kOfGroup;
  switch (p.kind) {
    case rmq::Kind::FT_VOTE:
      m.kind = Kind::vote;
      m.number = p.ft_vote.number;
      if (p.ft_vote.standing == kLeaves || p.ft_vote.standing == kAnswers) {
        (p.ft_vote.standing == kLeaves ? leavers_ : answered_).add(from);
        if (p.ft_vote.standing == kLeaves) say_of_end(from, kAnswers);
        return p.length == 0 && p.ft_vote.words == 0;
      }
      words = p.ft_vote.words;
      if (of_group) {
        if (words > 1 + static_cast<std::uint64_t>(members_.size())) return false;
        break;
      }
      if (p.ft_vote.standing > 2) return false;
      m.standing = static_cast<Standing>(p.ft_vote.standing);
      break;
    case rmq::Kind::FT_PROPOSE:
      m.kind = Kind::propose;
      m.number = p.ft_propose.number;
      words = p.ft_propose.words;
      break;
    case rmq::Kind::FT_ACK:
      m.kind = Kind::ack;
      m.number = p.ft_ack.number;
      break;
    default:
      m.kind = Kind::commit;
      m.number = p.ft_commit.number;
      words = p.ft_commit.words;
  }
  const std::size_t tail = m.kind == Kind::ack || of_group ? 0 : failed_.words().size();
  const std::size_t bytes = (words + tail) * sizeof(std::uint64_t);
  std::vector<std::byte>& part = parts_[from];
  if (p.length > bytes - std::min(bytes, part.size()) || (p.length == 0 && bytes > 0)) return false;
  part.insert(part.end(), payload, payload + p.length);
  if (part.size() < bytes) return true;
  std::vector<std::uint64_t> all(words + tail);
  if (bytes > 0) std::memcpy(all.data(), part.data(), bytes);
  parts_.erase(from);
  if (of_group) return on_group(from, m.number, all);
  m.value.failed = Places(std::vector<std::uint64_t>(all.begin() + static_cast<std::ptrdiff_t>(words), all.end()));
  all.resize(words);
  m.value.words = std::move(all);
  agreement_.on_message(from, m);
  go_on();
  return true;
}

}  // namespace rmq::mpi::ft
