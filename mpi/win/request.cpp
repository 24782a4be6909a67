// SPDX-License-Identifier: BSD-3-Clause
// Chapter 12.3.5: operations with a request.
#include "engine/message/requests.hpp"
#include "mpi/define.hpp"
#include "mpi/win/rma_args.hpp"

namespace rmq::mpi {
namespace {

/// An operation that is under way when the call returns: the request of rma/ behind the program's.
class Operation final : public Activity {
 public:
  Operation(const Win& w, int target, Request* inner)
      : Activity(nullptr), win_(w.handle), target_(target), inner_(inner) {}
  ~Operation() override { runtime().device->MPID_Request_free(inner_); }

  bool complete() override { return inner_->complete(); }
  int peek(MPI_Status* status) override {
    set_sent_status(status);
    return failure().code;
  }
  int finish(MPI_Status* status) override { return peek(status); }
  void tell(ReportText& to) const override {
    if (const Win* w = find_win(win_)) return w->window->tell_operation(target_, to);
    to.begin_object();
    to.field("kind", "operation");
    to.end_object();
  }
  Failure failure() const override {
    if (!inner_->complete() || inner_->status.error == Errc::ok) return {MPI_SUCCESS, {}, win_};
    const rma::Fault fault = rma::Window::request_fault(*inner_);
    if (fault != rma::Fault::none) return failure_of_fault(find_win(win_), fault);
    return {error_class_of(inner_->status.error), {}, win_};
  }
  void cancel() override { fail_call(MPI_ERR_REQUEST, "a one-sided operation cannot be cancelled"); }
  int abandon(Request*) override {
    fail_call(MPI_ERR_REQUEST, "argument request is a one-sided operation's, which has to be waited for");
  }

 private:
  const MPI_Win win_;
  const int target_;
  Request* const inner_;
};

/// What the program gets for a request of rma/: where the operation is over already, nothing but a place.
MPI_Request request_for(Win& w, int target, Request* inner) {
  if (!inner->complete() || inner->status.error != Errc::ok) {
    return new_activity_request(std::make_unique<Operation>(w, target, inner));
  }
  runtime().device->MPID_Request_free(inner);
  return new_finished_request(RequestKind::send, *w.comm);
}

/// The frame of the four: `start(Win&, const rma::Target&, Request*&)` is not called for MPI_PROC_NULL.
template <class Start>
[[gnu::always_inline]] inline int start_operation(const Remote& target, MPI_Win win, MPI_Request* request,
                                                  Start&& start, Function function) {
  return enter_win(
      win,
      [&](Win& w) {
        out(request, "request");
        if (is_nobody(w, target)) {
          *request = new_finished_request(RequestKind::send, *w.comm);
          return;
        }
        const rma::Target t = target_arg(target);
        if (!w.window->in_lock())
          fail_call(MPI_ERR_RMA_SYNC, "operations with a request need an epoch of MPI_Win_lock(_all)");
        Request* inner = nullptr;
        check(w, start(w, t, inner), t);
        *request = request_for(w, t.rank, inner);
      },
      function);
}

int rput(const Local& origin, const Remote& target, MPI_Win win, MPI_Request* request, Function function) {
  return start_operation(
      target, win, request,
      [&](Win& w, const rma::Target& t, Request*& r) { return w.window->rput(view_arg(origin), t, r); }, function);
}

int rget(const Local& origin, const Remote& target, MPI_Win win, MPI_Request* request, Function function) {
  return start_operation(
      target, win, request,
      [&](Win& w, const rma::Target& t, Request*& r) { return w.window->rget(view_arg(origin), t, r); }, function);
}

int raccumulate(const Local& origin, const Remote& target, MPI_Op op, MPI_Win win, MPI_Request* request,
                Function function) {
  return start_operation(
      target, win, request,
      [&](Win& w, const rma::Target& t, Request*& r) {
        return w.window->raccumulate(view_arg(origin), t, plain_op_arg(op), r);
      },
      function);
}

int rget_accumulate(const Local& origin, const Local& result, const Remote& target, MPI_Op op, MPI_Win win,
                    MPI_Request* request, Function function) {
  return start_operation(
      target, win, request,
      [&](Win& w, const rma::Target& t, Request*& r) {
        const ReduceOp reduction = accumulate_op_arg(op);
        return w.window->rget_accumulate(fetch_origin_arg(origin, reduction), view_arg(result, kResult), t, reduction,
                                         r);
      },
      function);
}

}  // namespace

RMQ_MPI(int, Rput,
        (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
         int target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request)) {
  return rput({origin_addr, origin_count, origin_datatype}, {target_rank, target_disp, target_count, target_datatype},
              win, request, __func__);
}
RMQ_MPI(int, Rput_c,
        (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
         MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win,
         MPI_Request* request)) {
  return rput({origin_addr, origin_count, origin_datatype}, {target_rank, target_disp, target_count, target_datatype},
              win, request, __func__);
}

RMQ_MPI(int, Rget,
        (void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
         int target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request)) {
  return rget({origin_addr, origin_count, origin_datatype}, {target_rank, target_disp, target_count, target_datatype},
              win, request, __func__);
}
RMQ_MPI(int, Rget_c,
        (void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
         MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request)) {
  return rget({origin_addr, origin_count, origin_datatype}, {target_rank, target_disp, target_count, target_datatype},
              win, request, __func__);
}

RMQ_MPI(int, Raccumulate,
        (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
         int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request)) {
  return raccumulate({origin_addr, origin_count, origin_datatype},
                     {target_rank, target_disp, target_count, target_datatype}, op, win, request, __func__);
}
RMQ_MPI(int, Raccumulate_c,
        (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
         MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,
         MPI_Request* request)) {
  return raccumulate({origin_addr, origin_count, origin_datatype},
                     {target_rank, target_disp, target_count, target_datatype}, op, win, request, __func__);
}

RMQ_MPI(int, Rget_accumulate,
        (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, void* result_addr, int result_count,
         MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, int target_count,
         MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request)) {
  return rget_accumulate({origin_addr, origin_count, origin_datatype}, {result_addr, result_count, result_datatype},
                         {target_rank, target_disp, target_count, target_datatype}, op, win, request, __func__);
}
RMQ_MPI(int, Rget_accumulate_c,
        (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, void* result_addr,
         MPI_Count result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
         MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request)) {
  return rget_accumulate({origin_addr, origin_count, origin_datatype}, {result_addr, result_count, result_datatype},
                         {target_rank, target_disp, target_count, target_datatype}, op, win, request, __func__);
}

}  // namespace rmq::mpi
