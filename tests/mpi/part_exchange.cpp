// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Partitioned messages: unequal numbers of partitions, derived types, several rounds, sends that come before their
// receives, matching in order of initialisation and apart from plain messages, long partitions, MPI_Parrived.
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"

namespace {

int next() {
  return (check::rank() + 1) % check::size();
}
int previous() {
  return (check::rank() + check::size() - 1) % check::size();
}

int value(int sender, int round, int i) {
  return sender * 1000003 + round * 7919 + i;
}

/// Round a ring, in random order of partitions; ints in all.
void ring(int send_parts, int recv_parts, int ints, int rounds) {
  std::vector<int> out(static_cast<std::size_t>(ints)), in(out.size());
  MPI_Request r[2];
  MPI_Psend_init(out.data(), send_parts, ints / send_parts, MPI_INT, next(), 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
  MPI_Precv_init(in.data(), recv_parts, ints / recv_parts, MPI_INT, previous(), 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &r[1]);
  std::vector<int> order(static_cast<std::size_t>(send_parts));
  std::iota(order.begin(), order.end(), 0);
  std::minstd_rand random(static_cast<unsigned>(check::rank() + 1));
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    std::fill(in.begin(), in.end(), -1);
    // Every second round the data is under way before the receive starts.
    if (round % 2 == 0) MPI_Startall(2, r);
    if (round % 2 == 1) MPI_Start(&r[0]);
    const int each = ints / send_parts;
    for (const int p : order) {
      for (int i = p * each; i < (p + 1) * each; ++i) out[static_cast<std::size_t>(i)] = value(check::rank(), round, i);
      CHECK(MPI_Pready(p, r[0]) == MPI_SUCCESS);
    }
    if (round % 2 == 1) MPI_Start(&r[1]);
    const int mine = ints / recv_parts;
    for (int p = recv_parts - 1; p >= 0; --p) {
      int flag = 0;
      while (!flag) MPI_Parrived(r[1], p, &flag);
      bool good = true;
      for (int i = p * mine; i < (p + 1) * mine; ++i)
        good &= in[static_cast<std::size_t>(i)] == value(previous(), round, i);
      CHECK(good);
    }
    MPI_Status s[2];
    MPI_Waitall(2, r, s);
    int count;
    MPI_Get_count(&s[1], MPI_INT, &count);
    CHECK(s[1].MPI_SOURCE == previous() && s[1].MPI_TAG == 3 && count == ints);
    CHECK(r[0] != MPI_REQUEST_NULL && r[1] != MPI_REQUEST_NULL);
  }
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
  CHECK(r[0] == MPI_REQUEST_NULL);
}

/// Every second int on one side; on the other a type of three, so that messages end inside of its elements.
void derived() {
  constexpr int kInts = 120;
  MPI_Datatype strided, triple;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &strided);
  MPI_Type_vector(3, 1, 2, MPI_INT, &triple);
  MPI_Type_create_resized(triple, 0, 7 * sizeof(int), &triple);
  MPI_Type_commit(&strided);
  MPI_Type_commit(&triple);
  std::vector<int> out(2 * kInts, -5), in(7 * kInts / 3, -7);
  for (int i = 0; i < kInts; ++i) out[static_cast<std::size_t>(2 * i)] = value(check::rank(), 0, i);
  MPI_Request r[2];
  MPI_Precv_init(in.data(), 5, kInts / 15, triple, previous(), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
  MPI_Psend_init(out.data(), 30, kInts / 30, strided, next(), 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
  MPI_Type_free(&strided);
  MPI_Type_free(&triple);
  for (int round = 0; round < 2; ++round) {
    std::fill(in.begin(), in.end(), -7);
    MPI_Startall(2, r);
    int list[] = {29, 0, 7};
    MPI_Pready_list(3, list, r[1]);
    MPI_Pready_range(1, 6, r[1]);
    MPI_Pready_range(8, 28, r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    bool good = true;
    for (int i = 0; i < 7 * kInts / 3; ++i) {
      const int in_element = i % 7;
      const int expected =
          in_element < 6 && in_element % 2 == 0 ? value(previous(), 0, i / 7 * 3 + in_element / 2) : -7;
      good &= in[static_cast<std::size_t>(i)] == expected;
    }
    CHECK(good);
  }
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
}

/// The first send that is initialised belongs to the first receive, whatever is started first; tags and communicators
/// are kept apart, and plain messages with the same tag from each other.
void matching() {
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  constexpr int kChannels = 4;
  const MPI_Comm comms[kChannels] = {MPI_COMM_WORLD, MPI_COMM_WORLD, other, MPI_COMM_WORLD};
  const int tags[kChannels] = {8, 8, 8, 9};
  int out[kChannels] = {10, 11, 12, 13}, in[kChannels] = {};
  MPI_Request send[kChannels], recv[kChannels];
  for (int i = 0; i < kChannels; ++i)
    MPI_Psend_init(&out[i], 1, 1, MPI_INT, next(), tags[i], comms[i], MPI_INFO_NULL, &send[i]);
  const int plain = 99;
  int got = 0;
  MPI_Request sent;
  MPI_Isend(&plain, 1, MPI_INT, next(), 8, MPI_COMM_WORLD, &sent);
  for (const int i : {3, 2, 0, 1})  // of one (communicator, tag) in order
    MPI_Precv_init(&in[i], 1, 1, MPI_INT, previous(), tags[i], comms[i], MPI_INFO_NULL, &recv[i]);
  for (const int i : {2, 1, 3, 0}) {
    MPI_Start(&send[i]);
    MPI_Pready(0, send[i]);
  }
  MPI_Startall(kChannels, recv);
  MPI_Waitall(kChannels, recv, MPI_STATUSES_IGNORE);
  MPI_Waitall(kChannels, send, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kChannels; ++i) CHECK(in[i] == out[i]);
  MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(got == plain);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  for (int i = 0; i < kChannels; ++i) {
    MPI_Request_free(&send[i]);
    MPI_Request_free(&recv[i]);
  }
  MPI_Comm_free(&other);
}

/// A pair that is freed before it was ever used has been matched all the same.
void unused() {
  int a = 1, b = 0;
  MPI_Request s[2], r[2];
  for (int i = 0; i < 2; ++i) {
    MPI_Psend_init(&a, 1, 1, MPI_INT, next(), 4, MPI_COMM_WORLD, MPI_INFO_NULL, &s[i]);
    MPI_Precv_init(&b, 1, 1, MPI_INT, previous(), 4, MPI_COMM_WORLD, MPI_INFO_NULL, &r[i]);
    if (i == 0) MPI_Request_free(&s[i]), MPI_Request_free(&r[i]);
  }
  MPI_Start(&r[1]);
  MPI_Start(&s[1]);
  MPI_Pready(0, s[1]);
  MPI_Wait(&r[1], MPI_STATUS_IGNORE);
  MPI_Wait(&s[1], MPI_STATUS_IGNORE);
  CHECK(b == 1);
  MPI_Request_free(&s[1]);
  MPI_Request_free(&r[1]);
}

/// MPI_Parrived tells partitions apart while others have not left.
void one_by_one() {
  int out[4] = {1, 2, 3, 4}, in[4] = {};
  MPI_Request s, r;
  MPI_Psend_init(out, 2, 2, MPI_INT, next(), 6, MPI_COMM_WORLD, MPI_INFO_NULL, &s);
  MPI_Precv_init(in, 4, 1, MPI_INT, previous(), 6, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
  int flag = 0;
  MPI_Parrived(r, 0, &flag);
  CHECK(flag == 1);  // inactive
  MPI_Start(&s);
  MPI_Start(&r);
  MPI_Pready(1, s);
  for (const int p : {3, 2}) {
    for (flag = 0; !flag;) MPI_Parrived(r, p, &flag);
  }
  CHECK(in[2] == 3 && in[3] == 4);
  MPI_Parrived(r, 0, &flag);
  CHECK(flag == 0);
  MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
  CHECK(flag == 0);
  MPI_Request_get_status(s, &flag, MPI_STATUS_IGNORE);
  CHECK(flag == 0);
  MPI_Barrier(MPI_COMM_WORLD);  // all have looked
  MPI_Pready(0, s);
  MPI_Wait(&s, MPI_STATUS_IGNORE);
  for (flag = 0; !flag;) MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  CHECK(in[0] == 1 && in[1] == 2);
  MPI_Request_free(&s);
  MPI_Request_free(&r);
}

void special() {
  int a[2] = {1, 2};
  MPI_Request s, r;
  MPI_Psend_init(a, 2, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &s);
  MPI_Precv_init(a, 2, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
  MPI_Start(&s);
  MPI_Start(&r);
  MPI_Pready_range(0, 1, s);
  MPI_Status status;
  MPI_Wait(&r, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Wait(&s, MPI_STATUS_IGNORE);
  MPI_Request_free(&s);
  MPI_Request_free(&r);
  // To oneself, and without data.
  int b[2] = {};
  MPI_Psend_init(a, 1, 2, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &s);
  MPI_Precv_init(b, 2, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &r);
  MPI_Start(&r);
  MPI_Start(&s);
  MPI_Pready(0, s);
  MPI_Wait(&s, MPI_STATUS_IGNORE);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  CHECK(b[0] == 1 && b[1] == 2);
  MPI_Request_free(&s);
  MPI_Request_free(&r);
  MPI_Psend_init(a, 3, 0, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &s);
  MPI_Precv_init(b, 2, 0, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &r);
  MPI_Start(&r);
  MPI_Start(&s);
  int flag = 1;
  MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
  CHECK(flag == 0);
  MPI_Pready_range(0, 2, s);
  MPI_Wait(&s, MPI_STATUS_IGNORE);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Request_free(&s);
  MPI_Request_free(&r);
  // No partitions at all, at either side or both.
  for (const auto& [sends, receives] : {std::pair{0, 0}, std::pair{0, 2}}) {
    MPI_Psend_init(a, sends, 1, MPI_INT, next(), 7, MPI_COMM_WORLD, MPI_INFO_NULL, &s);
    MPI_Precv_init(b, receives, 1, MPI_INT, previous(), 7, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    for (int i = 0; i < 2; ++i) {
      MPI_Start(&r);
      MPI_Start(&s);
      MPI_Wait(&s, MPI_STATUS_IGNORE);
      MPI_Wait(&r, &status);
      int count = 1;
      MPI_Get_count(&status, MPI_INT, &count);
      CHECK(count == 0 && status.MPI_SOURCE == previous());
    }
    MPI_Request_free(&s);
    MPI_Request_free(&r);
  }
}

void errors() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int a[2] = {}, flag;
  MPI_Request s, r;
  CHECK_CLASS(MPI_Precv_init(a, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Precv_init(a, 1, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &r), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Psend_init(a, -1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &s), MPI_ERR_ARG);
  MPI_Psend_init(a, 2, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &s);
  MPI_Precv_init(a, 1, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &r);
  CHECK_CLASS(MPI_Pready(0, s), MPI_ERR_REQUEST);
  MPI_Start(&s);
  CHECK_CLASS(MPI_Start(&s), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Pready(2, s), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Pready(0, r), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Parrived(s, 0, &flag), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Pready_range(1, 0, s), MPI_ERR_ARG);
  int twice[] = {0, 0};
  CHECK_CLASS(MPI_Pready_list(2, twice, s), MPI_ERR_ARG);
  CHECK(MPI_Pready(0, s) == MPI_SUCCESS);
  CHECK_CLASS(MPI_Pready(0, s), MPI_ERR_ARG);
  MPI_Pready(1, s);
  MPI_Start(&r);
  CHECK_CLASS(MPI_Parrived(r, 1, &flag), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);  // two ints for one
  MPI_Wait(&s, MPI_STATUS_IGNORE);
  MPI_Request_free(&s);
  MPI_Request_free(&r);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ring(1, 1, 64, 3);
  ring(8, 8, 64, 4);
  ring(1, 16, 64, 3);
  ring(33, 17, 561, 4);
  ring(17, 33, 561, 4);
  ring(512, 64, 1 << 15, 3);
  ring(4, 8, 1 << 20, 3);  // long ones
  ring(8, 4, 1 << 20, 3);
  derived();
  matching();
  unused();
  one_by_one();
  special();
  errors();
  return check::finish();
}
