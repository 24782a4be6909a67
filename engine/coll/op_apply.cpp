// SPDX-License-Identifier: BSD-3-Clause
#include "engine/coll/op_apply.hpp"

#include <algorithm>
#include <climits>

#include "engine/message/task.hpp"

namespace rmq::mpi {
namespace {

// ---- functions of the program ----

void call_function(adi::Device& device, const Op& op, const void* in, void* inout, MPI_Count count,
                   const Datatype& type) {
  if (Task* const task = Task::current()) [[unlikely]]
    return task->call_outside([&] { call_function(device, op, in, inout, count, type); });
  MPI_Datatype handle = type.handle;
  void* const from = const_cast<void*>(in);
  if (op.large_function) {
    MPI_User_function_c* const function = op.large_function;
    const adi::Device::Absence released(device);
    function(from, inout, &count, &handle);
    return;
  }
  MPI_User_function* const function = op.function;
  const auto cxx_proxy = op.cxx_proxy;
  const std::int64_t extent = type.layout->extent();
  const adi::Device::Absence released(device);
  for (MPI_Count done = 0; done < count;) {
    int portion = static_cast<int>(std::min<MPI_Count>(count - done, INT_MAX));
    const MPI_Count next = done + portion;
    void* const one = static_cast<std::byte*>(from) + done * extent;
    void* const other = static_cast<std::byte*>(inout) + done * extent;
    if (cxx_proxy) {
      cxx_proxy(one, other, portion, handle, function);
    } else {
      function(one, other, &portion, &handle);
    }
    done = next;
  }
}

}  // namespace

void apply_op(adi::Device& device, const Op& op, const void* in, void* inout, MPI_Count count, Datatype& type) {
  if (op.builtin == ReduceOp::none) return call_function(device, op, in, inout, count, type);
  reduce(op.builtin, type.basic, in, inout, static_cast<std::size_t>(count));
}

}  // namespace rmq::mpi
