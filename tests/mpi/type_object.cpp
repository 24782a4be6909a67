// SPDX-License-Identifier: BSD-3-Clause
// ranks: 1
// Types as objects: what keeps them alive, names, attributes, wrong use.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace {

int errors = 0;
void check(bool good, const char* what) {
  if (!good) std::printf("%s\n", what), ++errors;
}
int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/// A type is usable after the types it was made from are freed, and can be taken apart again.
void parts_outlive_their_handles() {
  MPI_Datatype pair, row, part;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  const MPI_Datatype freed = pair;
  MPI_Type_contiguous(3, pair, &row);
  MPI_Type_free(&pair);
  check(pair == MPI_DATATYPE_NULL, "a freed handle is MPI_DATATYPE_NULL");
  int integers, size = 0;
  MPI_Aint addresses;
  MPI_Type_get_contents(row, 1, 0, 1, &integers, &addresses, &part);
  check(part == freed, "contents are the type that went in");
  MPI_Type_size(part, &size);
  check(size == 8, "the part kept its size");
  MPI_Type_free(&row);
  MPI_Type_size(part, &size);
  check(size == 8, "the part outlives the whole");
  MPI_Type_free(&part);
#ifdef RMQ  // what MPICH does not check
  check(class_of(MPI_Type_size(freed, &size)) == MPI_ERR_TYPE, "then its handle is stale");
#endif
}

void deep_nests() {
  MPI_Datatype type;
  MPI_Type_contiguous(1, MPI_INT, &type);
  for (int i = 0; i < 20000; ++i) {
    MPI_Datatype next;
    MPI_Type_dup(type, &next);
    MPI_Type_free(&type);
    type = next;
  }
  int size = 0;
  MPI_Type_size(type, &size);
  check(size == 4, "size of a deep nest");
  MPI_Type_free(&type);
}

void names() {
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  MPI_Datatype type;
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_get_name(type, name, &length);
  check(length == 0 && name[0] == '\0', "a new type has no name");
  MPI_Type_set_name(type, "twin");
  MPI_Datatype copy;
  MPI_Type_dup(type, &copy);
  MPI_Type_get_name(type, name, &length);
  check(length == 4 && std::strcmp(name, "twin") == 0, "the name that was set");
  MPI_Type_get_name(copy, name, &length);
  check(length == 0, "a name is not copied");
  MPI_Type_free(&copy);
  MPI_Type_free(&type);
}

int copies = 0, deletions = 0, refuse = 0;
int copy_attribute(MPI_Datatype, int, void*, void* in, void* out, int* flag) {
  ++copies;
  *static_cast<void**>(out) = in;
  *flag = 1;
  return refuse ? MPI_ERR_OTHER : MPI_SUCCESS;
}
int delete_attribute(MPI_Datatype, int, void*, void*) {
  ++deletions;
  return refuse ? MPI_ERR_OTHER : MPI_SUCCESS;
}

void attributes() {
  int key, flag = 0, value = 5;
  int* found = nullptr;
  MPI_Type_create_keyval(copy_attribute, delete_attribute, &key, nullptr);
  MPI_Datatype type, copy, whole;
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_set_attr(type, key, &value);
  MPI_Type_dup(type, &copy);
  MPI_Type_get_attr(copy, key, &found, &flag);
  check(copies == 1 && flag && found == &value, "a duplicate gets the attribute");
  MPI_Type_free(&copy);
  check(deletions == 1, "freeing deletes attributes");
#ifdef RMQ  // MPICH frees the type nevertheless
  refuse = 1;
  check(MPI_Type_free(&type) != MPI_SUCCESS && type != MPI_DATATYPE_NULL, "a delete callback can refuse");
  refuse = 0;
#endif
  deletions = 0;
  MPI_Type_contiguous(2, type, &whole);
  MPI_Type_free(&type);
  check(deletions == 0, "attributes live as long as the type");
  MPI_Type_free(&whole);
  check(deletions == 1, "and go with it");
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_set_attr(type, key, &value);
  refuse = 1;
  check(MPI_Type_dup(type, &copy) != MPI_SUCCESS, "a copy callback can refuse");
  refuse = 0;
  MPI_Type_free(&type);
  MPI_Type_free_keyval(&key);
}

void wrong_use() {
  MPI_Datatype type = MPI_INT;
  int n[3], combiner, out, position = 0;
  MPI_Aint address;
  check(class_of(MPI_Type_free(&type)) == MPI_ERR_TYPE, "predefined types cannot be freed");
  type = MPI_DATATYPE_NULL;
  check(class_of(MPI_Type_commit(&type)) == MPI_ERR_TYPE, "the null type cannot be committed");
  check(class_of(MPI_Type_contiguous(-1, MPI_INT, &type)) == MPI_ERR_COUNT, "negative count");
  check(class_of(MPI_Type_vector(1, -1, 1, MPI_INT, &type)) == MPI_ERR_COUNT, "negative block length");
  check(class_of(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type)) == MPI_ERR_TYPE, "null element type");
  check(class_of(MPI_Type_get_contents(MPI_INT, 0, 0, 0, n, &address, &type)) == MPI_ERR_TYPE, "no contents");
  const int sizes[] = {4}, parts[] = {3}, starts[] = {2};
  check(class_of(MPI_Type_create_subarray(1, sizes, parts, starts, 0, MPI_INT, &type)) == MPI_ERR_ARG, "no such order");
  check(class_of(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &type)) == MPI_ERR_ARG, "no real of three bytes");
  MPI_Type_contiguous(2, MPI_INT, &type);
  check(class_of(MPI_Pack(n, 1, type, n, 8, &position, MPI_COMM_WORLD)) == MPI_ERR_TYPE, "not committed");
  MPI_Type_free(&type);
  MPI_Type_contiguous_c(2, MPI_INT, &type);
  check(MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &combiner) != MPI_SUCCESS, "large counts need the _c form");
  MPI_Type_free(&type);
#ifdef RMQ  // what MPICH does not check
  check(class_of(MPI_Type_create_subarray(1, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type)) == MPI_ERR_ARG,
        "a part beyond the array");
  check(class_of(MPI_Type_contiguous_c(1L << 62, MPI_INT, &type)) == MPI_ERR_ARG, "a type beyond 64 bits");
  MPI_Type_contiguous(1 << 30, MPI_INT, &type);
  MPI_Type_size(type, &out);
  check(out == MPI_UNDEFINED, "a size that int cannot hold");
  MPI_Type_free(&type);
#else
  static_cast<void>(out);
#endif
}

void padding() {
  const struct {
    MPI_Datatype second;
    MPI_Aint at, extent;
  } cases[] = {{MPI_CHAR, 4, 8}, {MPI_SHORT, 4, 8}, {MPI_INT, 4, 8}, {MPI_DOUBLE, 8, 16}, {MPI_LONG_DOUBLE, 16, 32}};
  for (const auto& c : cases) {  // struct { int; second; }, and the other way round
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {0, c.at};
    const MPI_Datatype types[] = {MPI_INT, c.second};
    MPI_Datatype type;
    MPI_Aint lb, extent;
    MPI_Type_create_struct(2, lengths, places, types, &type);
    MPI_Type_get_extent(type, &lb, &extent);
    check(lb == 0 && extent == c.extent, "padding of a struct");
    MPI_Type_free(&type);
  }
}

}  // namespace

int main() {
  MPI_Init(nullptr, nullptr);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  parts_outlive_their_handles();
  deep_nests();
  names();
  attributes();
  wrong_use();
  padding();
  MPI_Finalize();
  return errors != 0;
}
