// SPDX-License-Identifier: BSD-3-Clause
#include "base/data/data_view.hpp"

#include <algorithm>
#include <array>

#include "base/data/layout.hpp"
#include "base/data/layout_node.hpp"

namespace rmq {
namespace {

using layout_detail::Node;
using layout_detail::NodeKind;

/// Fills an array of pieces and joins neighbours that touch.
class Collector {
 public:
  explicit Collector(std::span<iovec> pieces) : pieces_(pieces) {}

  /// False when there is no room: the piece is not taken, and nothing may follow.
  bool add(std::byte* at, std::uint64_t bytes) {
    if (used_ != 0 && end_ == at) {
      pieces_[used_ - 1].iov_len += bytes;
    } else {
      if (used_ == pieces_.size()) return false;
      pieces_[used_++] = {at, bytes};
    }
    end_ = moved(at, static_cast<std::int64_t>(bytes));
    covered_ += bytes;
    return true;
  }
  std::size_t used() const { return used_; }
  std::uint64_t covered() const { return covered_; }

 private:
  std::span<iovec> pieces_;
  std::byte* end_ = nullptr;  // of the last piece
  std::size_t used_ = 0;
  std::uint64_t covered_ = 0;
};

/// Adds the runs of bytes [offset, offset + bytes) of a node (or, node being null, of a run). False: no more room.
bool collect(const Node* node, std::byte* user, std::uint64_t offset, std::uint64_t bytes, Collector& to);

template <class Position>
bool collect_repeat(Position at, const Node* child, std::uint64_t unit, std::uint64_t offset, std::uint64_t bytes,
                    Collector& to) {
  std::uint64_t skip = offset % unit;
  for (std::uint64_t i = offset / unit; bytes != 0; ++i) {
    const std::uint64_t piece = std::min(unit - skip, bytes);
    if (!collect(child, at(i), skip, piece, to)) return false;
    bytes -= piece;
    skip = 0;
  }
  return true;
}

bool collect_list(const Node& node, std::byte* user, std::uint64_t offset, std::uint64_t bytes, Collector& to) {
  const auto after = std::upper_bound(node.starts.begin(), node.starts.end(), offset);
  for (auto i = static_cast<std::size_t>(after - node.starts.begin()) - 1; bytes != 0; ++i) {
    const std::uint64_t piece = std::min(node.starts[i + 1] - offset, bytes);
    const Node* const child = node.children.empty() ? nullptr : node.children[i].get();
    if (!collect(child, moved(user, node.displacements[i]), offset - node.starts[i], piece, to)) return false;
    offset += piece;
    bytes -= piece;
  }
  return true;
}

bool collect(const Node* node, std::byte* user, std::uint64_t offset, std::uint64_t bytes, Collector& to) {
  if (node == nullptr) return to.add(moved(user, static_cast<std::int64_t>(offset)), bytes);
  if (node->kind == NodeKind::list) return collect_list(*node, user, offset, bytes, to);
  const auto step = [&](std::uint64_t i) {
    return moved(user, static_cast<std::int64_t>(i * static_cast<std::uint64_t>(node->stride)));
  };
  const auto table = [&](std::uint64_t i) { return moved(user, node->displacements[i]); };
  return node->kind == NodeKind::loop ? collect_repeat(step, node->child.get(), node->unit, offset, bytes, to)
                                      : collect_repeat(table, node->child.get(), node->unit, offset, bytes, to);
}

/// Mean length of the runs in a view that is not contiguous.
std::uint64_t mean_run(const DataView& view) {
  const Layout::Data& data = view.layout->data();
  return data.root ? data.size / data.root->blocks : data.size;
}

// Both sides scattered: pieces of at least this many bytes on one side are worth a seek on the other; finer ones go
// through a buffer that stays in the L1 cache.
constexpr std::uint64_t kDirectRun = 256;
constexpr std::size_t kBounce = 4096;

void copy_bounced(const DataView& to, std::uint64_t to_offset, const DataView& from, std::uint64_t from_offset,
                  std::uint64_t bytes) {
  std::array<std::byte, kBounce> buffer;
  while (bytes != 0) {
    const std::uint64_t piece = std::min<std::uint64_t>(bytes, buffer.size());
    detail::pack_layout(buffer.data(), from, from_offset, piece);
    detail::unpack_layout(to, to_offset, buffer.data(), piece);
    from_offset += piece;
    to_offset += piece;
    bytes -= piece;
  }
}

/// Walks the pieces of `coarse`, [offset, offset + bytes), and hands each to `move(address, length)`.
template <class Move>
void for_each_piece(const DataView& coarse, std::uint64_t offset, std::uint64_t bytes, Move&& move) {
  std::array<iovec, 32> pieces;
  while (bytes != 0) {
    std::uint64_t covered = 0;
    const std::size_t used = iovecs(coarse, offset, bytes, pieces, covered);
    for (std::size_t i = 0; i < used; ++i) move(static_cast<std::byte*>(pieces[i].iov_base), pieces[i].iov_len);
    offset += covered;
    bytes -= covered;
  }
}

}  // namespace

void copy(const DataView& to, std::uint64_t to_offset, const DataView& from, std::uint64_t from_offset,
          std::uint64_t bytes) {
  if (bytes == 0) return;
  if (from.is_contiguous()) return unpack(to, to_offset, from.base + from_offset, bytes);
  if (to.is_contiguous()) return pack(to.base + to_offset, from, from_offset, bytes);
  const std::uint64_t to_run = mean_run(to);
  const std::uint64_t from_run = mean_run(from);
  if (std::max(to_run, from_run) < kDirectRun) return copy_bounced(to, to_offset, from, from_offset, bytes);
  if (to_run >= from_run) {
    for_each_piece(to, to_offset, bytes, [&](std::byte* at, std::uint64_t length) {
      detail::pack_layout(at, from, from_offset, length);
      from_offset += length;
    });
  } else {
    for_each_piece(from, from_offset, bytes, [&](const std::byte* at, std::uint64_t length) {
      detail::unpack_layout(to, to_offset, at, length);
      to_offset += length;
    });
  }
}

std::size_t iovecs(const DataView& view, std::uint64_t offset, std::uint64_t bytes, std::span<iovec> pieces,
                   std::uint64_t& covered) {
  Collector collector(pieces);
  if (bytes != 0) {
    if (view.is_contiguous()) {
      collector.add(moved(view.base, static_cast<std::int64_t>(offset)), bytes);
    } else {
      const Layout::Data& data = view.layout->data();
      std::byte* const first = moved(view.base, data.origin);
      const auto element = static_cast<std::uint64_t>(view.layout->extent());
      const auto at = [&](std::uint64_t i) { return moved(first, static_cast<std::int64_t>(i * element)); };
      collect_repeat(at, data.root.get(), data.size, offset, bytes, collector);
    }
  }
  covered = collector.covered();
  return collector.used();
}

}  // namespace rmq
