// SPDX-License-Identifier: BSD-3-Clause
// Chapter 15.3.6: control variables. They are the variables of base/config.def, which the device reads when it is
// opened: until then they can be written, afterwards never again.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/config.hpp"
#include "engine/life/settings.hpp"
#include "mpi/define.hpp"
#include "mpi/tool/tool.hpp"

struct MPIR_T_cvar_handle_s {
  int index;
};

namespace rmq::mpi::tool {
namespace {

using Member = std::variant<std::uint64_t Config::*, bool Config::*, std::string Config::*>;

constexpr Member kMembers[] = {
#define RMQ_CONFIG(type, member, name, value, unit, meaning) &Config::member,
#include "base/config.def"
#undef RMQ_CONFIG
};

constexpr int kTextRoom = 1024;  // of a text, its final zero included

/// All ranks have to set these to the same value, because they take each other's for their own.
constexpr std::string_view kAlike[] = {"RMQ_METHODS",     "RMQ_UNEXPECTED_MAX", "RMQ_COLL",    "RMQ_PSETS",
                                       "RMQ_SHM_SEGMENT", "RMQ_SHM_CELLS",      "RMQ_SHM_RING"};

std::vector<std::unique_ptr<MPIR_T_cvar_handle_s>>& handles() {
  static auto* const all = new std::vector<std::unique_ptr<MPIR_T_cvar_handle_s>>;
  return *all;
}

bool is_open() {
  return runtime().device != nullptr;
}

MPIR_T_cvar_handle_s& handle_arg(MPI_T_cvar_handle handle) {
  for (const auto& h : handles()) {
    if (h.get() == handle) return *h;
  }
  refuse(MPI_T_ERR_INVALID_HANDLE);
}

/// Of the device; before there is one, what it would be.
Config current() {
  if (is_open()) return runtime().device->config();
  auto config = Config::from(setting);
  if (!config) refuse(MPI_T_ERR_INVALID);  // the environment has a value that MPI_Init will complain about
  return std::move(*config);
}

struct Shape {
  MPI_Datatype type;
  MPI_T_enum items;
  int count;
};
Shape shape(const Member& m) {
  if (std::holds_alternative<bool Config::*>(m)) return {MPI_INT, flag_enum(), 1};
  if (std::holds_alternative<std::string Config::*>(m)) return {MPI_CHAR, MPI_T_ENUM_NULL, kTextRoom};
  return {MPI_UNSIGNED_LONG_LONG, MPI_T_ENUM_NULL, 1};
}

int scope(std::string_view name) {
  if (is_open()) return MPI_T_SCOPE_READONLY;
  return std::find(std::begin(kAlike), std::end(kAlike), name) != std::end(kAlike) ? MPI_T_SCOPE_ALL_EQ
                                                                                   : MPI_T_SCOPE_LOCAL;
}

void read(const Member& member, void* to) {
  const Config config = current();
  std::visit(
      [&](auto m) {
        const auto& value = config.*m;
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          const std::size_t n = std::min<std::size_t>(value.size(), kTextRoom - 1);
          std::memcpy(to, value.data(), n);
          static_cast<char*>(to)[n] = '\0';
        } else if constexpr (std::is_same_v<Value, bool>) {
          *static_cast<int*>(to) = value;
        } else {
          const unsigned long long number = value;
          std::memcpy(to, &number, sizeof number);
        }
      },
      member);
}

std::string text_of(const Member& member, const void* from) {
  if (std::holds_alternative<bool Config::*>(member)) {
    const int value = *static_cast<const int*>(from);
    if (value != 0 && value != 1) refuse(MPI_T_ERR_INVALID);
    return value ? "1" : "0";
  }
  if (std::holds_alternative<std::string Config::*>(member)) {
    const auto* const text = static_cast<const char*>(from);
    return {text, ::strnlen(text, kTextRoom - 1)};
  }
  unsigned long long number;
  std::memcpy(&number, from, sizeof number);
  return std::to_string(number);
}

}  // namespace

void end_cvar_handles() {
  handles().clear();
}

RMQ_MPI(int, T_cvar_get_num, (int* num_cvar)) {
  return enter([&] {
    *needed(num_cvar) = static_cast<int>(config_variables().size());
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_cvar_get_info,
        (int cvar_index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatype, MPI_T_enum* enumtype,
         char* desc, int* desc_len, int* bind, int* scope_out)) {
  return enter([&] {
    const ConfigVariable& v = at(config_variables(), cvar_index);
    const Shape s = shape(kMembers[cvar_index]);
    put_text(name, name_len, v.name);
    put_text(desc, desc_len, std::string(v.meaning) + " (" + std::string(v.unit) + ")");
    put(verbosity, MPI_T_VERBOSITY_USER_BASIC);
    put(datatype, s.type);
    put(enumtype, s.items);
    put(bind, MPI_T_BIND_NO_OBJECT);
    put(scope_out, scope(v.name));
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_cvar_get_index, (const char* name, int* cvar_index)) {
  return enter([&] {
    *needed(cvar_index) = index_of(config_variables(), name, [](const auto&) { return true; });
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_cvar_handle_alloc, (int cvar_index, void*, MPI_T_cvar_handle* handle, int* count)) {
  return enter([&] {
    at(config_variables(), cvar_index), needed(handle);
    handles().push_back(std::make_unique<MPIR_T_cvar_handle_s>(MPIR_T_cvar_handle_s{cvar_index}));
    *handle = handles().back().get();
    put(count, shape(kMembers[cvar_index]).count);
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_cvar_handle_free, (MPI_T_cvar_handle * handle)) {
  return enter([&] {
    const auto* const gone = &handle_arg(*needed(handle));
    std::erase_if(handles(), [&](const auto& h) { return h.get() == gone; });
    *handle = MPI_T_CVAR_HANDLE_NULL;
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_cvar_read, (MPI_T_cvar_handle handle, void* buf)) {
  return enter([&] {
    read(kMembers[handle_arg(handle).index], needed(buf));
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_cvar_write, (MPI_T_cvar_handle handle, const void* buf)) {
  return enter([&]() -> int {
    const int index = handle_arg(handle).index;
    needed(buf);
    if (is_open()) return MPI_T_ERR_CVAR_SET_NOT_NOW;
    set_variable(at(config_variables(), index).name, text_of(kMembers[index], buf));
    return MPI_SUCCESS;
  });
}

}  // namespace rmq::mpi::tool
