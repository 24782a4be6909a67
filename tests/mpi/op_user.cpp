// SPDX-License-Identifier: BSD-3-Clause
// ranks: 1
// Operations of the program: on predefined and derived types, with int and large counts; life and wrong use.
#include <mpi.h>

#include <cstdio>
#include <vector>

namespace {

int errors = 0;
void check(bool good, const char* what) {
  if (!good) std::printf("%s\n", what), ++errors;
}
int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

int calls = 0;
MPI_Datatype seen = MPI_DATATYPE_NULL;

void subtract(void* in, void* inout, int* count, MPI_Datatype* type) {
  ++calls;
  seen = *type;
  int size = 0;
  MPI_Type_size(*type, &size);  // the function may call MPI
  for (int i = 0; i < *count * size / 4; ++i)
    static_cast<int*>(inout)[i] = static_cast<int*>(in)[i] - static_cast<int*>(inout)[i];
}

void subtract_many(void* in, void* inout, MPI_Count* count, MPI_Datatype* type) {
  ++calls;
  seen = *type;
  for (MPI_Count i = 0; i < *count; ++i)
    static_cast<int*>(inout)[i] = static_cast<int*>(in)[i] - static_cast<int*>(inout)[i];
}

void on_types() {
  MPI_Op op;
  int commutes = -1;
  MPI_Op_create(subtract, 0, &op);
  MPI_Op_commutative(op, &commutes);
  check(commutes == 0, "does not commute");
  const int in[] = {5, 6, 7, 8};
  int inout[] = {1, 2, 3, 4};
  MPI_Reduce_local(in, inout, 4, MPI_INT, op);
  check(seen == MPI_INT && inout[0] == 4 && inout[3] == 4, "on ints");

  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Reduce_local(in, inout, 2, pair, op);
  check(seen == pair && inout[0] == 1 && inout[3] == 4, "on a derived type");
  check(class_of(MPI_Reduce_local(in, inout, 2, pair, MPI_SUM)) == MPI_ERR_OP, "predefined on a derived type");
  MPI_Type_free(&pair);
  calls = 0;
  MPI_Reduce_local(in, inout, 0, MPI_INT, op);
  check(calls == 0, "nothing to do");
  MPI_Op_free(&op);
  check(op == MPI_OP_NULL, "freed");
}

void large_counts() {
  MPI_Op op;
  int commutes = -1;
  MPI_Op_create_c(subtract_many, 1, &op);
  MPI_Op_commutative(op, &commutes);
  check(commutes == 1, "commutes");
  std::vector<int> in(1000, 5), inout(1000, 3);
  calls = 0;
  MPI_Reduce_local_c(in.data(), inout.data(), 1000, MPI_INT, op);
  check(calls == 1 && inout[0] == 2 && inout[999] == 2, "function with large counts, large call");
  MPI_Reduce_local(in.data(), inout.data(), 1000, MPI_INT, op);
  check(calls == 2 && inout[0] == 3, "function with large counts, small call");
  MPI_Op_free(&op);
}

void wrong_use() {
  int commutes = 0, a[2] = {1, 2}, b[2] = {3, 4};
  MPI_Op_commutative(MPI_SUM, &commutes);
  check(commutes == 1, "sum commutes");
  MPI_Op op = MPI_SUM;
  check(class_of(MPI_Op_free(&op)) == MPI_ERR_OP, "predefined operations cannot be freed");
  check(class_of(MPI_Reduce_local(a, b, 1, MPI_INT, MPI_OP_NULL)) == MPI_ERR_OP, "null operation");
#ifdef RMQ  // MPICH does not check
  check(class_of(MPI_Reduce_local(a, b, -1, MPI_INT, MPI_SUM)) == MPI_ERR_COUNT, "negative count");
#endif
  check(class_of(MPI_Reduce_local(a, a, 2, MPI_INT, MPI_SUM)) == MPI_ERR_BUFFER, "one buffer for both");
}

}  // namespace

int main() {
  MPI_Init(nullptr, nullptr);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  on_types();
  large_counts();
  wrong_use();
  MPI_Finalize();
  return errors != 0;
}
