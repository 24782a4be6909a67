// SPDX-License-Identifier: BSD-3-Clause
// ranks: 3
// Completion calls: any, some, all; errors in statuses; persistent and generalised requests; stale handles; get_status.
#include <string>
#include <vector>

#include "check.hpp"

namespace {

void any_some_all() {
  const int me = check::rank();
  constexpr int kEach = 10;
  if (me != 0) {
    for (int i = 0; i < kEach; ++i) MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
    return;
  }
  std::vector<int> values(2 * kEach, -1);
  std::vector<MPI_Request> r(2 * kEach);
  for (int i = 0; i < 2 * kEach; ++i) {
    MPI_Irecv(&values[static_cast<std::size_t>(i)], 1, MPI_INT, 1 + i / kEach, i % kEach, MPI_COMM_WORLD,
              &r[static_cast<std::size_t>(i)]);
  }
  int index, done = 0;
  MPI_Status s;
  MPI_Waitany(2 * kEach, r.data(), &index, &s);
  CHECK(index >= 0 && values[static_cast<std::size_t>(index)] == index % kEach && s.MPI_TAG == index % kEach);
  CHECK(r[static_cast<std::size_t>(index)] == MPI_REQUEST_NULL);
  std::vector<int> indices(2 * kEach);
  std::vector<MPI_Status> statuses(2 * kEach);
  for (int total = 1; total < kEach; total += done) {
    MPI_Waitsome(2 * kEach, r.data(), &done, indices.data(), statuses.data());
    CHECK(done >= 1);
    for (int i = 0; i < done; ++i)
      CHECK(statuses[static_cast<std::size_t>(i)].MPI_TAG == indices[static_cast<std::size_t>(i)] % kEach);
  }
  MPI_Waitall(2 * kEach, r.data(), statuses.data());
  for (int i = 0; i < 2 * kEach; ++i) CHECK(values[static_cast<std::size_t>(i)] == i % kEach);
  MPI_Waitany(2 * kEach, r.data(), &index, &s);
  CHECK(index == MPI_UNDEFINED && s.MPI_SOURCE == MPI_ANY_SOURCE && s.MPI_TAG == MPI_ANY_TAG);
  MPI_Testsome(2 * kEach, r.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
  CHECK(done == MPI_UNDEFINED);
  int flag;
  MPI_Testall(2 * kEach, r.data(), &flag, statuses.data());
  CHECK(flag == 1);
}

void errors_in_statuses() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int two[2] = {1, 2};
  int got[3];
  if (check::rank() == 1) {
    for (int tag = 0; tag < 3; ++tag) MPI_Send(two, tag == 1 ? 2 : 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
  } else if (check::rank() == 0) {
    MPI_Request r[3];
    MPI_Status s[3];
    for (int tag = 0; tag < 3; ++tag) MPI_Irecv(&got[tag], 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &r[tag]);
    CHECK_CLASS(MPI_Waitall(3, r, s), MPI_ERR_IN_STATUS);
    CHECK(s[0].MPI_ERROR == MPI_SUCCESS && s[2].MPI_ERROR == MPI_SUCCESS);
    CHECK(check::class_of(s[1].MPI_ERROR) == MPI_ERR_TRUNCATE);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/// A call that some requests fail in tells all the same how many it completed, and which.
void errors_among_some() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int two[2] = {1, 2};
  for (const bool wait : {true, false}) {
    if (check::rank() == 1) {
      for (int tag = 0; tag < 3; ++tag) MPI_Send(two, tag == 1 ? 2 : 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
    } else if (check::rank() == 0) {
      int got[3], total = 0, failed = 0;
      MPI_Request r[3];
      for (int tag = 0; tag < 3; ++tag) MPI_Irecv(&got[tag], 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &r[tag]);
      while (total < 3) {
        int done = -1, indices[3];
        MPI_Status s[3];
        const int code = wait ? MPI_Waitsome(3, r, &done, indices, s) : MPI_Testsome(3, r, &done, indices, s);
        CHECK(done >= (wait ? 1 : 0) && total + done <= 3);
        if (done < 0 || total + done > 3) break;
        total += done;
        for (int i = 0; i < done && code != MPI_SUCCESS; ++i) {
          CHECK(check::class_of(s[i].MPI_ERROR) == (indices[i] == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
        }
        if (code != MPI_SUCCESS) {
          CHECK(check::class_of(code) == MPI_ERR_IN_STATUS);
          ++failed;
        }
      }
      CHECK(failed == 1);
    }
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

void persistent() {
  const int me = check::rank(), next = (me + 1) % 3, before = (me + 2) % 3;
  int out = 0, in = 0;
  MPI_Request r[2];
  MPI_Send_init(&out, 1, MPI_INT, next, 4, MPI_COMM_WORLD, &r[0]);
  MPI_Recv_init(&in, 1, MPI_INT, before, 4, MPI_COMM_WORLD, &r[1]);
  MPI_Status s;
  int flag;
  MPI_Test(&r[1], &flag, &s);  // inactive
  CHECK(flag == 1 && s.MPI_SOURCE == MPI_ANY_SOURCE);
  for (int round = 0; round < 20; ++round) {
    out = me * 100 + round;
    MPI_Startall(2, r);
    MPI_Status both[2];
    MPI_Waitall(2, r, both);
    CHECK(in == before * 100 + round && both[1].MPI_SOURCE == before);
    CHECK(r[0] != MPI_REQUEST_NULL && r[1] != MPI_REQUEST_NULL);
  }
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
  CHECK(r[0] == MPI_REQUEST_NULL);
}

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  return text;
}

/// The error of a message is told in the same words whatever kind of request it has.
void words_of_errors() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int three[3] = {1, 2, 3};
  if (check::rank() == 1) {
    for (int i = 0; i < 3; ++i) MPI_Send(three, 3, MPI_INT, 0, 9, MPI_COMM_WORLD);
  } else if (check::rank() == 0) {
    int got[3] = {};
    MPI_Request r;
    MPI_Irecv(got, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &r);
    const std::string plain = text_of(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CHECK(plain.find("from rank 1 with tag 9 is longer than the receive buffer of 4 bytes") != std::string::npos);
    MPI_Recv_init(got, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &r);
    MPI_Start(&r);
    CHECK(text_of(MPI_Wait(&r, MPI_STATUS_IGNORE)) == plain);
    MPI_Request_free(&r);
    MPI_Isendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, got, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &r);
    CHECK(text_of(MPI_Wait(&r, MPI_STATUS_IGNORE)) == plain);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/// A call that does not block says so when there is nowhere for its request, and starts nothing.
void nowhere_for_the_request() {
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int x = 1, y = 2;
  CHECK_CLASS(MPI_Isendrecv(&x, 1, MPI_INT, 0, 3, &y, 1, MPI_INT, 0, 3, MPI_COMM_SELF, nullptr), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Isendrecv_replace(&x, 1, MPI_INT, 0, 3, 0, 3, MPI_COMM_SELF, nullptr), MPI_ERR_ARG);
  for (const auto send : {MPI_Isend, MPI_Issend, MPI_Ibsend})
    CHECK_CLASS(send(&x, 1, MPI_INT, 0, 3, MPI_COMM_SELF, nullptr), MPI_ERR_ARG);
  int flag = 1;
  MPI_Iprobe(0, 3, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag && y == 2);
  // No receive that takes the next message.
  CHECK_CLASS(MPI_Irecv(&y, 1, MPI_INT, 0, 3, MPI_COMM_SELF, nullptr), MPI_ERR_ARG);
  int z = 0;
  MPI_Sendrecv(&x, 1, MPI_INT, 0, 3, &z, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  CHECK(z == 1 && y == 2);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/// Elements of different sizes: MPI_Status_set_elements says what MPI_Get_elements is to find.
void elements_of_statuses() {
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {0, 8};
  const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype pair;
  MPI_Type_create_struct(2, lengths, places, types, &pair);
  MPI_Status s{};
  for (const MPI_Datatype type : {pair, MPI_DOUBLE_INT, MPI_CHAR}) {
    for (int n = 0; n < 9; ++n) {
      int elements = -1, count = -1;
      MPI_Status_set_elements(&s, type, n);
      MPI_Get_elements(&s, type, &elements);
      CHECK(elements == n);
      MPI_Get_count(&s, type, &count);
      CHECK(count == (type == MPI_CHAR ? n : n % 2 == 0 ? n / 2 : MPI_UNDEFINED));
    }
  }
  MPI_Type_free(&pair);
}

struct Job {
  int queried = 0, freed = 0, cancelled = 0;
};

void generalised() {
  Job job;
  MPI_Request r;
  MPI_Grequest_start(
      [](void* extra, MPI_Status* s) {
        ++static_cast<Job*>(extra)->queried;
        MPI_Status_set_elements(s, MPI_INT, 7);
        MPI_Status_set_cancelled(s, 0);
        s->MPI_SOURCE = 5;
        s->MPI_TAG = 6;
        return MPI_SUCCESS;
      },
      [](void* extra) {
        ++static_cast<Job*>(extra)->freed;
        return MPI_SUCCESS;
      },
      [](void* extra, int) {
        ++static_cast<Job*>(extra)->cancelled;
        return MPI_SUCCESS;
      },
      &job, &r);
  int flag = 1, count;
  MPI_Status s;
  MPI_Test(&r, &flag, &s);
  CHECK(flag == 0);
  MPI_Cancel(&r);
  MPI_Grequest_complete(r);
  MPI_Wait(&r, &s);
  MPI_Get_count(&s, MPI_INT, &count);
  CHECK(count == 7 && s.MPI_SOURCE == 5 && s.MPI_TAG == 6);
  CHECK(job.queried == 1 && job.freed == 1 && job.cancelled == 1 && r == MPI_REQUEST_NULL);
}

/// What the functions of a request return that is complete: the last of them, which is that which frees, decides.
void generalised_codes() {
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const auto fails_in = [](MPI_Grequest_query_function* query, MPI_Grequest_free_function* free) {
    MPI_Request r;
    MPI_Grequest_start(
        query, free, [](void*, int) { return MPI_SUCCESS; }, nullptr, &r);
    MPI_Grequest_complete(r);
    return r;
  };
  const auto good = [](void*) { return MPI_SUCCESS; };
  const auto bad = [](void*) { return MPI_ERR_IO; };
  const auto bad_query = [](void*, MPI_Status*) { return MPI_ERR_ARG; };
  MPI_Request r = fails_in(bad_query, good);
  CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS && r == MPI_REQUEST_NULL);
  r = fails_in(bad_query, bad);
  CHECK_CLASS(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_IO);
  MPI_Request two[] = {fails_in(bad_query, good), fails_in(bad_query, bad)};
  MPI_Status statuses[2];
  CHECK_CLASS(MPI_Waitall(2, two, statuses), MPI_ERR_IN_STATUS);
  CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS);
  CHECK_CLASS(statuses[1].MPI_ERROR, MPI_ERR_IO);
  // Without a wait: that of the call that calls it.
  r = fails_in(nullptr, bad);
  CHECK_CLASS(MPI_Request_free(&r), MPI_ERR_IO);
  CHECK(r == MPI_REQUEST_NULL);
  MPI_Grequest_start(nullptr, bad, nullptr, nullptr, &r);
  MPI_Request kept = r;
  CHECK(MPI_Request_free(&r) == MPI_SUCCESS);
  CHECK_CLASS(MPI_Grequest_complete(kept), MPI_ERR_IO);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/// The status of a null or an inactive request says that nothing has gone wrong; that of a message says nothing of it.
void empty_statuses() {
  constexpr int kOld = 77;
  MPI_Request null = MPI_REQUEST_NULL, inactive;
  int flag, index;
  MPI_Status s;
  MPI_Barrier_init(MPI_COMM_SELF, MPI_INFO_NULL, &inactive);
  const auto is_empty = [&](auto call) {
    for (MPI_Request* r : {&null, &inactive}) {
      s = {};
      s.MPI_ERROR = kOld;
      call(r);
      if (s.MPI_ERROR != MPI_SUCCESS || s.MPI_SOURCE != MPI_ANY_SOURCE || s.MPI_TAG != MPI_ANY_TAG) return false;
    }
    return true;
  };
  CHECK(is_empty([&](MPI_Request* r) { MPI_Wait(r, &s); }));
  CHECK(is_empty([&](MPI_Request* r) { MPI_Test(r, &flag, &s); }));
  CHECK(is_empty([&](MPI_Request* r) { MPI_Waitany(1, r, &index, &s); }));
  CHECK(is_empty([&](MPI_Request* r) { MPI_Testany(1, r, &index, &flag, &s); }));
  CHECK(is_empty([&](MPI_Request* r) { MPI_Waitall(1, r, &s); }));
  CHECK(is_empty([&](MPI_Request* r) { MPI_Testall(1, r, &flag, &s); }));
  CHECK(is_empty([&](MPI_Request* r) { MPI_Request_get_status(*r, &flag, &s); }));
  CHECK(is_empty([&](MPI_Request* r) { MPI_Request_get_status_any(1, r, &index, &flag, &s); }));
  CHECK(is_empty([&](MPI_Request* r) { MPI_Request_get_status_all(1, r, &flag, &s); }));
  MPI_Request_free(&inactive);
  MPI_Isend(&flag, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &null);
  s.MPI_ERROR = kOld;
  MPI_Wait(&null, &s);
  CHECK(s.MPI_ERROR == kOld);
}

void stale_handles() {
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int x = 0;
  MPI_Request r, copy;
  MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r);
  copy = r;
  int flag = 0;
  MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
  CHECK(flag == 1);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  CHECK_CLASS(MPI_Wait(&copy, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
  copy = 12345;
  CHECK_CLASS(MPI_Test(&copy, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

void freed_while_active() {
  std::vector<int> big(200000, check::rank());
  const int n = static_cast<int>(big.size());
  if (check::rank() == 0) {
    MPI_Request r;
    MPI_Isend(big.data(), n, MPI_INT, 1, 8, MPI_COMM_WORLD, &r);
    MPI_Request_free(&r);
    MPI_Recv(nullptr, 0, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // now it has arrived
  } else if (check::rank() == 1) {
    MPI_Recv(big.data(), n, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(big == std::vector<int>(big.size(), 0));
    MPI_Send(nullptr, 0, MPI_INT, 0, 9, MPI_COMM_WORLD);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  any_some_all();
  errors_in_statuses();
  errors_among_some();
  persistent();
  words_of_errors();
  nowhere_for_the_request();
  elements_of_statuses();
  generalised();
  generalised_codes();
  empty_statuses();
  stale_handles();
  freed_while_active();
  return check::finish();
}
