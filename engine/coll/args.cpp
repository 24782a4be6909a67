// SPDX-License-Identifier: BSD-3-Clause
#include "engine/coll/args.hpp"

#include <fmt/format.h>

namespace rmq::mpi::coll {

void refuse_in_place(const char* name) {
  fail_call(MPI_ERR_BUFFER, fmt::format("argument {} must not be MPI_IN_PLACE", name));
}

Reduction no_reduction() {
  return {*find_op(MPI_BOR), *find_datatype(MPI_BYTE), 0, *runtime().device};
}

Buffer send_arg(const void* data, MPI_Count count, MPI_Datatype type, bool may) {
  if (!is_in_place(data)) return buffer_arg(data, count, type, "sendbuf", "sendcount", "sendtype");
  if (may) return raw(data, 0);
  if (count != 0) refuse_in_place("sendbuf");
  return buffer_arg(static_cast<const void*>(nullptr), 0, type, "sendbuf", "sendcount", "sendtype");
}

Buffer recv_arg(void* data, MPI_Count count, MPI_Datatype type, bool may) {
  if (!is_in_place(data)) return buffer_arg(data, count, type, "recvbuf", "recvcount", "recvtype");
  if (may) return raw(data, 0);
  if (count != 0) refuse_in_place("recvbuf");
  return buffer_arg(static_cast<void*>(nullptr), 0, type, "recvbuf", "recvcount", "recvtype");
}

void blocks_bytes_arg(const Datatype& type, MPI_Count count, int ranks, const char* name) {
  MPI_Count total;
  if (__builtin_mul_overflow(count, ranks, &total)) detail::too_much(count, name);
  bytes_arg(type, total, name);
}

Blocks send_blocks_arg(const void* data, MPI_Count count, MPI_Datatype type, int ranks) {
  const Buffer b = send_arg(data, count, type, false);
  blocks_bytes_arg(*b.type, b.count, ranks, "sendcount");
  return Blocks::uniform(b.data, b.count, *b.type);
}

Blocks recv_blocks_arg(void* data, MPI_Count count, MPI_Datatype type, int ranks) {
  const Buffer b = recv_arg(data, count, type);
  blocks_bytes_arg(*b.type, b.count, ranks, "recvcount");
  return Blocks::uniform(b.data, b.count, *b.type);
}

MPI_Count counts_arg(const Numbers& counts, bool null, int ranks, const char* name) {
  if (null) detail::null_argument(MPI_ERR_ARG, name);
  MPI_Count total = 0;
  for (int i = 0; i < ranks; ++i) {
    if (__builtin_add_overflow(total, count_arg(counts[i], name), &total)) detail::too_much(counts[i], name);
  }
  return total;
}

void refuse_alias(const Buffer& send, const Buffer& recv) {
  if (is_in_place(send.data) || bytes_of(send) == 0 || bytes_of(recv) == 0) return;
  const auto first = [](const Buffer& b) { return element(b.data, 0, *b.type); };
  if (first(send) != first(recv) || send.type->layout->true_lb() != recv.type->layout->true_lb()) return;
  fail_call(MPI_ERR_BUFFER, "the same memory is sent and received (MPI_IN_PLACE asks for that)");
}

Reduction reduction_arg(MPI_Count count, MPI_Datatype type, MPI_Op op, const char* count_name) {
  count_arg(count, count_name);
  Datatype& t = committed_arg(type);
  bytes_arg(t, count, count_name);
  const Op& o = op_arg(op);
  check_op(o, t);
  return {o, t, count, *runtime().device};
}

void check_reduction_buffers(const void* in, const void* out, const Reduction& r, bool in_place, bool receives) {
  if (r.count == 0) return;
  if (is_in_place(in) && !in_place) refuse_in_place("sendbuf");
  if (receives && is_in_place(out)) refuse_in_place("recvbuf");
  if (!in && r.type.predefined) detail::null_argument(MPI_ERR_BUFFER, "sendbuf");
  if (!receives) return;
  if (!out && r.type.predefined) detail::null_argument(MPI_ERR_BUFFER, "recvbuf");
  if (in == out && r.type.size > 0) {
    fail_call(MPI_ERR_BUFFER, "sendbuf and recvbuf are the same memory (MPI_IN_PLACE asks for that)");
  }
}

}  // namespace rmq::mpi::coll
