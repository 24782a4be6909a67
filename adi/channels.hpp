// SPDX-License-Identifier: BSD-3-Clause
// The way to one other rank, and the ways to all of them: credit, and what waits to be sent. How credit works, and why
// what waits for it always gets through, stands in adi/credit.cpp.
//
// Nothing here decides what is sent: the protocols do (eager.cpp, rendezvous.cpp), and the floors above the device.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "adi/counters.hpp"
#include "adi/gate.hpp"
#include "base/packet/packet.hpp"
#include "base/packet/request.hpp"
#include "base/packet/request_pool.hpp"
#include "base/record/trace.hpp"
#include "methods/method.hpp"

namespace rmq::adi {

/// First-in first-out list of requests, linked through Request::next.
class RequestList {
 public:
  bool empty() const { return head_ == nullptr; }
  Request* front() const { return head_; }
  void push_back(Request* r) {
    r->next = nullptr;
    if (tail_) {
      tail_->next = r;
    } else {
      head_ = r;
    }
    tail_ = r;
    ++size_;
  }
  void push_front(Request* r) {
    r->next = head_;
    head_ = r;
    if (!tail_) tail_ = r;
    ++size_;
  }
  Request* pop_front() {
    Request* r = head_;
    head_ = r->next;
    if (!head_) tail_ = nullptr;
    r->next = nullptr;
    --size_;
    return r;
  }
  /// Takes `r` out, wherever it stands; false when it is not in the list. Linear.
  bool remove(Request* r);
  std::size_t size() const { return size_; }

 private:
  Request* head_ = nullptr;
  Request* tail_ = nullptr;
  std::size_t size_ = 0;
};

/// Memory that one message kept at the target fills beside its data: what the sender pays in credit for it.
inline constexpr std::uint32_t kMessageRecord = sizeof(Request);
/// Credit for a message that brings so many bytes of data along.
constexpr std::int64_t cost_with(std::uint64_t bytes) {
  return static_cast<std::int64_t>(bytes) + kMessageRecord;
}

/// What this rank knows of one other. The first line is all that sending a short message touches.
struct alignas(kCacheLine) Channel {
  methods::Method* method = nullptr;  // how to reach it; nullptr for oneself
  methods::MethodId id = methods::MethodId::none;
  bool dropped = false;  // it has broken the protocol: nothing of it is looked at any more, until it counts as lost
  bool lost = false;
  bool scheduled = false;       // stands in the list of channels to be drained
  bool refused = false;         // the method has refused a packet since this was last cleared
  bool stuck = false;           // something waits for on_room(): nothing is tried before that
  bool flow_due = false;        // a full link holds up a FLOW packet, which is made when it leaves
  bool gave_back = false;       // it knows that we do not need envelopes, and grants none before we ask
  bool content = false;         // the same of it
  std::uint32_t eager_max = 0;  // bytes of payload that may travel without rendezvous
  std::uint32_t next_msg = 0;   // number of the next message to it
  std::int64_t credit = 0;      // bytes of its unexpected memory that we may still fill
  std::uint32_t owed = 0;       // credit to return with the next packet to it; bytes
  std::uint32_t envelopes = 0;  // messages that may go as REQUEST_SEND without credit
  std::uint64_t held = 0;       // bytes of our unexpected memory that its messages fill
  std::uint64_t spent = 0;      // those of them that it has spent credit for: all but envelopes beyond it
  Rank rank = kNoRank;
  std::uint32_t allotment = 0;  // bytes of unexpected memory that each of the two grants the other

  RequestList packets;             // in order; they spend no credit: only a full link holds them up
  RequestList messages;            // in order; credit or the link holds them up
  RequestList bulk;                // rendezvous data under way, one fragment at a time
  std::uint64_t answer_bytes = 0;  // of our memory that answers among the packets fill

