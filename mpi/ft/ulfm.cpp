// SPDX-License-Identifier: BSD-3-Clause
// User-level failure mitigation: the functions of the proposal to the MPI Forum ("ULFM"; W. Bland et al., "Post-failure
// recovery of MPI communication capability", IJHPCA 27, 2013), with the names, numbers and prototypes that MPICH gives
// those that it has.
#include <fmt/format.h>

#include <algorithm>

#include "engine/comm/together.hpp"
#include "engine/ft/faults.hpp"
#include "engine/message/requests.hpp"
#include "engine/object/deaths.hpp"
#include "engine/window/windows.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi::ft {
namespace {

/// Of agreements that are none: some members are in MPIX_Comm_agree, others in MPIX_Comm_shrink.
constexpr const char* kMixedUp = "the members do not call the same functions on the communicator";

/// Of the first so many members that have failed.
MPI_Group failed_group(const Circle& circle, std::size_t count) {
  std::vector<Rank> world;
  for (std::size_t i = 0; i < count; ++i) world.push_back(circle.members()[circle.failed()[i]]);
  return new_group(std::move(world))->handle;
}

/// Once the launcher has said of each member who is lost to this one that it is dead (adi/losses.hpp): a call that has
/// failed for it comes before the list in which it is.
const Circle& heard_of(const Circle& circle) {
  adi::Device& d = *runtime().device;
  d.MPID_Poll(false);
  const auto any_unheard = [&] {
    for (int place = 0; place < circle.members().size(); ++place) {
      if (d.peer_error(circle.members()[place]).empty()) continue;
      if (std::ranges::find(circle.failed(), place) == circle.failed().end()) return true;
    }
    return false;
  };
  while (d.any_lost() && any_unheard()) d.MPID_Poll(true);
  return circle;
}

// ---- agree ----

/// One member's part in MPIX_Comm_agree: a flag for each side of an inter-communicator, and whom it has acknowledged.
class Agree {
 public:
  Agree(Comm& c, int* flag) : comm_(c), flag_(flag) {
    Circle& circle = circle_of(c);
    first_ = circle.me() < circle.members().first.size();
    const auto bits = static_cast<std::uint32_t>(*flag);
    std::vector<std::uint64_t> words = circle.acknowledgements();
    words.insert(words.begin(), {first_ ? bits : ~0u, first_ ? ~0u : bits});
    circle.vote(std::move(words), [this](const Agreement::Value& agreed) { conclude(agreed); });
  }
  Agree(const Agree&) = delete;
  Agree& operator=(const Agree&) = delete;

  bool is_over() const { return over_; }
  int error() const { return error_; }
  const char* text() const {
    return error_ == MPI_ERR_OTHER ? kMixedUp : "members have failed, and not all others have acknowledged that";
  }

 private:
  void conclude(const Agreement::Value& agreed) {
    over_ = true;
    if (agreed.words.size() != 2 + agreed.failed.words().size()) {
      error_ = MPI_ERR_OTHER;
      return;
    }
    // Of the other group, in an inter-communicator.
    const std::size_t side = comm_.is_inter() && first_ ? 1 : 0;
    *flag_ = static_cast<int>(static_cast<std::uint32_t>(agreed.words[side]));
    const Places all_know(std::vector<std::uint64_t>(agreed.words.begin() + 2, agreed.words.end()));
    if (!agreed.failed.within(all_know)) error_ = MPIX_ERR_PROC_FAILED;
  }
  Comm& comm_;
  int* const flag_;
  bool first_ = true;
  bool over_ = false;
  int error_ = MPI_SUCCESS;
};

// ---- shrink ----

/// One member's part in MPIX_Comm_shrink: agrees on contexts that are free at all who live, and on who does not.
class Shrink {
 public:
  explicit Shrink(Comm& c) : comm_(c), turn_(order_of(circle_of(c)), false) {
    circle_of(c).ask({[this] { return vote(); }, [this](const Agreement::Value& agreed) { return hear(agreed); }});
  }
  Shrink(const Shrink&) = delete;
  Shrink& operator=(const Shrink&) = delete;

