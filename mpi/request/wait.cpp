// Chapter 3.7: MPI_Wait and MPI_Test, one, any, some, all.
#include <fmt/format.h>

#include <utility>

#include "engine/ft/failures.hpp"
#include "engine/message/requests.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

/// The arguments of a call on several requests. Every handle is checked before anything happens.
class Requests {
 public:
  Requests(MPI_Request* handles, int count, const char* name = "array_of_requests") : handles_(handles), count_(count) {
    count_arg(count);
    if (count > 0) out(handles, name);
    for (int i = 0; i < count; ++i) {
      if (handles[i] == MPI_REQUEST_NULL) continue;
      const Request* r = find_request(handles[i]);
      if (!r || !is_user_request(*r)) {
        fail_call(MPI_ERR_REQUEST, fmt::format("argument {}[{}] is no valid handle: {:#010x}", name, i,
                                               static_cast<unsigned>(handles[i])));
      }
    }
  }
  int size() const { return count_; }
  MPI_Request& handle(int i) { return handles_[i]; }
  /// nullptr for a null handle, also when another thread has completed it meanwhile.
  Request* at(int i) const { return find_request(handles_[i]); }
  /// Those that are not complete, for reports, and how many more there are than fit.
  adi::Awaited awaited() const {
    return {[](const void* object, ReportText& to) {
              const auto& all = *static_cast<const Requests*>(object);
              int more = 0;
              for (int i = 0; i < all.size(); ++i) {
                const Request* r = all.at(i);
                if (!r || !is_active(*r) || is_complete(*r)) continue;
                if (more > 0 || !to.has_room()) {
                  ++more;
                } else {
                  tell(*r, to);
                }
              }
              if (more > 0) adi::tell_more(more, to);
            },
            this};
  }

 private:
  MPI_Request* handles_;
  int count_;
};

