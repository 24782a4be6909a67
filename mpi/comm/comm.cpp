// SPDX-License-Identifier: BSD-3-Clause
// Chapter 7.4: communicators: inquiry, names, info, making by duplication, ending.
#include <fmt/format.h>

#include <algorithm>

#include "engine/comm/comms.hpp"
#include "engine/comm/together.hpp"
#include "engine/ft/circle.hpp"
#include "engine/message/requests.hpp"
#include "engine/object/attributes.hpp"
#include "engine/object/deaths.hpp"
#include "engine/worlds/bonds.hpp"
#include "mpi/define.hpp"
#include "mpi/dynamic/spawn.hpp"

namespace rmq::mpi {
namespace {

int compare(const Comm& a, const Comm& b) {
  if (&a == &b) return MPI_IDENT;
  if (a.is_inter() != b.is_inter()) return MPI_UNEQUAL;
  int result = compare(*a.group, *b.group);
  if (a.is_inter()) result = std::max(result, compare(*a.remote, *b.remote));
  return result == MPI_IDENT ? MPI_CONGRUENT : result;
}

/// A duplicate without contexts yet; takes the attributes along. `refused`: the code of a copy function that failed;
/// the others do not know of that, and wait for this rank to agree on contexts.
Comm& duplicate(Comm& c, int& refused) {
  retain(*c.group);
  NewComm made{0, c.group};
  if (c.is_inter()) {
    retain(*c.remote);
    made.remote = c.remote;
  }
  Comm* d = new_comm(c, made);
  d->topology = c.topology;
  refused = copy_attributes(d->attributes, c.attributes, c.handle);
  return *d;
}

void undo_duplicate(Comm& d) {
  delete_all_attributes(d.attributes, d.handle);
  drop_handle(&d);
}

int contexts_of(const Comm& c) {
  return c.is_inter() ? 2 : 1;
}

void give_contexts(Comm& d, const Contexts& contexts) {
  if (d.context != 0) return;
  d.context = d.recv_context = contexts[0];
  d.traits = contexts.traits;
  if (d.local) {
    d.local->context = d.local->recv_context = contexts[1];
    d.local->traits = contexts.traits;
  }
  ft::begin(d);
}

/// Contexts for what all members of a communicator make: where ranks die, the same at all who live.
class ContextsFor {
 public:
  ContextsFor(Comm& c, int wanted, bool blocking) {
    if (ft::may_fail() && (c.size() > 1 || c.is_inter()))
      living_.emplace(c, wanted, blocking);
    else
      all_.emplace(everyone_of(c), wanted, blocking);
  }
  bool done() const { return living_ ? living_->is_over() : all_->done(); }
  int error() const { return living_ ? living_->error() : all_->error(); }
  const char* text() const { return living_ ? living_->text() : all_->text(); }
  const Contexts& contexts() const { return living_ ? living_->contexts() : all_->contexts(); }

 private:
  std::optional<ContextAgreement> all_;
  std::optional<ft::CopyAgreement> living_;
};

MPI_Comm dup(Comm& c) {
  note_collective(c);
  int refused;
  Comm& d = duplicate(c, refused);
  try {
    ContextsFor agreement(c, contexts_of(c), true);
    while (!agreement.done()) runtime().device->MPID_Poll(true);
    if (agreement.error() != MPI_SUCCESS) fail_call(agreement.error(), agreement.text());
    give_contexts(d, agreement.contexts());
    if (refused != MPI_SUCCESS) throw Failure{refused, {}, c.handle};
  } catch (const Failure&) {
    undo_duplicate(d);
    throw;
  }
  return d.handle;
}

/// MPI_Comm_idup: the duplicate is there at once, and is usable as soon as any call can have told that it is complete.
/// A copy function that fails is told by the request, for the others wait for this rank too; the program may free the
/// duplicate, which lacks the attributes from that one on.
class Idup final : public Activity {
 public:
  /// `newcomm`: where the program has the handle, until the end; null where there is none.
  Idup(Comm& c, MPI_Comm* newcomm)
      : Activity(&c), newcomm_(newcomm), duplicate_(duplicate(c, refused_)), agreement_(c, contexts_of(c), false) {
    retain(duplicate_);  // the program may free it before it waits
  }
  ~Idup() override { release(&duplicate_); }
  MPI_Comm duplicate_handle() const { return duplicate_.handle; }
  bool complete() override {
    if (!agreement_.done()) return false;
    if (agreement_.error() == MPI_SUCCESS) give_contexts(duplicate_, agreement_.contexts());
    return true;
  }
  int peek(MPI_Status* status) override {
    set_sent_status(status);
    return agreement_.error() != MPI_SUCCESS ? agreement_.error() : refused_;
  }
  int finish(MPI_Status* status) override {
    if (agreement_.error() != MPI_SUCCESS && *newcomm_ == duplicate_.handle) {
      drop_handle(&duplicate_);
      *newcomm_ = MPI_COMM_NULL;
    }
    return peek(status);
  }
  int abandon(Request* place) override {
    if (!complete())
      fail_call(MPI_ERR_REQUEST, "argument request is a collective's that is not over, which cannot be freed");
    return Activity::abandon(place);
  }

