// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// Messages of all sizes arrive whole and in order; statuses; wildcards; MPI_PROC_NULL; self; truncation; large counts.
#include <cstdint>
#include <numeric>
#include <vector>

#include "check.hpp"

namespace {

std::vector<std::uint8_t> pattern(std::size_t n, unsigned seed) {
  std::vector<std::uint8_t> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::uint8_t>(i * 31 + seed + (i >> 8));
  return v;
}

void sizes() {
  const int other = 1 - check::rank();
  for (const std::size_t n : {0ul, 1ul, 8ul, 32ul, 33ul, 100ul, 4096ul, 65536ul, 65537ul, 1000003ul, 9000001ul}) {
    const int count = static_cast<int>(n);
    std::vector<std::uint8_t> got(n + 1, 0xee);
    MPI_Status s;
    if (check::rank() == 0) {
      MPI_Send(pattern(n, 1).data(), count, MPI_BYTE, other, 7, MPI_COMM_WORLD);
      MPI_Recv(got.data(), count + 1, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
    } else {
      MPI_Recv(got.data(), count, MPI_BYTE, other, 7, MPI_COMM_WORLD, &s);
      MPI_Send(pattern(n, 2).data(), count, MPI_BYTE, other, 8, MPI_COMM_WORLD);
    }
    int received;
    MPI_Get_count(&s, MPI_BYTE, &received);
    CHECK(received == count);
    CHECK(s.MPI_SOURCE == other);
    CHECK(s.MPI_TAG == (check::rank() == 0 ? 8 : 7));
    CHECK(got.back() == 0xee);
    got.pop_back();
    CHECK(got == pattern(n, check::rank() == 0 ? 2 : 1));
  }
}

void order() {
  constexpr int kMany = 2000;
  if (check::rank() == 0) {
    for (int i = 0; i < kMany; ++i) MPI_Send(&i, 1, MPI_INT, 1, i % 3, MPI_COMM_WORLD);
  } else {
    int next[3] = {0, 1, 2};
    for (int i = 0; i < kMany; ++i) {
      int value;
      MPI_Status s;
      // Every other receive takes whatever is first.
      const int tag = i % 2 ? MPI_ANY_TAG : next[0] < kMany ? 0 : MPI_ANY_TAG;
      MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &s);
      CHECK(value == next[s.MPI_TAG]);
      next[s.MPI_TAG] += 3;
    }
  }
}

void proc_null() {
  int x = 5, count;
  MPI_Status s;
  CHECK(MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
  MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &s);
  MPI_Get_count(&s, MPI_INT, &count);
  CHECK(x == 5 && count == 0 && s.MPI_SOURCE == MPI_PROC_NULL && s.MPI_TAG == MPI_ANY_TAG);
  MPI_Request r[2];
  MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r[0]);
  MPI_Isend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r[1]);
  MPI_Status both[2];
  MPI_Waitall(2, r, both);
  CHECK(both[0].MPI_SOURCE == MPI_PROC_NULL && r[0] == MPI_REQUEST_NULL && r[1] == MPI_REQUEST_NULL);
}

void no_data() {
  if (check::rank() == 0) {
    CHECK(MPI_Send(nullptr, 0, MPI_DATATYPE_NULL, 1, 9, MPI_COMM_WORLD) == MPI_SUCCESS);
  } else {
    int count = -1;
    MPI_Status s;
    CHECK(MPI_Recv(nullptr, 0, MPI_DATATYPE_NULL, 0, 9, MPI_COMM_WORLD, &s) == MPI_SUCCESS);
    MPI_Get_count(&s, MPI_INT, &count);
    CHECK(count == 0 && s.MPI_TAG == 9);
  }
}

void self() {
  for (const int n : {1, 1000, 300000}) {
    std::vector<int> out(static_cast<std::size_t>(n)), in(out.size());
    std::iota(out.begin(), out.end(), n);
    MPI_Request r;
    MPI_Irecv(in.data(), n, MPI_INT, 0, 3, MPI_COMM_SELF, &r);
    MPI_Ssend(out.data(), n, MPI_INT, 0, 3, MPI_COMM_SELF);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(in == out);
  }
}

void truncation() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (const int n : {2, 100000}) {
    std::vector<int> data(static_cast<std::size_t>(n), 9);
    if (check::rank() == 0) {
      MPI_Send(data.data(), n, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else {
      MPI_Status s;
      CHECK_CLASS(MPI_Recv(data.data(), n - 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &s), MPI_ERR_TRUNCATE);
      CHECK(s.MPI_SOURCE == 0 && s.MPI_TAG == 1);
    }
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

void derived() {
  MPI_Datatype column;
  MPI_Type_vector(50, 1, 20, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  std::vector<double> m(1000);
  if (check::rank() == 0) {
    std::iota(m.begin(), m.end(), 0);
    MPI_Request r;
    MPI_Isend(&m[3], 1, column, 1, 0, MPI_COMM_WORLD, &r);
    MPI_Type_free(&column);  // the send goes on
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  } else {
    MPI_Status s;
    MPI_Recv(&m[5], 1, column, 0, 0, MPI_COMM_WORLD, &s);
    for (std::size_t i = 0; i < 50; ++i) CHECK(m[i * 20 + 5] == static_cast<double>(i * 20 + 3));
    CHECK(m[4] == 0 && m[6] == 0);
    int count, elements;
    MPI_Get_count(&s, column, &count);
    MPI_Get_elements(&s, column, &elements);
    CHECK(count == 1 && elements == 50);
    MPI_Get_count(&s, MPI_FLOAT_INT, &count);
    CHECK(count == 50);
    MPI_Type_free(&column);
  }
}

void sendrecv() {
  const int me = check::rank(), other = 1 - me;
  for (const std::size_t n : {1ul, 5000ul, 400000ul}) {
    const int count = static_cast<int>(n);
    std::vector<int> out(n, me), in(n, -1);
    MPI_Status s;
    MPI_Sendrecv(out.data(), count, MPI_INT, other, me, in.data(), count, MPI_INT, other, other, MPI_COMM_WORLD, &s);
    CHECK(in == std::vector<int>(n, other) && s.MPI_TAG == other);
    MPI_Sendrecv_replace(out.data(), count, MPI_INT, other, 1, other, 1, MPI_COMM_WORLD, &s);
    CHECK(out == in);
    MPI_Request r;
    MPI_Isendrecv_replace(out.data(), count, MPI_INT, other, 1, other, 1, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, &s);
    CHECK(out == std::vector<int>(n, me) && s.MPI_SOURCE == other && r == MPI_REQUEST_NULL);
    MPI_Isendrecv_c(out.data(), count, MPI_INT, other, 2, in.data(), count, MPI_INT, other, 2, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(in == std::vector<int>(n, other));
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  sizes();
  order();
  proc_null();
  no_data();
  self();
  truncation();
  derived();
  sendrecv();
  return check::finish();
}