  std::uint32_t envelope_grant = 0;  // size of the last grant to a starving peer, doubled each time
  std::uint32_t envelopes_out = 0;   // granted and not yet used
  std::uint32_t envelopes_due = 0;   // granted and not yet told
  bool asks = false;                 // for envelopes, and that has not been told yet
  Error error;                       // why it is lost

  /// Credit that a message costs: its data, if it travels with it.
  std::int64_t cost_of(std::uint64_t bytes) const { return cost_with(bytes <= eager_max ? bytes : 0); }
  /// As traces have it.
  std::uint8_t method_number() const { return static_cast<std::uint8_t>(id); }
  /// Whether anything waits to be sent.
  bool waits() const { return flow_due || !packets.empty() || !messages.empty() || !bulk.empty(); }
  /// Packets that wait beside the messages.
  std::size_t waiting_packets() const { return packets.size() + bulk.size() + flow_due; }
};

/// Why a message waits; travels in traces.
enum class Hindrance : std::uint8_t { link_full = 1, no_credit = 2, behind_others = 3 };

/// The channels of a rank, each made when it is first asked for: they cost memory for the ranks that this one talks
/// with, not for all of the job. Ranks of other jobs have numbers behind those of this one. Used with the device held.
class Channels {
 public:
  /// All references outlive this. `methods`: in order of preference, all there when connect() is called. `gate`: wakes
  /// who sleeps and does not know yet that it waits for a channel too. `sink`: as a method does, to tell owners of
  /// packets that they have left.
  Channels(int size, Rank me, const std::vector<std::unique_ptr<methods::Method>>& methods, RequestPool& pool,
           Trace& trace, Gate& gate, Counters& counters, const methods::Sink& sink);
  /// How much credit there is, of memory for `unexpected_max` bytes in all, and envelopes beyond it.
  void size_credit(std::uint64_t unexpected_max, std::uint64_t envelopes_max);
  /// The methods are there: from now on each channel has one. `eager_max`: bytes, 0 for what each method likes.
  void connect(std::uint64_t eager_max);
  /// There are so many more ranks, of other jobs, whose method is there; the first one's number. `credit`: bytes that
  /// each of them and this rank grant each other.
  Rank admit(std::size_t count, std::uint64_t credit);
  /// The same for one that has been dismissed.
  void readmit(Rank r, std::uint64_t credit);
  /// The rank's method is about to go; nothing waits in its channel, and nothing may be sent until it is readmitted.
  void dismiss(Rank r);

  /// Of any rank that is known.
  [[gnu::always_inline]] Channel& operator[](Rank r) {
    const auto i = static_cast<std::size_t>(r);
    if (i < kNear) [[likely]] {
      if (Channel* const c = near_[i]) [[likely]]
        return *c;
    }
    return far(r);
  }
  /// The same where there is one already; else nullptr.
  const Channel* find(Rank r) const;
  /// Ranks that are known, those of other jobs included.
  std::size_t size() const { return size_; }
  // Those that have been made, in that order.
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  /// Those with anything that waits and may be tried.
  std::vector<Channel*>& due() { return due_; }
  /// Whether anything waits in any of them.
  bool any_waits() const { return !due_.empty() || stuck_ != 0; }

  // ---- sending ----
  /// To the method, with the credit that is owed. `done` or `queued`: it has left, or will.
  methods::Outcome send(Channel& c, Packet& p, const Payload& payload, Request* owner);
  /// send(), or if the link is full, later, in order with all others that came here. `length` is set here. A payload
  /// that has to wait is copied, unless `owner` keeps it; the owner, of kind `other`, is told.
  void post(Channel& c, Packet& p, const Payload& payload = {}, Request* owner = nullptr);
  /// A message waits from now on.
  void enqueue(Channel& c, Request* message, Hindrance why);
  /// Something waits in this channel: drain() it soon, unless it is stuck.
  void schedule(Channel& c);
  /// It is out of due(), and what waits in it, if anything, has been refused by a method that tells when there is room.
  void drained(Channel& c);
  /// There is.
  void unstick(Channel& c);
  /// Sends packets that wait, as far as the link takes them; how many. What waits beside them may go where none is
  /// left.
  int drain_packets(Channel& c);
  /// The rank is lost: nothing waits for it any more. Messages and bulk data are their protocols' business, who end all
  /// requests of the rank.
  void lose(Channel& c);