 private:
  int refused_ = MPI_SUCCESS;
  MPI_Comm* const newcomm_;
  Comm& duplicate_;
  ContextsFor agreement_;
};

void idup(Comm& c, MPI_Comm* newcomm, MPI_Request* request) {
  out(newcomm, "newcomm"), out(request, "request");
  note_collective(c);
  auto activity = std::make_unique<Idup>(c, newcomm);
  *newcomm = activity->duplicate_handle();
  *request = new_activity_request(std::move(activity));
}

void check_freeable(const Comm& c) {
  if (&c == runtime().world || &c == runtime().self) {
    fail_call(MPI_ERR_COMM, fmt::format("argument comm is {}, which cannot be freed", c.name));
  }
}

/// Ends the user's hold on a communicator.
int free_comm(Comm& c, MPI_Comm& handle) {
  if (const int code = delete_all_attributes(c.attributes, c.handle); code != MPI_SUCCESS) return code;
  adi::Envelope left;
  c.littered = c.context != 0 && runtime().device->MPID_Iprobe({c.recv_context, MPI_ANY_SOURCE, MPI_ANY_TAG}, left);
  // Its messages can be received no more, which is nobody's mistake where it has been revoked. A program that does not
  // listen for errors would end for one that harms nobody.
  const bool tells = c.littered && !c.revoked && !c.errhandler->is_fatal();
  const auto handler = tells ? std::make_shared<const Errhandler>(*c.errhandler) : nullptr;
  drop_handle(&c);
  handle = MPI_COMM_NULL;
  if (!tells) return MPI_SUCCESS;
  throw Failure{MPI_ERR_OTHER,
                fmt::format("a message from rank {} with tag {} ({} bytes) was never received", left.source, left.tag,
                            left.bytes),
                MPI_COMM_NULL, MPI_SUCCESS, handler};
}

MPI_Group handle_to(Group& g) {
  retain(g);
  return g.handle;
}

}  // namespace

RMQ_MPI(int, Comm_size, (MPI_Comm comm, int* size)) {
  return enter(comm, [&](Comm& c) { *out(size, "size") = c.size(); });
}

RMQ_MPI(int, Comm_rank, (MPI_Comm comm, int* rank)) {
  return enter(comm, [&](Comm& c) { *out(rank, "rank") = c.rank; });
}

RMQ_MPI(int, Comm_test_inter, (MPI_Comm comm, int* flag)) {
  return enter(comm, [&](Comm& c) { *out(flag, "flag") = c.is_inter(); });
}

RMQ_MPI(int, Comm_remote_size, (MPI_Comm comm, int* size)) {
  return enter(comm, [&](Comm& c) {
    if (!c.is_inter()) fail_call(MPI_ERR_COMM, "argument comm is no inter-communicator");
    *out(size, "size") = c.remote_size();
  });
}

RMQ_MPI(int, Comm_group, (MPI_Comm comm, MPI_Group* group)) {
  return enter(comm, [&](Comm& c) { *out(group, "group") = handle_to(*c.group); });
}

RMQ_MPI(int, Comm_remote_group, (MPI_Comm comm, MPI_Group* group)) {
  return enter(comm, [&](Comm& c) {
    if (!c.is_inter()) fail_call(MPI_ERR_COMM, "argument comm is no inter-communicator");
    *out(group, "group") = handle_to(*c.remote);
  });
}

RMQ_MPI(int, Comm_compare, (MPI_Comm comm1, MPI_Comm comm2, int* result)) {
  return enter(comm1, [&](Comm& c) { *out(result, "result") = compare(c, comm_arg(comm2, "comm2")); });
}

RMQ_MPI(int, Comm_dup, (MPI_Comm comm, MPI_Comm* newcomm)) {
  return enter(comm, [&](Comm& c) {
    *out(newcomm, "newcomm") = MPI_COMM_NULL;
    *newcomm = dup(c);
  });
}

RMQ_MPI(int, Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm)) {
  return enter(comm, [&](Comm& c) {
    *out(newcomm, "newcomm") = MPI_COMM_NULL;
    optional_info_arg(info);
    *newcomm = dup(c);
  });
}

