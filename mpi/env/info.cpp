// SPDX-License-Identifier: BSD-3-Clause
// Info objects. MPI-4.0 lets programs use them before MPI_Init and after MPI_Finalize, from any thread
// (section 11.4.1).
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/object/environment.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

using Entries = decltype(Info::entries);

std::string key_arg(const char* key) {
  if (!key) detail::null_argument(MPI_ERR_INFO_KEY, "key");
  const std::size_t length = std::strlen(key);
  if (length == 0 || length > MPI_MAX_INFO_KEY) {
    fail_call(MPI_ERR_INFO_KEY, "argument key has " + std::to_string(length) + " characters, must have 1.." +
                                    std::to_string(MPI_MAX_INFO_KEY));
  }
  return key;
}

std::string value_arg(const char* value) {
  if (!value) detail::null_argument(MPI_ERR_INFO_VALUE, "value");
  const std::size_t length = std::strlen(value);
  if (length > MPI_MAX_INFO_VAL) {
    fail_call(MPI_ERR_INFO_VALUE, "argument value has " + std::to_string(length) + " characters, at most " +
                                      std::to_string(MPI_MAX_INFO_VAL) + " are allowed");
  }
  return value;
}

Info& own_info_arg(MPI_Info handle) {
  Info& info = info_arg(handle);
  if (info.handle == MPI_INFO_ENV) fail_call(MPI_ERR_INFO, "argument info is MPI_INFO_ENV, which cannot be changed");
  return info;
}

auto find_key(Info& info, const std::string& key) {
  return std::find_if(info.entries.begin(), info.entries.end(), [&](const auto& entry) { return entry.first == key; });
}

/// The value of a key, and whether it is there in *flag.
const std::string* look_up(MPI_Info handle, const char* key, int* flag) {
  Info& info = info_arg(handle);
  const auto entry = find_key(info, key_arg(key));
  *out(flag, "flag") = entry != info.entries.end();
  return *flag ? &entry->second : nullptr;
}

MPI_Info add_info(Entries entries) {
  auto info = std::make_unique<Info>();
  info->entries = std::move(entries);
  return runtime().infos.add(std::move(info))->handle;
}

}  // namespace

RMQ_MPI(int, Info_create, (MPI_Info * info)) {
  return enter_any_time([&] { *out(info, "info") = add_info({}); });
}

RMQ_MPI(int, Info_create_env, (int argc, char* argv[], MPI_Info* info)) {
  return enter_any_time([&] {
    const std::vector<std::string> arguments(argv, argv + (argv ? std::max(argc, 0) : 0));
    *out(info, "info") = add_info(describe_environment(arguments));
  });
}

RMQ_MPI(int, Info_dup, (MPI_Info info, MPI_Info* newinfo)) {
  return enter_any_time([&] {
    auto entries = info_arg(info).entries;
    *out(newinfo, "newinfo") = add_info(std::move(entries));
  });
}

RMQ_MPI(int, Info_free, (MPI_Info * info)) {
  return enter_any_time([&] {
    runtime().infos.remove(&own_info_arg(*out(info, "info")));
    *info = MPI_INFO_NULL;
  });
}

RMQ_MPI(int, Info_set, (MPI_Info handle, const char* key, const char* value)) {
  return enter_any_time([&] {
    Info& info = own_info_arg(handle);
    std::string new_key = key_arg(key);
    std::string new_value = value_arg(value);
    const auto entry = find_key(info, new_key);
    if (entry != info.entries.end()) {
      entry->second = std::move(new_value);
    } else {
      info.entries.emplace_back(std::move(new_key), std::move(new_value));
    }
  });
}

RMQ_MPI(int, Info_delete, (MPI_Info handle, const char* key)) {
  return enter_any_time([&] {
    Info& info = own_info_arg(handle);
    const auto entry = find_key(info, key_arg(key));
    if (entry == info.entries.end()) fail_call(MPI_ERR_INFO_NOKEY, std::string("there is no key ") + key);
    info.entries.erase(entry);
  });
}

RMQ_MPI(int, Info_get, (MPI_Info info, const char* key, int valuelen, char* value, int* flag)) {
  return enter_any_time([&] {
    if (valuelen < 0) fail_call(MPI_ERR_ARG, "argument valuelen is negative: " + std::to_string(valuelen));
    const std::string* found = look_up(info, key, flag);
    if (!found) return;
    const std::size_t length = std::min(found->size(), static_cast<std::size_t>(valuelen));
    out(value, "value")[found->copy(value, length)] = '\0';  // valuelen does not count the zero
  });
}

RMQ_MPI(int, Info_get_string, (MPI_Info info, const char* key, int* buflen, char* value, int* flag)) {
  return enter_any_time([&] {
    const std::string* found = look_up(info, key, flag);
    if (*out(buflen, "buflen") < 0) fail_call(MPI_ERR_ARG, "argument buflen is negative: " + std::to_string(*buflen));
    if (!found) return;
    if (*buflen > 0) {  // buflen counts the zero
      const std::size_t length = std::min(found->size(), static_cast<std::size_t>(*buflen - 1));
      out(value, "value")[found->copy(value, length)] = '\0';
    }
    *buflen = static_cast<int>(found->size() + 1);
  });
}

RMQ_MPI(int, Info_get_valuelen, (MPI_Info info, const char* key, int* valuelen, int* flag)) {
  return enter_any_time([&] {
    const std::string* found = look_up(info, key, flag);
    if (found) *out(valuelen, "valuelen") = static_cast<int>(found->size());
  });
}

RMQ_MPI(int, Info_get_nkeys, (MPI_Info info, int* nkeys)) {
  return enter_any_time([&] { *out(nkeys, "nkeys") = static_cast<int>(info_arg(info).entries.size()); });
}

RMQ_MPI(int, Info_get_nthkey, (MPI_Info handle, int n, char* key)) {
  return enter_any_time([&] {
    const Info& info = info_arg(handle);
    if (n < 0 || static_cast<std::size_t>(n) >= info.entries.size()) {
      fail_call(MPI_ERR_ARG, "argument n is " + std::to_string(n) + ", the object has " +
                                 std::to_string(info.entries.size()) + " keys");
    }
    const std::string& found = info.entries[static_cast<std::size_t>(n)].first;
    out(key, "key")[found.copy(key, found.size())] = '\0';
  });
}

}  // namespace rmq::mpi
