// Chapter 6: global reductions, reduce-scatter, scan.
#include "mpi/coll/args.hpp"

namespace rmq::mpi {
namespace {

using coll::Numbers;
using coll::Reduction;

int reduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
           MPI_Comm comm, const char* function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        const coll::Role role = coll::role_of(c, root_arg(c, root));
        const Reduction r = coll::reduction_arg(count, datatype, op);
        if (role.member) {
          coll::check_reduction_buffers(sendbuf, recvbuf, r, role.root, role.root);
        } else if (role.root) {
          buffer_arg(recvbuf, count, datatype, "recvbuf");
        }
        return coll::reduce(c, sendbuf, recvbuf, r, root);
      },
      function);
}

/// The functions whose arguments are those of MPI_Allreduce.
int reduce_all(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
               int (*algorithm)(Comm&, const void*, void*, const Reduction&), bool intra_only,
               const char* function = __builtin_FUNCTION()) {
  return enter(
      comm,
      [&](Comm& c) {
        if (intra_only && c.is_inter()) fail_call(MPI_ERR_COMM, "argument comm is an inter-communicator");
        const Reduction r = coll::reduction_arg(count, datatype, op);
        coll::check_reduction_buffers(sendbuf, recvbuf, r, !c.is_inter(), true);
        return algorithm(c, sendbuf, recvbuf, r);
      },
      function);
}

/// `counts(Comm&)` gives the checked counts of all ranks' blocks, and their sum.
template <class Counts>
int reduce_scatter(const void* sendbuf, void* recvbuf, Counts&& counts, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                   const char* function) {
  return enter(
      comm,
      [&](Comm& c) {
        const auto [numbers, total] = counts(c);
        const Reduction r = coll::reduction_arg(total, datatype, op);
        coll::check_reduction_buffers(sendbuf, recvbuf, r, !c.is_inter(), numbers[c.rank] > 0);
        return coll::reduce_scatter(c, sendbuf, recvbuf, r, numbers);
      },
      function);
}

template <class Count>
int reduce_scatter_each(const void* sendbuf, void* recvbuf, const Count* recvcounts, MPI_Datatype datatype, MPI_Op op,
                        MPI_Comm comm, const char* function = __builtin_FUNCTION()) {
  const auto counts = [&](Comm& c) {
    const Numbers numbers(recvcounts);
    return std::pair(numbers, coll::counts_arg(numbers, !recvcounts, c.size(), "recvcounts"));
  };
  return reduce_scatter(sendbuf, recvbuf, counts, datatype, op, comm, function);
}

int reduce_scatter_equal(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm, const char* function = __builtin_FUNCTION()) {
  const auto counts = [&](Comm& c) {
    count_arg(recvcount, "recvcount");
    return std::pair(Numbers(recvcount, 0), recvcount * c.size());
  };
  return reduce_scatter(sendbuf, recvbuf, counts, datatype, op, comm, function);
}

}  // namespace

RMQ_MPI(int, Reduce,
        (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)) {
  return reduce(sendbuf, recvbuf, count, datatype, op, root, comm);
}

RMQ_MPI(int, Reduce_c,
        (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
         MPI_Comm comm)) {
  return reduce(sendbuf, recvbuf, count, datatype, op, root, comm);
}

RMQ_MPI(int, Allreduce,
        (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)) {
  return reduce_all(sendbuf, recvbuf, count, datatype, op, comm, coll::allreduce, false);
}

RMQ_MPI(int, Allreduce_c,
        (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)) {
  return reduce_all(sendbuf, recvbuf, count, datatype, op, comm, coll::allreduce, false);
}

RMQ_MPI(int, Reduce_scatter,
        (const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)) {
  return reduce_scatter_each(sendbuf, recvbuf, recvcounts, datatype, op, comm);
}

RMQ_MPI(int, Reduce_scatter_c,
        (const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype, MPI_Op op,
         MPI_Comm comm)) {
  return reduce_scatter_each(sendbuf, recvbuf, recvcounts, datatype, op, comm);
}

RMQ_MPI(int, Reduce_scatter_block,
        (const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)) {
  return reduce_scatter_equal(sendbuf, recvbuf, recvcount, datatype, op, comm);
}

RMQ_MPI(int, Reduce_scatter_block_c,
        (const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)) {
  return reduce_scatter_equal(sendbuf, recvbuf, recvcount, datatype, op, comm);
}

RMQ_MPI(int, Scan, (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)) {
  return reduce_all(sendbuf, recvbuf, count, datatype, op, comm, coll::scan, true);
}

RMQ_MPI(int, Scan_c,
        (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)) {
  return reduce_all(sendbuf, recvbuf, count, datatype, op, comm, coll::scan, true);
}

RMQ_MPI(int, Exscan, (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)) {
  return reduce_all(sendbuf, recvbuf, count, datatype, op, comm, coll::exscan, true);
}

RMQ_MPI(int, Exscan_c,
        (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)) {
  return reduce_all(sendbuf, recvbuf, count, datatype, op, comm, coll::exscan, true);
}

}  // namespace rmq::mpi
