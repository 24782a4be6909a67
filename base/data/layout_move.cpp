// SPDX-License-Identifier: BSD-3-Clause
// Packing and unpacking. One template serves both directions: bytes move between `user` memory, which is laid out by
// the tree, and `flat` memory, which is in packed order. A range is a partial child, whole children in a tight loop,
// and a partial child; finding its start costs one division per loop and one binary search per list.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/data/data_view.hpp"
#include "base/data/layout.hpp"
#include "base/data/layout_node.hpp"

namespace rmq::detail {
namespace {

using layout_detail::Node;
using layout_detail::NodeKind;

// What a tight loop moves per step. Sizes between two powers of two move their first and last bytes, which overlap:
// two moves of a fixed size beat a call of memcpy by far.
template <std::size_t kBytes>
struct Exactly {
  template <bool kPack>
  static void move(std::byte* user, std::byte* flat, std::size_t) {
    std::memcpy(kPack ? flat : user, kPack ? user : flat, kBytes);
  }
};

template <std::size_t kBytes>
struct BothEnds {  // kBytes < n <= 2 * kBytes
  template <bool kPack>
  static void move(std::byte* user, std::byte* flat, std::size_t n) {
    struct Chunk {
      std::byte bytes[kBytes];
    } first, last;
    const std::byte* const from = kPack ? user : flat;
    std::byte* const to = kPack ? flat : user;
    std::memcpy(&first, from, kBytes);
    std::memcpy(&last, from + n - kBytes, kBytes);
    std::memcpy(to, &first, kBytes);
    std::memcpy(to + n - kBytes, &last, kBytes);
  }
};

struct AnySize {
  template <bool kPack>
  static void move(std::byte* user, std::byte* flat, std::size_t n) {
    copy_bytes(kPack ? flat : user, kPack ? user : flat, n);
  }
};

/// Calls `use` with the mover that suits blocks of n bytes, and returns what it returns. A `use` with a loop in it
/// captures by value and works on locals: bytes that are stored might be captured variables, which would be read anew
/// after each store where the compiler does not inline this.
template <class Use>
inline auto with_mover(std::size_t n, Use&& use) {
  switch (n) {
    case 1:
      return use(Exactly<1>{});
    case 2:
      return use(Exactly<2>{});
    case 4:
      return use(Exactly<4>{});
    case 8:
      return use(Exactly<8>{});
    case 16:
      return use(Exactly<16>{});
    case 32:
      return use(Exactly<32>{});
    default:
      break;
  }
  if (n > 64) return use(AnySize{});
  if (n > 32) return use(BothEnds<32>{});
  if (n > 16) return use(BothEnds<16>{});
  if (n > 8) return use(BothEnds<8>{});
  if (n > 4) return use(BothEnds<4>{});
  return use(BothEnds<2>{});
}

template <bool kPack>
inline void move_run(std::byte* user, std::byte* flat, std::size_t n) {
  with_mover(n, [&](auto mover) { mover.template move<kPack>(user, flat, n); });
}

// Where the i-th child of a repetition lies.
struct Steps {
  std::byte* base;
  std::int64_t stride;
  std::byte* operator()(std::uint64_t i) const {
    return moved(base, static_cast<std::int64_t>(i * static_cast<std::uint64_t>(stride)));
  }
};
struct Table {
  std::byte* base;
  const std::int64_t* displacements;
  std::byte* operator()(std::uint64_t i) const { return moved(base, displacements[i]); }
};

/// The tight loop: `rows` times `columns` runs of `unit` bytes.
template <bool kPack, class Position>
std::byte* move_grid(Position row, std::uint64_t rows, std::int64_t stride, std::uint64_t columns, std::size_t unit,
                     std::byte* flat) {
  return with_mover(unit, [=](auto mover) {
    const Position at = row;
    const std::int64_t step = stride;
    const std::uint64_t width = columns;
    const std::size_t bytes = unit;
    std::byte* to = flat;
    for (std::uint64_t r = 0; r < rows; ++r) {
      const Steps column{at(r), step};
#pragma GCC unroll 4
      for (std::uint64_t c = 0; c < width; ++c) {
        mover.template move<kPack>(column(c), to, bytes);
        to += bytes;
      }
    }
    return to;
  });
}

/// The same over a table of positions.
template <bool kPack>
std::byte* move_table(Table at, std::uint64_t count, std::size_t unit, std::byte* flat) {
  return with_mover(unit, [=](auto mover) {
    const Table table = at;
    const std::uint64_t pieces = count;
    const std::size_t bytes = unit;
    std::byte* to = flat;
#pragma GCC unroll 4
    for (std::uint64_t i = 0; i < pieces; ++i) {
      mover.template move<kPack>(table(i), to, bytes);
      to += bytes;
    }
    return to;
  });
}

// A repeated list of few bytes, like an array of structures with padding, moves member by member in tiles that stay in
// the L1 cache: one dispatch per member and tile instead of one per run (6 times as fast for {int; double}).
constexpr std::uint64_t kColumnsMaxElement = 512;  // bytes, packed
constexpr std::uint64_t kColumnsMinCount = 4;
constexpr std::uint64_t kColumnsTile = 8192;  // bytes, packed

bool moves_by_column(const Node& child, std::uint64_t count) {
  return count >= kColumnsMinCount && child.size <= kColumnsMaxElement &&
         (child.kind == NodeKind::list ? child.children.empty() : child.kind == NodeKind::scatter && !child.child);
}

/// `count` copies of a list or scatter of runs. The order of the moves differs from packed order, which shows only
/// where a receiver's blocks overlap, and that is the user's error.
template <bool kPack, class Position>
std::byte* move_columns(Position at, std::uint64_t first, std::uint64_t count, const Node& node, std::byte* flat) {
  const std::uint64_t tile = kColumnsTile / node.size;
  while (count != 0) {
    const std::uint64_t rows = std::min(tile, count);
    for (std::size_t entry = 0; entry < node.count; ++entry) {
      const bool list = node.kind == NodeKind::list;
      const std::uint64_t start = list ? node.starts[entry] : entry * node.unit;
      const std::size_t bytes = list ? node.starts[entry + 1] - start : node.unit;
      with_mover(bytes, [=, displacement = node.displacements[entry], size = node.size](auto mover) {
        const Position place = at;
        const std::int64_t inside = displacement;
        const std::uint64_t step = size;
        const std::size_t length = bytes;
        std::byte* to = flat + start;
        for (std::uint64_t r = 0; r < rows; ++r, to += step)
          mover.template move<kPack>(moved(place(first + r), inside), to, length);
      });
    }
    flat += rows * node.size;
    first += rows;
    count -= rows;
  }
  return flat;
}

template <bool kPack>
std::byte* whole(const Node& node, std::byte* user, std::byte* flat);

/// Children [first, first + count) of a repetition, whole. Returns the end of what it moved in flat memory.
template <bool kPack, class Position>
std::byte* repeat_whole(Position at, std::uint64_t first, std::uint64_t count, const Node* child, std::uint64_t unit,
                        std::byte* flat) {
  if (child == nullptr) {
    if constexpr (std::is_same_v<Position, Steps>) {
      return move_grid<kPack>(Steps{at(first), 0}, 1, at.stride, count, unit, flat);
    } else {
      return move_table<kPack>(Table{at.base, at.displacements + first}, count, unit, flat);
    }
  }
  if (child->kind == NodeKind::loop && !child->child) {
    const auto row = [&](std::uint64_t r) { return at(first + r); };
    return move_grid<kPack>(row, count, child->stride, child->count, child->unit, flat);
  }
  if (moves_by_column(*child, count)) return move_columns<kPack>(at, first, count, *child, flat);
  for (std::uint64_t i = 0; i < count; ++i) flat = whole<kPack>(*child, at(first + i), flat);
  return flat;
}

template <bool kPack>
std::byte* whole(const Node& node, std::byte* user, std::byte* flat) {
  switch (node.kind) {
    case NodeKind::loop:
      return repeat_whole<kPack>(Steps{user, node.stride}, 0, node.count, node.child.get(), node.unit, flat);
    case NodeKind::scatter:
      return repeat_whole<kPack>(Table{user, node.displacements.data()}, 0, node.count, node.child.get(), node.unit,
                                 flat);
    case NodeKind::list:
      if (node.grain == 0) break;
      return move_table<kPack>(Table{user, node.grains.data()}, node.grains.size(), node.grain, flat);
  }
  for (std::size_t i = 0; i < node.count; ++i) {
    std::byte* const at = moved(user, node.displacements[i]);
    if (node.children.empty() || !node.children[i]) {
      move_run<kPack>(at, flat + node.starts[i], node.starts[i + 1] - node.starts[i]);
    } else {
      whole<kPack>(*node.children[i], at, flat + node.starts[i]);
    }
  }
  return flat + node.size;
}

/// Bytes [offset, offset + bytes) of a node (or, node being null, of a run); bytes > 0.
template <bool kPack>
void range(const Node* node, std::byte* user, std::uint64_t offset, std::uint64_t bytes, std::byte* flat);

/// The same of a repetition of `child`, `unit` bytes each.
template <bool kPack, class Position>
void repeat_range(Position at, const Node* child, std::uint64_t unit, std::uint64_t offset, std::uint64_t bytes,
                  std::byte* flat) {
  std::uint64_t i = offset / unit;
  const std::uint64_t skip = offset % unit;
  if (skip != 0) {
    const std::uint64_t head = std::min(unit - skip, bytes);
    range<kPack>(child, at(i), skip, head, flat);
    flat += head;
    bytes -= head;
    ++i;
  }
  const std::uint64_t count = bytes / unit;
  const std::uint64_t tail = bytes % unit;
  if (count != 0) flat = repeat_whole<kPack>(at, i, count, child, unit, flat);
  if (tail != 0) range<kPack>(child, at(i + count), 0, tail, flat);
}

template <bool kPack>
void list_range(const Node& node, std::byte* user, std::uint64_t offset, std::uint64_t bytes, std::byte* flat) {
  const auto after = std::upper_bound(node.starts.begin(), node.starts.end(), offset);
  for (auto i = static_cast<std::size_t>(after - node.starts.begin()) - 1; bytes != 0; ++i) {
    const std::uint64_t piece = std::min(node.starts[i + 1] - offset, bytes);
    const Node* const child = node.children.empty() ? nullptr : node.children[i].get();
    range<kPack>(child, moved(user, node.displacements[i]), offset - node.starts[i], piece, flat);
    flat += piece;
    offset += piece;
    bytes -= piece;
  }
}

template <bool kPack>
void range(const Node* node, std::byte* user, std::uint64_t offset, std::uint64_t bytes, std::byte* flat) {
  if (node == nullptr) {
    move_run<kPack>(moved(user, static_cast<std::int64_t>(offset)), flat, bytes);
  } else if (bytes == node->size) {
    whole<kPack>(*node, user, flat);
  } else if (node->grain != 0) {
    repeat_range<kPack>(Table{user, node->grains.data()}, nullptr, node->grain, offset, bytes, flat);
  } else if (node->kind == NodeKind::list) {
    list_range<kPack>(*node, user, offset, bytes, flat);
  } else if (node->kind == NodeKind::loop) {
    repeat_range<kPack>(Steps{user, node->stride}, node->child.get(), node->unit, offset, bytes, flat);
  } else {
    repeat_range<kPack>(Table{user, node->displacements.data()}, node->child.get(), node->unit, offset, bytes, flat);
  }
}

template <bool kPack>
void move_view(const DataView& view, std::uint64_t offset, std::uint64_t bytes, std::byte* flat) {
  if (bytes == 0) return;
  const Layout& layout = *view.layout;
  const Node* const root = layout.data().root.get();
  std::byte* const first = moved(view.base, layout.data().origin);
  if (view.count == 1) return range<kPack>(root, first, offset, bytes, flat);
  const std::int64_t extent = layout.extent();
  if (root != nullptr && root->kind == NodeKind::loop &&
      static_cast<std::uint64_t>(extent) == root->count * static_cast<std::uint64_t>(root->stride)) {
    // The next element continues the loop of this one: a single, longer loop.
    return repeat_range<kPack>(Steps{first, root->stride}, root->child.get(), root->unit, offset, bytes, flat);
  }
  repeat_range<kPack>(Steps{first, extent}, root, layout.size(), offset, bytes, flat);
}

}  // namespace

void pack_layout(std::byte* to, const DataView& from, std::uint64_t offset, std::uint64_t bytes) {
  move_view<true>(from, offset, bytes, to);
}

void unpack_layout(const DataView& to, std::uint64_t offset, const std::byte* from, std::uint64_t bytes) {
  move_view<false>(to, offset, bytes, const_cast<std::byte*>(from));  // only read in this direction
}

}  // namespace rmq::detail
