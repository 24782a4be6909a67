#include "mpi/ft/together.hpp"

#include <algorithm>
#include <utility>

#include "mpi/ft/failures.hpp"

namespace rmq::mpi::ft {
namespace {

void drop(Comm* c) {
  static_cast<void>(runtime().comms.take(c).release());
  c->handle = MPI_COMM_NULL;
  release(c);
}

}  // namespace

CopyAgreement::CopyAgreement(Comm& c, int wanted, bool blocking)
    : wanted_(wanted), turn_(order_of(makings_of(c)), blocking) {
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

Contexts agree_on_contexts(Comm& c, const std::function<void()>& failed) {
  CopyAgreement agreement(c, c.is_inter() ? 2 : 1, true);
  while (!agreement.is_over()) {
    if (failed) failed();
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
  circle_of(*own_);
}

Together::~Together() {
  if (own_) drop(own_);
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

namespace {

constexpr std::uint64_t kWell = 1, kNoDeath = 2;

std::uint64_t vote_of(int error) {
  return error == MPI_SUCCESS ? kWell | kNoDeath : error == MPIX_ERR_PROC_FAILED ? 0 : kNoDeath;
}

}  // namespace

Agreement::Value Together::vote(std::uint64_t mine) {
  std::optional<Agreement::Value> value;
  circle_of(*own_).vote({mine}, [&](const Agreement::Value& agreed) { value = agreed; });
  while (!value) runtime().device->MPID_Poll(true);
  any_died_ = any_died_ || !value->failed.empty() || (value->words.at(0) & kNoDeath) == 0;
  return *value;
}

bool Together::agree() {
  const std::uint64_t mine = vote_of(failure_ ? class_of_code(failure_->code) : MPI_SUCCESS);
  if (!own_) {
    any_died_ = any_died_ || (mine & kNoDeath) == 0;
    return mine == (kWell | kNoDeath);
  }
  const Agreement::Value agreed = vote(mine);
  return agreed.failed.empty() && (agreed.words.at(0) & kWell) != 0;
}

bool Together::hear(int from, int error) {
  const std::uint64_t mine = comm_.rank == from ? vote_of(error) : kWell | kNoDeath;
  if (!own_) {
    any_died_ = any_died_ || (mine & kNoDeath) == 0;
    return error == MPI_SUCCESS;
  }
  const Agreement::Value agreed = vote(mine);
  return !agreed.failed.has(from) && (agreed.words.at(0) & kWell) != 0;
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
  // That the copy has been revoked says only that another member has failed.
  const bool of_copy = failure_ && failure_->code == MPIX_ERR_REVOKED && own_ &&
                       (failure_->object == MPI_COMM_NULL || failure_->object == own_->handle ||
                        (own_->local && failure_->object == own_->local->handle));
  if (failure_ && !of_copy) throw *std::exchange(failure_, std::nullopt);
  fail_call(any_died_ ? MPIX_ERR_PROC_FAILED : MPI_ERR_OTHER,
            any_died_ ? "a member has failed" : "another member cannot take part; it says why");
}

Comm* make_together(Comm& c, const std::function<Comm*(Comm& own)>& make) {
  return together<Comm*>(c, make, [](Comm*& made) {
    if (!made) return;
    made->stillborn = true;
    drop(made);
  });
}

}  // namespace rmq::mpi::ft
