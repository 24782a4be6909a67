// SPDX-License-Identifier: BSD-3-Clause
// ranks: 1
// A handle whose object has been freed is found invalid, and named as such, though others of its kind come after it.
#include <cstring>
#include <string>

#include "check.hpp"

namespace {

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  return text;
}

constexpr int kAfter = 300;

/// `use` of a freed handle has to fail with this class, while `make` brings forth others and `end` takes them away.
template <class Handle, class Make, class End, class Use>
void stale(const char* what, int error_class, Make make, End end, Use use) {
  Handle old;
  make(&old);
  const Handle copy = old;
  CHECK(use(copy) == MPI_SUCCESS);
  end(&old);
  Handle later[kAfter];
  for (Handle& h : later) {  // one at a time, and then all at once
    make(&h);
    CHECK(h != copy);
    CHECK_CLASS(use(copy), error_class);
    end(&h);
  }
  for (Handle& h : later) make(&h);
  const int code = use(copy);
  CHECK_CLASS(code, error_class);
  if (text_of(code).find(what) == std::string::npos) {
    std::fprintf(stderr, "%s: '%s'\n", what, text_of(code).c_str());
    ++check::failures;
  }
  for (Handle& h : later) end(&h);
}

void no_function(void*, void*, int*, MPI_Datatype*) {}
void no_handler(MPI_Comm*, int*, ...) {}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int x = 0;
  stale<MPI_Comm>(
      "argument comm is a communicator that has been freed", MPI_ERR_COMM,
      [](MPI_Comm* c) { MPI_Comm_dup(MPI_COMM_SELF, c); }, MPI_Comm_free,
      [&](MPI_Comm c) { return MPI_Comm_rank(c, &x); });
  stale<MPI_Group>(
      "argument group is a group that has been freed", MPI_ERR_GROUP,
      [](MPI_Group* g) {
        MPI_Group world;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        const int zero = 0;
        MPI_Group_incl(world, 1, &zero, g);
        MPI_Group_free(&world);
      },
      MPI_Group_free, [&](MPI_Group g) { return MPI_Group_size(g, &x); });
  stale<MPI_Datatype>(
      "argument datatype is a datatype that has been freed", MPI_ERR_TYPE,
      [](MPI_Datatype* t) { MPI_Type_contiguous(3, MPI_INT, t); }, MPI_Type_free,
      [&](MPI_Datatype t) { return MPI_Type_size(t, &x); });
  stale<MPI_Op>(
      "argument op is an operation that has been freed", MPI_ERR_OP,
      [](MPI_Op* o) { MPI_Op_create(no_function, 1, o); }, MPI_Op_free,
      [&](MPI_Op o) { return MPI_Op_commutative(o, &x); });
  stale<MPI_Info>("argument info is an info object that has been freed", MPI_ERR_INFO, MPI_Info_create, MPI_Info_free,
                  [&](MPI_Info i) { return MPI_Info_get_nkeys(i, &x); });
  stale<MPI_Errhandler>(
      "argument errhandler is an error handler that has been freed", MPI_ERR_ERRHANDLER,
      [](MPI_Errhandler* e) { MPI_Comm_create_errhandler(no_handler, e); }, MPI_Errhandler_free,
      [&](MPI_Errhandler e) {
        const int code = MPI_Comm_set_errhandler(MPI_COMM_SELF, e);
        if (code == MPI_SUCCESS) MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        return code;
      });
  stale<MPI_Win>(
      "argument win is a window that has been freed", MPI_ERR_WIN,
      [&](MPI_Win* w) {
        MPI_Win_create(&x, sizeof x, 1, MPI_INFO_NULL, MPI_COMM_SELF, w);
        MPI_Win_set_errhandler(*w, MPI_ERRORS_RETURN);
      },
      MPI_Win_free, [&](MPI_Win w) { return MPI_Win_sync(w); });
  stale<int>(
      "argument keyval is no valid handle", MPI_ERR_KEYVAL,
      [](int* k) { MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, k, nullptr); },
      MPI_Comm_free_keyval,
      [&](int k) {
        void* value;
        return MPI_Comm_get_attr(MPI_COMM_SELF, k, &value, &x);
      });
  return check::finish();
}
