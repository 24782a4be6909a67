// SPDX-License-Identifier: BSD-3-Clause
// ranks: 1
// MPI_Pack and MPI_Unpack: positions, several types in one buffer, MPI_BOTTOM, receiving what was packed, large counts.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

int errors = 0;
void check(bool good, const char* what) {
  if (!good) std::printf("%s\n", what), ++errors;
}

void several_types() {
  int n = 7, m = 0, position = 0, size = 0, total = 0;
  double columns[4][3], back[4][3] = {};
  for (int i = 0; i < 12; ++i) columns[i / 3][i % 3] = i + 0.5;
  MPI_Datatype column;
  MPI_Type_vector(4, 1, 3, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &size);
  total += size;
  MPI_Pack_size(1, column, MPI_COMM_WORLD, &size);
  total += size;
  check(total >= 36, "MPI_Pack_size");
  std::vector<char> buffer(static_cast<std::size_t>(total));
  MPI_Pack(&n, 1, MPI_INT, buffer.data(), total, &position, MPI_COMM_WORLD);
  MPI_Pack(&columns[0][1], 1, column, buffer.data(), total, &position, MPI_COMM_WORLD);
  const int end = position;

  // As a message: packed here, received as MPI_PACKED.
  std::vector<char> arrived(buffer.size());
  MPI_Status status;
  MPI_Sendrecv(buffer.data(), end, MPI_PACKED, 0, 0, arrived.data(), total, MPI_PACKED, 0, 0, MPI_COMM_SELF, &status);
  int count = 0;
  MPI_Get_count(&status, MPI_PACKED, &count);
  check(count == end, "count of a packed message");

  position = 0;
  MPI_Unpack(arrived.data(), end, &position, &m, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Unpack(arrived.data(), end, &position, &back[0][2], 1, column, MPI_COMM_WORLD);
  check(position == end && m == 7, "position and first item");
  for (int i = 0; i < 4; ++i) check(back[i][2] == columns[i][1] && back[i][1] == 0, "column");
  MPI_Type_free(&column);
}

[[maybe_unused]] void absolute_addresses() {
  int a = 5;
  double b = 2.5;
  const int lengths[] = {1, 1};
  MPI_Aint places[2];
  MPI_Get_address(&a, &places[0]);
  MPI_Get_address(&b, &places[1]);
  const MPI_Datatype kinds[] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype type;
  MPI_Type_create_struct(2, lengths, places, kinds, &type);
  MPI_Type_commit(&type);
  char buffer[12];
  int position = 0;
  MPI_Pack(MPI_BOTTOM, 1, type, buffer, 12, &position, MPI_COMM_WORLD);
  a = 0;
  b = 0;
  position = 0;
  MPI_Unpack(buffer, 12, &position, MPI_BOTTOM, 1, type, MPI_COMM_WORLD);
  check(position == 12 && a == 5 && b == 2.5, "MPI_BOTTOM");
  MPI_Type_free(&type);
}

void large_counts() {
  short values[3] = {1, 2, 3}, back[3] = {};
  char buffer[6];
  MPI_Count position = 0, size = 0;
  MPI_Pack_size_c(3, MPI_SHORT, MPI_COMM_WORLD, &size);
  check(size >= 6, "MPI_Pack_size_c");
  MPI_Pack_c(values, 3, MPI_SHORT, buffer, 6, &position, MPI_COMM_WORLD);
  check(position == 6, "MPI_Pack_c");
  position = 0;
  MPI_Unpack_c(buffer, 6, &position, back, 3, MPI_SHORT, MPI_COMM_WORLD);
  check(position == 6 && std::memcmp(values, back, 6) == 0, "MPI_Unpack_c");
}

void wrong_use() {
  int values[4] = {}, position = 0, error_class = 0;
  char buffer[16];
  MPI_Error_class(MPI_Pack(values, -1, MPI_INT, buffer, 16, &position, MPI_COMM_WORLD), &error_class);
  check(error_class == MPI_ERR_COUNT, "negative count");
  MPI_Error_class(MPI_Pack(values, 1, MPI_INT, buffer, 16, &position, MPI_COMM_NULL), &error_class);
  check(error_class == MPI_ERR_COMM, "null communicator");
  check(MPI_Pack(values, 0, MPI_INT, nullptr, 0, &position, MPI_COMM_WORLD) == MPI_SUCCESS, "nothing to pack");
#ifdef RMQ  // MPICH packs what fits and does not tell
  position = 4;
  MPI_Error_class(MPI_Pack(values, 4, MPI_INT, buffer, 16, &position, MPI_COMM_WORLD), &error_class);
  check(error_class == MPI_ERR_TRUNCATE && position == 4, "no room to pack");
  MPI_Error_class(MPI_Unpack(buffer, 16, &position, values, 4, MPI_INT, MPI_COMM_WORLD), &error_class);
  check(error_class == MPI_ERR_TRUNCATE && position == 4, "not enough to unpack");
#endif
}

}  // namespace

int main() {
  MPI_Init(nullptr, nullptr);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  several_types();
#ifdef RMQ  // MPICH 4.0 takes the null of MPI_BOTTOM for a mistake
  absolute_addresses();
#endif
  large_counts();
  wrong_use();
  MPI_Finalize();
  return errors != 0;
}
