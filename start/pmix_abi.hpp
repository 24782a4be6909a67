// SPDX-License-Identifier: BSD-3-Clause
// The types of the PMIx Standard (versions 3 and 4) that start/pmix_client.cpp hands to libpmix.so.2.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rmq::pmi::pmix {

inline constexpr std::uint32_t rank_wildcard = UINT32_MAX - 1;
inline constexpr std::uint16_t type_string = 3, type_uint32 = 14;
inline constexpr std::uint8_t scope_global = 3;
inline constexpr int error_not_found = -46;

struct Proc {
  char space[256];  // name of the job
  std::uint32_t rank;
};

struct Value {
  std::uint16_t type;
  union {
    char* string;
    std::uint32_t uint32;
    struct {
      void *first, *second;
      char third;
    } largest;
  } data;
};

struct Info;  // none is ever passed

}  // namespace rmq::pmi::pmix
