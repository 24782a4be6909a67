// SPDX-License-Identifier: BSD-3-Clause
// What the parts of all windows of one device share: counters, operations that are made again and again, the answers
// due, the cache of datatypes, who has to go on at the next turn, and which thread holds or asks for which locks. It
// knows none of the parts: Domain, which is this and brings them packets, calls them.
//
// Everything needs the device held.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "adi/device.hpp"
#include "base/data/layout.hpp"
#include "rma/core/counters.hpp"
#include "rma/core/datatypes.hpp"
#include "rma/core/op.hpp"
#include "rma/core/tickets.hpp"

namespace rmq::rma {

class Channel;
class Sender;
class Server;
struct Origin;

class DomainCore {
 public:
  explicit DomainCore(adi::Device& device);
  DomainCore(const DomainCore&) = delete;
  DomainCore& operator=(const DomainCore&) = delete;

  adi::Device& device() const { return device_; }
  const Counters& counters() const { return counters_; }

  /// The program has freed a datatype: what targets remember of it is forgotten. `layout` is only compared.
  void forget(const Layout* layout) { types_out_.forget(layout); }
  /// For tests: how many answers may be waited for at the same time, at least 1.
  void limit_answers(std::size_t most) { tickets_.limit(most); }
  /// Forgets the datatypes of all origins, as a target may at any time.
  void drop_types() { types_in_.clear(); }

  // ---- memory order of direct operations ----
  /// An operation has stored directly.
  void stores() { stored_ = true; }
  /// Nothing that follows is seen before what was stored so far.
  void order() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    stored_ = false;
  }
  /// Before an operation that loads from a target directly.
  void order_loads() {
    if (stored_) order();
  }

  // ---- what is shared ----
  Counters& count() { return counters_; }
  Tickets& tickets() { return tickets_; }
  OpPool& ops() { return ops_; }
  TypesOut& types_out() { return types_out_; }
  TypesIn& types_in() { return types_in_; }
  /// The peer breaks the protocol: it is dropped.
  void protocol_error(Rank from, const Packet& p, const char* why);

  // ---- who goes on at the next turn ----
  /// Whether origins wait there for this rank's lock: then it is asked at each turn (Server::serve_locks).
  void serve_locks_of(Server& server, bool want);
  /// What is queued on the channel leaves when this rank polls next (Channel::push). Not twice.
  void push_later(Channel& channel);
  /// Or the channel ends before.
  void forget_push(Channel& channel);
  /// The server goes on with what it keeps of this origin (Server::resume) when it is no longer behind. Not twice.
  void resume_later(Server& server, Origin& origin);
  /// Whether more answers wait to leave to this rank than it may ask for before it has taken some.
  bool is_behind(Rank rank) const { return device_.backlog(rank) > kBacklogMost; }

  // ---- the order of locks ----
  /// Who has opened an epoch: in what order locks are asked for is a matter of each thread (Sender::hold_locks).
  using Opener = const void*;
  static Opener this_thread();
  /// An epoch of lock() begins, in whatever window. Whether this thread has opened another one that has not ended.
  bool begin_lock();
  void end_lock(Opener opener);
  /// It is the only one of this thread, and its lock may be asked for later: behind hold_locks() it is held.
  void set_lone_lock(Channel& channel);
  void forget_lone_lock(const Channel& channel);
  /// That of a thread, or null.
  Channel* lone_lock(Opener opener) const;
  /// Those of all windows.
  const std::vector<Sender*>& senders() const { return senders_; }
  void add(Sender& sender) { senders_.push_back(&sender); }
  void remove(Sender& sender) { std::erase(senders_, &sender); }

  // ---- epochs that the target may still have to do ----
  /// An epoch has ended here, by which window ever, whose operations that rank may still have to do; or it has done
  /// them.
  void begin_behind(Rank rank) { ++behind_epoch_[rank]; }
  void end_behind(Rank rank) {
    const auto at = behind_epoch_.find(rank);
    if (--at->second == 0) behind_epoch_.erase(at);
  }
  bool is_behind_epoch(Rank rank) const { return !behind_epoch_.empty() && behind_epoch_.contains(rank); }

 protected:
  /// The lists below have changed.
  void want_turns();

  adi::Device& device_;
  Counters counters_;
  Tickets tickets_;
  OpPool ops_;
  TypesOut types_out_;
  TypesIn types_in_;
  std::vector<Server*> serving_;                     // with lock requests that wait
  std::vector<Channel*> deferred_;                   // push_later()
  std::vector<std::pair<Server*, Origin*>> behind_;  // those whose packets wait until they take their answers
  std::set<std::pair<Rank, std::uint32_t>> again_;   // datatypes that these ask for, when they have taken theirs

 private:
  /// Bytes of answers that may wait to leave to one rank, before what wants another one waits too.
  static constexpr std::uint64_t kBacklogMost = 1024 * 1024;

  struct Locks {
    Opener opener;
    int open = 0;             // epochs of lock()
    Channel* lone = nullptr;  // the only one's, while it may not be held
  };
  bool stored_ = false;                         // operations have stored directly since the last order()
  std::vector<Locks> locks_;                    // of those threads that have any
  std::vector<Sender*> senders_;                // in the order in which their windows were made
  std::unordered_map<Rank, int> behind_epoch_;  // windows for which a rank is: begin_behind()
};

}  // namespace rmq::rma
