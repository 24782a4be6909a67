// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// The window as an object: predefined attributes and the program's own with their callbacks, names, groups, info,
// error handlers.
#include <climits>
#include <cstring>
#include <string>

#include "win_test.hpp"

namespace {

template <class T>
T attribute(MPI_Win win, int keyval) {
  void* value = nullptr;
  int flag = 0;
  MPI_Win_get_attr(win, keyval, &value, &flag);
  CHECK(flag);
  return *static_cast<T*>(value);
}

void predefined() {
  long memory[3];
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  void* base;
  int flag;
  MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
  CHECK(flag && base == memory);
  CHECK(attribute<MPI_Aint>(win, MPI_WIN_SIZE) == sizeof memory);
  CHECK(attribute<int>(win, MPI_WIN_DISP_UNIT) == 8);
  CHECK(attribute<int>(win, MPI_WIN_CREATE_FLAVOR) == MPI_WIN_FLAVOR_CREATE);
  CHECK(attribute<int>(win, MPI_WIN_MODEL) == MPI_WIN_UNIFIED);
  MPI_Win_free(&win);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
  CHECK(flag && base == MPI_BOTTOM && attribute<MPI_Aint>(win, MPI_WIN_SIZE) == 0);
  CHECK(attribute<int>(win, MPI_WIN_CREATE_FLAVOR) == MPI_WIN_FLAVOR_DYNAMIC);
  MPI_Win_free(&win);
}

std::vector<long> deleted;
int refuse_code = MPI_SUCCESS;
int note_delete(MPI_Win win, int, void* value, void* extra) {
  CHECK(extra == &deleted);
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Win_get_name(win, name, &length);  // callbacks may call MPI
  if (refuse_code != MPI_SUCCESS) return refuse_code;
  deleted.push_back(reinterpret_cast<long>(value));
  return MPI_SUCCESS;
}
void* number(long n) {
  return reinterpret_cast<void*>(n);
}

void attributes() {
  int first, second, flag;
  void* value;
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, note_delete, &first, &deleted);
  MPI_Win_create_keyval(MPI_WIN_DUP_FN, note_delete, &second, &deleted);
  MPI_Win win;
  MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_get_attr(win, first, &value, &flag);
  CHECK(!flag);
  MPI_Win_set_attr(win, first, number(1));
  MPI_Win_set_attr(win, second, number(2));
  MPI_Win_set_attr(win, first, number(3));
  MPI_Win_get_attr(win, first, &value, &flag);
  CHECK(flag && value == number(3));
  MPI_Win_delete_attr(win, second);
  CHECK(deleted == (std::vector<long>{1, 2}));
  CHECK_CLASS(MPI_Win_set_attr(win, MPI_WIN_SIZE, number(1)), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Win_delete_attr(win, MPI_KEYVAL_INVALID), MPI_ERR_KEYVAL);
  refuse_code = MPI_ERR_OTHER;
  CHECK_CLASS(MPI_Win_free(&win), MPI_ERR_OTHER);
  CHECK(win != MPI_WIN_NULL);
  refuse_code = MPI_SUCCESS;
  MPI_Win_free_keyval(&first);
  CHECK(first == MPI_KEYVAL_INVALID);
  MPI_Win_free(&win);
  CHECK(deleted == (std::vector<long>{1, 2, 3}));
  MPI_Win_free_keyval(&second);
}

void names_and_groups() {
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -check::rank(), &reversed);
  LongWindow w(MPI_WIN_FLAVOR_ALLOCATE, 1, reversed);
  char name[MPI_MAX_OBJECT_NAME] = "?";
  int length = -1, result;
  MPI_Win_get_name(w.win, name, &length);
  CHECK(length == 0 && name[0] == '\0');
  MPI_Win_set_name(w.win, "halo");
  MPI_Win_get_name(w.win, name, &length);
  CHECK(std::string(name) == "halo" && length == 4);
  MPI_Group group, comm_group;
  MPI_Win_get_group(w.win, &group);
  MPI_Comm_group(reversed, &comm_group);
  MPI_Comm_free(&reversed);  // the window does not need it
  MPI_Group_compare(group, comm_group, &result);
  CHECK(result == MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&comm_group);
  MPI_Win_fence(0, w.win);
  const long value = check::rank() + 1;  // my place is the opposite of my rank: this goes to the other one
  MPI_Put(&value, 1, MPI_LONG, check::rank(), 0, 1, MPI_LONG, w.win);
  MPI_Win_fence(0, w.win);
  CHECK(w.memory[0] == (1 - check::rank()) + 1);
}

std::string value_of(MPI_Info info, const char* key) {
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int flag = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
  return flag ? value : "(none)";
}

