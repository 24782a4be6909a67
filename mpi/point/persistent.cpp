// SPDX-License-Identifier: BSD-3-Clause
// Chapter 3.9: persistent requests.
#include <fmt/format.h>

#include <variant>

#include "engine/message/point.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

/// A send or receive that can be started again and again; each time it is a request of its own.
class Persistent final : public Activity {
 public:
  using Args = std::variant<SendArgs, RecvArgs>;
  Persistent(Comm& c, const Args& args, SendMode mode) : Activity(&c), args_(args), mode_(mode) { type_retain(type()); }
  ~Persistent() override {
    if (current_) mpi::abandon(current_);
    type_release(type());
  }
  bool persistent() const override { return true; }
  bool active() const override { return current_ != nullptr; }
  bool complete() override { return !current_ || is_complete(*current_); }
  void start() override {
    if (current_) fail_call(MPI_ERR_REQUEST, "the persistent request is active already");
    const auto* send = std::get_if<SendArgs>(&args_);
    current_ = find_request(send ? isend(*comm(), *send, mode_) : irecv(*comm(), std::get<RecvArgs>(args_)));
  }
  int peek(MPI_Status* status) override {
    if (current_) return mpi::peek(*current_, status);
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  int finish(MPI_Status* status) override {
    if (!current_) return peek(status);
    MPI_Request handle;
    return mpi::finish(std::exchange(current_, nullptr), handle, status);
  }
  const Request* receive() const override {
    return current_ && current_->kind == RequestKind::recv ? current_ : nullptr;
  }
  void tell(ReportText& to) const override {
    if (current_) return mpi::tell(*current_, to);
    const auto* send = std::get_if<SendArgs>(&args_);
    const auto* recv = std::get_if<RecvArgs>(&args_);
    const Buffer& data = send ? send->data : recv->data;
    const int peer = send ? send->dest : recv->source;
    to.begin_object();
    to.field("kind", send ? "send" : "recv");
    to.field("context", send ? comm()->context : comm()->recv_context);
    to.field("source", send ? comm()->rank : peer);
    to.field("tag", send ? send->tag : recv->tag);
    to.field("peer", peer >= 0 ? comm()->world_of(peer) : kNoRank);
    to.field("bytes", static_cast<std::uint64_t>(data.count) * data.type->size);
    to.end_object();
  }
  Failure failure() const override { return current_ ? failure_of(*current_) : Activity::failure(); }
  void cancel() override {
    if (current_) mpi::cancel(current_);
  }

 private:
  Datatype& type() const {
    const Buffer& b = std::visit([](const auto& a) -> const Buffer& { return a.data; }, args_);
    return const_cast<Datatype&>(*b.type);
  }
  Args args_;
  SendMode mode_;
  Request* current_ = nullptr;
};

template <SendMode mode>
inline int send_init(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                     MPI_Request* request, Function function) {
  return enter(
      comm,
      [&](Comm& c) {
        const SendArgs a = send_args(c, buf, count, datatype, dest, tag);
        MPI_Request* const place = out(request, "request");
        *place = new_activity_request(std::make_unique<Persistent>(c, a, mode));
      },
      function);
}

inline int recv_init(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                     MPI_Request* request, Function function) {
  return enter(
      comm,
      [&](Comm& c) {
        const RecvArgs a = recv_args(c, buf, count, datatype, source, tag);
        MPI_Request* const place = out(request, "request");
        *place = new_activity_request(std::make_unique<Persistent>(c, a, SendMode::standard));
      },
      function);
}

void start(MPI_Request handle, const char* name) {
  Request* r = request_arg(handle, name);
  if (r->kind != RequestKind::other) {
    throw Failure{MPI_ERR_REQUEST, fmt::format("argument {} is not persistent", name), comm_of(*r)->handle};
  }
  activity_of(*r)->start();
}

}  // namespace

RMQ_MPI(int, Send_init,
        (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request)) {
  return send_init<SendMode::standard>(buf, count, datatype, dest, tag, comm, request, __func__);
}
RMQ_MPI(int, Send_init_c,
        (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
         MPI_Request* request)) {
  return send_init<SendMode::standard>(buf, count, datatype, dest, tag, comm, request, __func__);
}
RMQ_MPI(int, Ssend_init,
        (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request)) {
  return send_init<SendMode::synchronous>(buf, count, datatype, dest, tag, comm, request, __func__);
}
RMQ_MPI(int, Ssend_init_c,
        (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
         MPI_Request* request)) {
  return send_init<SendMode::synchronous>(buf, count, datatype, dest, tag, comm, request, __func__);
}
RMQ_MPI(int, Rsend_init,
        (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request)) {
  return send_init<SendMode::ready>(buf, count, datatype, dest, tag, comm, request, __func__);
}
RMQ_MPI(int, Rsend_init_c,
        (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
         MPI_Request* request)) {
  return send_init<SendMode::ready>(buf, count, datatype, dest, tag, comm, request, __func__);
}
RMQ_MPI(int, Bsend_init,
        (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request)) {
  return send_init<SendMode::buffered>(buf, count, datatype, dest, tag, comm, request, __func__);
}
RMQ_MPI(int, Bsend_init_c,
        (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
         MPI_Request* request)) {
  return send_init<SendMode::buffered>(buf, count, datatype, dest, tag, comm, request, __func__);
}

RMQ_MPI(int, Recv_init,
        (void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request* request)) {
  return recv_init(buf, count, datatype, source, tag, comm, request, __func__);
}
RMQ_MPI(int, Recv_init_c,
        (void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request* request)) {
  return recv_init(buf, count, datatype, source, tag, comm, request, __func__);
}

RMQ_MPI(int, Start, (MPI_Request * request)) {
  return enter([&] { start(*out(request, "request"), "request"); });
}

RMQ_MPI(int, Startall, (int count, MPI_Request array_of_requests[])) {
  return enter([&] {
    count_arg(count);
    for (int i = 0; i < count; ++i) start(out(array_of_requests, "array_of_requests")[i], "array_of_requests");
  });
}

}  // namespace rmq::mpi
