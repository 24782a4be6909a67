// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/buffer.hpp"

#include <cstring>

namespace rmq::testing {
namespace {

constexpr std::byte kGuard{0xe7};
constexpr std::size_t kMargin = 16;  // guard bytes before the first and behind the last

}  // namespace

std::vector<std::byte> message_bytes(std::uint64_t id, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  methods::Chance words(id * 0x9e3779b97f4a7c15u + 77);
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t w = words.next();
    std::memcpy(data.data() + at, &w, bytes - at < 8 ? bytes - at : 8);
  }
  return data;
}

Buffer::Buffer(std::size_t bytes, Shape shape, std::uint64_t seed) {
  if (shape == Shape::contiguous || bytes == 0) {
    memory_.assign(bytes + 2 * kMargin, kGuard);
    for (std::size_t i = 0; i < bytes; ++i) at_.push_back(static_cast<std::uint32_t>(kMargin + i));
    view_ = DataView::contiguous(memory_.data() + kMargin, bytes);
    return;
  }
  methods::Chance chance(seed);
  std::vector<std::uint64_t> lengths;
  std::vector<std::int64_t> places;
  std::size_t place = 0;
  const std::size_t block = bytes < 64 ? 3 : bytes / 20 + 1;
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t drawn = shape == Shape::strided ? block : chance.between(1, 2 * block);
    const std::size_t n = drawn < bytes - done ? drawn : bytes - done;
    lengths.push_back(n);
    places.push_back(static_cast<std::int64_t>(place));
    for (std::size_t i = 0; i < n; ++i) at_.push_back(static_cast<std::uint32_t>(kMargin + place + i));
    place += n + (shape == Shape::strided ? 5 : chance.below(2 * block));
    done += n;
  }
  memory_.assign(place + 2 * kMargin, kGuard);
  const LayoutRef byte = Layout::basic(Basic::u8, 1);
  layout_ = Layout::hindexed(lengths, places, *byte);
  view_ = layout_->view(memory_.data() + kMargin, 1);
}

void Buffer::fill(const std::vector<std::byte>& message) {
  for (std::size_t i = 0; i < message.size(); ++i) memory_[at_[i]] = message[i];
}

std::vector<std::byte> Buffer::take(std::size_t bytes) const {
  std::vector<std::byte> message(bytes);
  for (std::size_t i = 0; i < bytes; ++i) message[i] = memory_[at_[i]];
  return message;
}

bool Buffer::guards_hold(std::size_t bytes) const {
  std::size_t next = 0;  // at_ rises
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (next < bytes && at_[next] == i) {
      ++next;
    } else if (memory_[i] != kGuard) {
      return false;
    }
  }
  return true;
}

}  // namespace rmq::testing