  bool is_over() const { return over_; }
  /// Once over. MPI_COMM_NULL where the other side of an inter-communicator is gone.
  MPI_Comm make() {
    if (mixed_up_) fail_call(MPI_ERR_OTHER, kMixedUp);
    if (contexts_.list.empty()) fail_call(MPI_ERR_OTHER, kNoContextLeft);
    if (failed_.has(comm_.circle->me())) {  // a link to it has broken, and its launcher is not theirs
      for (const std::uint32_t context : contexts_.list) free_context(context);
      fail_call(MPIX_ERR_PROC_FAILED, "the other members hold this process for dead");
    }
    NewComm made{contexts_[0], new_group(living(*comm_.group))};
    made.traits = contexts_.traits;
    if (comm_.is_inter()) {
      Ranks remote = living(*comm_.remote);
      if (remote.empty()) {
        release(made.group);
        for (const std::uint32_t context : contexts_.list) free_context(context);
        return MPI_COMM_NULL;
      }
      made.remote = new_group(std::move(remote));
      made.local_context = contexts_[1];
    }
    return new_comm(comm_, made)->handle;
  }

 private:
  std::vector<std::uint64_t> vote() {
    std::vector<std::uint64_t> words(ContextTurn::kWords);
    turn_.offer(std::span<std::uint64_t, ContextTurn::kWords>(words));
    return words;
  }
  bool hear(const Agreement::Value& agreed) {
    mixed_up_ = agreed.words.size() != ContextTurn::kWords;
    failed_ = agreed.failed;
    if (!mixed_up_ && failed_.count() + 1 == comm_.circle->members().size()) {
      turn_.end_alone(comm_.is_inter() ? 2 : 1, contexts_);
      return over_ = true;
    }
    std::vector<std::uint64_t> words = agreed.words;
    words.resize(ContextTurn::kWords);
    const std::span<const std::uint64_t, ContextTurn::kWords> free(words);
    return over_ = turn_.end_round(free, comm_.is_inter() ? 2 : 1, mixed_up_, contexts_);
  }
  std::vector<Rank> living(const Group& group) const {
    std::vector<Rank> world;
    const Members& members = comm_.circle->members();
    for (const Rank r : group.world)
      if (!failed_.has(members.place_of(r))) world.push_back(r);
    return world;
  }

  Comm& comm_;
  ContextTurn turn_;
  Contexts contexts_;
  Places failed_;
  bool mixed_up_ = false;
  bool over_ = false;
};

// ---- waiting for either ----

template <class Part>
void wait_for_end(const Part& part) {
  while (!part.is_over())
    runtime().device->MPID_Poll(true, {[](const void*, ReportText& to) {
                                         to.begin_object();
                                         to.field("kind", "agreement");
                                         to.end_object();
                                       },
                                       &part});
}

class AgreeRequest final : public Activity {
 public:
  AgreeRequest(Comm& c, int* flag) : Activity(&c), part_(c, flag) {}
  bool complete() override { return part_.is_over(); }
  int peek(MPI_Status* status) override {
    set_sent_status(status);
    return part_.error();
  }
  int finish(MPI_Status* status) override { return peek(status); }
  Failure failure() const override { return {part_.error(), part_.text(), comm()->handle}; }
  int abandon(Request*) override { fail_call(MPI_ERR_REQUEST, "the request of an agreement cannot be freed"); }

 private:
  Agree part_;
};

class ShrinkRequest final : public Activity {
 public:
  ShrinkRequest(Comm& c, MPI_Comm* newcomm) : Activity(&c), part_(c), newcomm_(newcomm) {}
  bool complete() override { return part_.is_over(); }
  int peek(MPI_Status* status) override {
    set_sent_status(status);
    if (!made_) *newcomm_ = part_.make();
    made_ = true;
    return MPI_SUCCESS;
  }
  int finish(MPI_Status* status) override { return peek(status); }
  int abandon(Request*) override { fail_call(MPI_ERR_REQUEST, "the request of an agreement cannot be freed"); }

