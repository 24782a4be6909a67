// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// Functions of MPI-4.1: fields of statuses, looks at several requests, errors that are taken back, pairs, resources.
#include <cstring>
#include <initializer_list>

#include "check.hpp"

namespace {

void fields() {
  MPI_Status s{};
  MPI_Status_set_source(&s, 4);
  MPI_Status_set_tag(&s, 5);
  MPI_Status_set_error(&s, MPI_ERR_TRUNCATE);
  int source = 0, tag = 0, error = 0;
  MPI_Status_get_source(&s, &source);
  MPI_Status_get_tag(&s, &tag);
  MPI_Status_get_error(&s, &error);
  CHECK(source == 4 && tag == 5 && error == MPI_ERR_TRUNCATE);
  MPI_Count elements = 0;
  int few = 0;
  CHECK(MPI_Status_set_elements_c(&s, MPI_INT, MPI_Count{3} << 31) == MPI_SUCCESS);
  CHECK(MPI_Get_elements_c(&s, MPI_INT, &elements) == MPI_SUCCESS && elements == MPI_Count{3} << 31);
  CHECK(MPI_Get_elements(&s, MPI_INT, &few) == MPI_SUCCESS && few == MPI_UNDEFINED);
}

void looks() {
  const int other = 1 - check::rank();
  int in[3] = {-1, -1, -1}, one = 1;
  MPI_Request r[4];
  for (int tag = 0; tag < 3; ++tag) MPI_Irecv(&in[tag], 1, MPI_INT, other, tag, MPI_COMM_WORLD, &r[tag]);
  r[3] = MPI_REQUEST_NULL;
  int index = 0, flag = 1, count = -1, indices[4];
  MPI_Status s[4];
  MPI_Request_get_status_any(4, r, &index, &flag, s);
  CHECK(!flag && index == MPI_UNDEFINED);
  MPI_Request_get_status_all(4, r, &flag, s);
  CHECK(!flag);
  MPI_Request_get_status_some(4, r, &count, indices, s);
  CHECK(count == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&one, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
  for (flag = 0; !flag;) MPI_Request_get_status_any(4, r, &index, &flag, s);
  CHECK(index == 1 && s[0].MPI_TAG == 1 && r[1] != MPI_REQUEST_NULL);
  MPI_Request_get_status_some(4, r, &count, indices, s);
  CHECK(count == 1 && indices[0] == 1 && s[0].MPI_TAG == 1 && r[1] != MPI_REQUEST_NULL);
  MPI_Barrier(MPI_COMM_WORLD);  // both have looked
  MPI_Send(&one, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
  MPI_Send(&one, 1, MPI_INT, other, 2, MPI_COMM_WORLD);
  for (flag = 0; !flag;) MPI_Request_get_status_all(4, r, &flag, s);
  for (int tag = 0; tag < 3; ++tag) CHECK(s[tag].MPI_TAG == tag && in[tag] == 1 && r[tag] != MPI_REQUEST_NULL);
  CHECK(s[3].MPI_SOURCE == MPI_ANY_SOURCE);
  MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
  MPI_Request_get_status_any(4, r, &index, &flag, s);
  CHECK(flag && index == MPI_UNDEFINED);
  MPI_Request_get_status_some(4, r, &count, indices, s);
  CHECK(count == MPI_UNDEFINED);
}

void removed() {
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int error_class = 0, code = 0, length = 0;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Add_error_class(&error_class);
  MPI_Add_error_code(error_class, &code);
  MPI_Add_error_string(code, "gone soon");
  CHECK_CLASS(MPI_Remove_error_class(error_class), MPI_ERR_OTHER);
  CHECK_CLASS(MPI_Remove_error_code(code), MPI_ERR_OTHER);
  CHECK(MPI_Remove_error_string(code) == MPI_SUCCESS);
  MPI_Error_string(code, text, &length);
  CHECK(length == 0);
  CHECK_CLASS(MPI_Remove_error_class(code), MPI_ERR_ARG);
  CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS);
  CHECK_CLASS(MPI_Remove_error_code(code), MPI_ERR_ARG);
  MPI_Add_error_string(error_class, "a class");
  CHECK_CLASS(MPI_Remove_error_class(error_class), MPI_ERR_OTHER);
  CHECK(MPI_Remove_error_string(error_class) == MPI_SUCCESS);
  CHECK(MPI_Remove_error_class(error_class) == MPI_SUCCESS);
  CHECK_CLASS(MPI_Error_string(code, text, &length), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Remove_error_class(MPI_ERR_TAG), MPI_ERR_ARG);
  // What was removed is used again: as often as a program likes.
  int first = 0, again = 0;
  MPI_Add_error_class(&first);
  MPI_Remove_error_class(first);
  for (int i = 0; i < 1000; ++i) {
    int codes[2];
    MPI_Add_error_class(&again);
    for (int& c : codes) MPI_Add_error_code(again, &c);
    int found = 0;
    CHECK(MPI_Error_class(codes[1], &found) == MPI_SUCCESS && found == again);
    for (const int c : codes) MPI_Remove_error_code(c);
    CHECK(MPI_Remove_error_class(again) == MPI_SUCCESS);
    CHECK(again < first + 8);
  }
}

void pairs_and_resources() {
  MPI_Datatype pair = MPI_INT;
  CHECK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair) == MPI_SUCCESS && pair == MPI_DOUBLE_INT);
  CHECK(MPI_Type_get_value_index(MPI_INT, MPI_INT, &pair) == MPI_SUCCESS && pair == MPI_2INT);
  CHECK(MPI_Type_get_value_index(MPI_CHAR, MPI_INT, &pair) == MPI_SUCCESS && pair == MPI_DATATYPE_NULL);
  MPI_Info info;
  char value[16] = "";
  int flag = 0;
  MPI_Get_hw_resource_info(&info);
  MPI_Info_get(info, "mpi_shared_memory", 15, value, &flag);
  CHECK(flag && std::strcmp(value, "true") == 0);
  MPI_Info_free(&info);
}

/// Null handles have names, and an unreceived message is an error of MPI_Comm_free where the program listens.
void names_and_leftovers() {
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  CHECK(MPI_Comm_get_name(MPI_COMM_NULL, name, &length) == MPI_SUCCESS && std::strcmp(name, "MPI_COMM_NULL") == 0);
  CHECK(MPI_Win_get_name(MPI_WIN_NULL, name, &length) == MPI_SUCCESS && std::strcmp(name, "MPI_WIN_NULL") == 0);
  CHECK(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length) == MPI_SUCCESS &&
        std::strcmp(name, "MPI_DATATYPE_NULL") == 0);
  for (const bool listens : {false, true}) {
    MPI_Comm c;
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    if (listens) MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    if (check::rank() == 0) MPI_Send(nullptr, 0, MPI_INT, 1, 7, c);
    MPI_Barrier(c);
    const int code = MPI_Comm_free(&c);
    CHECK(c == MPI_COMM_NULL);
    CHECK_CLASS(code, listens && check::rank() == 1 ? MPI_ERR_OTHER : MPI_SUCCESS);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  fields();
  looks();
  removed();
  pairs_and_resources();
  names_and_leftovers();
  return check::finish();
}
