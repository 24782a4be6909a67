// SPDX-License-Identifier: BSD-3-Clause
// Chapters 3.2, 3.4 and 3.10: blocking sends and receives.
#include "engine/message/bsend.hpp"
#include "engine/message/point.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

/// `mode` is a template argument, so that the standard mode has no other mode's branches. Out of the way of the short
/// way, which has no use for what a frame needs.
template <SendMode mode>
[[gnu::noinline]] int send_in_frame(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                                    MPI_Comm comm, Function function) {
  return enter(
      comm,
      [&](Comm& c) {
        const SendArgs a = send_args(c, buf, count, datatype, dest, tag);
        if (a.to_nobody()) return;
        if constexpr (mode == SendMode::buffered) {
          send_buffered(c, a.data, a.dest, a.tag);
        } else {
          send_blocking(c, a, mode);
        }
      },
      function);
}

template <SendMode mode>
[[gnu::always_inline]] inline int send(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                                       MPI_Comm comm, Function function) {
  const auto in_frame = [=] { return send_in_frame<mode>(buf, count, datatype, dest, tag, comm, function); };
  if constexpr (mode == SendMode::standard) {
    const auto start = [=](const Comm& c, const Datatype& type) __attribute__((always_inline)) {
      return send_now(c, {{const_cast<void*>(buf), count, &type}, dest, tag});
    };
    return short_way(buf, count, datatype, dest, tag, comm, function, start, in_frame);
  } else {
    return in_frame();
  }
}

[[gnu::always_inline]] inline int recv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                                       MPI_Comm comm, MPI_Status* status, Function function) {
  return enter(
      comm,
      [&](Comm & c)
          __attribute__((always_inline)) { recv_blocking(c, recv_args(c, buf, count, datatype, source, tag), status); },
      function);
}

}  // namespace

RMQ_MPI(int, Send, (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)) {
  return send<SendMode::standard>(buf, count, datatype, dest, tag, comm, __func__);
}
RMQ_MPI(int, Send_c, (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)) {
  return send<SendMode::standard>(buf, count, datatype, dest, tag, comm, __func__);
}
RMQ_MPI(int, Ssend, (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)) {
  return send<SendMode::synchronous>(buf, count, datatype, dest, tag, comm, __func__);
}
RMQ_MPI(int, Ssend_c, (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)) {
  return send<SendMode::synchronous>(buf, count, datatype, dest, tag, comm, __func__);
}
RMQ_MPI(int, Rsend, (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)) {
  return send<SendMode::ready>(buf, count, datatype, dest, tag, comm, __func__);
}
RMQ_MPI(int, Rsend_c, (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)) {
  return send<SendMode::ready>(buf, count, datatype, dest, tag, comm, __func__);
}
RMQ_MPI(int, Bsend, (const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)) {
  return send<SendMode::buffered>(buf, count, datatype, dest, tag, comm, __func__);
}
RMQ_MPI(int, Bsend_c, (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)) {
  return send<SendMode::buffered>(buf, count, datatype, dest, tag, comm, __func__);
}

RMQ_MPI(int, Recv,
        (void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status* status)) {
  return recv(buf, count, datatype, source, tag, comm, status, __func__);
}
RMQ_MPI(int, Recv_c,
        (void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status* status)) {
  return recv(buf, count, datatype, source, tag, comm, status, __func__);
}

}  // namespace rmq::mpi
