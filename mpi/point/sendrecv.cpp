// SPDX-License-Identifier: BSD-3-Clause
// Chapter 3.10: a send and a receive in one call, blocking and not, and with one buffer for both.
#include <cstdlib>

#include "engine/message/pending.hpp"
#include "engine/message/point.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Bytes = std::unique_ptr<std::byte[], Free>;

/// A packed copy of what the buffer holds.
Bytes packed_copy(const Buffer& b, std::uint64_t& bytes) {
  const DataView view = view_of(*b.type, b.data, b.count);
  bytes = view.bytes;
  Bytes copy(static_cast<std::byte*>(std::malloc(bytes ? bytes : 1)));
  if (!copy) throw std::bad_alloc();
  pack(copy.get(), view, 0, bytes);
  return copy;
}

/// The send half of a call with one buffer: from the packed copy.
SendArgs from_copy(const SendArgs& a, const Bytes& copy, std::uint64_t bytes) {
  return {{copy.get(), static_cast<MPI_Count>(bytes), find_datatype(MPI_BYTE)}, a.dest, a.tag};
}

/// MPI_Isendrecv: one request for both; its status is that of the receive.
class SendRecv final : public Activity {
 public:
  /// `copy`: what the send reads, when it is not the user's buffer.
  SendRecv(Comm& c, const SendArgs& send, const RecvArgs& recv, Bytes copy) : Activity(&c), copy_(std::move(copy)) {
    // All that can fail comes before anything starts: a receive that nobody knows of must not wait for the buffer.
    recv_ = half(RequestKind::recv, recv.from_nobody());
    send_ = half(RequestKind::send, send.to_nobody());
    if (!recv.from_nobody()) prepare_user_recv(recv_.get(), c, recv);
    if (!send.to_nobody()) prepare_send(send_.get(), c, send.data, send.dest, send.tag, SendMode::standard);
    if (!recv.from_nobody()) runtime().device->MPID_Irecv(recv_.get());
    if (!send.to_nobody()) runtime().device->MPID_Isend(send_.get());
  }
  bool complete() override { return send_->complete() && recv_->complete(); }
  int peek(MPI_Status* status) override {
    report(*recv_, status);
    const Errc e = recv_->status.error != Errc::ok ? recv_->status.error : send_->status.error;
    return error_class_of(e);
  }
  int finish(MPI_Status* status) override { return peek(status); }
  Failure failure() const override { return failure_of(recv_->status.error != Errc::ok ? *recv_ : *send_); }
  const Request* receive() const override { return recv_.get(); }
  void tell(ReportText& to) const override {
    for (const Request* r : {recv_.get(), send_.get()}) {
      if (!r->complete()) mpi::tell(*r, to);
    }
  }
  int abandon(Request* place) override {
    if (copy_) send_->owned = copy_.release();  // freed with the send, which may go on
    return Activity::abandon(place);
  }

 private:
  struct GiveBack {
    void operator()(Request* r) const { free_request(r); }
  };
  using Half = std::unique_ptr<Request, GiveBack>;
  Half half(RequestKind kind, bool nobody) {
    return Half(nobody ? find_request(new_finished_request(kind, *comm())) : new_request(kind, *comm()));
  }

  Bytes copy_;
  Half send_, recv_;
};

/// Where the result of a call goes: to the status when it blocks, else to a request.
struct Result {
  MPI_Status* status = MPI_STATUS_IGNORE;
  bool blocks = true;
  MPI_Request* request = nullptr;
};
Result blocking(MPI_Status* status) {
  return {status, true, nullptr};
}
Result started(MPI_Request* request) {
  return {MPI_STATUS_IGNORE, false, request};
}