void info() {
  MPI_Info hints, used;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "no_locks", "true");
  MPI_Info_set(hints, "accumulate_ordering", "none");
  MPI_Info_set(hints, "mpi_accumulate_granularity", "8");
  MPI_Info_set(hints, "coffee", "black");
  LongWindow w(MPI_WIN_FLAVOR_ALLOCATE, 1, MPI_COMM_WORLD, hints);
  MPI_Win_get_info(w.win, &used);
  CHECK(value_of(used, "no_locks") == "true" && value_of(used, "accumulate_ordering") == "none");
  CHECK(value_of(used, "accumulate_ops") == "same_op_no_op" && value_of(used, "same_size") == "false");
  CHECK(value_of(used, "mpi_accumulate_granularity") == "8" && value_of(used, "coffee") == "(none)");
  MPI_Info_free(&used);
  MPI_Info_set(hints, "same_size", "true");
  MPI_Info_set(hints, "no_locks", "false");  // too late
  MPI_Info_set(hints, "mpi_accumulate_granularity", "64");
  MPI_Win_set_info(w.win, hints);
  MPI_Win_get_info(w.win, &used);
  CHECK(value_of(used, "same_size") == "true" && value_of(used, "no_locks") == "true");
  CHECK(value_of(used, "mpi_accumulate_granularity") == "8");
  MPI_Info_free(&used);
  MPI_Info_free(&hints);
  // The key is a hint, not a lock on locks.
  const long value = 7 + check::rank();
  CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 - check::rank(), 0, w.win) == MPI_SUCCESS);
  MPI_Put(&value, 1, MPI_LONG, 1 - check::rank(), 0, 1, MPI_LONG, w.win);
  CHECK(MPI_Win_unlock(1 - check::rank(), w.win) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(w.memory[0] == 8 - check::rank());
}

/// What a hint claims and is not so is not shown as if it were.
void false_hints() {
  MPI_Info hints, used;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "same_size", "true");
  MPI_Info_set(hints, "same_disp_unit", "true");
  char* memory = nullptr;
  MPI_Win win;
  MPI_Win_allocate(8 + 8 * check::rank(), 1, hints, MPI_COMM_WORLD, &memory, &win);
  MPI_Info_free(&hints);
  MPI_Win_get_info(win, &used);
  CHECK(value_of(used, "same_size") == "false" && value_of(used, "same_disp_unit") == "true");
  MPI_Info_free(&used);
  MPI_Win_free(&win);
}

/// The forms with large counts take any unit.
void large_units() {
  constexpr MPI_Aint kUnit = MPI_Aint{5} << 30;
  int narrow;
  MPI_Aint size, unit;
  long *mine, *at;
  MPI_Win win;
  MPI_Win_allocate_c(sizeof(long), kUnit + check::rank(), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  const long value = 7 + check::rank();
  const int other = 1 - check::rank();
  MPI_Win_fence(0, win);
  CHECK(MPI_Put(&value, 1, MPI_LONG, other, 0, 1, MPI_LONG, win) == MPI_SUCCESS);
  CHECK_CLASS(MPI_Put(&value, 1, MPI_LONG, other, 1, 1, MPI_LONG, win), MPI_ERR_RMA_RANGE);
  MPI_Win_fence(0, win);
  CHECK(*mine == 7 + other);
  CHECK(attribute<int>(win, MPI_WIN_DISP_UNIT) == INT_MAX);
  CHECK(MPI_Win_shared_query_c(win, check::rank(), &size, &unit, &at) == MPI_SUCCESS);
  CHECK(size == sizeof(long) && unit == kUnit + check::rank() && at == mine);
  CHECK_CLASS(MPI_Win_shared_query(win, check::rank(), &size, &narrow, &at), MPI_ERR_DISP);
  MPI_Win_free(&win);
}

int calls = 0, seen_class = 0;
MPI_Win seen_win = MPI_WIN_NULL;
void handler(MPI_Win* win, int* code, ...) {
  ++calls;
  seen_win = *win;
  MPI_Error_class(*code, &seen_class);
  MPI_Group group;
  MPI_Win_get_group(*win, &group);  // handlers may call MPI
  MPI_Group_free(&group);
}

void error_handlers() {
  LongWindow w(MPI_WIN_FLAVOR_CREATE, 1);
  MPI_Errhandler h, got, of_comms;
  MPI_Win_get_errhandler(w.win, &got);
  CHECK(got == MPI_ERRORS_ARE_FATAL);
  MPI_Win_create_errhandler(handler, &h);
  MPI_Win_set_errhandler(w.win, h);
  MPI_Win_get_errhandler(w.win, &got);
  CHECK(got == h);
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&h);
  CHECK_CLASS(MPI_Win_flush(99, w.win), MPI_ERR_RANK);
  CHECK(calls == 1 && seen_win == w.win && seen_class == MPI_ERR_RANK);
  CHECK(MPI_Win_call_errhandler(w.win, MPI_ERR_OTHER) == MPI_SUCCESS);
  CHECK(calls == 2 && seen_class == MPI_ERR_OTHER);
  MPI_Comm_create_errhandler(handler, &of_comms);
  CHECK_CLASS(MPI_Win_set_errhandler(w.win, of_comms), MPI_ERR_ARG);
  MPI_Errhandler_free(&of_comms);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  predefined();
  attributes();
  names_and_groups();
  info();
  false_hints();
  large_units();
  error_handlers();
  return check::finish();
}