RMQ_MPI(int, Comm_idup, (MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request)) {
  return enter(comm, [&](Comm& c) { idup(c, newcomm, request); });
}

RMQ_MPI(int, Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request)) {
  return enter(comm, [&](Comm& c) {
    optional_info_arg(info);
    idup(c, newcomm, request);
  });
}

RMQ_MPI(int, Comm_free, (MPI_Comm * comm)) {
  return enter(comm ? *comm : MPI_COMM_NULL, [&](Comm& c) {
    check_freeable(c);
    forget_parent(c);
    return free_comm(c, *comm);
  });
}

// Requests that are complete, and persistent ones, may outlive the handle: they hold the communicator as after
// MPI_Comm_free.
RMQ_MPI(int, Comm_disconnect, (MPI_Comm * comm)) {
  return enter(comm ? *comm : MPI_COMM_NULL, [&](Comm& c) {
    check_freeable(c);
    while (has_pending(c)) runtime().device->MPID_Poll(true);
    const std::vector<adi::Party*> over = part_from(c);
    forget_parent(c);
    const auto circle = over.empty() ? nullptr : c.circle;
    const int code = free_comm(c, *comm);
    // The last that its members say to each other goes through what is to be dismissed.
    while (circle && circle->has_left() && !circle->is_over()) runtime().device->MPID_Poll(true);
    if (code == MPI_SUCCESS)
      for (adi::Party* const party : over) dismiss(*party);
    return code;
  });
}

RMQ_MPI(int, Comm_set_name, (MPI_Comm comm, const char* comm_name)) {
  return enter(comm, [&](Comm& c) {
    c.name.assign(out(comm_name, "comm_name"));
    if (c.name.size() >= MPI_MAX_OBJECT_NAME) c.name.resize(MPI_MAX_OBJECT_NAME - 1);
  });
}

// MPI-4.1 gives null handles names.
RMQ_MPI(int, Comm_get_name, (MPI_Comm comm, char* comm_name, int* resultlen)) {
  if (comm == MPI_COMM_NULL) {
    return enter([&] {
      out_text(out(comm_name, "comm_name"), MPI_MAX_OBJECT_NAME, out(resultlen, "resultlen"), "MPI_COMM_NULL");
    });
  }
  return enter(comm, [&](Comm& c) {
    out_text(out(comm_name, "comm_name"), MPI_MAX_OBJECT_NAME, out(resultlen, "resultlen"), c.name);
  });
}

// No hint changes what a communicator does, so all are ignored, and MPI_Comm_get_info, which returns those that were
// not, has what holds anyway (MPI-4.1, section 7.4.4).
RMQ_MPI(int, Comm_set_info, (MPI_Comm comm, MPI_Info info)) {
  return enter(comm, [&](Comm&) { info_arg(info); });
}

RMQ_MPI(int, Comm_get_info, (MPI_Comm comm, MPI_Info* info_used)) {
  return enter(comm, [&](Comm&) {
    out(info_used, "info_used");
    auto info = std::make_unique<Info>();
    info->entries.emplace_back(kMemoryKindsKey, kMemoryKinds);
    *info_used = runtime().infos.add(std::move(info))->handle;
  });
}

}  // namespace rmq::mpi
