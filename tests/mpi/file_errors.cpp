// SPDX-License-Identifier: BSD-3-Clause
// ranks: 2
// There are no files. Their functions say so to the error handler of files, which lets them return unless it is told
// otherwise; it can be set, asked for and called.
#include "check.hpp"

namespace {

int calls = 0, seen_class = 0;
bool null_file = false;
void handler(MPI_File* file, int* code, ...) {
  ++calls;
  null_file = *file == MPI_FILE_NULL;
  MPI_Error_class(*code, &seen_class);
}

void handler_of_comms(MPI_Comm*, int*, ...) {}

}  // namespace

int main(int argc, char** argv) {
  MPI_Errhandler set, got;
  CHECK_CLASS(MPI_File_get_errhandler(MPI_FILE_NULL, &got), MPI_SUCCESS);  // as error handlers are made: at any time
  CHECK(got == MPI_ERRORS_RETURN);
  MPI_Init(&argc, &argv);
  // The handlers of communicators are fatal, and hear nothing of this.
  MPI_File file = MPI_FILE_NULL;
  MPI_Offset size;
  CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, "f", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
              MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_delete("f", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_get_size(MPI_FILE_NULL, &size), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);

  CHECK(MPI_File_create_errhandler(handler, &set) == MPI_SUCCESS);
  CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, set) == MPI_SUCCESS);
  CHECK(MPI_File_get_errhandler(MPI_FILE_NULL, &got) == MPI_SUCCESS && got == set);
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&set);
  CHECK_CLASS(MPI_File_delete("f", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(calls == 1 && null_file && seen_class == MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_NO_SPACE) == MPI_SUCCESS);
  CHECK(calls == 2 && null_file && seen_class == MPI_ERR_NO_SPACE);
  CHECK_CLASS(MPI_File_get_errhandler(reinterpret_cast<MPI_File>(&calls), &got), MPI_ERR_FILE);
  CHECK(calls == 3);

  MPI_Errhandler of_comms;
  MPI_Comm_create_errhandler(handler_of_comms, &of_comms);
  CHECK_CLASS(MPI_File_set_errhandler(MPI_FILE_NULL, of_comms), MPI_ERR_ARG);
  CHECK(calls == 4);
  CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);
  CHECK_CLASS(MPI_File_delete("f", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(calls == 4);
  MPI_Errhandler_free(&of_comms);
  return check::finish();
}
