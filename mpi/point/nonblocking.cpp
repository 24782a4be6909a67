// SPDX-License-Identifier: BSD-3-Clause
// Chapter 3.7: non-blocking sends and receives.
#include "engine/message/point.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

/// Out of the way of the short way, which has no use for what a frame needs.
template <SendMode mode>
[[gnu::noinline]] int start_send_in_frame(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                                          MPI_Comm comm, MPI_Request* request, Function function) {
  return enter(
      comm,
      [&](Comm& c) {
        const SendArgs a = send_args(c, buf, count, datatype, dest, tag);
        MPI_Request* const place = out(request, "request");  // before anything begins
        *place = isend(c, a, mode);
      },
      function);
}

template <SendMode mode>
[[gnu::always_inline]] inline int start_send(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                                             MPI_Comm comm, MPI_Request* request, Function function) {
  const auto in_frame = [=] {
    return start_send_in_frame<mode>(buf, count, datatype, dest, tag, comm, request, function);
  };
  if constexpr (mode == SendMode::standard) {
    const auto start = [=](Comm & c, const Datatype& type) __attribute__((always_inline)) {
      return request != nullptr && isend_now(c, {{const_cast<void*>(buf), count, &type}, dest, tag}, *request);
    };
    return short_way(buf, count, datatype, dest, tag, comm, function, start, in_frame);
  } else {
    return in_frame();
  }
}

[[gnu::noinline]] int start_recv_in_frame(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                                          MPI_Comm comm, MPI_Request* request, Function function) {
  return enter(
      comm,
      [&](Comm& c) {
        const RecvArgs a = recv_args(c, buf, count, datatype, source, tag);
        MPI_Request* const place = out(request, "request");
        *place = irecv(c, a);
      },
      function);
}

[[gnu::always_inline]] inline int start_recv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                                             MPI_Comm comm, MPI_Request* request, Function function) {
  const auto start = [=](Comm & c, const Datatype& type) __attribute__((always_inline)) {
    if (request == nullptr) [[unlikely]]
      return false;
    *request = irecv(c, {{buf, count, &type}, source, tag});
    return true;
  };
  const auto in_frame = [=] { return start_recv_in_frame(buf, count, datatype, source, tag, comm, request, function); };
  return short_way(buf, count, datatype, source, tag, comm, function, start, in_frame);
}

}  // namespace

RMQ_MPI(int, Isend,
        (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request)) {
  return start_send<SendMode::standard>(buf, count, datatype, dest, tag, comm, request, __func__);
}
RMQ_MPI(int, Isend_c,
        (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
         MPI_Request* request)) {
  return start_send<SendMode::standard>(buf, count, datatype, dest, tag, comm, request, __func__);
}
RMQ_MPI(int, Issend,
        (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request)) {
  return start_send<SendMode::synchronous>(buf, count, datatype, dest, tag, comm, request, __func__);
}
RMQ_MPI(int, Issend_c,
        (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
         MPI_Request* request)) {
  return start_send<SendMode::synchronous>(buf, count, datatype, dest, tag, comm, request, __func__);
}
RMQ_MPI(int, Irsend,
        (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request)) {
  return start_send<SendMode::ready>(buf, count, datatype, dest, tag, comm, request, __func__);
}
RMQ_MPI(int, Irsend_c,
        (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
         MPI_Request* request)) {
  return start_send<SendMode::ready>(buf, count, datatype, dest, tag, comm, request, __func__);
}
RMQ_MPI(int, Ibsend,
        (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request)) {
  return start_send<SendMode::buffered>(buf, count, datatype, dest, tag, comm, request, __func__);
}
RMQ_MPI(int, Ibsend_c,
        (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
         MPI_Request* request)) {
  return start_send<SendMode::buffered>(buf, count, datatype, dest, tag, comm, request, __func__);
}

RMQ_MPI(int, Irecv,
        (void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request* request)) {
  return start_recv(buf, count, datatype, source, tag, comm, request, __func__);
}
RMQ_MPI(int, Irecv_c,
        (void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request* request)) {
  return start_recv(buf, count, datatype, source, tag, comm, request, __func__);
}

}  // namespace rmq::mpi
