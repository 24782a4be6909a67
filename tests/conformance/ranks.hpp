// SPDX-License-Identifier: BSD-3-Clause
// Ranks as real processes: forked from the test, joined by a bootstrap in memory that they share. For what one process
// cannot show: sleeping and waking, sudden death, memory that is not the same.
#pragma once

#include <functional>
#include <vector>

#include "adi/device.hpp"
#include "conformance/world.hpp"

namespace rmq::testing {

/// What a rank did: 0 is success; a failed EXPECT in it makes it 1, an uncaught signal its negative number.
struct RankExits {
  std::vector<int> code;
  bool all_well() const;
};

/// Forks `n` ranks; each opens its device by `setup`, runs `body` and finalizes, unless body does not return. Returns
/// when all have ended. The setup must not be in-process. No threads may run in the caller.
RankExits run_ranks(int n, const Setup& setup, const std::function<void(adi::Device&)>& body);

/// Blocking shorthands for use inside a rank; context 1, world ranks.
Errc send(adi::Device& device, int to, int tag, const Buffer& data);
Errc receive(adi::Device& device, int from, int tag, Buffer& into);

}  // namespace rmq::testing