 private:
  Shrink part_;
  MPI_Comm* const newcomm_;
  bool made_ = false;
};

}  // namespace

RMQ_MPIX(int, Comm_revoke, (MPI_Comm comm)) {
  return enter(comm, [&](Comm& c) { circle_of(c).revoke(); });
}

RMQ_MPIX(int, Comm_is_revoked, (MPI_Comm comm, int* flag)) {
  return enter(comm, [&](Comm& c) {
    runtime().device->MPID_Poll(false);  // a program may call nothing else until it is
    *out(flag, "flag") = c.revoked;
  });
}

RMQ_MPIX(int, Comm_agree, (MPI_Comm comm, int* flag)) {
  return enter(comm, [&](Comm& c) {
    const Agree part(c, out(flag, "flag"));
    wait_for_end(part);
    if (part.error() != MPI_SUCCESS) fail_call(part.error(), part.text());
  });
}

RMQ_MPIX(int, Comm_iagree, (MPI_Comm comm, int* flag, MPI_Request* request)) {
  return enter(comm, [&](Comm& c) {
    out(flag, "flag"), out(request, "request");
    *request = new_activity_request(std::make_unique<AgreeRequest>(c, flag));
  });
}

RMQ_MPIX(int, Comm_shrink, (MPI_Comm comm, MPI_Comm* newcomm)) {
  return enter(comm, [&](Comm& c) {
    *out(newcomm, "newcomm") = MPI_COMM_NULL;
    Shrink part(c);
    wait_for_end(part);
    *newcomm = part.make();
  });
}

RMQ_MPIX(int, Comm_ishrink, (MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request)) {
  return enter(comm, [&](Comm& c) {
    *out(newcomm, "newcomm") = MPI_COMM_NULL;
    out(request, "request");
    *request = new_activity_request(std::make_unique<ShrinkRequest>(c, newcomm));
  });
}

RMQ_MPIX(int, Comm_failure_ack, (MPI_Comm comm)) {
  return enter(comm, [&](Comm& c) {
    Circle& circle = circle_of(c);
    circle.acknowledge(heard_of(circle).failed().size());
  });
}

RMQ_MPIX(int, Comm_failure_get_acked, (MPI_Comm comm, MPI_Group* failedgrp)) {
  return enter(comm, [&](Comm& c) {
    const Circle& circle = circle_of(c);
    *out(failedgrp, "failedgrp") = failed_group(circle, circle.acknowledged());
  });
}

RMQ_MPIX(int, Comm_get_failed, (MPI_Comm comm, MPI_Group* failedgrp)) {
  return enter(comm, [&](Comm& c) {
    const Circle& circle = heard_of(circle_of(c));
    *out(failedgrp, "failedgrp") = failed_group(circle, circle.failed().size());
  });
}

RMQ_MPIX(int, Win_get_failed, (MPI_Win win, MPI_Group* failedgrp)) {
  return enter_win(win, [&](Win& w) {
    const Circle& circle = heard_of(circle_of(*w.comm));
    *out(failedgrp, "failedgrp") = failed_group(circle, circle.failed().size());
  });
}

RMQ_MPIX(int, Comm_ack_failed, (MPI_Comm comm, int num_to_ack, int* num_acked)) {
  return enter(comm, [&](Comm& c) {
    if (num_to_ack < 0) fail_call(MPI_ERR_ARG, fmt::format("argument num_to_ack is negative: {}", num_to_ack));
    Circle& circle = circle_of(c);
    heard_of(circle);
    circle.acknowledge(static_cast<std::size_t>(num_to_ack));
    *out(num_acked, "num_acked") = static_cast<int>(circle.acknowledged());
  });
}

}  // namespace rmq::mpi::ft
