// SPDX-License-Identifier: BSD-3-Clause
// Memory of a shared window, or of a symmetric heap: a nameless file that the other ranks of the host map too, whatever
// methods the job uses and however large the window is.
//
// The others open it through /proc of the process that made it, as shm's segment; it is gone with the last mapping.
// Pages are reserved when it is made, or handed out, so that a full system is an error there and no SIGBUS later; and
// only while the system has room (base/os/room.hpp), so that what is asked for ends no process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "rma/core/fault.hpp"

namespace rmq::rma {

class HostMemory {
 public:
  HostMemory() = default;
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;
  ~HostMemory();

  /// `bytes` zero bytes, aligned to pages; or Fault::no_memory, Fault::descriptors.
  static Fault make(std::uint64_t bytes, HostMemory& made);
  /// The same without reserving pages, which reserve() does; at the address `at`, if that is not null, or without
  /// memory where that is taken.
  static HostMemory make_sparse(std::uint64_t bytes, void* at);
  /// False when the system has no pages left for that range, which may have got some of them. Of who made it.
  bool reserve(std::uint64_t from, std::uint64_t bytes) const;
  /// What another process made, by its ticket. Without memory when it cannot be had.
  static HostMemory map(std::uint64_t ticket, std::uint64_t bytes);

  /// The first bytes from `from` on that have pages: begin and end, both bytes() where none follow. Of who made it.
  std::pair<std::uint64_t, std::uint64_t> pages_from(std::uint64_t from) const;

  /// Maps it at `at` as well, over what is there; false when the system refuses. data() stays where it is.
  bool map_over(void* at) const;

  explicit operator bool() const { return data_ != nullptr; }
  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  /// Names it to the other processes of the host, as long as this object lives; never 0.
  std::uint64_t ticket() const;
  /// Nobody maps it any more who has not: its descriptor is free. No ticket() and reserve() after that.
  void let_go();

 private:
  bool attach(int fd, std::uint64_t bytes, void* at = nullptr);

  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  int fd_ = -1;  // of who made it
};

}  // namespace rmq::rma
