// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/links.hpp"

#include <cstring>

namespace rmq::trace {

bool Link::same(const Packet& a, const Packet& b) {
  return a.kind == b.kind && a.msg == b.msg && a.length == b.length && a.tag == b.tag && a.context == b.context &&
         std::memcmp(a.body, b.body, body_bytes(a.kind)) == 0;
}

bool Link::arrive(const Packet& p, Departure& out) {
  std::size_t looked_at = 0;
  for (auto at = open_.begin(); at != open_.end() && looked_at < kFar; ++at, ++looked_at) {
    if (!same(at->packet, p)) continue;
    out = *at;
    open_.erase(at);
    return true;
  }
  return false;
}

}  // namespace rmq::trace
