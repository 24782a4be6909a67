// Chapter 13.2: generalised requests, whose progress is the program's business.
#include "mpi/internal/requests.hpp"

namespace rmq::mpi {
namespace {

class Generalised final : public Activity {
 public:
  struct Functions {
    MPI_Grequest_query_function* query;
    MPI_Grequest_free_function* free;
    MPI_Grequest_cancel_function* cancel;
    void* extra;
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
    set_empty_status(s);
    if (!functions_.query) return MPI_SUCCESS;
    const Released released;
    return functions_.query(functions_.extra, s);
  }
  int finish(MPI_Status* status) override {
    const int queried = peek(status);
    const int freed = call_free();
    return queried != MPI_SUCCESS ? queried : freed;
  }
  void cancel() override {
    if (!functions_.cancel) return;
    int code;
    {
      const Released released;
      code = functions_.cancel(functions_.extra, complete_);
    }
    if (code != MPI_SUCCESS) throw Failure{code, {}, MPI_COMM_NULL};
  }
  /// The program still needs the handle, for MPI_Grequest_complete.
  void abandon(Request* place) override {
    if (complete_) {
      call_free();
      Activity::abandon(place);
    } else {
      abandoned_ = place;
    }
  }
  void complete_now() {
    complete_ = true;
    if (abandoned_) abandon(abandoned_);
  }

 private:
  int call_free() {
    if (!functions_.free) return MPI_SUCCESS;
    const Released released;
    return functions_.free(functions_.extra);
  }
  const Functions functions_;
  bool complete_ = false;
  Request* abandoned_ = nullptr;
};

}  // namespace

RMQ_MPI(int, Grequest_start,
        (MPI_Grequest_query_function * query_fn, MPI_Grequest_free_function* free_fn,
         MPI_Grequest_cancel_function* cancel_fn, void* extra_state, MPI_Request* request)) {
  return enter([&] {
    *out(request, "request") = new_activity_request(
        std::make_unique<Generalised>(Generalised::Functions{query_fn, free_fn, cancel_fn, extra_state}));
  });
}

RMQ_MPI(int, Grequest_complete, (MPI_Request request)) {
  return enter([&] {
    Request* r = request_arg(request);
    auto* g = r->kind == RequestKind::other ? dynamic_cast<Generalised*>(activity_of(*r)) : nullptr;
    if (!g) fail_call(MPI_ERR_REQUEST, "argument request is no generalised request");
    g->complete_now();
  });
}

}  // namespace rmq::mpi
