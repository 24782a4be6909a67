// SPDX-License-Identifier: BSD-3-Clause
// This rank's memory of a window, and the way to that of the others: who is reached by loads and stores, who by packets
// (WindowCore::reach). Window makes it and asks it; the parts see only what it has set in the core.
//
// take() makes memory and control, each lying where others of the host can map it if it can; brought() tells of them,
// and open() maps what others of the host have told. Freed with this object, after everybody's last access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "rma/core/fault.hpp"
#include "rma/core/window_core.hpp"
#include "rma/window/host_memory.hpp"

namespace rmq::rma {

/// What shared_query tells.
struct SharedMemory {
  void* base = nullptr;    // in this process
  std::uint64_t size = 0;  // bytes
  std::uint64_t disp_unit = 1;
};

class WindowMemory {
 public:
  explicit WindowMemory(WindowCore& core) : core_(core) {}
  ~WindowMemory();
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;

  void take();
  Brought brought() const;
  Result<void> open(const Told& told);
  /// Window::all_have_opened.
  void all_have_opened();
  /// Whether members reach my memory by packets; after open().
  bool is_served() const;
  /// Window::shared_query.
  Fault query(int rank, SharedMemory& memory) const;

 private:
  bool is_shared(const void* memory, std::uint64_t bytes) const;
  void take_host_memory();
  void take_heap_memory();
  void allocate();
  bool can_share() const;
  void reach_mine();
  void set_reach(int place, std::span<const std::uint64_t> words);
  int elsewhere() const;
  void place_shared();

  WindowCore& core_;
  Fault trouble_ = Fault::none;   // of take()
  void* allocated_ = nullptr;     // window memory to be freed
  HostMemory own_;                // window memory that the heap has no room for
  std::vector<HostMemory> host_;  // of others, by place on the host: all of a shared window's; else such as own_
};

}  // namespace rmq::rma
