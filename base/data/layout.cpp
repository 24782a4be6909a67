// SPDX-License-Identifier: BSD-3-Clause
// Construction of layouts: bounds, alignment, and what the normalised tree and the signature are built from.
#include "base/data/layout.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/data/copy.hpp"
#include "base/data/layout_node.hpp"
#include "base/data/layout_signature.hpp"

namespace rmq {
namespace {

using layout_detail::Placed;
using layout_detail::SignatureRef;

/// Lower and upper bound of a type under construction: explicit ones outrank natural ones, whichever comes first.
class Bounds {
 public:
  /// `blocklength` > 0 elements of `of`, the first at `at`. False when a bound leaves the 64-bit range.
  bool cover(const Layout& of, std::uint64_t blocklength, std::int64_t at) {
    const Layout::Data& data = of.data();
    std::int64_t last = 0;
    if (blocklength - 1 > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ||
        __builtin_mul_overflow(static_cast<std::int64_t>(blocklength - 1), of.extent(), &last) ||
        __builtin_add_overflow(last, at, &last)) {
      return false;
    }
    std::int64_t low = 0;
    std::int64_t high = 0;
    if (__builtin_add_overflow(std::min(at, last), data.lb, &low) ||
        __builtin_add_overflow(std::max(at, last), data.ub, &high)) {
      return false;
    }
    if (data.lb_marked || data.size != 0) add_lower(low, data.lb_marked);
    if (data.ub_marked || data.size != 0) add_upper(high, data.ub_marked);
    if (data.size != 0) alignment_ = std::max(alignment_, data.alignment);
    return true;
  }

  bool store(Layout::Data& to, bool pad) const {
    to.lb = lower_.value_or(0);
    to.ub = upper_.value_or(0);
    to.lb_marked = lower_marked_;
    to.ub_marked = upper_marked_;
    to.alignment = alignment_;
    std::int64_t extent = 0;
    if (__builtin_sub_overflow(to.ub, to.lb, &extent)) return false;
    if (!pad || lower_marked_ || upper_marked_) return true;
    const std::int64_t over = extent % static_cast<std::int64_t>(alignment_);
    return over <= 0 || (!__builtin_add_overflow(to.ub, static_cast<std::int64_t>(alignment_) - over, &to.ub) &&
                         !__builtin_sub_overflow(to.ub, to.lb, &extent));
  }

 private:
  void add_lower(std::int64_t value, bool marked) {
    if (lower_marked_ && !marked) return;
    lower_ = lower_ && lower_marked_ == marked ? std::min(*lower_, value) : value;
    lower_marked_ = marked;
  }
  void add_upper(std::int64_t value, bool marked) {
    if (upper_marked_ && !marked) return;
    upper_ = upper_ && upper_marked_ == marked ? std::max(*upper_, value) : value;
    upper_marked_ = marked;
  }

