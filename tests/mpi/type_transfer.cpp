// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// Derived types in messages: other layouts at the two ends, freed while under way, elements of a partial message.
#include <mpi.h>

#include <cstdio>
#include <vector>

namespace {

int errors = 0, rank = 0;
void check(bool good, const char* what) {
  if (!good) std::printf("rank %d: %s\n", rank, what), ++errors;
}

/// A column goes out, a row comes in: from a few bytes to far beyond any short protocol.
void transpose(int n) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> matrix(size * size);
  if (rank == 0) {
    for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<double>(i);
    MPI_Datatype column, columns;
    MPI_Type_vector(n, 1, n, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &columns);
    MPI_Type_commit(&columns);
    MPI_Request request;
    MPI_Isend(matrix.data(), n, columns, 1, 1, MPI_COMM_WORLD, &request);
    MPI_Type_free(&column);
    MPI_Type_free(&columns);  // the message needs it still
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(matrix.data(), n * n, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bool good = true;
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) good = good && matrix[i * size + j] == static_cast<double>(j * size + i);
    }
    check(good, "transposed matrix");
  }
}

/// Seven ints arrive where elements of {int, double} and of pairs were expected.
void elements() {
  MPI_Datatype item;
  const int lengths[] = {2, 1};
  const MPI_Aint places[] = {0, 8};
  const MPI_Datatype kinds[] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_create_struct(2, lengths, places, kinds, &item);
  MPI_Type_commit(&item);
  struct Item {
    int a[2];
    double b;
  } items[3] = {{{1, 2}, 3.0}, {{4, 5}, 6.0}, {{7, 8}, 9.0}};
  if (rank == 0) {
    MPI_Send(items, 2, item, 1, 2, MPI_COMM_WORLD);
    MPI_Datatype part;  // an element and the first int of the next
    const int some[] = {1, 1};
    const MPI_Aint at[] = {0, 16};
    const MPI_Datatype of[] = {item, MPI_INT};
    MPI_Type_create_struct(2, some, at, of, &part);
    MPI_Type_commit(&part);
    MPI_Send(items, 1, part, 1, 3, MPI_COMM_WORLD);
    MPI_Type_free(&part);
  } else {
    MPI_Status status;
    int count = -1;
    MPI_Count large = -1;
    MPI_Recv(items, 3, item, 0, 2, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, item, &count);
    MPI_Get_elements_x(&status, item, &large);
    check(count == 2 && large == 6, "whole elements");
    MPI_Recv(items, 3, item, 0, 3, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, item, &count);
    MPI_Get_elements_x(&status, item, &large);
    check(count == MPI_UNDEFINED && large == 4, "a partial element");
    MPI_Get_elements_x(&status, MPI_LONG_DOUBLE, &large);
    check(large == MPI_UNDEFINED, "a partial predefined element");
    check(items[1].a[0] == 4 && items[2].b == 9.0, "data of a partial element");
  }
  MPI_Type_free(&item);
}

}  // namespace

int main() {
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (const int n : {1, 3, 40, 300}) transpose(n);
  elements();
  MPI_Finalize();
  return errors != 0;
}
