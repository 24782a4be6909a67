// SPDX-License-Identifier: BSD-3-Clause
// Contexts, which tell the messages of communicators apart, and which of them this process does not use. How members
// come to the same one: engine/comm/context.cpp. Needs the device held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rmq::mpi {

inline constexpr std::uint32_t kWorldContext = 0, kSelfContext = 2;

/// What a communicator's collective traffic adds to its contexts, and what announcements and partitions of partitioned
/// messages do. Contexts without it are even.
inline constexpr std::uint32_t kCollective = 1, kAnnouncement = 1u << 30, kPartition = 1u << 31;

/// The contexts of all messages of communicators that have these.
inline std::vector<std::uint32_t> contexts_of(const std::vector<std::uint32_t>& own) {
  std::vector<std::uint32_t> all;
  for (const std::uint32_t one : own)
    for (const std::uint32_t offset : {0u, kCollective, kAnnouncement, kPartition}) all.push_back(one + offset);
  return all;
}

inline constexpr std::size_t kContextWords = 256;  // of 64 contexts each

/// A bit for each context that this process does not use; those of its own are not among them.
std::span<const std::uint64_t, kContextWords> free_contexts();
/// One of those is used from now on.
void take_context(std::uint32_t context);
/// A context for a communicator of this process alone, on which nobody has to agree.
std::uint32_t take_own_context();
/// One of either kind is used no more.
void free_context(std::uint32_t context);

}  // namespace rmq::mpi
