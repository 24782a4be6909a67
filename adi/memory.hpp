// SPDX-License-Identifier: BSD-3-Clause
// Memory that ranks of one host reach directly: where it comes from, how others find it, and copies to and from it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "adi/jobs.hpp"

namespace rmq::adi {

class Memory : public Jobs {
 public:
  /// Memory that ranks of this host reach directly where shared memory serves, else ordinary memory; nullptr: none
  /// left.
  void* MPID_Mem_alloc(std::size_t bytes);
  /// The same for these, who may be of other jobs: those of this host reach it directly where they can.
  void* MPID_Mem_alloc(std::size_t bytes, const Ranks& sharers);
  void MPID_Mem_free(void* memory);
  /// Prepares memory for repeated transfers. Nothing to do for today's methods.
  void MPID_Mem_register(const void* memory, std::size_t bytes) { static_cast<void>(memory), static_cast<void>(bytes); }
  /// Copies bytes [offset, offset + bytes) of a typed buffer, packed order; may begin and end inside an element.
  static void MPID_Pack_datatype(std::byte* to, const DataView& from, std::uint64_t offset, std::uint64_t bytes) {
    pack(to, from, offset, bytes);
  }
  static void MPID_Unpack_datatype(const DataView& to, std::uint64_t offset, const std::byte* from,
                                   std::uint64_t bytes) {
    unpack(to, offset, from, bytes);
  }

  /// What lets the other ranks of this host find memory from MPID_Mem_alloc; 0 when they cannot.
  std::uint64_t mem_token(const void* memory, std::uint64_t bytes) const;
  /// The same; 0 also when one of these who are on this host cannot.
  std::uint64_t mem_token(const void* memory, std::uint64_t bytes, const Ranks& sharers) const;
  /// Memory that `owner`, another rank, has a token for, as it lies here; nullptr when it cannot be reached.
  std::byte* mem_map(Rank owner, std::uint64_t token, std::uint64_t bytes);

  /// Copies between `here` and one piece of memory at `at` in another rank's process, at once, without its help. False:
  /// that is not possible, or packets promise to be faster; part of it may have been copied.
  bool put_at_once(Rank to, std::uint64_t at, const DataView& here);
  bool get_at_once(Rank from, std::uint64_t at, const DataView& here);

 protected:
  using Jobs::Jobs;

 private:
  std::uint64_t reach(Rank rank, std::uint64_t at, std::uint64_t bytes);
};

}  // namespace rmq::adi
