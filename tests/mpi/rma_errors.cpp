// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// Bad arguments and calls outside of their epochs give the right class through the window's handler, with a text that
// names function and argument; the window works on afterwards.
#include <unistd.h>

#include <string>
#include <vector>

#include "win_test.hpp"

namespace {

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  return text;
}

bool mentions(int code, const char* what) {
  const std::string text = text_of(code);
  if (text.find(what) != std::string::npos) return true;
  std::fprintf(stderr, "'%s' does not mention '%s'\n", text.c_str(), what);
  return false;
}

void making() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  long x;
  MPI_Win win;
  CHECK_CLASS(MPI_Win_create(&x, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_SIZE);
  CHECK_CLASS(MPI_Win_create(&x, 8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP);
  CHECK_CLASS(MPI_Win_create(nullptr, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_BASE);
  CHECK_CLASS(MPI_Win_create(&x, 8, 1, 12345, MPI_COMM_WORLD, &win), MPI_ERR_INFO);
  CHECK_CLASS(MPI_Win_create(&x, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Win_create(&x, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, nullptr), MPI_ERR_ARG);
  win = MPI_WIN_NULL;
  CHECK_CLASS(MPI_Win_free(&win), MPI_ERR_WIN);
  CHECK_CLASS(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN);
  CHECK_CLASS(MPI_Win_fence(0, 0x60000077), MPI_ERR_WIN);
}

void arguments(MPI_Win win) {
  long x = 0;
  MPI_Win_lock_all(0, win);
  CHECK_CLASS(MPI_Put(&x, 1, MPI_LONG, 2, 0, 1, MPI_LONG, win), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Put(&x, 1, MPI_LONG, -5, 0, 1, MPI_LONG, win), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Put(&x, -1, MPI_LONG, 0, 0, 1, MPI_LONG, win), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Get(&x, 1, MPI_LONG, 0, 0, -1, MPI_LONG, win), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Put(&x, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_LONG, win), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Put(nullptr, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Put(&x, 1, MPI_LONG, 1, -1, 1, MPI_LONG, win), MPI_ERR_DISP);
  CHECK_CLASS(MPI_Put(&x, 1, MPI_LONG, 1, 4, 1, MPI_LONG, win), MPI_ERR_RMA_RANGE);
  CHECK_CLASS(MPI_Get(&x, 1, MPI_LONG, 1, 0, 5, MPI_LONG, win), MPI_ERR_RMA_RANGE);
  // Bytes that 64 bits do not hold, so that what is left of them would fit.
  const MPI_Count lots = MPI_Count{1} << 61;
  CHECK_CLASS(MPI_Put_c(&x, lots, MPI_LONG, 1, 0, lots, MPI_LONG, win), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Get_c(&x, lots + 1, MPI_LONG, 0, 0, lots + 1, MPI_LONG, win), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Put_c(&x, 1, MPI_LONG, 1, 0, lots + 1, MPI_LONG, win), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Accumulate_c(&x, lots, MPI_LONG, 1, 0, lots, MPI_LONG, MPI_SUM, win), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Get_accumulate_c(&x, lots, MPI_LONG, &x, lots, MPI_LONG, 1, 0, lots, MPI_LONG, MPI_SUM, win),
              MPI_ERR_COUNT);
  // Nothing is combined with nothing by any operation.
  CHECK(MPI_Accumulate(&x, 0, MPI_BYTE, 1, 0, 0, MPI_BYTE, MPI_SUM, win) == MPI_SUCCESS);
  CHECK(MPI_Get_accumulate(&x, 0, MPI_BYTE, &x, 0, MPI_BYTE, 1, 0, 0, MPI_BYTE, MPI_SUM, win) == MPI_SUCCESS);
  CHECK_CLASS(MPI_Accumulate(&x, 1, MPI_BYTE, 1, 0, 1, MPI_BYTE, MPI_SUM, win), MPI_ERR_OP);
  CHECK_CLASS(MPI_Accumulate(&x, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_OP_NULL, win), MPI_ERR_OP);
  CHECK_CLASS(MPI_Accumulate(&x, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_NO_OP, win), MPI_ERR_OP);
  CHECK_CLASS(MPI_Accumulate(&x, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_MINLOC, win), MPI_ERR_OP);
  double d = 0;
  CHECK_CLASS(MPI_Fetch_and_op(&d, &d, MPI_DOUBLE, 1, 0, MPI_BAND, win), MPI_ERR_OP);
  CHECK_CLASS(MPI_Compare_and_swap(&d, &d, &d, MPI_DOUBLE, 1, 0, win), MPI_ERR_TYPE);
  MPI_Datatype two;
  MPI_Type_contiguous(2, MPI_LONG, &two);
  CHECK_CLASS(MPI_Put(&x, 1, two, 1, 0, 2, MPI_LONG, win), MPI_ERR_TYPE);  // not committed
  MPI_Type_commit(&two);
  CHECK_CLASS(MPI_Fetch_and_op(&x, &x, two, 1, 0, MPI_SUM, win), MPI_ERR_TYPE);
  MPI_Type_free(&two);
  MPI_Op own;
  MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &own);
  CHECK_CLASS(MPI_Accumulate(&x, 1, MPI_LONG, 1, 0, 1, MPI_LONG, own, win), MPI_ERR_OP);
  MPI_Op_free(&own);
  CHECK(mentions(MPI_Put(&x, 1, MPI_LONG, 7, 0, 1, MPI_LONG, win), "MPI_Put: invalid rank 7 (argument target_rank"));
  CHECK(mentions(MPI_Get(&x, 1, MPI_LONG, 1, -3, 1, MPI_LONG, win), "MPI_Get: invalid displacement -3"));
  MPI_Win_unlock_all(win);
}

void epochs(MPI_Win win) {
  long x = 0;
  MPI_Request r;
  CHECK_CLASS(MPI_Put(&x, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Rget(&x, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win, &r), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
  MPI_Win_fence(0, win);
  CHECK_CLASS(MPI_Rput(&x, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win, &r), MPI_ERR_RMA_SYNC);
  // No data, however far; then the epoch of the fence has operations.
  CHECK(MPI_Put(&x, 0, MPI_LONG, 1, MPI_Aint{1} << 62, 0, MPI_LONG, win) == MPI_SUCCESS);
  MPI_Group all;
  MPI_Win_get_group(win, &all);
  CHECK_CLASS(MPI_Win_post(all, 0, win), MPI_ERR_RMA_SYNC);
  MPI_Group_free(&all);
  CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win) == MPI_SUCCESS);
  CHECK_CLASS(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_flush_local_all(win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_lock(7, 0, 0, win), MPI_ERR_LOCKTYPE);
  CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 9, 0, win), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPUT, win), MPI_ERR_ASSERT);
  CHECK_CLASS(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT);
  CHECK_CLASS(MPI_Win_start(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP);
  CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win) == MPI_SUCCESS);
  CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Put(&x, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
  CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
  void* base;
  MPI_Aint size;
  CHECK_CLASS(MPI_Win_attach(win, &x, 8), MPI_ERR_RMA_FLAVOR);
  static_cast<void>(base), static_cast<void>(size);
}

}  // namespace