/// The receive first, so that nobody waits for anybody.
void sendrecv_blocking(Comm& c, const SendArgs& s, const RecvArgs& r, MPI_Status* status) {
  Request* recv = nullptr;
  if (!r.from_nobody()) {
    recv = new_request(RequestKind::recv, c);
    prepare_user_recv(recv, c, r);
    runtime().device->MPID_Irecv(recv);
  }
  Failure failure{MPI_SUCCESS, {}, MPI_COMM_NULL};
  try {
    if (!s.to_nobody()) send_blocking(c, s, SendMode::standard);
  } catch (const Failure& f) {
    failure = f;  // the receive is still under way
  }
  if (!recv) {
    set_proc_null_status(status);
  } else {
    if (r.source < 0 && ft::may_fail()) ft::await_from_any(c, recv);
    settle(recv, status);
  }
  if (failure.code != MPI_SUCCESS) throw failure;
}

inline int sendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                    void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                    const Result& result, Function function) {
  return enter(
      comm,
      [&](Comm& c) {
        ft::check_not_revoked(c);
        const SendArgs s{buffer_arg(sendbuf, sendcount, sendtype, "sendbuf", "sendcount", "sendtype"),
                         dest_arg(c, dest), tag_arg(sendtag, "sendtag")};
        const RecvArgs r{buffer_arg(recvbuf, recvcount, recvtype, "recvbuf", "recvcount", "recvtype"),
                         source_arg(c, source), recv_tag_arg(recvtag, "recvtag")};
        if (result.blocks) return sendrecv_blocking(c, s, r, result.status);
        out(result.request, "request");
        *result.request = new_activity_request(std::make_unique<SendRecv>(c, s, r, Bytes{}));
      },
      function);
}

inline int replace(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
                   MPI_Comm comm, const Result& result, Function function) {
  return enter(
      comm,
      [&](Comm& c) {
        ft::check_not_revoked(c);
        const Buffer b = buffer_arg(buf, count, datatype);
        const SendArgs s{b, dest_arg(c, dest), tag_arg(sendtag, "sendtag")};
        const RecvArgs r{b, source_arg(c, source), recv_tag_arg(recvtag, "recvtag")};
        std::uint64_t bytes = 0;
        Bytes copy = packed_copy(b, bytes);
        const SendArgs packed = from_copy(s, copy, bytes);
        if (result.blocks) return sendrecv_blocking(c, packed, r, result.status);
        out(result.request, "request");
        *result.request = new_activity_request(std::make_unique<SendRecv>(c, packed, r, std::move(copy)));
      },
      function);
}

}  // namespace

RMQ_MPI(int, Sendrecv,
        (const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf, int recvcount,
         MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status)) {
  return sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
                  blocking(status), __func__);
}
RMQ_MPI(int, Sendrecv_c,
        (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
         MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status)) {
  return sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
                  blocking(status), __func__);
}
RMQ_MPI(int, Isendrecv,
        (const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf, int recvcount,
         MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request* request)) {
  return sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
                  started(request), __func__);
}
RMQ_MPI(int, Isendrecv_c,
        (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
         MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request* request)) {
  return sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
                  started(request), __func__);
}

RMQ_MPI(int, Sendrecv_replace,
        (void* buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
         MPI_Status* status)) {
  return replace(buf, count, datatype, dest, sendtag, source, recvtag, comm, blocking(status), __func__);
}
RMQ_MPI(int, Sendrecv_replace_c,
        (void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
         MPI_Comm comm, MPI_Status* status)) {
  return replace(buf, count, datatype, dest, sendtag, source, recvtag, comm, blocking(status), __func__);
}
RMQ_MPI(int, Isendrecv_replace,
        (void* buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
         MPI_Request* request)) {
  return replace(buf, count, datatype, dest, sendtag, source, recvtag, comm, started(request), __func__);
}
RMQ_MPI(int, Isendrecv_replace_c,
        (void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
         MPI_Comm comm, MPI_Request* request)) {
  return replace(buf, count, datatype, dest, sendtag, source, recvtag, comm, started(request), __func__);
}

}  // namespace rmq::mpi
