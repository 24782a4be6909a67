// SPDX-License-Identifier: BSD-3-Clause
// Chapter 12.2.7: info of windows, and what its keys (section 12.2.1) mean to one.
#include "engine/window/windows.hpp"
#include "mpi/define.hpp"

namespace rmq::mpi {
namespace {

/// Keys that describe how the program will use the window are taken over; what a window is made of stays.
void set_info(Win& w, const Info& info) {
  const Info wanted = describe_hints(hints_of(&info), w.window->flavor());
  for (auto& [key, value] : w.hints.entries) {
    const std::string* asked = hint_of(info, key);
    if (!asked || is_structural_hint(key)) continue;
    if (key == "accumulate_ordering") {
      value = *asked;
    } else {
      value = *hint_of(wanted, key);
    }
  }
}

}  // namespace

RMQ_MPI(int, Win_set_info, (MPI_Win win, MPI_Info info)) {
  return enter_win(win, [&](Win& w) { set_info(w, info_arg(info)); });
}

RMQ_MPI(int, Win_get_info, (MPI_Win win, MPI_Info* info_used)) {
  return enter_win(win, [&](Win& w) {
    out(info_used, "info_used");
    auto info = std::make_unique<Info>(w.hints);
    info->entries.emplace_back(kMemoryKindsKey, kMemoryKinds);
    *info_used = runtime().infos.add(std::move(info))->handle;
  });
}

}  // namespace rmq::mpi
