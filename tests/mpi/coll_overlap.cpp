// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Non-blocking and persistent collectives beside each other, point-to-point messages, blocking collectives,
// computation; what they keep alive; which requests they are.
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "check.hpp"

namespace {

const MPI_Comm world = MPI_COMM_WORLD;
int me, p;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

/// A user operation that is associative only: 2 x 2 matrices.
struct Matrix {
  unsigned a, b, c, d;
  bool operator==(const Matrix&) const = default;
};
Matrix times(const Matrix& x, const Matrix& y) {
  return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
}
void multiply(void* in, void* inout, int* n, MPI_Datatype*) {
  volatile char much[600 * 1024];  // more than a fiber's stack
  for (std::size_t i = 0; i < sizeof much; i += 1024) much[i] = 1;
  if (much[0] != 1) return;
  for (int i = 0; i < *n; ++i) {
    auto* y = static_cast<Matrix*>(inout) + i;
    *y = times(static_cast<Matrix*>(in)[i], *y);
  }
}
Matrix matrix_of(int rank, int i) {
  return {static_cast<unsigned>(rank + 1), static_cast<unsigned>(i), 1, static_cast<unsigned>(rank + 2)};
}

/// Many at once, of different kinds and lengths, completed in an order of each rank's own.
void many(MPI_Comm comm, int n) {
  std::vector<std::vector<int>> out(at(n)), in(at(n));
  std::vector<MPI_Request> requests(at(n));
  for (int i = 0; i < n; ++i) {
    const int count = i % 5 == 4 ? 20000 : i % 3 == 0 ? 0 : i;
    out[at(i)].assign(at(count * p), me + i);
    in[at(i)].assign(at(count * p), -1);
    int* const o = out[at(i)].data();
    int* const r = in[at(i)].data();
    MPI_Request* const request = &requests[at(i)];
    switch (i % 6) {
      case 0:
        MPI_Ibarrier(comm, request);
        break;
      case 1:
        MPI_Iallreduce(o, r, count, MPI_INT, MPI_SUM, comm, request);
        break;
      case 2:
        MPI_Ibcast(me == i % p ? o : r, count, MPI_INT, i % p, comm, request);
        break;
      case 3:
        MPI_Ialltoall(o, count, MPI_INT, r, count, MPI_INT, comm, request);
        break;
      case 4:
        MPI_Iallgather(o, count, MPI_INT, r, count, MPI_INT, comm, request);
        break;
      default:
        MPI_Iexscan(o, r, count, MPI_INT, MPI_SUM, comm, request);
    }
  }
  for (int k = 0; k < n; ++k) {
    const int i = me % 2 ? n - 1 - k : (k * 7 + me) % n;  // 7 and n have no common factor
    CHECK(MPI_Wait(&requests[at(i)], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(requests[at(i)] == MPI_REQUEST_NULL);
    const std::vector<int>& got = in[at(i)];
    const int count = static_cast<int>(got.size()) / p;
    for (int j = 0; j < count; ++j) {
      switch (i % 6) {
        case 1:
          CHECK(got[at(j)] == p * (p - 1) / 2 + p * i);
          break;
        case 2:
          CHECK(me == i % p || got[at(j)] == i % p + i);
          break;
        case 3:
        case 4:
          for (int rank = 0; rank < p; ++rank) CHECK(got[at(rank * count + j)] == rank + i);
          break;
        case 5:
          CHECK(me == 0 || got[at(j)] == me * (me - 1) / 2 + me * i);
          break;
      }
    }
  }
}

/// On several communicators, started in another order on each rank.
void several_comms() {
  MPI_Comm comms[3];
  MPI_Request requests[3];
  int sums[3];
  for (MPI_Comm& c : comms) MPI_Comm_dup(world, &c);
  for (int round = 0; round < 20; ++round) {
    for (int k = 0; k < 3; ++k) {
      const int i = (k + me) % 3;
      sums[i] = i;
      MPI_Iallreduce(MPI_IN_PLACE, &sums[i], 1, MPI_INT, MPI_SUM, comms[i], &requests[i]);
    }
    int done = 0;
    while (done < 3) {
      int n, indices[3];
      MPI_Waitsome(3, requests, &n, indices, MPI_STATUSES_IGNORE);
      for (int k = 0; k < n; ++k) CHECK(sums[indices[k]] == indices[k] * p);
      done += n;
    }
  }
  // Freed while collectives are under way.
  for (int i = 0; i < 3; ++i) MPI_Ibarrier(comms[i], &requests[i]);
  for (MPI_Comm& c : comms) MPI_Comm_free(&c);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

/// A collective goes on while its rank is in a blocking call that waits for something else: rank 0 gets its message
/// only after rank 1 has completed the collective, which needs all ranks.
void goes_on_elsewhere() {
  for (int way = 0; way < 4; ++way) {
    MPI_Request r;
    int sum = 0, token = 0, flag = 0;
    MPI_Status status;
    MPI_Iallreduce(&me, &sum, 1, MPI_INT, MPI_SUM, world, &r);
    if (me == 1) {
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      for (int rank = 0; rank < p; ++rank) {
        if (rank != 1) MPI_Send(&way, 1, MPI_INT, rank, 3, world);
      }
    } else {
      if (way == 1) MPI_Probe(1, 3, world, MPI_STATUS_IGNORE);
      while (way == 2 && !flag) MPI_Iprobe(1, 3, world, &flag, &status);
      if (way == 3) {
        MPI_Request other;
        MPI_Irecv(&token, 1, MPI_INT, 1, 3, world, &other);
        while (!flag) MPI_Test(&other, &flag, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(&token, 1, MPI_INT, 1, 3, world, MPI_STATUS_IGNORE);
      }
      CHECK(token == way);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    CHECK(sum == p * (p - 1) / 2);
  }
}

/// Blocking collectives between non-blocking ones, and computation between tests.
void among_blocking() {
  std::vector<double> a(100000, me + 1.0), sum(a.size());
  for (int round = 0; round < 5; ++round) {
    MPI_Request r[2];
    int token = me, last = -1;
    MPI_Iallreduce(a.data(), sum.data(), static_cast<int>(a.size()), MPI_DOUBLE, MPI_SUM, world, &r[0]);
    MPI_Ibcast(&token, 1, MPI_INT, p - 1, world, &r[1]);
    MPI_Barrier(world);
    int greatest = 0;
    MPI_Allreduce(&me, &greatest, 1, MPI_INT, MPI_MAX, world);
    CHECK(greatest == p - 1);
    double work = 0;
    for (int flag = 0; !flag;) {
      for (int i = 1; i < 2000; ++i) work += 1.0 / i;
      MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);
    }
    CHECK(work > 0);
    CHECK(token == p - 1);
    CHECK(std::all_of(sum.begin(), sum.end(), [](double x) { return x == p * (p + 1) / 2.0; }));
    MPI_Scan(&me, &last, 1, MPI_INT, MPI_SUM, world);
    CHECK(last == me * (me + 1) / 2);
  }
}

/// Types, operations and arrays may go before the collective is over.
void kept_alive() {
  MPI_Datatype matrix;
  MPI_Op product;
  constexpr int kCount = 300;
  MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix);
  MPI_Type_commit(&matrix);
  MPI_Op_create(multiply, 0, &product);
  std::vector<Matrix> mine(kCount), all(kCount), before(kCount), want(kCount), want_before(kCount);
  for (int i = 0; i < kCount; ++i) {
    mine[at(i)] = want[at(i)] = matrix_of(me, i);
    want[at(i)] = want_before[at(i)] = matrix_of(0, i);
    for (int rank = 1; rank < p; ++rank) {
      want[at(i)] = times(want[at(i)], matrix_of(rank, i));
      if (rank < me) want_before[at(i)] = want[at(i)];
    }
  }
  MPI_Request r[3];
  MPI_Iallreduce(mine.data(), all.data(), kCount, matrix, product, world, &r[0]);
  MPI_Iexscan(mine.data(), before.data(), kCount, matrix, product, world, &r[1]);

  std::vector<int> out(at(p), me), in(at(p), -1);
  {
    MPI_Datatype pair;
    MPI_Type_contiguous(1, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    std::vector<int> counts(at(p), 1), displs(at(p));
    std::vector<MPI_Datatype> types(at(p), pair);
    for (int i = 0; i < p; ++i) displs[at(i)] = i * static_cast<int>(sizeof(int));
    MPI_Ialltoallw(out.data(), counts.data(), displs.data(), types.data(), in.data(), counts.data(), displs.data(),
                   types.data(), world, &r[2]);
    MPI_Type_free(&pair);
    counts.assign(counts.size(), 1 << 20), displs.assign(displs.size(), 1 << 20);
    types.assign(types.size(), MPI_DATATYPE_NULL);
  }
  MPI_Type_free(&matrix);
  MPI_Op_free(&product);
  MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
  CHECK(all == want);
  CHECK(me == 0 || before == want_before);
  for (int i = 0; i < p; ++i) CHECK(in[at(i)] == i);
}

/// Persistent ones, started in another order on each rank, and rank 3 far behind the others.
void persistent() {
  MPI_Request r[4];
  int token = -1, sum = -1, total = -1, value = me;
  MPI_Bcast_init(&token, 1, MPI_INT, 0, world, MPI_INFO_NULL, &r[0]);
  MPI_Allreduce_init(&value, &sum, 1, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &r[1]);
  MPI_Reduce_init(&value, &total, 1, MPI_INT, MPI_SUM, 0, world, MPI_INFO_NULL, &r[2]);
  MPI_Barrier_init(world, MPI_INFO_NULL, &r[3]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);  // inactive
  for (int round = 0; round < 50; ++round) {
    token = me == 0 ? round : -1;
    value = me + round;
    for (int k = 0; k < 4; ++k) MPI_Start(&r[(k + me) % 4]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    for (const MPI_Request x : r) CHECK(x != MPI_REQUEST_NULL);
    CHECK(token == round);
    CHECK(sum == p * (p - 1) / 2 + p * round);
    CHECK(me != 0 || total == p * (p - 1) / 2 + p * round);
  }
  // A reduction need not keep the other ranks until rank 3 comes: they may be many rounds ahead.
  for (int round = 0; round < 50; ++round) {
    if (me == 3) usleep(500);
    value = me + round;
    MPI_Start(&r[2]);
    MPI_Wait(&r[2], MPI_STATUS_IGNORE);
    CHECK(me != 0 || total == p * (p - 1) / 2 + p * round);
  }
  MPI_Startall(4, r);
  CHECK_CLASS(MPI_Request_free(&r[0]), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Cancel(&r[0]), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Start(&r[0]), MPI_ERR_REQUEST);
  MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
  for (MPI_Request& x : r) {
    CHECK(MPI_Request_free(&x) == MPI_SUCCESS);
    CHECK(x == MPI_REQUEST_NULL);
  }
}

void refusals() {
  MPI_Request r, copy;
  MPI_Status status;
  int flag, value = 0;
  MPI_Ibarrier(world, &r);
  CHECK_CLASS(MPI_Cancel(&r), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Request_free(&r), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Start(&r), MPI_ERR_REQUEST);
  flag = 0;
  while (!flag) MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
  copy = r;
  MPI_Wait(&r, &status);
  CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
  CHECK_CLASS(MPI_Wait(&copy, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);

  CHECK_CLASS(MPI_Ibcast(&value, -1, MPI_INT, 0, world, &r), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Ibcast(&value, 1, MPI_INT, p, world, &r), MPI_ERR_ROOT);
  CHECK_CLASS(MPI_Ibarrier(world, nullptr), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Ibarrier(MPI_COMM_NULL, &r), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Iscan(&value, &value, 1, MPI_INT, MPI_SUM, world, &r), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Barrier_init(world, MPI_INFO_ENV + 1, &r), MPI_ERR_INFO);

  // A message that is too long is found out where it arrives.
  int two[2] = {};
  MPI_Ibcast(two, me == 0 ? 2 : 1, MPI_INT, 0, world, &r);
  const int code = MPI_Wait(&r, &status);
  CHECK(check::class_of(code) == (me == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE));
  CHECK(r == MPI_REQUEST_NULL);
  MPI_Ibcast(two, me == 0 ? 2 : 1, MPI_INT, 0, world, &r);
  CHECK_CLASS(MPI_Waitall(1, &r, &status), me == 0 ? MPI_SUCCESS : MPI_ERR_IN_STATUS);
  CHECK(me == 0 || check::class_of(status.MPI_ERROR) == MPI_ERR_TRUNCATE);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  me = check::rank();
  p = check::size();
  many(world, 25);
  many(world, 200 + 11);
  several_comms();
  goes_on_elsewhere();
  among_blocking();
  kept_alive();
  persistent();
  refusals();
  return check::finish();
}
