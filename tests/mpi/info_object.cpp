// SPDX-License-Identifier: BSD-3-Clause
// ranks: 1
// Info objects: setting, finding, limits, wrong use; before MPI_Init and after MPI_Finalize as well.
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

std::string value_of(MPI_Info info, const char* key) {
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int flag = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
  return flag ? value : "(none)";
}

void set_and_find() {
  MPI_Info info, copy;
  int n = -1, flag = -1, length = -1;
  char key[MPI_MAX_INFO_KEY + 1];
  MPI_Info_create(&info);
  MPI_Info_get_nkeys(info, &n);
  check(n == 0, "a new object is empty");
  MPI_Info_set(info, "one", "1");
  MPI_Info_set(info, "two", "2");
  MPI_Info_set(info, "three", "3");
  MPI_Info_set(info, "two", "zwei");
  MPI_Info_get_nkeys(info, &n);
  check(n == 3 && value_of(info, "two") == "zwei", "setting again replaces");
  MPI_Info_get_nthkey(info, 1, key);
  check(std::strcmp(key, "two") == 0, "in the order of setting");
  MPI_Info_get_valuelen(info, "two", &length, &flag);
  check(flag == 1 && length == 4, "length of a value");
  length = 77;
  MPI_Info_get_valuelen(info, "four", &length, &flag);
  check(flag == 0 && length == 77, "length of none");
  MPI_Info_dup(info, &copy);
  MPI_Info_delete(info, "one");
  check(value_of(info, "one") == "(none)" && value_of(copy, "one") == "1", "a copy is its own");
  MPI_Info_free(&copy);
  check(copy == MPI_INFO_NULL, "freed");
  MPI_Info_free(&info);
}

void strings() {
  MPI_Info info;
  char value[8] = "xxxxxxx";
  int flag = -1, length = 4;
  MPI_Info_create(&info);
  MPI_Info_set(info, "word", "letters");
  MPI_Info_get_string(info, "word", &length, value, &flag);
  check(flag == 1 && length == 8 && std::strcmp(value, "let") == 0, "a value that is cut");
  length = 0;
  std::strcpy(value, "same");
  MPI_Info_get_string(info, "word", &length, value, &flag);
  check(flag == 1 && length == 8 && std::strcmp(value, "same") == 0, "the length alone");
  MPI_Info_get_string(info, "word", &length, value, &flag);
  check(flag == 1 && std::strcmp(value, "letters") == 0, "the whole value");
  length = 5;
  MPI_Info_get_string(info, "none", &length, value, &flag);
  check(flag == 0 && length == 5, "no such key");
  MPI_Info_free(&info);
}

void wrong_use() {
  MPI_Info info;
  int n;
  char key[MPI_MAX_INFO_KEY + 1];
  MPI_Info_create(&info);
  const std::string long_key(MPI_MAX_INFO_KEY + 1, 'k'), long_value(MPI_MAX_INFO_VAL + 1, 'v');
  check(class_of(MPI_Info_set(info, long_key.c_str(), "v")) == MPI_ERR_INFO_KEY, "long key");
  check(class_of(MPI_Info_set(info, "", "v")) == MPI_ERR_INFO_KEY, "empty key");
  check(class_of(MPI_Info_set(info, nullptr, "v")) == MPI_ERR_INFO_KEY, "null key");
  check(class_of(MPI_Info_set(info, "k", long_value.c_str())) == MPI_ERR_INFO_VALUE, "long value");
  check(MPI_Info_set(info, long_key.c_str() + 1, long_value.c_str() + 1) == MPI_SUCCESS, "longest key and value");
  check(class_of(MPI_Info_delete(info, "k")) == MPI_ERR_INFO_NOKEY, "deleting what is not there");
  check(class_of(MPI_Info_get_nthkey(info, 1, key)) == MPI_ERR_ARG, "no such index");
#ifdef RMQ  // MPICH says MPI_ERR_ARG
  check(class_of(MPI_Info_get_nkeys(MPI_INFO_NULL, &n)) == MPI_ERR_INFO, "null object");
#else
  check(MPI_Info_get_nkeys(MPI_INFO_NULL, &n) != MPI_SUCCESS, "null object");
#endif
  MPI_Info_free(&info);
}

/// What is not used is not kept.
void of_communicator() {
  MPI_Info info, used;
  MPI_Info_create(&info);
  MPI_Info_set(info, "no_such_hint", "true");
  MPI_Comm c;
  MPI_Comm_dup_with_info(MPI_COMM_SELF, info, &c);
  check(MPI_Comm_set_info(c, info) == MPI_SUCCESS, "hints of a communicator");
  MPI_Comm_get_info(c, &used);
  int flag = 1;
  char value[8];
  MPI_Info_get(used, "no_such_hint", 7, value, &flag);
  check(!flag, "a hint that means nothing is ignored");
  MPI_Info_free(&used);
  MPI_Info_free(&info);
  check(class_of(MPI_Comm_set_info(c, MPI_INFO_NULL)) == MPI_ERR_INFO, "null hints");
  MPI_Comm_free(&c);
}

void environment(int argc, char** argv) {
#ifdef RMQ  // empty in MPICH
  check(value_of(MPI_INFO_ENV, "command").find("info_object") != std::string::npos, "command");
  check(value_of(MPI_INFO_ENV, "maxprocs") == "1", "maxprocs");
  check(value_of(MPI_INFO_ENV, "wdir")[0] == '/', "wdir");
  check(class_of(MPI_Info_set(MPI_INFO_ENV, "k", "v")) == MPI_ERR_INFO, "the environment cannot be changed");
  MPI_Info info;
  MPI_Info_create_env(argc, argv, &info);
  check(value_of(info, "command") == argv[0], "command of a new environment");
  MPI_Info_free(&info);
#else
  static_cast<void>(argc);
  static_cast<void>(argv);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  set_and_find();
  MPI_Init(nullptr, nullptr);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  set_and_find();
  strings();
  wrong_use();
  of_communicator();
  environment(argc, argv);
  MPI_Finalize();
  set_and_find();
  return errors != 0;
}
