// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/debug.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

// Names, types and values that the MPIR interface fixes.
extern "C" {
struct MPIR_PROCDESC {
  char* host_name;
  char* executable_name;
  int pid;
};
enum { MPIR_NULL = 0, MPIR_DEBUG_SPAWNED = 1 };

MPIR_PROCDESC* MPIR_proctable = nullptr;
int MPIR_proctable_size = 0;
volatile int MPIR_being_debugged = 0;  // set by the debugger
volatile int MPIR_debug_state = MPIR_NULL;
[[gnu::used]] int MPIR_i_am_starter = 1;  // there: this process is no rank
[[gnu::used]] int MPIR_partial_attach_ok = 1;

[[gnu::noinline, gnu::used]] void MPIR_Breakpoint() {
  asm volatile("");  // so that the call stays
}
}

namespace rmq::launch {
namespace {

// Each line is three strings that end with a zero byte.
std::vector<MPIR_PROCDESC> parse(std::string& all) {
  std::vector<MPIR_PROCDESC> table;
  char* at = all.data();
  char* const end = at + all.size();
  const auto next = [&] {
    char* const here = at;
    at += std::strlen(at) + 1;
    return here;
  };
  while (at < end) {
    const int pid = std::atoi(next());
    char* const host = next();
    table.push_back({host, next(), pid});
  }
  return table;
}

}  // namespace

std::string debug_entry(int pid, std::string_view host, std::string_view program) {
  std::string line = std::to_string(pid);
  for (const std::string_view part : {host, program}) (line += '\0') += part;
  return line += '\0';
}

void publish_ranks(std::string lines) {
  static std::string all;  // the table points into it
  static std::vector<MPIR_PROCDESC> table;
  all = std::move(lines);
  if (all.empty() || all.back() != '\0') return;  // the keeper has not come so far: it says why
  table = parse(all);
  MPIR_proctable = table.data();
  MPIR_proctable_size = static_cast<int>(table.size());
  MPIR_debug_state = MPIR_DEBUG_SPAWNED;
  MPIR_Breakpoint();
}

bool is_debugged() {
  return MPIR_being_debugged != 0;
}

}  // namespace rmq::launch
