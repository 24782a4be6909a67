// SPDX-License-Identifier: BSD-3-Clause
// armci_msg_…: messages and collectives, on engine/.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "armci/call.hpp"
#include "base/os/clock.hpp"
#include "engine/coll/coll.hpp"
#include "engine/coll/later.hpp"
#include "engine/message/point.hpp"
#include "engine/object/status.hpp"

namespace rmq::armci {
namespace {

namespace coll = mpi::coll;

template <class... P, class... A>
void run(mpi::Comm& c, int (*algorithm)(mpi::Comm&, P...), const A&... arguments) {
  // What is issued and waits for company may be what the others wait for before they come.
  complete(-1, true);
  if (const int code = coll::Now{}(c, algorithm, arguments...); code != MPI_SUCCESS)
    mpi::fail_call(code, "a process is lost, or has come with other arguments");
}

mpi::Comm& all() {
  return *world().comm;
}

int receive(int tag, void* buffer, int room, int* bytes, int from) {
  return enter(fn::msg_rcv, [&] {
    complete(-1, true);
    MPI_Status status;
    const auto most = static_cast<std::uint64_t>(std::max(room, 0));
    mpi::recv_blocking(all(), {coll::raw(buffer, most), from, tag}, &status);
    if (bytes) *bytes = static_cast<int>(mpi::status_bytes(status));
    return status.MPI_SOURCE;
  });
}

void broadcast(mpi::Comm& c, void* buffer, int bytes, int root) {
  if (root < 0 || root >= c.size()) die(fn::msg_bcast, fmt::format("there is no process {}", root));
  enter(fn::msg_bcast,
        [&] { run(c, coll::bcast, coll::raw(buffer, static_cast<std::uint64_t>(std::max(bytes, 0))), root); });
}

template <class T>
struct TypeOf;
template <>
struct TypeOf<int> {
  static constexpr MPI_Datatype type = MPI_INT;
};
template <>
struct TypeOf<long> {
  static constexpr MPI_Datatype type = MPI_LONG;
};
template <>
struct TypeOf<long long> {
  static constexpr MPI_Datatype type = MPI_LONG_LONG;
};
template <>
struct TypeOf<float> {
  static constexpr MPI_Datatype type = MPI_FLOAT;
};
template <>
struct TypeOf<double> {
  static constexpr MPI_Datatype type = MPI_DOUBLE;
};

/// fn(T{}) for a type of enum armci_type_e.
template <class Fn>
void with_type(const char* function, int type, Fn&& fn) {
  switch (type) {
    case ARMCI_INT:
      return fn(int{});
    case ARMCI_LONG:
      return fn(long{});
    case ARMCI_LONG_LONG:
      return fn(static_cast<long long>(0));
    case ARMCI_FLOAT:
      return fn(float{});
    case ARMCI_DOUBLE:
      return fn(double{});
    default:
      die(function, fmt::format("{} is no type of numbers", type));
  }
}

MPI_Op op_of(std::string_view name, bool integers) {
  struct Name {
    std::string_view name;
    MPI_Op op;
    bool integers;
  };
  // The begin says it: what programs pass need not end there. The longer ones come first.
  static constexpr Name kNames[] = {{"+", MPI_SUM, false},      {"*", MPI_PROD, false},  {"max", MPI_MAX, false},
                                    {"absmax", MPI_MAX, false}, {"min", MPI_MIN, false}, {"absmin", MPI_MIN, false},
                                    {"||", MPI_LOR, false},     {"lor", MPI_LOR, false}, {"&&", MPI_LAND, false},
                                    {"land", MPI_LAND, false},  {"|", MPI_BOR, true},    {"or", MPI_BOR, true},
                                    {"bor", MPI_BOR, true},     {"&", MPI_BAND, true},   {"band", MPI_BAND, true}};
  for (const Name& n : kNames)
    if (name.starts_with(n.name) && (integers || !n.integers)) return n.op;
  die(fn::msg_gop, fmt::format("'{}' is no operation, or none for these numbers", name));
}

template <class T>
void combine(mpi::Comm& c, T* x, int n, const char* op) {
  enter(fn::msg_gop, [&] {
    if (std::string_view(op).starts_with("abs"))
      for (int i = 0; i < n; ++i) x[i] = x[i] < 0 ? -x[i] : x[i];
    const coll::Reduction r{*mpi::find_op(op_of(op, std::is_integral_v<T>)), *mpi::find_datatype(TypeOf<T>::type),
                            std::max(n, 0), *mpi::runtime().device};
    run(c, coll::allreduce, reinterpret_cast<const void*>(~std::uintptr_t{0}), static_cast<void*>(x), r);  // in place
  });
}

template <class T>
void combine_group(ARMCI_Group* group, T* x, int n, const char* op) {
  combine(*group_of(fn::msg_gop, group).comm, x, n, op);
}

// Of the numbers at the begin of what each brings, the extreme one wins with all that is behind it; of equal ones the
// first process's.
template <class T>
void select(void* x, std::size_t bytes, bool largest, bool contribute) {
  const std::size_t each = bytes + 1;
  std::vector<std::byte> mine(each), everything(each * world().size);
  mine[bytes] = std::byte{contribute};
  std::memcpy(mine.data(), x, bytes);
  run(all(), coll::allgather, coll::raw(mine.data(), each),
      coll::Blocks::uniform(everything.data(), static_cast<MPI_Count>(each), coll::byte_type()));
  const std::byte* best = nullptr;
  T extreme{};
  for (const std::byte* at = everything.data(); at != everything.data() + everything.size(); at += each) {
    if (at[bytes] == std::byte{0}) continue;
    T value;
    std::memcpy(&value, at, sizeof value);
    if (best && !(largest ? value > extreme : value < extreme)) continue;
    best = at;
    extreme = value;
  }
  if (best) std::memcpy(x, best, bytes);
}

}  // namespace

extern "C" {

RMQ_EXPORT int armci_msg_me(void) {
  if (world().size == 0) refuse("armci_msg_me");
  return world().me;
}
RMQ_EXPORT int armci_msg_nproc(void) {
  if (world().size == 0) refuse("armci_msg_nproc");
  return static_cast<int>(world().size);
}
RMQ_EXPORT void armci_msg_abort(int code) {
  if (world().size == 0) refuse("armci_msg_abort");
  die("armci_msg_abort", fmt::format("the program ends the job with code {}", code), code);
}
RMQ_EXPORT double armci_timer(void) {
  return 1e-9 * static_cast<double>(os::now_ns());
}

RMQ_EXPORT void armci_msg_snd(int tag, void* buffer, int bytes, int to) {
  check_proc(fn::msg_snd, to);
  enter(fn::msg_snd, [&] {
    complete(-1, true);
    const auto n = static_cast<std::uint64_t>(std::max(bytes, 0));
    mpi::send_blocking(all(), {coll::raw(buffer, n), to, tag}, SendMode::standard);
  });
}
RMQ_EXPORT void armci_msg_rcv(int tag, void* buffer, int room, int* bytes, int from) {
  check_proc(fn::msg_rcv, from);
  receive(tag, buffer, room, bytes, from);
}
RMQ_EXPORT int armci_msg_rcvany(int tag, void* buffer, int room, int* bytes) {
  return receive(tag, buffer, room, bytes, MPI_ANY_SOURCE);
}

static void group_barrier(ARMCI_Group* group) {
  enter(fn::msg_barrier, [&] { run(*group_of(fn::msg_barrier, group).comm, coll::barrier); });
}
RMQ_EXPORT void armci_msg_group_barrier(ARMCI_Group* group) {
  group_barrier(group);
}
RMQ_EXPORT void parmci_msg_group_barrier(ARMCI_Group* group) {
  group_barrier(group);
}
RMQ_EXPORT void armci_msg_bintree(int scope, int* root, int* up, int* left, int* right) {
  const int me = scope == SCOPE_NODE ? 0 : armci_msg_me(), n = scope == SCOPE_NODE ? 1 : armci_msg_nproc();
  *root = 0;
  *up = me == 0 ? -1 : (me - 1) / 2;
  *left = 2 * me + 1 < n ? 2 * me + 1 : -1;
  *right = 2 * me + 2 < n ? 2 * me + 2 : -1;
}

RMQ_EXPORT void armci_msg_bcast(void* buffer, int bytes, int root) {
  broadcast(all(), buffer, bytes, root);
}
RMQ_EXPORT void armci_msg_brdcst(void* buffer, int bytes, int root) {
  broadcast(all(), buffer, bytes, root);
}
RMQ_EXPORT void armci_msg_bcast_scope(int scope, void* buffer, int bytes, int root) {
  if (scope != SCOPE_NODE) broadcast(all(), buffer, bytes, root);
}
RMQ_EXPORT void armci_msg_group_bcast_scope(int scope, void* buffer, int bytes, int root, ARMCI_Group* group) {
  if (scope == SCOPE_NODE) return;
  // `root` is a process of the whole job.
  mpi::Comm& c = *group_of(fn::msg_bcast, group).comm;
  check_proc(fn::msg_bcast, root);
  broadcast(c, buffer, bytes, c.group->place_of(all().world_of(root)));
}

RMQ_EXPORT void armci_exchange_address(void** pointers, int count) {
  combine(all(), reinterpret_cast<long*>(pointers), count, "+");
}
RMQ_EXPORT void armci_exchange_address_grp(void** pointers, int count, ARMCI_Group* group) {
  combine_group(group, reinterpret_cast<long*>(pointers), count, "+");
}

RMQ_EXPORT void armci_msg_sel_scope(int scope, void* x, int n, char* op, int type, int contribute) {
  if (scope == SCOPE_NODE) return;
  const bool largest = std::string_view(op).starts_with("max");
  if (!largest && !std::string_view(op).starts_with("min")) die(fn::msg_sel, "the operation is neither min nor max");
  with_type(fn::msg_sel, type, [&](auto number) {
    if (n < static_cast<int>(sizeof number)) die(fn::msg_sel, "no number fits");
    enter(fn::msg_sel, [&] { select<decltype(number)>(x, static_cast<std::size_t>(n), largest, contribute != 0); });
  });
}
RMQ_EXPORT void armci_msg_sel(void* x, int n, char* op, int type, int contribute) {
  armci_msg_sel_scope(SCOPE_ALL, x, n, op, type, contribute);
}

RMQ_EXPORT void armci_msg_gop_scope(int scope, void* x, int n, char* op, int type) {
  if (scope == SCOPE_NODE) return;
  with_type(fn::msg_gop, type, [&](auto number) { combine(all(), static_cast<decltype(number)*>(x), n, op); });
}
RMQ_EXPORT void armci_msg_group_gop_scope(int scope, void* x, int n, char* op, int type, ARMCI_Group* group) {
  if (scope == SCOPE_NODE) return;
  with_type(fn::msg_gop, type, [&](auto number) { combine_group(group, static_cast<decltype(number)*>(x), n, op); });
}
RMQ_EXPORT void armci_msg_reduce(void* x, int n, char* op, int type) {
  armci_msg_gop_scope(SCOPE_ALL, x, n, op, type);
}
RMQ_EXPORT void armci_msg_reduce_scope(int scope, void* x, int n, char* op, int type) {
  armci_msg_gop_scope(scope, x, n, op, type);
}

#define RMQ_ARMCI_GOP(name, type)                                                        \
  RMQ_EXPORT void armci_msg_##name(type* x, int n, char* op) {                           \
    combine(all(), x, n, op);                                                            \
  }                                                                                      \
  RMQ_EXPORT void armci_msg_group_##name(type* x, int n, char* op, ARMCI_Group* group) { \
    combine_group(group, x, n, op);                                                      \
  }
RMQ_ARMCI_GOP(igop, int)
RMQ_ARMCI_GOP(lgop, long)
RMQ_ARMCI_GOP(llgop, long long)
RMQ_ARMCI_GOP(fgop, float)
RMQ_ARMCI_GOP(dgop, double)
}

}  // namespace rmq::armci
