// SPDX-License-Identifier: BSD-3-Clause
// The origin's side of a window, for targets that are reached by packets: makes operations, and completes them. It owns
// the channels, one a target, which say when an operation leaves (rma/origin/channel.hpp).
//
// Window brings operations that it has checked; the synchronisation calls (rma/epoch/active_target.hpp,
// rma/epoch/passive_target.hpp) complete them. Answers go to the channels without passing here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/data/data_view.hpp"
#include "base/data/reduction.hpp"
#include "rma/core/target.hpp"
#include "rma/core/window_core.hpp"
#include "rma/memory/apply.hpp"
#include "rma/origin/channel.hpp"

namespace rmq::rma {

class Sender {
 public:
  explicit Sender(WindowCore& core) : core_(core), channel_of_(core.size()) { core_.domain.add(*this); }
  ~Sender() { core_.domain.remove(*this); }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  // ---- operations ----
  // `offset`: bytes from the target's base, or the address in a dynamic window. With `request` the operation is a
  // request-based one, and not empty. Fault::peer_lost, Fault::definition.
  Fault put(const Target& target, std::uint64_t offset, const DataView& origin, Request** request = nullptr);
  /// The same, where nobody waits for it soon: short data is copied, and travels with that of others.
  Fault put_gathered(const Target& target, std::uint64_t offset, const DataView& origin);
  Fault get(const Target& target, std::uint64_t offset, const DataView& result, Request** request = nullptr);
  /// RMA_ACCUMULATE, RMA_GET_ACCUMULATE or RMA_FETCH_OP; null: no data goes there, or none comes back.
  Fault combine(Kind kind, const Target& target, std::uint64_t offset, ReduceOp reduction, const Element& element,
                const DataView* origin, const DataView* result, Request** request = nullptr);
  Fault compare_and_swap(const Target& target, std::uint64_t offset, const Element& element, const void* origin,
                         const void* compare, const DataView& result);

  // ---- completion ----
  /// Of what has been issued so far.
  Completion completion(int rank, Until until);
  std::vector<Completion> completions(Until until);
  /// *Waits* until all of these are complete, all targets at the same time. The first fault of any.
  Fault finish(std::span<Completion> all);
  Fault finish(int rank, Until until);
  Fault finish_all(Until until);
  /// *Waits* until nothing is under way any more.
  void wait_idle();

  // ---- epochs ----
  /// Begins an epoch of lock(). `several`: it is not the only one of this rank, and *waits* until the lock is held;
  /// else perhaps: Channel::stand_in_line.
  Fault begin_lock(int rank, LockType type, bool nocheck, bool several);
  /// *Waits* until this thread has the locks that its calls so far ask for, for what it locks next comes behind them:
  /// that of a lone lock() and those of its operations under lock_all(), on whatever windows.
  void hold_locks();
  /// Ends the epoch for that target.
  void close(Channel& channel);
  /// Those with an epoch, or with a fault to report at its end.
  const std::vector<Channel*>& busy() const { return busy_; }
  /// The channel to a target, if there is one; in_use(): and an epoch is open on it.
  Channel* find(int rank) const { return channel_of_[rank]; }
  Channel* in_use(int rank) const {
    Channel* c = find(rank);
    return c && !c->is_closed() ? c : nullptr;
  }

 private:
  Channel& channel(int rank);
  Op* make_op(Kind kind, const Target& target, std::uint64_t offset, const DataView* data, const DataView* result);
  Fault transfer(Kind kind, const Target& target, std::uint64_t offset, const DataView& here, Request** request);
  Op* make_combining(Kind kind, const Target& target, std::uint64_t offset, ReduceOp reduction, const Element& element,
                     const DataView* data, const DataView* result);
  Channel* awaited_lock(DomainCore::Opener me) const;
  Fault issue(Op* op, Request** request) { return op->channel->issue(op, request); }

  WindowCore& core_;
  std::vector<std::unique_ptr<Channel>> channels_;  // made when needed
  os::Zeros<Channel*> channel_of_;                  // by place
  std::vector<Channel*> busy_;                      // with an epoch, or with a fault to report at its end
};

}  // namespace rmq::rma
