// SPDX-License-Identifier: BSD-3-Clause
// Calls on several requests: their arguments, and how they end together.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "engine/call/error_codes.hpp"
#include "engine/message/pending.hpp"
#include "engine/message/requests.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {

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

inline MPI_Status* nth(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
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
inline int find_complete(const Requests& all) {
  int found = MPI_UNDEFINED;
  for (int i = 0; i < all.size(); ++i) {
    Request* r = all.at(i);
    if (!r || !is_active(*r)) continue;
    if (is_complete(*r)) return i;
    found = -1;
  }
  return found;
}

inline bool all_complete(const Requests& all) {
  for (int i = 0; i < all.size(); ++i) {
    if (const Request* r = all.at(i); r && !is_complete(*r)) return false;
  }
  return true;
}

/// For calls that only look: nothing is done to the handles.
inline Requests looked_at(const MPI_Request* handles, int count) {
  return {const_cast<MPI_Request*>(handles), count};
}

}  // namespace rmq::mpi