  // ---- credit ----
  /// What a packet brings. False: more than was spent.
  bool take_credit(Channel& c, const Packet& p) { return p.credit == 0 || credit_came(c, p); }
  /// A receive has taken a message that cost its sender this much.
  void return_credit(Channel& c, std::uint32_t bytes) {
    c.owed += bytes;
    if (c.owed >= c.allotment / 4 && !c.flow_due) [[unlikely]]
      send_flow(c);
  }
  /// Whether the sender has credit for a message that is to be kept, whose packet is not marked as an envelope.
  bool may_hold(const Channel& c, std::uint64_t bytes) const { return c.spent + bytes + kMessageRecord <= c.allotment; }
  /// A message is kept, with so many bytes of data; or no more.
  void hold(Channel& c, const Packet& p, std::uint64_t bytes);
  void release(Channel& c, const Packet& p, std::uint64_t bytes);
  /// An envelope beyond the credit has come. False: it was not granted.
  bool take_envelope(Channel& c) {
    if (c.envelopes_out == 0) return false;
    --c.envelopes_out;
    return true;
  }
  /// Its message is not kept (any more).
  void return_envelope() { ++envelopes_left_; }
  /// The rank has none of its messages waiting and gives so many envelopes back, or asks for some with 0. False: it has
  /// not been granted so many.
  bool take_back_envelopes(Channel& c, std::uint32_t count);
  /// No message to the rank waits: the envelopes that it has granted are there for others.
  void give_back_envelopes(Channel& c);
  /// A message to the rank waits for credit, and there is no envelope left.
  void ask_for_envelopes(Channel& c);
  /// For a rank that waits: allows envelopes to those whose messages fill half of their credit here.
  void grant_envelopes();
  /// Bytes, of each peer of this job.
  std::uint64_t credit_per_peer() const { return per_peer_; }
  /// Bytes, of all peers together.
  std::uint64_t credit_of_all() const { return per_peer_ * (ours_ - 1) + foreign_credit_; }

 private:
  bool credit_came(Channel& c, const Packet& p);
  void send_flow(Channel& c);
  methods::Outcome try_flow(Channel& c);
  [[gnu::cold]] Channel& far(Rank r);
  Channel& make(Rank r);
  void equip(Channel& c);
  std::uint32_t& foreign_credit(Rank r) { return foreign_[static_cast<std::size_t>(r) - ours_]; }
  std::size_t place(Rank r) const;

  // Ranks that are found by their number; the others by a hash table, open, at most half full.
  static constexpr std::size_t kNear = 1024;
  std::unique_ptr<Channel*[]> near_;  // by rank; kNear of them
  std::vector<Channel*> due_;         // with anything in a queue, but for those that are stuck
  std::size_t stuck_ = 0;             // how many those are
  std::vector<Channel*> far_;         // a power of two of them, or none
  std::size_t in_far_ = 0;
  std::deque<Channel> all_;
  std::size_t size_;
  const std::vector<std::unique_ptr<methods::Method>>& methods_;
  std::uint64_t eager_max_ = 0;
  bool connected_ = false;
  Rank me_;
  std::uint64_t per_peer_ = 0;          // credit
  std::uint64_t least_ = 0;             // the smallest allotment there is
  std::size_t ours_;                    // ranks of this job
  std::vector<std::uint32_t> foreign_;  // credit of each of the others; 0: dismissed
  std::uint64_t foreign_credit_ = 0;    // of all of them
  std::uint64_t envelopes_left_ = 0;
  RequestPool& pool_;
  Trace& trace_;
  Gate& gate_;
  Counters& counters_;
  const methods::Sink& sink_;
};

}  // namespace rmq::adi
