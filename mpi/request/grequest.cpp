// SPDX-License-Identifier: BSD-3-Clause
// Chapter 13.2: generalised requests, whose progress is the program's business.
#include <type_traits>

#include "engine/message/requests.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

class Generalised final : public Activity {
 public:
  struct Functions {
    MPI_Grequest_query_function* query;
    MPI_Grequest_free_function* free;
    MPI_Grequest_cancel_function* cancel;
    void* extra;
    bool fortran = false;  // they take an error code by reference instead of returning it
  };
  explicit Generalised(const Functions& f) : Activity(nullptr), functions_(f) {}

  bool complete() override { return complete_; }
  void tell(ReportText& to) const override {
    to.begin_object();
    to.field("kind", "generalised");
    to.end_object();
  }
  int peek(MPI_Status* status) override {
    MPI_Status own;  // the query function may not be handed MPI_STATUS_IGNORE
    MPI_Status* const s = status == MPI_STATUS_IGNORE ? &own : status;
    set_sent_status(s);
    if (!functions_.query) return MPI_SUCCESS;
    const Released released;
    return call(functions_.query, s);
  }
  int finish(MPI_Status* status) override {
    const int queried = peek(status);
    return functions_.free ? call_free() : queried;  // the code of the last function that is called
  }
  void cancel() override {
    if (!functions_.cancel) return;
    int code;
    {
      const Released released;
      int complete = complete_;
      code = functions_.fortran ? call(functions_.cancel, &complete) : functions_.cancel(functions_.extra, complete);
    }
    if (code != MPI_SUCCESS) throw Failure{code, {}, MPI_COMM_NULL};
  }
  /// The program still needs the handle, for MPI_Grequest_complete.
  int abandon(Request* place) override {
    if (!complete_) {
      abandoned_ = place;
      return MPI_SUCCESS;
    }
    const int code = call_free();
    Activity::abandon(place);
    return code;
  }
  void speak_fortran() { functions_.fortran = true; }
  /// MPI_SUCCESS, or what the function has returned that frees it.
  int complete_now() {
    complete_ = true;
    return abandoned_ ? abandon(abandoned_) : MPI_SUCCESS;
  }

 private:
  int call_free() {
    if (!functions_.free) return MPI_SUCCESS;
    const Released released;
    return call(functions_.free);
  }
  template <class Function, class... Args>
  int call(Function* function, Args... args) {
    if constexpr (std::is_invocable_v<Function*, void*, Args...>) {
      if (!functions_.fortran) return function(functions_.extra, args...);
    }
    int error = MPI_SUCCESS;
    const auto plain = reinterpret_cast<void (*)()>(function);
    reinterpret_cast<void (*)(void*, Args..., int*)>(plain)(functions_.extra, args..., &error);
    return error;
  }
  Functions functions_;
  bool complete_ = false;
  Request* abandoned_ = nullptr;
};

Generalised& generalised_arg(MPI_Request request) {
  Request* r = request_arg(request);
  auto* g = r->kind == RequestKind::other ? dynamic_cast<Generalised*>(activity_of(*r)) : nullptr;
  if (!g) fail_call(MPI_ERR_REQUEST, "argument request is no generalised request");
  return *g;
}

}  // namespace

RMQ_MPI(int, Grequest_start,
        (MPI_Grequest_query_function * query_fn, MPI_Grequest_free_function* free_fn,
         MPI_Grequest_cancel_function* cancel_fn, void* extra_state, MPI_Request* request)) {
  return enter([&] {
    MPI_Request* const place = out(request, "request");
    *place = new_activity_request(
        std::make_unique<Generalised>(Generalised::Functions{query_fn, free_fn, cancel_fn, extra_state}));
  });
}

RMQ_MPI(int, Grequest_complete, (MPI_Request request)) {
  return enter([&] { return generalised_arg(request).complete_now(); });
}

/// For MPICH's Fortran library: the functions of this request are Fortran's.
extern "C" RMQ_EXPORT void MPII_Grequest_set_lang_f77(MPI_Request request) {
  enter([&] { generalised_arg(request).speak_fortran(); });
}

}  // namespace rmq::mpi
