// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// Long puts and gets on ordinary memory, which a copy between the processes may do at once: in every kind of epoch,
// among short operations and accumulates, and at places outside of the window. Where nothing hinders it, they are
// complete when the call returns, without a packet, while the target computes; and when the kernel no longer copies,
// they arrive nevertheless.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "win_test.hpp"

namespace {

constexpr int kLong = 40000;  // longs: 320 KB, several pieces by packets
constexpr int kSizes[] = {1, 100, 1023, 1024, 1025, 8191, kLong};

std::vector<long> pattern(int count, long seed) {
  std::vector<long> v(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) v[static_cast<std::size_t>(i)] = seed * 1000003 + i;
  return v;
}

bool is_pattern(const long* at, int count, long seed) {
  for (int i = 0; i < count; ++i) {
    if (at[i] != seed * 1000003 + i) return false;
  }
  return true;
}

// ---- in every epoch ----

enum class Epoch { fence, posted, locked, exclusive, all };

void open(Epoch e, const LongWindow& w, MPI_Group from, MPI_Group to, int target) {
  switch (e) {
    case Epoch::fence:
      MPI_Win_fence(0, w.win);
      break;
    case Epoch::posted:
      MPI_Win_post(from, 0, w.win);
      MPI_Win_start(to, 0, w.win);
      break;
    case Epoch::locked:
    case Epoch::exclusive:
      MPI_Win_lock(e == Epoch::locked ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, w.win);
      break;
    case Epoch::all:
      MPI_Win_lock_all(0, w.win);
  }
}

void close(Epoch e, const LongWindow& w, int target) {
  switch (e) {
    case Epoch::fence:
      MPI_Win_fence(0, w.win);
      return;
    case Epoch::posted:
      MPI_Win_complete(w.win);
      MPI_Win_wait(w.win);
      return;
    case Epoch::locked:
    case Epoch::exclusive:
      MPI_Win_unlock(target, w.win);
      break;
    case Epoch::all:
      MPI_Win_unlock_all(w.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// A ring: each puts into the right one's window, then reads it back; three counters behind it are added to meanwhile.
void epochs(int flavor) {
  const int n = check::size(), me = check::rank(), right = (me + 1) % n, left = (me + n - 1) % n;
  MPI_Group world, from, to;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &left, &from);
  MPI_Group_incl(world, 1, &right, &to);
  LongWindow w(flavor, kLong + 3);
  long seed = 1, sum = 0;
  for (const Epoch e : {Epoch::fence, Epoch::posted, Epoch::locked, Epoch::exclusive, Epoch::all}) {
    for (const int count : kSizes) {
      const std::vector<long> out = pattern(count, 10 * ++seed + me);
      std::vector<long> in(out.size(), -1);
      const long one = 1, mark = seed;
      open(e, w, from, to, right);
      MPI_Accumulate(&one, 1, MPI_LONG, right, kLong, 1, MPI_LONG, MPI_SUM, w.win);
      MPI_Put(out.data(), count, MPI_LONG, right, 0, count, MPI_LONG, w.win);
      MPI_Put(&mark, 1, MPI_LONG, right, kLong + 1, 1, MPI_LONG, w.win);
      MPI_Accumulate(&one, 1, MPI_LONG, right, kLong, 1, MPI_LONG, MPI_SUM, w.win);
      close(e, w, right);
      sum += 2;
      MPI_Win_lock(MPI_LOCK_SHARED, me, 0, w.win);
      CHECK(is_pattern(w.memory, count, 10 * seed + left) && w.memory[kLong] == sum && w.memory[kLong + 1] == seed);
      MPI_Win_unlock(me, w.win);
      MPI_Barrier(MPI_COMM_WORLD);
      open(e, w, from, to, right);
      MPI_Get(in.data(), count, MPI_LONG, right, 0, count, MPI_LONG, w.win);
      close(e, w, right);
      CHECK(in == out);
    }
  }
  MPI_Group_free(&from);
  MPI_Group_free(&to);
  MPI_Group_free(&world);
}

// What has been flushed is seen by what follows, whichever way either has gone; requests, and data with gaps.
void one_after_another(int flavor) {
  const int n = check::size(), me = check::rank(), right = (me + 1) % n;
  LongWindow w(flavor, kLong);
  MPI_Datatype gaps;
  MPI_Type_vector(kLong / 2, 1, 2, MPI_LONG, &gaps);
  MPI_Type_commit(&gaps);
  MPI_Win_lock_all(0, w.win);
  for (int i = 0; i < 20; ++i) {
    const int count = kSizes[i % 7];
    const std::vector<long> out = pattern(count, i);
    std::vector<long> in(out.size(), -1);
    MPI_Request r;
    const long last = -i;
    long seen = 1;
    MPI_Rput(out.data(), count, MPI_LONG, right, 0, count, MPI_LONG, w.win, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Win_flush(right, w.win);
    MPI_Rget(in.data(), count, MPI_LONG, right, 0, count, MPI_LONG, w.win, &r);
    for (int flag = 0; !flag;) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    CHECK(in == out);
    MPI_Put(&last, 1, MPI_LONG, right, count - 1, 1, MPI_LONG, w.win);
    i % 2 ? MPI_Win_flush(right, w.win) : MPI_Win_flush_all(w.win);
    MPI_Get(in.data(), count, MPI_LONG, right, 0, count, MPI_LONG, w.win);
    MPI_Win_flush_local(right, w.win);
    CHECK(in.back() == last);
    MPI_Put(out.data(), count, MPI_LONG, right, 0, count, MPI_LONG, w.win);
    MPI_Win_flush(right, w.win);
    MPI_Fetch_and_op(&last, &seen, MPI_LONG, right, count - 1, MPI_SUM, w.win);
    MPI_Win_flush(right, w.win);
    CHECK(seen == out.back());
  }
  const std::vector<long> out = pattern(kLong, 77);
  std::vector<long> in(out.size(), -1);
  MPI_Put(out.data(), 1, gaps, right, 0, kLong / 2, MPI_LONG, w.win);
  MPI_Put(out.data(), kLong / 2, MPI_LONG, right, kLong / 2, kLong / 2, MPI_LONG, w.win);
  MPI_Win_flush(right, w.win);
  MPI_Get(in.data(), 1, gaps, right, 0, kLong / 2, MPI_LONG, w.win);
  MPI_Win_flush(right, w.win);
  for (std::size_t i = 0; i < in.size(); ++i) CHECK(in[i] == (i % 2 ? -1 : out[i]));
  MPI_Win_unlock_all(w.win);
  MPI_Type_free(&gaps);
}

void outside(int flavor) {
  const int right = (check::rank() + 1) % check::size();
  LongWindow w(flavor, kLong);
  MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
  const std::vector<long> out = pattern(kLong, 5);
  std::vector<long> in(out.size(), -1);
  MPI_Win_lock(MPI_LOCK_SHARED, right, 0, w.win);
  CHECK_CLASS(MPI_Put(out.data(), kLong, MPI_LONG, right, 1, kLong, MPI_LONG, w.win), MPI_ERR_RMA_RANGE);
  CHECK_CLASS(MPI_Get(in.data(), kLong, MPI_LONG, right, 1, kLong, MPI_LONG, w.win), MPI_ERR_RMA_RANGE);
  CHECK_CLASS(MPI_Put(out.data(), kLong, MPI_LONG, right, -1, kLong, MPI_LONG, w.win), MPI_ERR_DISP);
  MPI_Win_flush(right, w.win);
  CHECK(MPI_Get(in.data(), kLong, MPI_LONG, right, 0, kLong, MPI_LONG, w.win) == MPI_SUCCESS);
  MPI_Win_unlock(right, w.win);
  CHECK(in == std::vector<long>(kLong, 0));
  MPI_Barrier(MPI_COMM_WORLD);
}

// ---- at once ----

/// Packets that this rank has sent.
class PacketsSent {
 public:
  PacketsSent() {
    int provided, index, count;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session_);
    MPI_T_pvar_get_index("rmq_packets_sent", MPI_T_PVAR_CLASS_COUNTER, &index);
    MPI_T_pvar_handle_alloc(session_, index, nullptr, &handle_, &count);
    MPI_T_pvar_start(session_, handle_);
  }
  ~PacketsSent() {
    MPI_T_pvar_session_free(&session_);
    MPI_T_finalize();
  }
  unsigned long long read() const {
    unsigned long long value = 0;
    MPI_T_pvar_read(session_, handle_, &value);
    return value;
  }

 private:
  MPI_T_pvar_session session_;
  MPI_T_pvar_handle handle_;
};

bool kernel_copies(long pid, long address) {
  long here = 0;
  const iovec to{&here, sizeof here}, from{reinterpret_cast<void*>(address), sizeof here};
  return ::process_vm_readv(static_cast<pid_t>(pid), &to, 1, &from, 1, 0) == sizeof here;
}

bool is_near(int rank) {
  MPI_Comm host;
  MPI_Group near, world;
  int place;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_group(host, &near);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_translate_ranks(world, 1, &rank, near, &place);
  MPI_Group_free(&near);
  MPI_Group_free(&world);
  MPI_Comm_free(&host);
  const char* methods = std::getenv("RMQ_METHODS");
  return place != MPI_UNDEFINED && !(methods && std::string_view(methods) == "tcp");
}

bool forbid_copies() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// The last rank computes; the one before it puts and gets, at first as it may, then without the kernel's help.
void busy_target() {
  const int target = check::size() - 1, origin = target - 1, me = check::rank();
  LongWindow w(MPI_WIN_FLAVOR_CREATE, kLong);
  const bool by_origin = is_near(origin), by_target = is_near(target);  // collective
  if (me == target) {
    const long about[] = {::getpid(), reinterpret_cast<long>(w.memory)};
    MPI_Send(about, 2, MPI_LONG, origin, 0, MPI_COMM_WORLD);
    // Acquire: what was put before is seen after it.
    while (std::atomic_ref(w.memory[0]).load(std::memory_order_acquire) != -1) {
    }
  }
  if (me == origin) {
    const PacketsSent packets;
    long about[2];
    MPI_Recv(about, 2, MPI_LONG, target, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const bool at_once = by_origin && by_target && kernel_copies(about[0], about[1]);
    const std::vector<long> out = pattern(kLong, 8);
    std::vector<long> in(out.size(), -1);
    MPI_Request r[2];
    int flag = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win);
    MPI_Get(in.data(), 1, MPI_LONG, target, 0, 1, MPI_LONG, w.win);
    MPI_Win_flush(target, w.win);  // the lock is held
    const auto before = packets.read();
    MPI_Rput(out.data() + 1, kLong - 1, MPI_LONG, target, 1, kLong - 1, MPI_LONG, w.win, &r[0]);
    MPI_Rget(in.data() + 1, kLong - 1, MPI_LONG, target, 1, kLong - 1, MPI_LONG, w.win, &r[1]);
    if (at_once) CHECK(in.back() == out.back());
    MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);
    MPI_Win_flush(target, w.win);
    if (at_once) CHECK(flag && packets.read() == before);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    // Once the kernel refuses, packets do it.
    if (!at_once || forbid_copies()) {
      const std::vector<long> other = pattern(kLong, 9);
      MPI_Put(other.data() + 1, kLong - 1, MPI_LONG, target, 1, kLong - 1, MPI_LONG, w.win);
      MPI_Win_flush(target, w.win);
      MPI_Get(in.data() + 1, kLong - 1, MPI_LONG, target, 1, kLong - 1, MPI_LONG, w.win);
      MPI_Win_flush(target, w.win);
      CHECK(std::equal(in.begin() + 1, in.end(), other.begin() + 1) && packets.read() > before);
    }
    const long end = -1;
    MPI_Put(&end, 1, MPI_LONG, target, 0, 1, MPI_LONG, w.win);
    MPI_Win_unlock(target, w.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const int flavor : kFlavors) {
    epochs(flavor);
    one_after_another(flavor);
    outside(flavor);
  }
  busy_target();  // last: the origin may no longer copy
  return check::finish();
}
