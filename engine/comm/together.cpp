// SPDX-License-Identifier: BSD-3-Clause
#include "engine/comm/together.hpp"

#include <algorithm>
#include <utility>

#include "engine/call/error_codes.hpp"
#include "engine/object/deaths.hpp"

namespace rmq::mpi::ft {

CopyAgreement::CopyAgreement(Comm& c, int wanted, bool blocking)
    : wanted_(wanted), turn_(order_of(makings_of(c)), blocking) {
  check_not_revoked(c);  // in its circle all may have refused already, and nobody votes any more
  const std::weak_ptr alive(alive_);
  makings_of(c).ask({[this, alive] { return alive.expired() ? std::vector{Circle::kRefuses} : vote(); },
                     [this, alive](const Agreement::Value& agreed) { return alive.expired() || hear(agreed); }});
}

std::vector<std::uint64_t> CopyAgreement::vote() {
  std::vector<std::uint64_t> words(1 + ContextTurn::kWords);
  words[0] = Circle::kTakesPart;
  turn_.offer(std::span<std::uint64_t, ContextTurn::kWords>(words.data() + 1, ContextTurn::kWords));
  return words;
}

bool CopyAgreement::hear(const Agreement::Value& agreed) {
  const bool refused = agreed.words.size() != 1 + ContextTurn::kWords || agreed.words[0] != Circle::kTakesPart;
  if (!agreed.failed.empty()) {
    error_ = MPIX_ERR_PROC_FAILED;
  } else if (refused) {
    error_ = MPIX_ERR_REVOKED;
  }
  const std::vector<std::uint64_t> none(1 + ContextTurn::kWords);
  const std::span<const std::uint64_t, ContextTurn::kWords> free((refused ? none : agreed.words).data() + 1,
                                                                 ContextTurn::kWords);
  over_ = turn_.end_round(free, wanted_, error_ != MPI_SUCCESS, contexts_);
  if (over_ && error_ == MPI_SUCCESS && contexts_.list.empty()) error_ = MPI_ERR_OTHER;
  return over_;
}

const char* CopyAgreement::text() const {
  return error_ == MPIX_ERR_PROC_FAILED ? "a member has failed"
         : error_ == MPIX_ERR_REVOKED   ? "a member knows that the communicator has been revoked"
                                        : kNoContextLeft;
}

Contexts agree_on_contexts(Comm& c, const std::function<void()>& meanwhile) {
  CopyAgreement agreement(c, c.is_inter() ? 2 : 1, true);
  while (!agreement.is_over()) {
    if (meanwhile) meanwhile();
    runtime().device->MPID_Poll(true);
  }
  if (agreement.error() != MPI_SUCCESS) fail_call(agreement.error(), agreement.text());
  return agreement.contexts();
}

Together::Together(Comm& c) : comm_(c), deaths_(ft::may_fail()) {
  if (!deaths_ || (c.size() == 1 && !c.is_inter())) return;
  const Contexts contexts = agree_on_contexts(c);
  NewComm made{contexts[0], c.group};
  made.traits = contexts.traits;
  retain(*c.group);
  if (c.is_inter()) {
    made.remote = c.remote;
    retain(*c.remote);
    made.local_context = contexts[1];
  }
  own_ = new_comm(c, made);
  own_->terms = c.terms;
  if (c.local) own_->local->terms = c.local->terms;
  circle_of(c);
  whole_ = c.circle;
  copy_before_ = whole_->set_copy(&circle_of(*own_));
}

Together::~Together() {
  if (!own_) return;
  whole_->set_copy(copy_before_);
  drop_handle(own_);
}

void Together::run(const std::function<void()>& step) {
  if (!deaths_) return step();
  if (failure_) return;
  try {
    step();
  } catch (const Failure& f) {
    failure_ = f;
    if (own_ && !f.is_known) circle_of(*own_).revoke();
  }
}

// ---- why ----

void Together::Classes::add(int error_class) {
  const auto k = static_cast<unsigned>(error_class);
  if (error_class != MPI_SUCCESS && k < kWords * 64) words[k / 64] |= std::uint64_t{1} << k % 64;
}

void Together::Classes::add(const Classes& more) {
  for (int i = 0; i < kWords; ++i) words[i] |= more.words[i];
}

bool Together::Classes::has(int error_class) const {
  const auto k = static_cast<unsigned>(error_class);
  return (words[k / 64] >> k % 64 & 1) != 0;
}

int Together::Classes::choose() const {
  for (const int first : {MPIX_ERR_REVOKED, MPIX_ERR_PROC_FAILED})
    if (has(first)) return first;
  for (int k = 1; k < kWords * 64; ++k)
    if (k != MPI_ERR_OTHER && has(k)) return k;
  return MPI_ERR_OTHER;
}

// That the copy has been revoked says only that another member has failed, or that the communicator has been revoked.
bool Together::is_of_copy(const Failure& f) const {
  return f.code == MPIX_ERR_REVOKED && own_ &&
         (f.object == MPI_COMM_NULL || f.object == own_->handle || (own_->local && f.object == own_->local->handle));
}

int Together::own_class() const {
  if (!failure_) return MPI_SUCCESS;
  if (is_of_copy(*failure_)) return comm_.revoked ? MPIX_ERR_REVOKED : MPI_SUCCESS;
  return class_of_code(failure_->code);
}

// ---- what all say ----

Agreement::Value Together::vote(bool well, const Classes& mine) {
  std::optional<Agreement::Value> value;
  std::vector<std::uint64_t> words{well ? 1u : 0u};
  for (const std::uint64_t w : mine.words) words.push_back(~w);  // what is agreed on is the bitwise and
  circle_of(*own_).vote(words, [&](const Agreement::Value& agreed) { value = agreed; });
  while (!value) runtime().device->MPID_Poll(true);
  Classes all;
  for (int i = 0; i < Classes::kWords; ++i) all.words[i] = ~value->words.at(1 + static_cast<std::size_t>(i));
  classes_.add(all);
  if (!value->failed.empty()) classes_.add(MPIX_ERR_PROC_FAILED);
  return *value;
}

bool Together::agree() {
  Classes mine;
  mine.add(own_class());
  if (!own_) {
    classes_.add(mine);
    return !failure_;
  }
  const Agreement::Value agreed = vote(!failure_, mine);
  return agreed.failed.empty() && agreed.words[0] != 0;
}

bool Together::hear(int from, int error) {
  Classes mine;
  if (comm_.rank == from) mine.add(error);
  if (!own_) {
    classes_.add(mine);
    return error == MPI_SUCCESS;
  }
  const Agreement::Value agreed = vote(comm_.rank != from || error == MPI_SUCCESS, mine);
  return !agreed.failed.has(from) && agreed.words[0] != 0;
}

bool Together::has_lost(int rank) const {
  return own_ && std::ranges::find(circle_of(*own_).failed(), rank) != circle_of(*own_).failed().end();
}

void Together::conclude(const std::function<void()>& undo) {
  conclude(agree(), undo);
}

void Together::conclude(bool all_well, const std::function<void()>& undo) {
  if (all_well) return;
  if (!failure_) undo();
  const int error_class = classes_.choose();
  if (failure_ && !is_of_copy(*failure_)) {
    if (class_of_code(failure_->code) != error_class) failure_->code = error_class;
    throw *std::exchange(failure_, std::nullopt);
  }
  fail_call(error_class, error_class == MPIX_ERR_REVOKED       ? "the communicator has been revoked (MPIX_Comm_revoke)"
                         : error_class == MPIX_ERR_PROC_FAILED ? "a member has failed"
                                                               : "another member cannot take part; it says why");
}

Comm* make_together(Comm& c, const std::function<Comm*(Comm& own)>& make) {
  return together<Comm*>(c, make, [](Comm*& made) {
    if (!made) return;
    made->stillborn = true;
    drop_handle(made);
  });
}

}  // namespace rmq::mpi::ft
