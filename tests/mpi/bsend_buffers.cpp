// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// Buffers of MPI-4.1: of a communicator, of a session, of the process, each before the next; flushed, at once and in
// the background; automatic ones.
#include <cstdint>
#include <cstring>
#include <vector>

#include "check.hpp"

namespace {

constexpr int kLong = 300000;  // bytes: longer than any eager limit, so that a copy stays until it is received

/// A message to this rank itself; the copy waits for the receive.
int send(MPI_Comm c, const std::vector<char>& data, int tag = 0) {
  return MPI_Bsend(data.data(), static_cast<int>(data.size()), MPI_CHAR, check::rank(c), tag, c);
}
void receive(MPI_Comm c, char expected, int tag = 0) {
  std::vector<char> in(kLong);
  MPI_Recv(in.data(), kLong, MPI_CHAR, check::rank(c), tag, c, MPI_STATUS_IGNORE);
  CHECK(in.front() == expected && in.back() == expected);
}

/// The communicator's buffer serves it alone, and before the process's.
void whose() {
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const std::vector<char> data(kLong, 'a');
  std::vector<char> room(kLong + MPI_BSEND_OVERHEAD);
  CHECK_CLASS(send(own, data), MPI_ERR_BUFFER);  // none is attached
  CHECK(MPI_Comm_attach_buffer(own, room.data(), static_cast<int>(room.size())) == MPI_SUCCESS);
  CHECK_CLASS(MPI_Comm_attach_buffer(own, room.data(), 1), MPI_ERR_BUFFER);
  CHECK(send(own, data) == MPI_SUCCESS);
  CHECK_CLASS(send(own, data), MPI_ERR_BUFFER);             // it is full
  CHECK_CLASS(send(MPI_COMM_WORLD, data), MPI_ERR_BUFFER);  // not for others
  receive(own, 'a');
  void* address = nullptr;
  int size = 0;
  CHECK(MPI_Comm_detach_buffer(own, &address, &size) == MPI_SUCCESS);
  CHECK(address == room.data() && size == static_cast<int>(room.size()));
  CHECK(MPI_Comm_detach_buffer(own, &address, &size) == MPI_SUCCESS && address == nullptr && size == 0);
  MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
  CHECK(send(own, data) == MPI_SUCCESS);  // the process's serves all
  receive(own, 'a');
  CHECK(MPI_Buffer_flush() == MPI_SUCCESS);
  MPI_Count large = 0;
  MPI_Buffer_detach_c(&address, &large);
  CHECK(address == room.data() && large == static_cast<MPI_Count>(room.size()));
  MPI_Comm_free(&own);
}

/// A flush waits for what the buffer holds as it begins, and for nothing later.
void flushes() {
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  const std::vector<char> a(kLong, 'a'), b(kLong, 'b');
  MPI_Comm_attach_buffer(own, MPI_BUFFER_AUTOMATIC, 0);
  MPI_Request none, first, both;
  int flag = 0;
  MPI_Comm_iflush_buffer(own, &none);
  MPI_Test(&none, &flag, MPI_STATUS_IGNORE);
  CHECK(flag);
  send(own, a, 1);
  MPI_Comm_iflush_buffer(own, &first);
  send(own, b, 2);
  MPI_Comm_iflush_buffer(own, &both);
  MPI_Test(&first, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  receive(own, 'a', 1);
  MPI_Wait(&first, MPI_STATUS_IGNORE);
  MPI_Test(&both, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  receive(own, 'b', 2);
  MPI_Wait(&both, MPI_STATUS_IGNORE);
  CHECK(MPI_Comm_flush_buffer(own) == MPI_SUCCESS);
  void* address = nullptr;
  int size = -1;
  MPI_Comm_detach_buffer(own, &address, &size);
  CHECK(address == MPI_BUFFER_AUTOMATIC && size == 0);
  MPI_Comm_free(&own);
}

/// An automatic buffer has room for all; the other rank receives later.
void automatic() {
  const int other = 1 - check::rank();
  MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
  for (char i = 0; i < 20; ++i) {
    const std::vector<char> data(kLong, i);
    MPI_Bsend(data.data(), kLong, MPI_CHAR, other, 3, MPI_COMM_WORLD);
  }
  MPI_Request request;
  MPI_Buffer_iflush(&request);
  for (char i = 0; i < 20; ++i) {
    std::vector<char> in(kLong);
    MPI_Recv(in.data(), kLong, MPI_CHAR, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in.front() == i && in.back() == i);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  void* address = nullptr;
  int size = -1;
  MPI_Buffer_detach(&address, &size);
  CHECK(address == MPI_BUFFER_AUTOMATIC && size == 0);
}

/// A session's buffer serves communicators that come from its process sets, by whatever way, and no others.
void of_a_session() {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group set, reversed;
  const int order[] = {1, 0};
  MPI_Group_from_session_pset(session, "mpi://WORLD", &set);
  MPI_Group_incl(set, 2, order, &reversed);
  MPI_Comm made, own;
  MPI_Comm_create_from_group(reversed, "bsend", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
  MPI_Comm_dup(made, &own);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const std::vector<char> data(kLong, 's');
  MPI_Session_attach_buffer(session, MPI_BUFFER_AUTOMATIC, 0);
  CHECK(send(own, data) == MPI_SUCCESS);
  CHECK_CLASS(send(MPI_COMM_WORLD, data), MPI_ERR_BUFFER);
  MPI_Request request;
  int flag = 1;
  MPI_Session_iflush_buffer(session, &request);
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  receive(own, 's');
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(MPI_Session_flush_buffer(session) == MPI_SUCCESS);
  void* address = nullptr;
  int size = -1;
  MPI_Session_detach_buffer(session, &address, &size);
  CHECK(address == MPI_BUFFER_AUTOMATIC && size == 0);
  CHECK_CLASS(send(own, data), MPI_ERR_BUFFER);
  MPI_Comm_free(&own);
  MPI_Comm_free(&made);
  MPI_Group_free(&reversed);
  MPI_Group_free(&set);
  MPI_Session_finalize(&session);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  whose();
  flushes();
  automatic();
  of_a_session();
  return check::finish();
}