// One operation that travels in pieces is told of once, whichever call hears of it first.
void pieces() {
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  std::vector<long> memory(500), much(1 << 19);
  MPI_Aint at;
  MPI_Win_attach(win, memory.data(), 4000);
  MPI_Get_address(memory.data(), &at);
  MPI_Bcast(&at, 1, MPI_AINT, 1, MPI_COMM_WORLD);
  const auto count = static_cast<int>(much.size());
  for (int round = 0; round < 4 && check::rank() == 0; ++round) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    if (round % 2 == 0)
      MPI_Put(much.data(), count, MPI_LONG, 1, at, count, MPI_LONG, win);
    else
      MPI_Accumulate(much.data(), count, MPI_LONG, 1, at, count, MPI_LONG, MPI_SUM, win);
    int told = MPI_Win_flush_local(1, win) != MPI_SUCCESS;
    if (round >= 2) usleep(20000);
    MPI_Put(much.data(), 1, MPI_LONG, 1, at, 1, MPI_LONG, win);
    told += MPI_Win_flush(1, win) != MPI_SUCCESS;
    MPI_Put(much.data(), 1, MPI_LONG, 1, at, 1, MPI_LONG, win);
    told += MPI_Win_flush(1, win) != MPI_SUCCESS;
    told += MPI_Win_unlock(1, win) != MPI_SUCCESS;
    CHECK(told == 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_detach(win, memory.data());
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  making();
  for (const int flavor : kFlavors) {
    LongWindow w(flavor, 4);
    MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
    arguments(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    epochs(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    long value = check::rank() + 1;
    MPI_Win_fence(0, w.win);
    CHECK(MPI_Put(&value, 1, MPI_LONG, 1 - check::rank(), 0, 1, MPI_LONG, w.win) == MPI_SUCCESS);
    MPI_Win_fence(0, w.win);
    CHECK(w.memory[0] == 2 - check::rank());
  }
  pieces();
  return check::finish();
}