MPI_Status* nth(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

/// The end of a call that completes one request: its error becomes the call's.
int finish_one(Request* r, MPI_Request& handle, MPI_Status* status) {
  if (r->kind != RequestKind::other && r->status.error == Errc::ok) [[likely]] {
    finish_plain(r, handle, status);
    return MPI_SUCCESS;
  }
  Failure failure = failure_of(*r);
  failure.code = finish(r, handle, status);
  if (failure.code != MPI_SUCCESS) throw failure;
  return MPI_SUCCESS;
}

/// The ends of the requests that a call completes together. If one of them failed, all statuses tell their errors.
class Finisher {
 public:
  Finisher(MPI_Status* statuses) : statuses_(statuses) {}
  /// `r` is complete; its status goes to place `slot`.
  [[gnu::always_inline]] void add(Request* r, MPI_Request& handle, int slot) {
    if (r->kind != RequestKind::other && r->status.error == Errc::ok) [[likely]] {
      finish_plain(r, handle, nth(statuses_, slot));
      return succeeded(slot);
    }
    add_other(r, handle, slot);
  }
  /// The same for a request whose end is still to come.
  void look(const Request& r, int slot) {
    const Failure failure = failure_of(r);
    set(slot, peek(r, nth(statuses_, slot)), &failure);
  }
  /// The same for one that cannot complete before a failure is acknowledged, and stays as it is.
  void add_pending(const Request& r, int slot) {
    set_sent_status(nth(statuses_, slot));
    const Failure failure = ft::pending_failure(r);
    set(slot, failure.code, &failure);
  }
  void add_empty(int slot) {
    set_empty_status(nth(statuses_, slot));
    succeeded(slot);
  }
  /// MPI_SUCCESS, or throws MPI_ERR_IN_STATUS to the handler of the first failure.
  void end() {
    if (first_slot_ < 0) return;
    first_.cause = std::exchange(first_.code, MPI_ERR_IN_STATUS);
    first_.what = fmt::format("request {} failed: {}", first_slot_, first_.what);
    throw std::move(first_);
  }

 private:
  [[gnu::noinline]] void add_other(Request* r, MPI_Request& handle, int slot) {
    const Failure failure = failure_of(*r);
    set(slot, finish(r, handle, nth(statuses_, slot)), &failure);
  }
  void succeeded(int slot) {
    if (first_slot_ >= 0) [[unlikely]]
      set(slot, MPI_SUCCESS, nullptr);
  }
  [[gnu::noinline]] void set(int slot, int code, const Failure* failure) {
    if (code != MPI_SUCCESS && first_slot_ < 0) {
      first_ = failure ? *failure : Failure{};
      if (first_.what.empty()) first_.what = text_of_code(code);
      first_.code = code;
      first_slot_ = slot;
      for (int i = 0; i < slot && statuses_ != MPI_STATUSES_IGNORE; ++i) statuses_[i].MPI_ERROR = MPI_SUCCESS;
    }
    if (first_slot_ >= 0 && statuses_ != MPI_STATUSES_IGNORE) {
      statuses_[slot].MPI_ERROR =
          code != MPI_SUCCESS && failure && !failure->what.empty() ? make_error_code(code, failure->what) : code;
    }
  }
  MPI_Status* statuses_;
  int first_slot_ = -1;
  Failure first_;
};

/// The first request that is complete; -1: none is, but some are under way; MPI_UNDEFINED: none is active.
int find_complete(const Requests& all) {
  int found = MPI_UNDEFINED;
  for (int i = 0; i < all.size(); ++i) {
    Request* r = all.at(i);
    if (!r || !is_active(*r)) continue;
    if (is_complete(*r)) return i;
    found = -1;
  }
  return found;
}

bool all_complete(const Requests& all) {
  for (int i = 0; i < all.size(); ++i) {
    if (const Request* r = all.at(i); r && !is_complete(*r)) return false;
  }
  return true;
}

/// The first that cannot complete before a failure is acknowledged; -1: none.
int find_pending(const Requests& all) {
  for (int i = 0; runtime().ft && i < all.size(); ++i) {
    if (const Request* r = all.at(i); r && is_active(*r) && !is_complete(*r) && ft::waits_for_failed(*r)) return i;
  }
  return -1;
}
/// The same while none is complete: waits for something where there is no such request, else has polled, so that
/// whoever calls again and again gets what has come for the others.
int poll_or_find_pending(const Requests& all) {
  adi::Device& device = *runtime().device;
  if (find_pending(all) < 0) {
    device.MPID_Poll(true, all.awaited());
    return -1;
  }
  device.MPID_Poll(false, all.awaited());
  return find_complete(all) == -1 ? find_pending(all) : -1;
}
void check_pending(const Requests& all) {
  if (const int i = find_pending(all); i >= 0) throw ft::pending_failure(*all.at(i));
}

/// Ends all, in order, waiting for those that are not complete.
void finish_all(Requests& all, MPI_Status* statuses) {
  Finisher finisher(statuses);
  for (int i = 0; i < all.size(); ++i) {
    Request* r = all.at(i);
    if (r && is_active(*r)) [[likely]] {
      if (!is_complete(*r) && !complete_or_pending(r, all.awaited())) {
        finisher.add_pending(*r, i);
        continue;
      }
      finisher.add(r, all.handle(i), i);
    } else {
      finisher.add_empty(i);
    }
  }
  finisher.end();
}

/// All that are complete; `count`, also when some of them failed: how many, MPI_UNDEFINED when none is active.
void finish_some(Requests& all, int& count, int* indices, MPI_Status* statuses) {
  Finisher finisher(statuses);
  int done = 0;
  bool any_active = false;
  for (int i = 0; i < all.size(); ++i) {
    Request* r = all.at(i);
    if (!r || !is_active(*r)) continue;
    any_active = true;
    if (!is_complete(*r)) continue;
    out(indices, "array_of_indices")[done] = i;
    finisher.add(r, all.handle(i), done++);
  }
  count = any_active ? done : MPI_UNDEFINED;
  finisher.end();
}

/// The short way of calls for one request, as in point.hpp: a send or receive that is complete, and well, needs no
/// frame.
[[gnu::always_inline]] inline bool finish_now(MPI_Request* request, MPI_Status* status, const Function& function) {
  const Runtime& rt = runtime();
  if (!rt.is_active() || !rt.device->needs_no_entry() || request == nullptr) [[unlikely]]
    return false;
  Request* const r = find_request(*request);
  if (r == nullptr || (r->kind != RequestKind::send && r->kind != RequestKind::recv) || r->user == nullptr ||
      !r->complete() || r->status.error != Errc::ok)
    return false;
  const adi::Device::Passage passage(*rt.device, function, function.id);
  finish_plain(r, *request, status);
  return true;
}

/// For calls that only look: nothing is done to the handles.
Requests looked_at(const MPI_Request* handles, int count) {
  return {const_cast<MPI_Request*>(handles), count};
}

}  // namespace

RMQ_MPI(int, Wait, (MPI_Request * request, MPI_Status* status)) {
  if (finish_now(request, status, __func__)) return MPI_SUCCESS;
  return enter([&]() -> int {
    if (*out(request, "request") == MPI_REQUEST_NULL) {
      set_empty_status(status);
      return MPI_SUCCESS;
    }
    Request* r = request_arg(*request);
    wait_for(r);
    return finish_one(r, *request, status);
  });
}

RMQ_MPI(int, Test, (MPI_Request * request, int* flag, MPI_Status* status)) {
  if (flag != nullptr && finish_now(request, status, __func__)) {
    *flag = 1;
    return MPI_SUCCESS;
  }
  return enter([&]() -> int {
    *out(flag, "flag") = 1;
    if (*out(request, "request") == MPI_REQUEST_NULL) {
      set_empty_status(status);
      return MPI_SUCCESS;
    }
    Request* r = request_arg(*request);
    if (!is_complete(*r)) {
      runtime().device->MPID_Poll(false, awaited_by(r));
      if (!is_complete(*r)) {
        *flag = 0;
        if (ft::waits_for_failed(*r)) [[unlikely]]
          throw ft::pending_failure(*r);
        return MPI_SUCCESS;
      }
    }
    return finish_one(r, *request, status);
  });
}

