// SPDX-License-Identifier: BSD-3-Clause
#include "engine/comm/group_agreement.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "engine/comm/meeting_place.hpp"
#include "engine/comm/together.hpp"
#include "engine/ft/faults.hpp"
#include "engine/object/deaths.hpp"

namespace rmq::mpi::ft {
namespace {

std::string text_of(std::uint32_t context, int tag) {
  return fmt::format("group {} {}\n", context, tag);
}

}  // namespace

Contexts agree_in_group(Comm& c, const Group& group, int tag) {
  Circle& whole = circle_of(c);
  MeetingPlace place(text_of(whole.context(), tag), group.world);
  bool told = false;
  return agree_on_contexts(place.comm(), [&] {
    if (!c.revoked || std::exchange(told, true)) return;
    GroupAgreement agreement{{}, tag, place.visit()};
    for (const Rank r : group.world) agreement.places.push_back(whole.members().place_of(r));
    whole.tell(agreement);
  });
}

bool refuse_in_group(const Circle& circle, const GroupAgreement& agreement) {
  std::vector<Rank> members;
  for (const int place : agreement.places) members.push_back(circle.members()[place]);
  const Ranks ranks(std::move(members));
  const std::string text = text_of(circle.context(), agreement.tag);
  const std::uint32_t visits = MeetingPlace::visits(text, ranks);
  if (agreement.visit <= visits) return true;  // it has come, or has refused already
  if (agreement.visit > visits + 1) return false;
  MeetingPlace place(text, ranks);
  makings_of(place.comm());
  runtime().faults->refuse_once(std::exchange(place.comm().circle, nullptr));
  return true;
}

}  // namespace rmq::mpi::ft
