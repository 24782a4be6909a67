#include "mpi/ft/together.hpp"

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
    : comm_(c), wanted_(wanted), turn_((std::uint64_t{c.context} << 32) | (~std::uint32_t{0} - 1), blocking) {
  ask();
}

void CopyAgreement::ask() {
  std::vector<std::uint64_t> words(1 + ContextTurn::kWords);
  words[0] = Circle::kTakesPart;
  turn_.offer(std::span<std::uint64_t, ContextTurn::kWords>(words.data() + 1, ContextTurn::kWords));
  makings_of(comm_).vote(std::move(words), [this](const Agreement::Value& agreed) { hear(agreed); });
}

void CopyAgreement::hear(const Agreement::Value& agreed) {
  const bool refused = agreed.words.size() != 1 + ContextTurn::kWords || agreed.words[0] != Circle::kTakesPart;
  if (!agreed.failed.empty()) {
    error_ = MPIX_ERR_PROC_FAILED;
  } else if (refused) {
    error_ = MPIX_ERR_REVOKED;
  }
  const std::vector<std::uint64_t> none(1 + ContextTurn::kWords);
  const std::span<const std::uint64_t, ContextTurn::kWords> free((refused ? none : agreed.words).data() + 1,
                                                                 ContextTurn::kWords);
  if (!turn_.end_round(free, wanted_, error_ != MPI_SUCCESS, contexts_)) return ask();
  if (error_ == MPI_SUCCESS && contexts_.list.empty()) error_ = MPI_ERR_OTHER;
  over_ = true;
}

const char* CopyAgreement::text() const {
  return error_ == MPIX_ERR_PROC_FAILED ? "a member has failed"
         : error_ == MPIX_ERR_REVOKED   ? "a member knows that the communicator has been revoked"
                                        : kNoContextLeft;
}

Together::Together(Comm& c) : comm_(c), deaths_(ft::may_fail()) {
  if (!deaths_ || (c.size() == 1 && !c.is_inter())) return;
  CopyAgreement agreement(c, c.is_inter() ? 2 : 1, true);
  while (!agreement.is_over()) runtime().device->MPID_Poll(true);
  if (agreement.error() != MPI_SUCCESS) fail_call(agreement.error(), agreement.text());
  const auto& contexts = agreement.contexts();
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
    if (own_) circle_of(*own_).revoke();
  }
}

bool Together::agree(int error) {
  if (error == MPI_SUCCESS && failure_) error = class_of_code(failure_->code);
  constexpr std::uint64_t kWell = 1, kNoDeath = 2;
  const std::uint64_t mine = error == MPI_SUCCESS ? kWell | kNoDeath : error == MPIX_ERR_PROC_FAILED ? 0 : kNoDeath;
  if (!own_) {
    any_died_ = any_died_ || mine == 0;
    return error == MPI_SUCCESS;
  }
  bool over = false, well = false;
  circle_of(*own_).vote({mine}, [&](const Agreement::Value& agreed) {
    any_died_ = any_died_ || !agreed.failed.empty() || (agreed.words.at(0) & kNoDeath) == 0;
    well = agreed.failed.empty() && (agreed.words.at(0) & kWell) != 0;
    over = true;
  });
  while (!over) runtime().device->MPID_Poll(true);
  return well;
}

void Together::conclude(const std::function<void()>& undo) {
  conclude(agree(), undo);
}

void Together::conclude(bool all_well, const std::function<void()>& undo) {
  if (all_well) return;
  if (!failure_) undo();
  // That the copy has been revoked says only that another member has failed.
  if (failure_ && failure_->code != MPIX_ERR_REVOKED) throw *std::exchange(failure_, std::nullopt);
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
