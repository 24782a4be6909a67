// SPDX-License-Identifier: BSD-3-Clause
// Chapter 6: global reductions, reduce-scatter, scan.
#include "mpi/coll/define.hpp"

namespace rmq::mpi {
namespace {

using coll::Numbers;
using coll::Reduction;

template <class Run>
int reduce(const Run& run, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
           int root, MPI_Comm comm, Function function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const coll::Role role = coll::role_of(c, root_arg(c, root));
        if (!role.member && !role.root) return run(c, coll::reduce, sendbuf, recvbuf, coll::no_reduction(), root);
        const Reduction r = coll::reduction_arg(count, datatype, op);
        if (role.member) {
          coll::check_reduction_buffers(sendbuf, recvbuf, r, role.root, role.root);
        } else {
          buffer_arg(recvbuf, count, datatype, "recvbuf");
        }
        return run(c, coll::reduce, sendbuf, recvbuf, r, root);
      },
      function);
}

/// The functions whose arguments are those of MPI_Allreduce.
template <class Run>
int reduce_all(const Run& run, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
               MPI_Comm comm, int (*algorithm)(Comm&, const void*, void*, const Reduction&), bool intra_only,
               Function function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        if (intra_only && c.is_inter()) fail_call(MPI_ERR_COMM, "argument comm is an inter-communicator");
        const Reduction r = coll::reduction_arg(count, datatype, op);
        coll::check_reduction_buffers(sendbuf, recvbuf, r, !c.is_inter(), true);
        return run(c, algorithm, sendbuf, recvbuf, r);
      },
      function);
}

/// `counts(Comm&)` gives the checked counts of all ranks' blocks, and their sum; `name` is theirs.
template <class Run, class Counts>
int reduce_scatter(const Run& run, const void* sendbuf, void* recvbuf, Counts&& counts, const char* name,
                   MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, Function function) {
  return enter(
      comm,
      [&](Comm& c) {
        const auto [numbers, total] = counts(c);
        const Reduction r = coll::reduction_arg(total, datatype, op, name);
        coll::check_reduction_buffers(sendbuf, recvbuf, r, !c.is_inter(), numbers[c.rank] > 0);
        return run(c, coll::reduce_scatter, sendbuf, recvbuf, r, numbers);
      },
      function);
}

template <class Run, class Count>
int reduce_scatter_each(const Run& run, const void* sendbuf, void* recvbuf, const Count* recvcounts,
                        MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, Function function = __builtin_FUNCTION()) {
  const auto counts = [&](Comm& c) {
    const Numbers numbers(recvcounts);
    return std::pair(numbers, coll::counts_arg(numbers, !recvcounts, c.size(), "recvcounts"));
  };
  return reduce_scatter(run, sendbuf, recvbuf, counts, "recvcounts", datatype, op, comm, function);
}

template <class Run>
int reduce_scatter_equal(const Run& run, const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                         MPI_Op op, MPI_Comm comm, Function function = __builtin_FUNCTION()) {
  const auto counts = [&](Comm& c) {
    MPI_Count total;
    if (__builtin_mul_overflow(count_arg(recvcount, "recvcount"), c.size(), &total))
      detail::too_much(recvcount, "recvcount");
    return std::pair(Numbers(recvcount, 0), total);
  };
  return reduce_scatter(run, sendbuf, recvbuf, counts, "recvcount", datatype, op, comm, function);
}

}  // namespace

RMQ_COLLECTIVE(Reduce, reduce, ,
               (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                MPI_Comm comm),
               reduce(run, sendbuf, recvbuf, count, datatype, op, root, comm))

RMQ_COLLECTIVE(Reduce, reduce, _c,
               (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                MPI_Comm comm),
               reduce(run, sendbuf, recvbuf, count, datatype, op, root, comm))

RMQ_COLLECTIVE(Allreduce, allreduce, ,
               (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
               reduce_all(run, sendbuf, recvbuf, count, datatype, op, comm, coll::allreduce, false))

RMQ_COLLECTIVE(Allreduce, allreduce, _c,
               (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
               reduce_all(run, sendbuf, recvbuf, count, datatype, op, comm, coll::allreduce, false))

RMQ_COLLECTIVE(Reduce_scatter, reduce_scatter, ,
               (const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op,
                MPI_Comm comm),
               reduce_scatter_each(run, sendbuf, recvbuf, recvcounts, datatype, op, comm))

RMQ_COLLECTIVE(Reduce_scatter, reduce_scatter, _c,
               (const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype, MPI_Op op,
                MPI_Comm comm),
               reduce_scatter_each(run, sendbuf, recvbuf, recvcounts, datatype, op, comm))

RMQ_COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, ,
               (const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
               reduce_scatter_equal(run, sendbuf, recvbuf, recvcount, datatype, op, comm))

RMQ_COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, _c,
               (const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op,
                MPI_Comm comm),
               reduce_scatter_equal(run, sendbuf, recvbuf, recvcount, datatype, op, comm))

RMQ_COLLECTIVE(Scan, scan, ,
               (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
               reduce_all(run, sendbuf, recvbuf, count, datatype, op, comm, coll::scan, true))

RMQ_COLLECTIVE(Scan, scan, _c,
               (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
               reduce_all(run, sendbuf, recvbuf, count, datatype, op, comm, coll::scan, true))

RMQ_COLLECTIVE(Exscan, exscan, ,
               (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
               reduce_all(run, sendbuf, recvbuf, count, datatype, op, comm, coll::exscan, true))

RMQ_COLLECTIVE(Exscan, exscan, _c,
               (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),
               reduce_all(run, sendbuf, recvbuf, count, datatype, op, comm, coll::exscan, true))

}  // namespace rmq::mpi
