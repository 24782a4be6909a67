// SPDX-License-Identifier: BSD-3-Clause
// What a member of a communicator knows of its failures: who has failed, whom the program has acknowledged, whether it
// is revoked, and its agreements. Communicators of a job that goes on when ranks die have one each (Comm::circle).
//
// Members have places: their ranks, in an inter-communicator first those of the side whose first process comes first by
// job and rank.
//
// The contexts of a communicator are free again when nothing that comes may be meant for it: all who live have left it,
// and have answered that this one has. What a member sends of its own accord comes before it says that it leaves; what
// it answers, before it answers that; and to a member that has left it says nothing once it has left itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "adi/device.hpp"
#include "base/ranks.hpp"
#include "engine/ft/agreement.hpp"

namespace rmq::mpi::ft {

struct Members {
  Ranks first, second;  // world ranks; `second` is empty but in an inter-communicator
  int size() const { return first.size() + second.size(); }
  Rank operator[](int place) const { return place < first.size() ? first[place] : second[place - first.size()]; }
  /// -1: it is no member.
  int place_of(Rank world) const {
    if (const int place = first.place_of(world); place >= 0) return place;
    const int place = second.place_of(world);
    return place >= 0 ? first.size() + place : -1;
  }
};

/// What some members of a communicator agree on in a place of their own.
struct GroupAgreement {
  std::vector<int> places;  // of its members in the communicator, in the order of the group
  int tag;
  std::uint32_t visit;  // how many of the same members and tag there have been, with this one
};

class Circle final : private Agreement::Wire {
 public:
  /// `context` names it in packets: one for all members, of no other communicator of any of them.
  Circle(adi::Device& device, std::uint32_t context, Members members);

  std::uint32_t context() const { return context_; }
  const Members& members() const { return members_; }
  int me() const { return me_; }

  /// Members that have failed, as far as this one knows.
  const std::vector<int>& failed() const { return order_; }  // places, in the order in which it has heard of them
  /// The program knows of the first so many of them. Never fewer than before.
  void acknowledge(std::size_t count) { acknowledged_ = std::max(acknowledged_, std::min(count, order_.size())); }
  std::size_t acknowledged() const { return acknowledged_; }
  bool has_unacknowledged() const { return acknowledged_ < order_.size(); }
  void on_death(Rank world);

  bool is_revoked() const { return revoked_; }
  /// By this member's program, or another one has said so. Tells others, and ends messages (`end_messages`); nothing
  /// the second time.
  void revoke();
  /// Ends what is under way on the communicator; set by whose it is.
  std::function<void()> end_messages;
  /// Of a copy of the communicator, in which its members make something: it is revoked with this one. nullptr: of none.
  /// Returns the one before.
  Circle* set_copy(Circle* copy);

  /// The communicator has been revoked while this member takes part in an agreement of a group. Who knew that before
  /// does not come to it: tells its members, who refuse there unless they have come already.
  void tell(const GroupAgreement& agreement);
  /// Called when another member has told. False: no member could say this. Set by Faults.
  bool (*refuse_in_group)(const Circle& circle, const GroupAgreement& agreement) = nullptr;

  /// One member's part in something that all members settle in one agreement, or in several that follow each other.
  struct Question {
    /// What it votes with; called as an agreement begins. As many on all members.
    std::function<std::vector<std::uint64_t>()> words;
    /// What the agreement has come to; called from a poll, or at once. Whether the question is over; else another
    /// agreement on it begins. The same at all members. Where all others have died it is over: each further agreement
    /// would be so at once, and nothing else would come to its turn.
    std::function<bool(const Agreement::Value& agreed)> hear;
  };
  /// All members ask the same in the same order. A question begins when those before it are over, so that all members'
  /// votes in an agreement are on one question, however many are asked at a time; with what is known of failures by
  /// then.
  void ask(Question question);
  /// A question of one agreement.
  void vote(std::vector<std::uint64_t> words, std::function<void(const Agreement::Value& agreed)> then);
  /// The program's acknowledgements among the failed of an agreement: as words to vote with, one bit a place.
  std::vector<std::uint64_t> acknowledgements() const;
  /// Whether others may still ask what has been agreed on.
  bool has_agreed() const { return agreement_.number() > 0; }

  /// Its communicator ends here. Until is_over() it still answers for others.
  void leave();
  bool has_left() const { return left_; }
  /// Nothing more comes for it.
  bool is_over() const;
  /// What then gives its contexts back.
  std::function<void()> on_over;

  /// Agreements in which members make something together are a circle of their own (of the context after this one's):
  /// a member may have no part in them any more, as the communicator has been revoked, while others still begin.
  void set_makings(std::shared_ptr<Circle> makings) {
    makings_ = std::move(makings);
    makings_->whose_ = this;
  }
  Circle* makings() const { return makings_.get(); }
  /// From now on this member votes no by itself, as often as any other asks.
  void refuse();
  /// The same in makings, once; then it may leave.
  void refuse_once();
  bool is_to_leave() const { return refuses_once_ && !left_ && makings_->questions_.empty(); }
  /// The first word of each vote in makings: one of these.
  static constexpr std::uint64_t kRefuses = 1, kTakesPart = 2;

  /// An FT_ packet from a member. A message of an agreement that is longer than the channel's fragments comes in
  /// several packets with the same fields. False: no member could send this.
  bool on_packet(int from, const Packet& packet, const std::byte* payload);

 private:
  void send(int place, const Agreement::Message& message) override;
  void send(int place, Packet& packet, const std::vector<std::uint64_t>& payload);
  bool is_done_with(int place) const;
  void say_of_end(int place, std::uint32_t standing);
  void spread();
  void note_failed(const Places& more);
  bool on_group(int from, std::uint32_t visit, const std::vector<std::uint64_t>& words);
  void go_on();
  bool is_any_dying() const;

  adi::Device& device_;
  const std::uint32_t context_;
  const Members members_;
  const int me_;
  std::map<int, std::vector<std::byte>> parts_;  // by place: of a message that is coming
  Agreement agreement_;
  std::deque<Question> questions_;  // of which the first is under way, if any
  bool asking_ = false;             // an agreement on it has begun
  bool going_on_ = false;           // in go_on()
  Places failed_;
  std::vector<int> heard_;  // of them, those whose death the agreement is still to hear of
  std::vector<int> order_;
  std::size_t acknowledged_ = 0;
  bool revoked_ = false;
  Circle* copy_ = nullptr;  // set_copy()
  bool left_ = false;
  Places leavers_;   // who have left
  Places answered_;  // who know that this one has, and have answered all before
  std::shared_ptr<Circle> makings_;
  const Circle* whose_ = nullptr;  // of makings
  bool refuses_ = false;           // of makings
  bool refuses_once_ = false;      // refuse_once()
};

}  // namespace rmq::mpi::ft
