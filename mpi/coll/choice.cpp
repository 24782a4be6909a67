#include "mpi/coll/choice.hpp"

#include <string>
#include <utility>

#include "mpi/internal/failure.hpp"
#include "mpi/internal/task.hpp"

namespace rmq::mpi::coll {
namespace {

// "1" or "0" for crowded, then the list of what is forced.
constexpr std::string_view kTermsKey = "coll.terms";

}  // namespace

Result<bool> Terms::ask() const {
  if (known()) return true;
  const auto answer = from_->look_up(kTermsKey);
  if (!answer) return tl::unexpected(answer.error());
  if (!*answer) return false;
  const std::string_view text = **answer;
  crowded_ = text.front() == '1';
  if (auto choice = Choice::parse(text.substr(1))) choice_ = std::move(*choice);  // rank 0 has parsed it, too
  from_ = nullptr;
  return true;
}

void Terms::await(adi::Device& device) const {
  Result<bool> answered = false;
  // Another thread may take the answer while this one polls.
  auto wait = [&] {
    while ((answered = ask()) && !*answered) device.MPID_Poll(true);
  };
  // A task does not poll: the call that has resumed it does.
  Task* const task = Task::current();
  task ? task->call_outside(wait) : wait();
  if (!answered)
    fail_call(MPI_ERR_OTHER, "what rank 0 has settled for collectives cannot be asked for: " + answered.error().what);
}

Result<Terms> settle_terms(Bootstrap& bootstrap, std::string_view forced, bool crowded) {
  auto choice = Choice::parse(forced);
  if (!choice) return tl::unexpected(choice.error());
  const JobInfo& job = bootstrap.job();
  if (job.rank != 0) return Terms(bootstrap);
  if (job.size > 1) {
    if (auto put = bootstrap.put(kTermsKey, (crowded ? "1" : "0") + std::string(forced)); !put) {
      return tl::unexpected(put.error());
    }
  }
  return Terms(std::move(*choice), crowded);
}

}  // namespace rmq::mpi::coll
