// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace rmq::explore {
namespace {

bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst || order == std::memory_order_consume;
}
bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

}  // namespace

void View::join(const View& other) {
  for (std::size_t i = 0; i < kLocations; ++i) seen[i] = std::max(seen[i], other.seen[i]);
  for (std::size_t i = 0; i < kThreads; ++i) clock[i] = std::max(clock[i], other.clock[i]);
}

void Memory::reset() {
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    histories_[i].stores.clear();
    histories_[i].latest_sc = 0;
  }
  addresses_.clear();
  plains_.clear();
  sc_ = light_ = heavy_ = View{};
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads_[i] = Thread{};
    threads_[i].view.clock[i] = 1;
  }
}

std::size_t Memory::location(const void* at, std::size_t bytes) {
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    if (addresses_[i] == at) return i;
  }
  if (addresses_.size() == kLocations) throw std::length_error("the model has too many atomic objects");
  addresses_.push_back(at);
  Store first;
  std::memcpy(&first.value, at, bytes);
  histories_[addresses_.size() - 1].stores.push_back(first);
  return addresses_.size() - 1;
}

std::size_t Memory::oldest(std::size_t thread, std::size_t location, std::memory_order order) const {
  const std::size_t seen = threads_[thread].view.seen[location];
  return order == std::memory_order_seq_cst ? std::max(seen, histories_[location].latest_sc) : seen;
}

std::uint64_t Memory::read(std::size_t thread, std::size_t location, std::size_t index, std::memory_order order) {
  const Store& s = histories_[location].stores[index];
  Thread& t = threads_[thread];
  if (acquires(order))
    t.view.join(s.view);
  else
    t.relaxed.join(s.view);
  t.view.seen[location] = std::max(t.view.seen[location], static_cast<std::uint16_t>(index));
  return s.value;
}

void Memory::write(std::size_t thread, std::size_t location, std::uint64_t value, std::memory_order order,
                   const View* base) {
  Thread& t = threads_[thread];
  History& h = histories_[location];
  const auto index = static_cast<std::uint16_t>(h.stores.size());
  t.view.seen[location] = index;
  Store s{value, releases(order) ? t.view : t.released};
  if (base) s.view.join(*base);
  s.view.seen[location] = index;
  h.stores.push_back(s);
  if (order == std::memory_order_seq_cst) h.latest_sc = index;
  if (releases(order)) tick(thread);
}

void Memory::fence(std::size_t thread, std::memory_order order) {
  Thread& t = threads_[thread];
  if (acquires(order)) t.view.join(t.relaxed);
  if (order == std::memory_order_seq_cst) {
    t.view.join(sc_);
    sc_ = t.view;
  }
  if (releases(order)) {
    t.released = t.view;
    tick(thread);
  }
}

void Memory::light_fence(std::size_t thread) {
  Thread& t = threads_[thread];
  t.view.join(t.relaxed);
  t.view.join(heavy_);
  light_.join(t.view);
  t.released = t.view;
  tick(thread);
}

void Memory::heavy_fence(std::size_t thread) {
  Thread& t = threads_[thread];
  t.view.join(t.relaxed);
  t.view.join(light_);
  t.view.join(heavy_);
  heavy_ = t.view;
  t.released = t.view;
  tick(thread);
}

void Memory::release_into(std::size_t thread, View& object) {
  object.join(threads_[thread].view);
  tick(thread);
}

void Memory::acquire_from(std::size_t thread, const View& object) {
  threads_[thread].view.join(object);
}

Memory::Plain& Memory::plain(const void* at) {
  for (Plain& p : plains_) {
    if (p.at == at) return p;
  }
  plains_.emplace_back().at = at;
  return plains_.back();
}

bool Memory::plain_read(std::size_t thread, const void* at) {
  Plain& p = plain(at);
  const View& view = threads_[thread].view;
  const bool fine = p.written == 0 || p.writer == thread || view.clock[p.writer] >= p.written;
  p.read[thread] = view.clock[thread];
  return fine;
}

bool Memory::plain_write(std::size_t thread, const void* at) {
  Plain& p = plain(at);
  const View& view = threads_[thread].view;
  bool fine = p.written == 0 || p.writer == thread || view.clock[p.writer] >= p.written;
  for (std::size_t i = 0; i < kThreads; ++i) fine = fine && (i == thread || view.clock[i] >= p.read[i]);
  p.writer = thread;
  p.written = view.clock[thread];
  return fine;
}

void Memory::tick(std::size_t thread) {
  ++threads_[thread].view.clock[thread];
}

}  // namespace rmq::explore
