// SPDX-License-Identifier: BSD-3-Clause
#include "adi/extensions.hpp"

#include <algorithm>

namespace rmq::adi {

Extensions::Extensions(DeviceOptions& options, Bootstrap& bootstrap) : Memory(options, bootstrap) {
  sink_.on_arriving = &on_arriving;
  sink_.on_landed = &on_landed;
}

void Extensions::register_extension(Kind first, Kind last, Extension& extension) {
  for (auto kind = static_cast<std::size_t>(first); kind <= static_cast<std::size_t>(last); ++kind) {
    sink_.on_packet[kind] = &on_extension;
    extension_of_[kind] = &extension;
  }
  if (std::ranges::find(extensions_, &extension) == extensions_.end()) extensions_.push_back(&extension);
}

void Extensions::unregister_extension(Extension& extension) {
  for (std::size_t kind = 0; kind < extension_of_.size(); ++kind) {
    if (extension_of_[kind] != &extension) continue;
    sink_.on_packet[kind] = &on_unknown;
    extension_of_[kind] = nullptr;
  }
  std::erase(extensions_, &extension);
  if (extensions_.empty()) wants_turns_ = false;  // else another one may still want them
}

void Extensions::on_extension(void* device, Rank from, const Packet& p, const std::byte* payload) {
  auto& d = part<Extensions>(device);
  if (d.received(from, p).dropped) [[unlikely]]
    return;
  d.extension_of(p.kind)->on_packet(from, p, payload);
}

int Extensions::advance_all() {
  int n = 0;
  for (Extension* e : extensions_) n += e->advance();
  return n;
}

methods::Landing Extensions::on_arriving(void* device, Rank from, const Packet& p) {
  auto& d = part<Extensions>(device);
  switch (p.kind) {
    case Kind::SHORT:
    case Kind::SHORT_SYNC:
      return d.short_arriving(from, p);
    case Kind::RNDV_DATA:
      return d.data_arriving(from, p);
    default:
      if (Extension* e = d.extension_of(p.kind))
        return d.received(from, p).dropped ? methods::Landing{} : e->on_arriving(from, p);
      on_unknown(device, from, p, nullptr);
      return {};
  }
}

void Extensions::on_landed(void* device, Rank from, const Packet& p, const methods::Landing& landing, Errc error) {
  auto& d = part<Extensions>(device);
  if (Extension* e = d.extension_of(p.kind)) return e->on_landed(from, p, landing, error);
  if (!landing.owner) return;  // dropped
  if (p.kind == Kind::RNDV_DATA) return d.data_landed(landing.owner, p, error);
  d.short_landed(landing.owner, from, error);
}

}  // namespace rmq::adi
