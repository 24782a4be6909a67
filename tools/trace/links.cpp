#include "tools/trace/links.hpp"

#include <algorithm>
#include <cstring>

namespace rmq::trace {

bool Link::same(const Packet& a, const Packet& b) {
  return a.kind == b.kind && a.msg == b.msg && a.length == b.length && a.tag == b.tag && a.context == b.context &&
         std::memcmp(a.body, b.body, body_bytes(a.kind)) == 0;
}

bool Link::arrive(const Packet& p, Departure& out) {
  const auto far = open_.begin() + static_cast<std::ptrdiff_t>(std::min(kFar, open_.size()));
  const auto at = std::find_if(open_.begin(), far, [&](const Departure& d) { return same(d.packet, p); });
  if (at == far) return false;
  out = *at;
  at == open_.begin() ? open_.pop_front() : static_cast<void>(open_.erase(at));
  return true;
}

}  // namespace rmq::trace
