// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// Dynamic windows: memory that comes and goes, addresses as displacements, operations of all kinds, errors for memory
// that is not attached.
#include "win_test.hpp"

namespace {

MPI_Aint address_of(const void* memory) {
  MPI_Aint a;
  MPI_Get_address(memory, &a);
  return a;
}
MPI_Aint other_ones(MPI_Aint mine) {
  MPI_Aint theirs;
  MPI_Sendrecv(&mine, 1, MPI_AINT, 1 - check::rank(), 0, &theirs, 1, MPI_AINT, 1 - check::rank(), 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  return theirs;
}

void operations(MPI_Win win) {
  const int me = check::rank(), other = 1 - me;
  std::vector<long> memory(1000, 0);
  MPI_Win_attach(win, memory.data(), 8000);
  const MPI_Aint there = other_ones(address_of(memory.data()));
  long value = 5 + me, old = -1, seen = -1, one = 1;
  MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win);
  MPI_Put(&value, 1, MPI_LONG, other, there + 8, 1, MPI_LONG, win);
  MPI_Win_flush(other, win);
  MPI_Fetch_and_op(&one, &old, MPI_LONG, other, there + 8, MPI_SUM, win);
  MPI_Win_flush(other, win);
  MPI_Get(&seen, 1, MPI_LONG, other, there + 8, 1, MPI_LONG, win);
  MPI_Win_unlock(other, win);
  CHECK(old == 5 + me && seen == 6 + me);
  std::vector<long> much(998, me);
  MPI_Datatype type;
  MPI_Type_vector(499, 1, 2, MPI_LONG, &type);
  MPI_Type_commit(&type);
  MPI_Win_fence(0, win);
  MPI_Put(much.data(), 499, MPI_LONG, other, there + 16, 1, type, win);
  MPI_Win_fence(0, win);
  for (std::size_t i = 2; i < 1000; ++i) CHECK(memory[i] == (i % 2 == 0 ? other : 0));
  MPI_Type_free(&type);
  MPI_Win_detach(win, memory.data());
  MPI_Barrier(MPI_COMM_WORLD);
}

void errors(MPI_Win win) {
  const int me = check::rank(), other = 1 - me;
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  static long memory[4];
  CHECK(MPI_Win_attach(win, memory, 16) == MPI_SUCCESS);
  CHECK_CLASS(MPI_Win_attach(win, memory + 1, 16), MPI_ERR_RMA_ATTACH);
  CHECK_CLASS(MPI_Win_attach(win, memory + 2, -1), MPI_ERR_SIZE);
  CHECK_CLASS(MPI_Win_attach(win, nullptr, 1), MPI_ERR_BASE);
  CHECK_CLASS(MPI_Win_detach(win, memory + 1), MPI_ERR_RMA_ATTACH);
  void* base;
  MPI_Aint size;
  int unit;
  CHECK_CLASS(MPI_Win_shared_query(win, 0, &size, &unit, &base), MPI_ERR_RMA_FLAVOR);
  const MPI_Aint there = other_ones(address_of(memory));
  long value = 7;
  for (const int target : {me, other}) {  // here it is known at once, there when the epoch ends
    const MPI_Aint at = target == me ? address_of(memory) : there;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    const int put = MPI_Put(&value, 1, MPI_LONG, target, at + 16, 1, MPI_LONG, win);
    const int unlocked = MPI_Win_unlock(target, win);
    CHECK_CLASS(put != MPI_SUCCESS ? put : unlocked, MPI_ERR_RMA_RANGE);
  }
  CHECK(memory[2] == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_Win_detach(win, memory) == MPI_SUCCESS);
  CHECK_CLASS(MPI_Win_detach(win, memory), MPI_ERR_RMA_ATTACH);
}

/// One datatype over memory that is attached in two pieces: what lies between them is not accessed. With a hole in the
/// datatype where memory is attached, and none where it is not, it is an error.
void pieces(MPI_Win win) {
  const int me = check::rank(), other = 1 - me;
  constexpr int kApart = 10000, kEach = 300;  // longs; a put of such pieces takes one packet, one of all many
  std::vector<long> memory(2 * kApart + kEach, 0);
  MPI_Aint offsets[3];
  for (int i = 0; i < 3; ++i) {
    if (i != 1) MPI_Win_attach(win, &memory[static_cast<std::size_t>(i * kApart)], sizeof(long) * kEach);
    offsets[i] = static_cast<MPI_Aint>(sizeof(long)) * kApart * i;
  }
  const MPI_Aint there = other_ones(address_of(memory.data())), here = address_of(memory.data());
  const int lengths[] = {kEach, kEach, kEach};
  MPI_Datatype both, all;
  const MPI_Aint apart[] = {offsets[0], offsets[2]};
  MPI_Type_create_hindexed(2, lengths, apart, MPI_LONG, &both);
  MPI_Type_create_hindexed(3, lengths, offsets, MPI_LONG, &all);
  MPI_Type_commit(&both);
  MPI_Type_commit(&all);
  std::vector<long> out(3 * kEach, 7 + me), in(2 * kEach, -1);
  const long one = 1;
  MPI_Win_lock_all(0, win);
  CHECK(MPI_Put(out.data(), 2 * kEach, MPI_LONG, other, there, 1, both, win) == MPI_SUCCESS);
  CHECK(MPI_Win_flush(other, win) == MPI_SUCCESS);
  CHECK(MPI_Accumulate(out.data(), 2 * kEach, MPI_LONG, other, there, 1, both, MPI_SUM, win) == MPI_SUCCESS);
  CHECK(MPI_Get(in.data(), 2 * kEach, MPI_LONG, other, there, 1, both, win) == MPI_SUCCESS);
  CHECK(MPI_Win_flush(other, win) == MPI_SUCCESS);
  CHECK(in == std::vector<long>(2 * kEach, 2 * (7 + me)));
  // Known here where the memory is one's own, else when it is flushed.
  for (const int target : {me, other}) {
    const int put = MPI_Put(out.data(), 3 * kEach, MPI_LONG, target, target == me ? here : there, 1, all, win);
    const int flushed = MPI_Win_flush(target, win);
    CHECK_CLASS(put != MPI_SUCCESS ? put : flushed, MPI_ERR_RMA_RANGE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_Accumulate(&one, 1, MPI_LONG, me, here, 1, MPI_LONG, MPI_SUM, win) == MPI_SUCCESS);
  CHECK(MPI_Put(in.data(), 2 * kEach, MPI_LONG, me, here, 1, both, win) == MPI_SUCCESS);
  MPI_Win_unlock_all(win);
  CHECK(memory[0] == 2 * (7 + me) && memory[2 * kApart + kEach - 1] == 2 * (7 + me) && memory[kApart] == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&both);
  MPI_Type_free(&all);
  MPI_Win_detach(win, memory.data());
  MPI_Win_detach(win, &memory[2 * kApart]);
}

/// What a request has told of, no later call tells of.
void told_once(MPI_Win win) {
  const int other = 1 - check::rank();
  static long memory[2];
  MPI_Win_attach(win, memory, sizeof memory);
  const MPI_Aint there = other_ones(address_of(memory));
  long value = 7;
  MPI_Request request;
  MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win);
  MPI_Rget(&value, 1, MPI_LONG, other, there + 16, 1, MPI_LONG, win, &request);
  CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_RMA_RANGE);
  CHECK(MPI_Win_flush(other, win) == MPI_SUCCESS);
  CHECK(MPI_Win_unlock(other, win) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_detach(win, memory);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  operations(win);
  operations(win);
  errors(win);
  pieces(win);
  told_once(win);
  MPI_Win_free(&win);
  return check::finish();
}
