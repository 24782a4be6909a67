// SPDX-License-Identifier: BSD-3-Clause
#include "rma/core/datatypes.hpp"

#include <algorithm>

namespace rmq::rma {

TypeOut* TypesOut::use(const Layout& layout) {
  const auto known = by_layout_.find(&layout);
  TypeOut* type = known != by_layout_.end() ? known->second : nullptr;
  if (!type) {
    if (by_id_.size() >= kMost) make_room();
    auto fresh = std::make_unique<TypeOut>();
    type = fresh.get();
    layout.retain();
    type->layout = LayoutRef(&layout);
    type->id = next_;
    type->bytes = layout.serialise().size();
    type->told.resize(static_cast<std::size_t>(device_.known()));
    next_ = next_ == UINT32_MAX ? 1 : next_ + 1;
    by_id_[type->id] = std::move(fresh);
    by_layout_[&layout] = type;
  }
  ++type->users;
  return type;
}

void TypesOut::release(TypeOut* type) {
  if (--type->users == 0 && type->doomed) drop(type);
}

void TypesOut::tell(Rank to, TypeOut& type) {
  const auto place = static_cast<std::size_t>(to);
  if (place < type.told.size() && type.told[place]) {
    counters_.type_bytes_saved += type.bytes;
    return;
  }
  define(to, type);
}

void TypesOut::define(Rank to, TypeOut& type) {
  const std::vector<std::byte> bytes = type.layout->serialise();
  // Processes of other jobs may have come since.
  if (const auto place = static_cast<std::size_t>(to); place >= type.told.size())
    type.told.resize(static_cast<std::size_t>(device_.known()));
  type.told[static_cast<std::size_t>(to)] = true;
  ++counters_.type_definitions;
  device_.trace().event(Event::type_told, 0, to, type.id, type.bytes);
  const std::uint64_t most = device_.fragment_max(to);
  for (std::uint64_t at = 0; at < bytes.size(); at += most) {
    const std::uint64_t piece = std::min<std::uint64_t>(most, bytes.size() - at);
    Packet p(Kind::DATATYPE_DEFN);
    p.datatype_defn = {type.id, static_cast<std::uint32_t>(bytes.size()), static_cast<std::uint32_t>(at)};
    device_.send_packet(to, p, Payload{DataView::contiguous(bytes.data(), bytes.size()), at, piece}, nullptr);
  }
}

void TypesOut::tell_again(Rank from, std::uint32_t id) {
  if (const auto found = by_id_.find(id); found != by_id_.end()) define(from, *found->second);
}

void TypesOut::forget(const Layout* layout) {
  const auto found = by_layout_.find(layout);
  if (found == by_layout_.end()) return;
  TypeOut* type = found->second;
  by_layout_.erase(found);
  type->doomed = true;
  if (type->users == 0) drop(type);
}

void TypesOut::drop(TypeOut* type) {
  for (std::size_t rank = 0; rank < type->told.size(); ++rank) {
    if (!type->told[rank] || !device_.is_here(static_cast<Rank>(rank))) continue;
    Packet p(Kind::DATATYPE_DEFN);
    p.datatype_defn = {type->id, 0, 0};
    device_.send_packet(static_cast<Rank>(rank), p, Payload{}, nullptr);
  }
  by_id_.erase(type->id);
}

void TypesOut::make_room() {
  std::vector<const Layout*> idle;
  for (const auto& [layout, type] : by_layout_) {
    if (type->users == 0) idle.push_back(layout);
  }
  for (const Layout* layout : idle) forget(layout);
}

const Layout* TypesIn::find(Rank from, std::uint32_t id) {
  const auto found = index_.find(key(from, id));
  if (found == index_.end()) {
    ++counters_.type_misses;
    note(Event::type_miss, key(from, id), 0);
    return nullptr;
  }
  ++counters_.type_hits;
  note(Event::type_hit, key(from, id), 0);
  Entries& entries = shares_[from].entries;
  entries.splice(entries.begin(), entries, found->second);
  found->second->used = ++clock_;
  return found->second->layout.get();
}

bool TypesIn::defined(Rank from, const wire::DATATYPE_DEFN& piece, std::span<const std::byte> bytes, bool& sane) {
  Partial& partial = partial_[from];
  sane = piece.type != 0 && piece.size <= most_bytes_;
  if (piece.size == 0) {
    erase(key(from, piece.type));
    partial_.erase(from);
    return false;
  }
  if (piece.at == 0) partial = Partial{piece.type, {}};
  sane = sane && partial.id == piece.type && piece.at == partial.bytes.size() && !bytes.empty() &&
         bytes.size() <= piece.size - piece.at;
  if (!sane) {
    partial_.erase(from);
    return false;
  }
  // It grows as the bytes come, whatever size they promise.
  partial.bytes.insert(partial.bytes.end(), bytes.begin(), bytes.end());
  if (partial.bytes.size() < piece.size) return false;
  auto layout = Layout::deserialise(partial.bytes);
  partial_.erase(from);
  sane = layout.has_value();
  if (!sane) return false;
  insert(key(from, piece.type), std::move(*layout), piece.size);
  return true;
}

void TypesIn::insert(std::uint64_t key, LayoutRef layout, std::uint64_t bytes) {
  erase(key);
  Share& share = shares_[static_cast<Rank>(key >> 32)];
  share.entries.push_front({key, std::move(layout), bytes, ++clock_});
  share.bytes += bytes;
  index_[key] = share.entries.begin();
  bytes_ += bytes;
  note(Event::type_learned, key, bytes);
  while (index_.size() > 1 && (index_.size() > most_ || bytes_ > most_bytes_)) evict(key);
}

// Makes room: the least recently used of the origin with most datatypes, or with most bytes when these are too many.
void TypesIn::evict(std::uint64_t keep) {
  const bool count = index_.size() > most_;
  const Entry* victim = nullptr;
  std::uint64_t fill = 0;
  for (const auto& [rank, share] : shares_) {
    if (share.entries.empty() || share.entries.back().key == keep) continue;
    const std::uint64_t has = count ? share.entries.size() : share.bytes;
    const Entry& oldest = share.entries.back();
    if (victim && (has < fill || (has == fill && oldest.used > victim->used))) continue;
    victim = &oldest;
    fill = has;
  }
  note(Event::type_evicted, victim->key, victim->bytes);
  erase(victim->key);
}

void TypesIn::erase(std::uint64_t key) {
  const auto found = index_.find(key);
  if (found == index_.end()) return;
  Share& share = shares_[static_cast<Rank>(key >> 32)];
  share.bytes -= found->second->bytes;
  bytes_ -= found->second->bytes;
  share.entries.erase(found->second);
  index_.erase(found);
}

void TypesIn::forget_rank(Rank from) {
  partial_.erase(from);
  const auto share = shares_.find(from);
  if (share == shares_.end()) return;
  for (const Entry& e : share->second.entries) index_.erase(e.key);
  bytes_ -= share->second.bytes;
  shares_.erase(share);
}

void TypesIn::clear() {
  shares_.clear();
  index_.clear();
  bytes_ = 0;
}

}  // namespace rmq::rma
