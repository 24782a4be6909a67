// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// Bad arguments give the right class through the right handler, with a text that names function and argument; codes and
// classes that the program adds; handlers that call MPI.
#include <cstring>
#include <string>

#include "check.hpp"

namespace {

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  CHECK(static_cast<int>(std::strlen(text)) == length);
  return text;
}

void classes() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int x = 0;
  MPI_Request r;
  MPI_Status s;
  CHECK_CLASS(MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Send(&x, 1, MPI_INT, 0, 0, 0x44000077), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Send(&x, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Send(&x, 1, MPI_INT, 2, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Send(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Send(&x, 1, MPI_INT, 0, -1, MPI_COMM_WORLD), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Recv(&x, 1, MPI_INT, 0, -2, MPI_COMM_WORLD, &s), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Send(nullptr, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  int at = 0;
  CHECK_CLASS(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Irecv(MPI_IN_PLACE, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &r), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Pack(MPI_IN_PLACE, 1, MPI_INT, &x, sizeof x, &at, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Irecv(&x, 1, MPI_INT, 5, 0, MPI_COMM_WORLD, &r), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Comm_rank(MPI_COMM_WORLD, nullptr), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Comm_free_keyval(&x), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Group_size(MPI_GROUP_NULL, &x), MPI_ERR_GROUP);
  MPI_Datatype raw;
  MPI_Type_contiguous(2, MPI_INT, &raw);
  CHECK_CLASS(MPI_Send(&x, 1, raw, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
  MPI_Type_free(&raw);
  MPI_Comm world = MPI_COMM_WORLD;
  CHECK_CLASS(MPI_Comm_free(&world), MPI_ERR_COMM);
}

void texts() {
  const int code = MPI_Send(nullptr, 0, MPI_INT, 0, -7, MPI_COMM_WORLD);
  CHECK(text_of(code) == "MPI_Send: invalid tag -7 (argument tag; allowed 0..536870911)");
  CHECK(text_of(MPI_ERR_TAG) == "invalid tag");
  CHECK(text_of(MPI_SUCCESS) == "no error");
}

void added() {
  int error_class, code;
  void* value;
  int flag;
  MPI_Add_error_class(&error_class);
  MPI_Add_error_code(error_class, &code);
  CHECK(error_class > MPI_ERR_LASTCODE && check::class_of(code) == error_class && text_of(code).empty());
  MPI_Add_error_string(code, "the coffee is out");
  CHECK(text_of(code) == "the coffee is out");
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag);
  CHECK(flag && *static_cast<int*>(value) == code);
  CHECK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, code) == MPI_SUCCESS);
}

int calls = 0, seen_class = 0;
MPI_Comm seen_comm = MPI_COMM_NULL;
void handler(MPI_Comm* comm, int* code, ...) {
  ++calls;
  seen_comm = *comm;
  MPI_Error_class(*code, &seen_class);
  int size;
  MPI_Comm_size(*comm, &size);
}

void user_handler() {
  MPI_Errhandler h, got;
  MPI_Comm_create_errhandler(handler, &h);
  MPI_Comm d, e;
  MPI_Comm_dup(MPI_COMM_WORLD, &d);
  MPI_Comm_set_errhandler(d, h);
  MPI_Errhandler_free(&h);
  CHECK(h == MPI_ERRHANDLER_NULL);
  MPI_Comm_dup(d, &e);  // inherits it
  CHECK_CLASS(MPI_Send(nullptr, 0, MPI_INT, 99, 0, e), MPI_ERR_RANK);
  CHECK(calls == 1 && seen_comm == e && seen_class == MPI_ERR_RANK);
  MPI_Comm_call_errhandler(d, MPI_ERR_OTHER);
  CHECK(calls == 2 && seen_comm == d && seen_class == MPI_ERR_OTHER);
  MPI_Comm_get_errhandler(d, &got);
  CHECK(got != MPI_ERRORS_RETURN && got != MPI_ERRHANDLER_NULL);
  MPI_Errhandler_free(&got);
  MPI_Comm_free(&d);
  MPI_Comm_free(&e);
}

// A communicator without a handler of its own hears MPI_COMM_WORLD's, also one that is set later; its own it keeps.
void handler_of_world() {
  MPI_Comm unset, set;
  MPI_Comm_dup(MPI_COMM_WORLD, &unset);
  MPI_Comm_dup(unset, &set);
  MPI_Errhandler h;
  MPI_Comm_create_errhandler(handler, &h);
  MPI_Comm_set_errhandler(set, h);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_Send(nullptr, 0, MPI_INT, 99, 0, unset), MPI_ERR_RANK);
  CHECK(calls == 0);
  CHECK_CLASS(MPI_Send(nullptr, 0, MPI_INT, 99, 0, set), MPI_ERR_RANK);
  CHECK(calls == 1 && seen_comm == set);
  calls = 0;
  MPI_Errhandler_free(&h);
  MPI_Comm_free(&unset);
  MPI_Comm_free(&set);
}

/// All ways to receive one element of a type, with tag 1, from this rank itself.
constexpr int (*kReceives[])(void* to, MPI_Datatype type, MPI_Status* status) = {
    [](void* to, MPI_Datatype type, MPI_Status* status) { return MPI_Recv(to, 1, type, 0, 1, MPI_COMM_SELF, status); },
    [](void* to, MPI_Datatype type, MPI_Status* status) {
      MPI_Request r;
      MPI_Irecv(to, 1, type, 0, 1, MPI_COMM_SELF, &r);
      return MPI_Wait(&r, status);
    },
    [](void* to, MPI_Datatype type, MPI_Status* status) {
      MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      MPI_Irecv(to, 1, type, 0, 1, MPI_COMM_SELF, &r[1]);
      MPI_Status all[2];
      const int code = MPI_Waitall(2, r, all);
      *status = all[1];
      if (code == MPI_SUCCESS) return code;
      CHECK_CLASS(code, MPI_ERR_IN_STATUS);
      CHECK(all[0].MPI_ERROR == MPI_SUCCESS);
      return all[1].MPI_ERROR;
    },
    [](void* to, MPI_Datatype type, MPI_Status* status) {
      MPI_Request r;
      MPI_Recv_init(to, 1, type, 0, 1, MPI_COMM_SELF, &r);
      MPI_Start(&r);
      const int code = MPI_Wait(&r, status);
      CHECK(r != MPI_REQUEST_NULL);
      MPI_Request_free(&r);
      return code;
    },
    [](void* to, MPI_Datatype type, MPI_Status* status) {
      return MPI_Sendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, to, 1, type, 0, 1, MPI_COMM_SELF, status);
    },
    [](void* to, MPI_Datatype type, MPI_Status* status) {
      MPI_Request r;
      MPI_Isendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, to, 1, type, 0, 1, MPI_COMM_SELF, &r);
      return MPI_Wait(&r, status);
    },
    [](void* to, MPI_Datatype type, MPI_Status* status) {
      MPI_Message m;
      MPI_Mprobe(0, 1, MPI_COMM_SELF, &m, MPI_STATUS_IGNORE);
      return MPI_Mrecv(to, 1, type, &m, status);
    },
};

/// A receive of ints with gaps finds out that a message ends inside of one; one that ends after one is only short.
void wrong_type() {
  MPI_Datatype gaps;
  MPI_Type_vector(3, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const char data[8] = {};
  int to[6];
  for (const auto receive : kReceives) {
    for (const int bytes : {0, 3, 4, 6, 8}) {
      MPI_Request r;
      MPI_Isend(data, bytes, MPI_CHAR, 0, 1, MPI_COMM_SELF, &r);
      MPI_Status status;
      const int code = receive(to, gaps, &status);
      CHECK_CLASS(code, bytes % 4 == 0 ? MPI_SUCCESS : MPI_ERR_TYPE);
      if (bytes == 3) CHECK(text_of(code).find("3 bytes") != std::string::npos);
      int whole, elements, chars;
      MPI_Get_count(&status, gaps, &whole);
      MPI_Get_elements(&status, gaps, &elements);
      MPI_Get_count(&status, MPI_CHAR, &chars);
      CHECK(whole == (bytes == 0 ? 0 : MPI_UNDEFINED));
      CHECK(elements == (bytes % 4 == 0 ? bytes / 4 : MPI_UNDEFINED) && chars == bytes);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
  }
  MPI_Type_free(&gaps);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  handler_of_world();
  classes();
  texts();
  added();
  user_handler();
  wrong_type();
  return check::finish();
}
