// SPDX-License-Identifier: BSD-3-Clause
#include "engine/ft/agreement.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace rmq::mpi::ft {

int Agreement::root() const {
  int place = 0;
  while (place != me_ && dead_.has(place)) ++place;
  return place;
}

void Agreement::begin(Value mine) {
  RMQ_CHECK(!running_);
  running_ = true;
  ++number_;
  mine_ = std::move(mine);
  decided_before_ = std::exchange(decided_, Value());
  accepted_.reset();
  votes_ = std::exchange(votes_next_, {});
  proposed_ = false;
  acks_ = Places(size_);
  vote();
  go_on();
}

// What this member stands for in its latest agreement, to the root.
void Agreement::vote() {
  const int to = root();
  if (to == me_) return;
  Message m;
  m.number = number_;
  if (!running_) {
    m.standing = Standing::decided;
    m.value = decided_;
  } else if (accepted_) {
    m.standing = Standing::accepted;
    m.value = *accepted_;
  } else {
    m.value = mine_;
  }
  wire_.send(to, m);
}

template <class F>
void Agreement::for_each_living(F&& f) const {
  for (int place = 0; place < size_; ++place)
    if (place != me_ && !dead_.has(place)) f(place);
}

void Agreement::decide(Value value) {
  running_ = false;
  decided_ = std::move(value);
  // They took this member for the root, as the one before is dead: whether they have heard of it nobody knows.
  for (const auto& [voter, vote] : std::exchange(votes_, {})) send_commit(voter, number_, decided_);
}

void Agreement::send_commit(int to, std::uint32_t number, const Value& value) {
  wire_.send(to, {Kind::commit, Standing::open, number, value});
}

void Agreement::on_message(int from, const Message& m) {
  if (m.kind == Kind::vote) return on_vote(from, m);
  if (m.number != number_ || !running_) return;
  switch (m.kind) {
    case Kind::propose:
      accepted_ = m.value;
      return wire_.send(from, {Kind::ack, Standing::open, number_, Value()});
    case Kind::ack:
      if (!proposed_) return;
      acks_.add(from);
      return go_on();
    default:
      return decide(m.value);
  }
}

void Agreement::on_vote(int from, const Message& m) {
  if (m.number == number_ + 1) {
    votes_next_.insert_or_assign(from, m);
  } else if (m.number == number_ && running_) {
    if (m.standing == Standing::decided) return decide(m.value);
    votes_.insert_or_assign(from, m);
    go_on();
  } else if (m.standing != Standing::decided && (m.number == number_ || m.number + 1 == number_)) {
    // It has not heard of the decision, and its root is dead.
    send_commit(from, m.number, m.number == number_ ? decided_ : decided_before_);
  }
}

void Agreement::on_deaths(std::span<const int> places) {
  const int before = root();
  for (const int place : places) {
    dead_.add(place);
    votes_next_.erase(place);
  }
  const int now = root();
  if (now != before && now != me_ && number_ > 0) {
    if (running_ && number_ > 1) {
      // The new root may not know yet what has been decided before.
      wire_.send(now, {Kind::vote, Standing::decided, number_ - 1, decided_before_});
    }
    vote();
  }
  go_on();
}

// What all votes come to, or what a root has proposed already.
Agreement::Value Agreement::proposal() const {
  if (accepted_) return *accepted_;
  for (const auto& [place, vote] : votes_)
    if (vote.standing == Standing::accepted) return vote.value;
  Value all = mine_;
  for (const auto& [place, vote] : votes_) {
    for (std::size_t i = 0; i < std::min(all.words.size(), vote.value.words.size()); ++i)
      all.words[i] &= vote.value.words[i];
    all.failed.add(vote.value.failed);
  }
  all.failed.add(dead_);
  return all;
}

// The root's part.
void Agreement::go_on() {
  if (!running_ || root() != me_) return;
  bool all = true;
  if (!proposed_) {
    for_each_living([&](int place) { all = all && votes_.contains(place); });
    if (!all) return;
    accepted_ = proposal();
    proposed_ = true;
    const Message propose{Kind::propose, Standing::open, number_, *accepted_};
    for_each_living([&](int place) { wire_.send(place, propose); });
  }
  for_each_living([&](int place) { all = all && acks_.has(place); });
  if (!all) return;
  for_each_living([&](int place) { send_commit(place, number_, *accepted_); });
  votes_.clear();
  decide(std::move(*accepted_));
}

}  // namespace rmq::mpi::ft