RMQ_MPI(int, Waitany, (int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status)) {
  return enter([&]() -> int {
    Requests all(array_of_requests, count);
    int& i = *out(indx, "index");
    while ((i = find_complete(all)) == -1)
      if ((i = poll_or_find_pending(all)) >= 0) throw ft::pending_failure(*all.at(i));
    if (i != MPI_UNDEFINED) return finish_one(all.at(i), all.handle(i), status);
    set_empty_status(status);
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, Testany, (int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status)) {
  return enter([&]() -> int {
    Requests all(array_of_requests, count);
    int& i = *out(indx, "index");
    i = find_complete(all);
    if (i == -1) {
      runtime().device->MPID_Poll(false, all.awaited());
      i = find_complete(all);
    }
    *out(flag, "flag") = i != -1;
    if (i >= 0) return finish_one(all.at(i), all.handle(i), status);
    if (i == MPI_UNDEFINED) set_empty_status(status);
    if (i == -1) {
      i = MPI_UNDEFINED;
      check_pending(all);
    }
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, Waitall, (int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[])) {
  return enter([&] {
    Requests all(array_of_requests, count);
    finish_all(all, array_of_statuses);
  });
}

RMQ_MPI(int, Testall, (int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[])) {
  return enter([&] {
    Requests all(array_of_requests, count);
    *out(flag, "flag") = 0;
    if (!all_complete(all)) {
      runtime().device->MPID_Poll(false, all.awaited());
      if (!all_complete(all)) return check_pending(all);
    }
    *flag = 1;
    finish_all(all, array_of_statuses);
  });
}

RMQ_MPI(int, Waitsome,
        (int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
         MPI_Status array_of_statuses[])) {
  return enter([&] {
    Requests all(array_of_requests, incount);
    out(outcount, "outcount");
    while (find_complete(all) == -1) {
      if (const int i = poll_or_find_pending(all); i >= 0) {
        *outcount = 1;
        out(array_of_indices, "array_of_indices")[0] = i;
        Finisher finisher(array_of_statuses);
        finisher.add_pending(*all.at(i), 0);
        return finisher.end();
      }
    }
    finish_some(all, *outcount, array_of_indices, array_of_statuses);
  });
}

RMQ_MPI(int, Testsome,
        (int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
         MPI_Status array_of_statuses[])) {
  return enter([&] {
    Requests all(array_of_requests, incount);
    out(outcount, "outcount");
    if (find_complete(all) == -1) runtime().device->MPID_Poll(false, all.awaited());
    if (find_complete(all) == -1) check_pending(all);
    finish_some(all, *outcount, array_of_indices, array_of_statuses);
  });
}

// ---- MPI-4.1: the same questions without an end to any request ----

RMQ_MPI(int, Request_get_status_any,
        (int count, const MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status)) {
  return enter([&]() -> int {
    const Requests all = looked_at(array_of_requests, count);
    int& i = *out(indx, "index");
    out(flag, "flag");
    i = find_complete(all);
    if (i == -1) {
      runtime().device->MPID_Poll(false, all.awaited());
      i = find_complete(all);
    }
    *flag = i != -1;
    if (i >= 0) return peek(*all.at(i), status);
    if (i == MPI_UNDEFINED) set_empty_status(status);
    i = MPI_UNDEFINED;
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, Request_get_status_all,
        (int count, const MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[])) {
  return enter([&] {
    const Requests all = looked_at(array_of_requests, count);
    out(flag, "flag");
    if (!all_complete(all)) runtime().device->MPID_Poll(false, all.awaited());
    *flag = all_complete(all);
    if (!*flag) return;
    Finisher finisher(array_of_statuses);
    for (int i = 0; i < all.size(); ++i) {
      const Request* r = all.at(i);
      if (r && is_active(*r)) {
        finisher.look(*r, i);
      } else {
        finisher.add_empty(i);
      }
    }
    finisher.end();
  });
}

RMQ_MPI(int, Request_get_status_some,
        (int incount, const MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
         MPI_Status array_of_statuses[])) {
  return enter([&] {
    const Requests all = looked_at(array_of_requests, incount);
    out(outcount, "outcount");
    if (find_complete(all) == -1) runtime().device->MPID_Poll(false, all.awaited());
    Finisher finisher(array_of_statuses);
    int done = 0;
    bool any_active = false;
    for (int i = 0; i < all.size(); ++i) {
      const Request* r = all.at(i);
      if (!r || !is_active(*r)) continue;
      any_active = true;
      if (!is_complete(*r)) continue;
      out(array_of_indices, "array_of_indices")[done] = i;
      finisher.look(*r, done++);
    }
    *outcount = any_active ? done : MPI_UNDEFINED;
    finisher.end();
  });
}

}  // namespace rmq::mpi
