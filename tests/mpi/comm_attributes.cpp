// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// Attributes: predefined ones, callbacks in the right order and with the right arguments, MPI calls inside of
// callbacks, errors of callbacks, keyvals that are freed early; the delete callback of MPI_COMM_SELF runs in
// MPI_Finalize.
#include <cstdlib>
#include <vector>

#include "check.hpp"

namespace {

std::vector<int> deleted;
int refuse_code = MPI_SUCCESS;

int copy_plus_one(MPI_Comm comm, int, void* extra, void* in, void* out, int* flag) {
  check::rank(comm);  // callbacks may call MPI
  *static_cast<long*>(extra) += 1;
  *static_cast<void**>(out) = static_cast<char*>(in) + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
int note_delete(MPI_Comm comm, int, void* value, void*) {
  check::rank(comm);
  if (refuse_code != MPI_SUCCESS) return refuse_code;
  deleted.push_back(static_cast<int>(reinterpret_cast<long>(value)));
  return MPI_SUCCESS;
}
void* number(long n) {
  return reinterpret_cast<void*>(n);
}

void predefined() {
  void* value;
  int flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
  CHECK(flag && *static_cast<int*>(value) >= 32767);
  for (const int key : {MPI_HOST, MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE, MPI_LASTUSEDCODE, MPI_APPNUM}) {
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
    CHECK(flag);
  }
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
  CHECK(*static_cast<int*>(value) >= check::size());
}

void life() {
  long copies = 0;
  int first, second, dup_key, flag;
  void* value;
  MPI_Comm_create_keyval(copy_plus_one, note_delete, &first, &copies);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note_delete, &second, nullptr);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup_key, nullptr);
  MPI_Comm c, d;
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  MPI_Comm_set_attr(c, first, number(10));
  MPI_Comm_set_attr(c, second, number(20));
  MPI_Comm_set_attr(c, dup_key, number(30));
  MPI_Comm_dup(c, &d);
  CHECK(copies == 1);
  MPI_Comm_get_attr(d, first, &value, &flag);
  CHECK(flag && value == number(11));
  MPI_Comm_get_attr(d, second, &value, &flag);
  CHECK(!flag);
  MPI_Comm_get_attr(d, dup_key, &value, &flag);
  CHECK(flag && value == number(30));
  MPI_Comm_set_attr(d, first, number(12));  // replaces: the old value is deleted
  CHECK(deleted == std::vector<int>{11});
  MPI_Comm_delete_attr(d, first);
  CHECK(deleted == (std::vector<int>{11, 12}));
  MPI_Comm_free_keyval(&first);
  CHECK(first == MPI_KEYVAL_INVALID);
  MPI_Comm_free(&c);
  CHECK(deleted == (std::vector<int>{11, 12, 20, 10}));  // last in, first out
  MPI_Comm_free(&d);
  MPI_Comm_free_keyval(&second);
  MPI_Comm_free_keyval(&dup_key);
}

void refused() {
  int key;
  MPI_Comm c;
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note_delete, &key, nullptr);
  MPI_Comm_set_attr(c, key, number(1));
  refuse_code = MPI_ERR_OTHER;
  CHECK_CLASS(MPI_Comm_free(&c), MPI_ERR_OTHER);
  CHECK(c != MPI_COMM_NULL);
  refuse_code = MPI_SUCCESS;
  CHECK(MPI_Comm_free(&c) == MPI_SUCCESS);
  MPI_Comm_free_keyval(&key);
}

void on_types() {
  int key, flag;
  void* value;
  MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &key, nullptr);
  MPI_Datatype t, u;
  MPI_Type_contiguous(3, MPI_INT, &t);
  MPI_Type_set_attr(t, key, number(7));
  MPI_Type_dup(t, &u);
  MPI_Type_get_attr(u, key, &value, &flag);
  CHECK(flag && value == number(7));
  MPI_Type_free(&t);
  MPI_Type_free(&u);
  MPI_Type_free_keyval(&key);
}

int copy_refused_at_0(MPI_Comm comm, int, void*, void*, void*, int*) {
  return check::rank(comm) == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/// A copy function that fails at some ranks does not keep the others waiting for these.
void refused_by_some() {
  int key;
  MPI_Comm c, d;
  MPI_Comm_dup(MPI_COMM_WORLD, &c);
  MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(copy_refused_at_0, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
  MPI_Comm_set_attr(c, key, number(1));
  const int code = MPI_Comm_dup(c, &d);
  CHECK(check::class_of(code) == (check::rank() == 0 ? MPI_ERR_OTHER : MPI_SUCCESS));
  if (code == MPI_SUCCESS) MPI_Comm_free(&d);
  MPI_Request r;
  CHECK(MPI_Comm_idup(c, &d, &r) == MPI_SUCCESS);
  CHECK(check::class_of(MPI_Wait(&r, MPI_STATUS_IGNORE)) == (check::rank() == 0 ? MPI_ERR_OTHER : MPI_SUCCESS));
  CHECK(MPI_Barrier(d) == MPI_SUCCESS && MPI_Comm_free(&d) == MPI_SUCCESS);
  MPI_Comm_free_keyval(&key);
  MPI_Barrier(c);
  MPI_Comm_free(&c);
}

int finalizing = 0;
int at_end(MPI_Comm, int, void* value, void*) {
  int flag = 1;
  MPI_Finalized(&flag);
  if (!flag) finalizing = finalizing * 10 + static_cast<int>(reinterpret_cast<long>(value));
  return MPI_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  predefined();
  life();
  refused();
  refused_by_some();
  on_types();
  for (long i = 1; i <= 3; ++i) {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, number(i));
  }
  const int result = check::finish();
  return result ? result : finalizing == 321 ? 0 : 2;
}
