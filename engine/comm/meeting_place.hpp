// SPDX-License-Identifier: BSD-3-Clause
// Where processes that have a text and a list of processes in common can talk, apart from all others and without having
// agreed on anything: context and tag are a hash of both (FNV-1a, 64 bits, of which 58 are used), which takes processes
// as all jobs name them. Needs the device held.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/comm/comms.hpp"

namespace rmq::mpi {

class MeetingPlace {
 public:
  /// All members come here as often, with the same text. Where ranks may die each time is a place of its own: who comes
  /// late to one finds nobody that is in the next already.
  MeetingPlace(std::string_view text, const Ranks& members);
  ~MeetingPlace();
  MeetingPlace(const MeetingPlace&) = delete;
  MeetingPlace& operator=(const MeetingPlace&) = delete;

  /// How often this process has come to a place of this text and these members. Counted only where ranks may die.
  static std::uint32_t visits(std::string_view text, const Ranks& members);

  Comm& comm() { return comm_; }  // of the members, in their order; no user has it
  int tag() const { return tag_; }
  /// visits(), with this one.
  std::uint32_t visit() const { return visit_; }
  Party party() { return {comm_, {}, comm_.rank, tag_}; }

 private:
  Comm comm_;
  int tag_;
  std::uint32_t visit_ = 0;
};

}  // namespace rmq::mpi
