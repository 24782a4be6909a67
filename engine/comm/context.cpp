// SPDX-License-Identifier: BSD-3-Clause
// How all members come to the same contexts.
//
// Every process keeps a mask of the contexts that it does not use (object/contexts.hpp). The members AND their masks
// along the party's tree and take the lowest bits that are left. Several agreements may go on in a process at once
// (threads, MPI_Comm_idup); if each took its bits from the same mask, two could take the same. So one at a time owns
// the mask; the others put in zeros, see that not all members owned theirs, and go another round. Two rules keep them
// from waiting for ever:
// - the owner is the agreement that comes first in the order (Order), which is the same in all processes;
// - it stands in that order from its second round on, when all its members have come: nobody holds the mask, or the
//   place before others, for members who come only after another agreement, which needs the mask. An agreement that is
//   alone in its process, which does nothing else meanwhile, may own at once.
#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "engine/comm/comms.hpp"
#include "engine/message/p2p.hpp"

namespace rmq::mpi {
namespace {

// In the last word of a round: all members own their masks. Beside it are their traits.
constexpr std::uint64_t kOwned = 1;

/// Which agreement may take contexts from this process's mask.
struct Masks {
  bool owned = false;
  int under_way = 0;
  std::multiset<Order> waiting;  // the agreements that may own
};
/// Touched with the device held.
Masks& masks() {
  static Masks* const all = new Masks;
  return *all;
}

/// Contexts of this process alone.
Contexts take_own(int wanted) {
  Contexts own{.list = {}, .traits = coll::own_traits(*runtime().device)};
  for (int i = 0; i < wanted; ++i) own.list.push_back(take_own_context());
  return own;
}

/// Instead of words, once a member has failed, or its party is revoked: so nobody waits in vain, and all who depend on
/// it fail as well.
Buffer nothing() {
  return {nullptr, 0, find_datatype(MPI_BYTE)};
}
Buffer buffer_of(std::uint64_t (&words)[kContextWords + 1]) {
  return {words, sizeof words, find_datatype(MPI_BYTE)};
}

}  // namespace

// ---- one process's part ----

ContextTurn::ContextTurn(const Order& order, bool at_once) : order_(order) {
  const bool alone = ++masks().under_way == 1;
  if (alone && at_once && !runtime().device->threads()) join_order();
}

ContextTurn::~ContextTurn() {
  end();
}

void ContextTurn::end() {
  if (std::exchange(ended_, true)) return;
  Masks& m = masks();
  if (owner_) m.owned = owner_ = false;
  if (in_order_) m.waiting.erase(m.waiting.find(order_));
  --m.under_way;
}

void ContextTurn::join_order() {
  if (!in_order_) masks().waiting.insert(order_);
  in_order_ = true;
}

void ContextTurn::offer(std::span<std::uint64_t, kWords> words) {
  Masks& m = masks();
  owner_ = in_order_ && !m.owned && *m.waiting.begin() == order_;
  if (owner_) {
    m.owned = true;
    std::ranges::copy(free_contexts(), words.begin());
  } else {
    std::fill(words.begin(), words.end(), 0);
  }
  words[kContextWords] = coll::own_traits(*runtime().device).bits() << 1 | (owner_ ? kOwned : 0);
}

bool ContextTurn::end_round(std::span<const std::uint64_t, kWords> words, int wanted, bool failed, Contexts& agreed) {
  Masks& m = masks();
  if (owner_) m.owned = owner_ = false;
  if (!failed && !(words[kContextWords] & kOwned)) {
    join_order();
    return false;
  }
  end();
  if (failed) return true;
  std::vector<std::uint32_t>& contexts = agreed.list;
  agreed.traits = coll::Traits::of(words[kContextWords] >> 1);
  for (std::size_t word = 0; word < kContextWords; ++word) {
    for (std::uint64_t left = words[word]; left && std::ssize(contexts) < wanted; left &= left - 1) {
      contexts.push_back(
          static_cast<std::uint32_t>(2 * (word * 64 + static_cast<std::size_t>(std::countr_zero(left)))));
    }
  }
  if (std::ssize(contexts) < wanted) contexts.clear();
  for (const std::uint32_t c : contexts) take_context(c);
  return true;
}

void ContextTurn::end_alone(int wanted, Contexts& agreed) {
  end();
  agreed = take_own(wanted);
}

// ---- along the tree of a party ----

ContextAgreement::ContextAgreement(Everyone all, int n, bool blocking)
    : party_(std::move(all.party)), bridge_(all.bridge), wanted_(n) {
  if (party_.size() == 1 && !bridge_.present) {
    contexts_ = take_own(wanted_);
    done_ = true;
    return;
  }
  plan();
  turn_.emplace(Order::of(party_.comm.context, party_.tag), blocking);
  start_round();
}

ContextAgreement::~ContextAgreement() {
  RMQ_CHECK(done_);
}

void ContextAgreement::plan() {
  party_.for_each_child([&](int child) { steps_.push_back({Step::What::recv_and, child}); });
  if (party_.me == 0 && bridge_.present) steps_.push_back({Step::What::swap_and, 0});
  if (party_.me != 0) {
    steps_.push_back({Step::What::send_up, party_.parent()});
    steps_.push_back({Step::What::recv, party_.parent()});
  }
  party_.for_each_child([&](int child) { steps_.push_back({Step::What::send_down, child}); });
}

void ContextAgreement::start_round() {
  turn_->offer(words_);
  failed_before_ = error_ != MPI_SUCCESS;
  unheard_ = false;
  at_ = 0;
  go_on();
}

void ContextAgreement::go_on() {
  while (at_ < steps_.size()) {
    ++outstanding_;  // so that a transfer that completes at once does not come here again
    start(steps_[at_]);
    if (--outstanding_ > 0) return;
    settle(steps_[at_++]);
  }
  end_round();
}

void ContextAgreement::start(const Step& s) {
  Comm& c = party_.comm;
  const int rank = party_.rank_of(s.member);
  switch (s.what) {
    case Step::What::recv_and:
      return watch(start_recv(c, rank, party_.tag, buffer_of(other_)));
    case Step::What::recv:
      return watch(start_recv(c, rank, party_.tag, buffer_of(words_)));
    case Step::What::send_up:
      return watch(start_send(c, rank, party_.tag, error_ == MPI_SUCCESS ? buffer_of(words_) : nothing()));
    case Step::What::send_down: {
      // All below this one are to go on, or to leave, as it does itself: whichever of them it cannot reach.
      const bool heard = !failed_before_ && !unheard_;
      return watch(start_send(c, rank, party_.tag, heard ? buffer_of(words_) : nothing()));
    }
    case Step::What::swap_and:
      watch(start_recv(*bridge_.comm, bridge_.remote_leader, bridge_.tag, buffer_of(other_)));
      watch(start_send(*bridge_.comm, bridge_.remote_leader, bridge_.tag,
                       error_ == MPI_SUCCESS ? buffer_of(words_) : nothing()));
  }
}

void ContextAgreement::watch(Request* r) {
  ++outstanding_;
  r->user = this;
  if (r->complete()) {
    on_complete(r);
  } else {
    r->on_complete = on_complete;
  }
}

void ContextAgreement::on_complete(Request* r) {
  auto& a = *static_cast<ContextAgreement*>(r->user);
  const bool received = r->kind == RequestKind::recv;
  int error = error_class_of(r->status.error);
  if (received && error == MPI_SUCCESS && r->status.bytes < r->view.bytes) error = MPIX_ERR_PROC_FAILED;  // of others
  if (error != MPI_SUCCESS) {
    if (a.error_ == MPI_SUCCESS) a.error_ = error;
    a.unheard_ = a.unheard_ || received;
  }
  runtime().device->MPID_Request_free(r);
  if (--a.outstanding_ > 0) return;
  a.settle(a.steps_[a.at_++]);
  a.go_on();
}

void ContextAgreement::settle(const Step& s) {
  if (s.what != Step::What::recv_and && s.what != Step::What::swap_and) return;
  for (std::size_t i = 0; i <= kContextWords; ++i) words_[i] &= other_[i];
}

void ContextAgreement::end_round() {
  const bool failed = error_ != MPI_SUCCESS;
  // The others hear in the next round that this one has failed; once.
  if (failed && !unheard_ && !failed_before_ && !(words_[kContextWords] & kOwned)) return start_round();
  if (!turn_->end_round(words_, wanted_, failed, contexts_)) return start_round();
  if (!failed && contexts_.list.empty()) error_ = MPI_ERR_OTHER;
  done_ = true;
}

const char* ContextAgreement::text() const {
  return error_ == MPI_ERR_OTHER ? kNoContextLeft : "a member could not be reached";
}

Contexts agree_on_contexts(const Everyone& all, int n) {
  ContextAgreement agreement(all, n, true);
  while (!agreement.done()) runtime().device->MPID_Poll(true);
  if (agreement.error() != MPI_SUCCESS) fail_call(agreement.error(), agreement.text());
  return agreement.contexts();
}

}  // namespace rmq::mpi