  std::optional<std::int64_t> lower_;
  std::optional<std::int64_t> upper_;
  bool lower_marked_ = false;
  bool upper_marked_ = false;
  std::uint32_t alignment_ = 1;
};

Placed placed(const Layout& layout) {
  const Layout::Data& data = layout.data();
  return {data.origin, data.size, data.root};
}

/// `blocklength` elements of `of` in a row, the first at `at`.
std::optional<Placed> block(std::uint64_t blocklength, std::int64_t at, const Layout& of) {
  auto row = layout_detail::make_loop(blocklength, of.extent(), placed(of));
  if (row && __builtin_add_overflow(row->at, at, &row->at)) return std::nullopt;
  return row;
}

bool adopt(Layout::Data& data, const std::optional<Placed>& tree, const std::optional<SignatureRef>& signature) {
  if (!tree || !signature || !layout_detail::bounds(*tree, data.true_lb, data.true_ub)) return false;
  data.root = tree->node;
  data.size = tree->bytes;
  data.origin = tree->bytes == 0 ? 0 : tree->at;
  data.signature = *signature;
  return true;
}

std::uint32_t natural_alignment(Basic type, std::uint64_t size) {
  switch (type) {
    case Basic::i8:
    case Basic::u8:
    case Basic::boolean:
    case Basic::byte:
    case Basic::packed:
      return 1;
    case Basic::i16:
    case Basic::u16:
      return 2;
    case Basic::i32:
    case Basic::u32:
    case Basic::f32:
    case Basic::c32:
    case Basic::logical:
    case Basic::f32_i32:
    case Basic::i16_i32:
    case Basic::i32_i32:
    case Basic::f32_f32:
      return 4;
    case Basic::i64:
    case Basic::u64:
    case Basic::f64:
    case Basic::c64:
    case Basic::f64_i32:
    case Basic::i64_i32:
    case Basic::f64_f64:
      return 8;
    case Basic::f80:
    case Basic::c80:
    case Basic::f80_i32:
    case Basic::f128:
    case Basic::c128:
      return 16;
    case Basic::none:
    case Basic::character:
      break;
  }
  const std::uint64_t power = size & (~size + 1);  // largest power of two that divides the size
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(power, 1, 8));
}

}  // namespace

LayoutRef Layout::make(Data data) {
  return LayoutRef(new Layout(std::move(data)));
}

LayoutRef Layout::basic(Basic type, std::uint64_t size, std::int64_t extent) {
  std::optional<Placed> tree = Placed{0, size, nullptr};
  // The one predefined type with a hole inside: struct { short; int; }.
  if (type == Basic::i16_i32 && size == 6) tree = layout_detail::make_list({{0, 2, nullptr}, {4, 4, nullptr}});
  Data data;
  if (!adopt(data, tree, layout_detail::signature_run(type, size, 1))) return {};
  data.ub = extent == 0 ? static_cast<std::int64_t>(size) : extent;
  data.alignment = natural_alignment(type, size);
  return make(std::move(data));
}

LayoutRef Layout::contiguous(std::uint64_t count, const Layout& of) {
  return hvector(1, count, 0, of);
}

LayoutRef Layout::hvector(std::uint64_t count, std::uint64_t blocklength, std::int64_t stride, const Layout& of) {
  Data data;
  std::uint64_t elements = 0;
  if (__builtin_mul_overflow(count, blocklength, &elements)) return {};
  if (elements == 0) return make(std::move(data));
  const auto row = block(blocklength, 0, of);
  if (!row || !adopt(data, layout_detail::make_loop(count, stride, *row),
                     layout_detail::signature_repeat(elements, of.data().signature))) {
    return {};
  }
  std::int64_t last = 0;
  Bounds bounds;
  if (count - 1 > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ||
      __builtin_mul_overflow(static_cast<std::int64_t>(count - 1), stride, &last) ||
      !bounds.cover(of, blocklength, 0) || !bounds.cover(of, blocklength, last) || !bounds.store(data, false)) {
    return {};
  }
  return make(std::move(data));
}

LayoutRef Layout::hindexed(std::span<const std::uint64_t> blocklengths, std::span<const std::int64_t> displacements,
                           const Layout& of) {
  Bounds bounds;
  std::uint64_t elements = 0;
  std::vector<Placed> entries;
  entries.reserve(blocklengths.size());
  std::uint64_t row_length = 0;  // neighbours of equal length share the node of their row
  std::optional<Placed> row;
  for (std::size_t i = 0; i < blocklengths.size(); ++i) {
    if (blocklengths[i] == 0) continue;
    if (row_length != blocklengths[i]) row = block(row_length = blocklengths[i], 0, of);
    if (!row || !bounds.cover(of, row_length, displacements[i]) ||
        __builtin_add_overflow(elements, row_length, &elements)) {
      return {};
    }
    entries.push_back(*row);
    if (__builtin_add_overflow(row->at, displacements[i], &entries.back().at)) return {};
  }
  Data data;
  if (!adopt(data, layout_detail::make_list(std::move(entries)),
             layout_detail::signature_repeat(elements, of.data().signature)) ||
      !bounds.store(data, false)) {
    return {};
  }
  return make(std::move(data));
}

