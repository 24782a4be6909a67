// SPDX-License-Identifier: BSD-3-Clause
// A view of user data: where it starts and how it is laid out. The message is the sequence of its data bytes in
// type-map order ("packed order"); every function here speaks of byte offsets in that order, which may fall inside an
// element.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/data/copy.hpp"

namespace rmq {

class Layout;

/// `count` elements of `layout` at `base`, or `bytes` contiguous bytes when layout is nullptr. Does not own anything:
/// memory and layout must outlive the view (a request keeps a reference to its layout).
struct DataView {
  std::byte* base = nullptr;       // address of the first element's origin (displacement 0), never dereferenced as such
  const Layout* layout = nullptr;  // nullptr: contiguous
  std::uint64_t count = 0;         // elements of layout; unused when contiguous
  std::uint64_t bytes = 0;         // of the whole message, packed

  static DataView contiguous(const void* data, std::uint64_t bytes) {
    return {const_cast<std::byte*>(static_cast<const std::byte*>(data)), nullptr, 0, bytes};
  }
  bool is_contiguous() const { return layout == nullptr; }
};

/// A piece of a view, as a packet carries it.
struct Payload {
  DataView view;
  std::uint64_t offset = 0;  // first byte, packed order
  std::uint64_t bytes = 0;

  bool is_contiguous() const { return view.layout == nullptr; }
  const std::byte* data() const { return view.base + offset; }  // only when contiguous
};

namespace detail {
void pack_layout(std::byte* to, const DataView& from, std::uint64_t offset, std::uint64_t bytes);
void unpack_layout(const DataView& to, std::uint64_t offset, const std::byte* from, std::uint64_t bytes);
}  // namespace detail

/// Copies bytes [offset, offset + bytes) of `from`, packed order, to `to`. The range must lie inside the view.
inline void pack(std::byte* to, const DataView& from, std::uint64_t offset, std::uint64_t bytes) {
  if (from.is_contiguous()) [[likely]] {
    copy_bytes(to, from.base + offset, bytes);
  } else {
    detail::pack_layout(to, from, offset, bytes);
  }
}

/// Copies `bytes` bytes to [offset, offset + bytes) of `to`, packed order. The range must lie inside the view.
inline void unpack(const DataView& to, std::uint64_t offset, const std::byte* from, std::uint64_t bytes) {
  if (to.is_contiguous()) [[likely]] {
    copy_bytes(to.base + offset, from, bytes);
  } else {
    detail::unpack_layout(to, offset, from, bytes);
  }
}

/// Copies `bytes` bytes from one view to the other, piece by piece; nothing larger than a few KB of stack in between.
/// Both ranges must lie inside their views, and their memory must not overlap.
void copy(const DataView& to, std::uint64_t to_offset, const DataView& from, std::uint64_t from_offset,
          std::uint64_t bytes);

/// Fills `pieces` with the memory of [offset, offset + bytes) in packed order, as far as they suffice. Returns how many
/// were filled; `covered` receives how many bytes they describe. Adjacent pieces are merged.
std::size_t iovecs(const DataView& view, std::uint64_t offset, std::uint64_t bytes, std::span<iovec> pieces,
                   std::uint64_t& covered);

}  // namespace rmq
