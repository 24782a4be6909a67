// What the device does for the floors above it that have packets of their own: it hands their packets up, and sends
// theirs, in order for each peer.
//
// Such packets spend no credit: whatever arrives is executed at once, or bounded by its own protocol.
#include "adi/device.hpp"
#include "adi/dispatch.hpp"

namespace rmq::adi {

void Device::register_extension(Kind first, Kind last, Extension& extension) {
  for (auto kind = static_cast<std::size_t>(first); kind <= static_cast<std::size_t>(last); ++kind) {
    sink_.on_packet[kind] = &Device::on_extension;
    extension_of_[kind] = &extension;
  }
  extensions_.push_back(&extension);
}

void Device::unregister_extension(Extension& extension) {
  for (std::size_t kind = 0; kind < extension_of_.size(); ++kind) {
    if (extension_of_[kind] != &extension) continue;
    sink_.on_packet[kind] = &Device::on_unknown;
    extension_of_[kind] = nullptr;
  }
  std::erase(extensions_, &extension);
  if (extensions_.empty()) wants_turns_ = false;  // else another one may still want them
}

void Device::on_extension(void* device, Rank from, const Packet& p, const std::byte* payload) {
  auto& d = *static_cast<Device*>(device);
  if (d.received(from, p).dropped) [[unlikely]]
    return;
  d.extension_of_[static_cast<std::size_t>(p.kind)]->on_packet(from, p, payload);
}

int Device::advance_extensions() {
  int n = 0;
  for (Extension* e : extensions_) n += e->advance();
  return n;
}

void Device::sent(Request* owner, Errc error) {
  if (error != Errc::ok) owner->status.error = error;
  finish(owner);
}

void Device::gather(Rank to, bool on) {
  Channel& c = channels_[to];
  if (c.method) with_method(*c.method, c.id, [&](auto& m) { m.gather(to, on); });
}

void Device::wake(Rank rank) {
  Channel& c = channels_[rank];
  if (!c.method) {
    if (rank == rank_) gate_.rouse();  // another thread of ours
    return;
  }
  if (with_method(*c.method, c.id, [&](auto& m) { return m.wake(rank); })) return;
  if (rank < size() && job().host_of_rank.same(rank, rank_)) doorbell_->ring(rank);
}

bool Device::is_gone(Rank rank) {
  const Channel& c = channels_[rank];
  return c.lost || (c.method && c.method->gone(rank));
}

std::uint64_t Device::mem_token(const void* memory, std::uint64_t bytes) const {
  for (const auto& m : methods_) {
    if (const std::uint64_t token = m->mem_token(memory, bytes)) return token;
  }
  return 0;
}

std::byte* Device::mem_map(Rank owner, std::uint64_t token, std::uint64_t bytes) {
  if (Relay::party_of(token) != 0) {  // memory that the owner has for a party, of which it need not be a new member
    for (const auto& party : parties_) {
      for (const Relay* relay : party->relays())
        if (std::byte* const at = relay->mem_map(owner, token, bytes)) return at;
    }
    return nullptr;
  }
  const Channel& c = channels_[owner];
  return c.method && token ? c.method->mem_map(owner, token, bytes) : nullptr;
}

// The address of that memory for a get or put, or 0 when packets are the better way, or the only one.
std::uint64_t Device::reach(Rank rank, std::uint64_t at, std::uint64_t bytes) {
  const Channel& c = channels_[rank];
  const std::uint64_t address = c.method && !c.lost ? c.method->reach(rank, at) : 0;
  if (address == 0 || crowded()) return address;  // who waits in a crowd waits without a core
  return c.method->how_to_pull(rank, address, bytes, false) != methods::Pull::ask ? address : 0;
}

bool Device::put_at_once(Rank to, std::uint64_t at, const DataView& here) {
  const std::uint64_t address = reach(to, at, here.bytes);
  return address != 0 && channels_[to].method->put(to, address, here, here.bytes, nullptr) == Outcome::done;
}

bool Device::get_at_once(Rank from, std::uint64_t at, const DataView& here) {
  const std::uint64_t address = reach(from, at, here.bytes);
  return address != 0 && channels_[from].method->get(from, address, here, here.bytes, nullptr) == Outcome::done;
}

}  // namespace rmq::adi