LayoutRef Layout::structure(std::span<const std::uint64_t> blocklengths, std::span<const std::int64_t> displacements,
                            std::span<const Layout* const> of) {
  Bounds bounds;
  std::vector<Placed> entries;
  std::vector<SignatureRef> signatures;
  for (std::size_t i = 0; i < blocklengths.size(); ++i) {
    if (blocklengths[i] == 0) continue;
    const auto row = block(blocklengths[i], displacements[i], *of[i]);
    const auto signature = layout_detail::signature_repeat(blocklengths[i], of[i]->data().signature);
    if (!row || !signature || !bounds.cover(*of[i], blocklengths[i], displacements[i])) return {};
    entries.push_back(*row);
    signatures.push_back(*signature);
  }
  // A structure of one type is an hindexed type, in MPICH's view too, and is not padded.
  const bool mixed = std::any_of(of.begin(), of.end(), [&](const Layout* member) { return member != of[0]; });
  Data data;
  if (!adopt(data, layout_detail::make_list(std::move(entries)),
             layout_detail::signature_sequence(std::move(signatures))) ||
      !bounds.store(data, mixed)) {
    return {};
  }
  return make(std::move(data));
}

LayoutRef Layout::resized(const Layout& of, std::int64_t lb, std::int64_t extent) {
  Data data = of.data_;
  data.lb = lb;
  if (__builtin_add_overflow(lb, extent, &data.ub)) return {};
  data.lb_marked = data.ub_marked = true;
  return make(std::move(data));
}

LayoutRef Layout::lower_marker() {
  Data data;
  data.lb_marked = true;
  return make(std::move(data));
}

LayoutRef Layout::upper_marker() {
  Data data;
  data.ub_marked = true;
  return make(std::move(data));
}

Basic Layout::element() const {
  const layout_detail::Signature* signature = data_.signature.get();
  return signature != nullptr && signature->kind == layout_detail::SignatureKind::run ? signature->type : Basic::none;
}

std::uint64_t Layout::element_size() const {
  const layout_detail::Signature* signature = data_.signature.get();
  return signature != nullptr && signature->kind == layout_detail::SignatureKind::run ? signature->unit : 0;
}

std::uint64_t Layout::basic_elements() const {
  return data_.signature ? data_.signature->elements : 0;
}

std::optional<std::uint64_t> Layout::basic_elements_in(std::uint64_t bytes) const {
  std::uint64_t count = 0, rest = bytes;
  if (data_.size != 0) {
    count =
        bytes / data_.size * basic_elements() + layout_detail::elements_in(*data_.signature, bytes % data_.size, rest);
  }
  return rest == 0 ? std::optional{count} : std::nullopt;
}

std::vector<std::pair<Basic, std::uint64_t>> Layout::signature() const {
  std::vector<std::pair<Basic, std::uint64_t>> runs;
  if (data_.signature) layout_detail::append_runs(*data_.signature, runs);
  return runs;
}

DataView Layout::view(void* base, std::uint64_t count) const {
  const std::uint64_t bytes = count * data_.size;
  if (bytes == 0) return DataView::contiguous(base, 0);
  auto* const first = static_cast<std::byte*>(base);
  if (is_dense() || (is_one_block() && count == 1)) return DataView::contiguous(moved(first, data_.origin), bytes);
  return {first, this, count, bytes};
}

void Layout::release() const {
  // release: what this thread did with the layout happens before its destruction; the acquire that pairs with it is
  // taken by the thread that lets go last and deletes.
  if (references_.fetch_sub(1, std::memory_order_release) == 1) {
    std::atomic_thread_fence(std::memory_order_acquire);
    delete this;
  }
}

}  // namespace rmq
