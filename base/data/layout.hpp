// SPDX-License-Identifier: BSD-3-Clause
// The datatype engine: a Layout says where the bytes of one element lie relative to its origin. It is a small immutable
// tree of loops that is flattened and normalised when built (adjacent blocks merge; vector of contiguous becomes one
// strided loop), so that packing is a few tight copy loops and can start at any byte offset.
//
// Layouts are shared and reference-counted (atomically: a communication may outlive MPI_Type_free in another thread).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/data/data_view.hpp"
#include "base/error.hpp"

namespace rmq {

/// Predefined element types that reductions and accumulates know. Fixed numbers: they travel in serialised layouts.
enum class Basic : std::uint8_t {
  none = 0,  // mixed or unknown
  i8 = 1,
  u8 = 2,
  i16 = 3,
  u16 = 4,
  i32 = 5,
  u32 = 6,
  i64 = 7,
  u64 = 8,
  f32 = 9,
  f64 = 10,
  f80 = 11,  // float, double, x87 long double (16 bytes, 10 used)
  c32 = 12,
  c64 = 13,
  c80 = 14,        // complex of the three
  boolean = 15,    // C++ bool / C _Bool, one byte
  logical = 16,    // Fortran LOGICAL, int
  byte = 17,       // MPI_BYTE: bit operations only
  character = 18,  // MPI_CHAR, WCHAR …: no arithmetic
  f32_i32 = 20,
  f64_i32 = 21,
  i64_i32 = 22,
  i16_i32 = 23,
  i32_i32 = 24,
  f80_i32 = 25,  // MINLOC/MAXLOC pairs of C
  f32_f32 = 26,
  f64_f64 = 27,  // MPI_2REAL, MPI_2DOUBLE_PRECISION
  f128 = 28,
  c128 = 29,  // IEEE binary128: Fortran's REAL*16, COMPLEX*32
  packed = 30,
};

namespace layout_detail {
struct Node;
struct Signature;
using NodeRef = std::shared_ptr<const Node>;
using SignatureRef = std::shared_ptr<const Signature>;
}  // namespace layout_detail

class Layout;
/// Owns one reference.
class LayoutRef {
 public:
  LayoutRef() = default;
  explicit LayoutRef(const Layout* adopt) : layout_(adopt) {}
  LayoutRef(const LayoutRef& other);
  LayoutRef(LayoutRef&& other) noexcept : layout_(other.layout_) { other.layout_ = nullptr; }
  LayoutRef& operator=(LayoutRef other) noexcept {
    std::swap(layout_, other.layout_);
    return *this;
  }
  ~LayoutRef();
  const Layout* get() const { return layout_; }
  const Layout* operator->() const { return layout_; }
  const Layout& operator*() const { return *layout_; }
  explicit operator bool() const { return layout_ != nullptr; }

 private:
  const Layout* layout_ = nullptr;
};

class Layout {
 public:
  // Constructors of MPI's chapter 5; displacements and extents in bytes, lb/ub sticky as in MPI-4.0: bounds set by
  // resized() win over natural ones in every type built from it. An empty type contributes no bound. The arguments are
  // only read; nothing refers to them afterwards. Each returns an empty LayoutRef when the result does not fit 64 bits
  // or nests more than 256 loops that cannot be merged.
  static LayoutRef basic(Basic type, std::uint64_t size, std::int64_t extent = 0 /* 0: size */);
  static LayoutRef contiguous(std::uint64_t count, const Layout& of);
  static LayoutRef hvector(std::uint64_t count, std::uint64_t blocklength, std::int64_t stride, const Layout& of);
  static LayoutRef hindexed(std::span<const std::uint64_t> blocklengths, std::span<const std::int64_t> displacements,
                            const Layout& of);
  /// An entry of blocklength 0 is skipped, and may be nullptr. The extent is rounded up to the strictest alignment of a
  /// member (MPICH's rule, which is C's), unless a bound is set explicitly or all entries name one layout.
  static LayoutRef structure(std::span<const std::uint64_t> blocklengths, std::span<const std::int64_t> displacements,
                             std::span<const Layout* const> of);
  static LayoutRef resized(const Layout& of, std::int64_t lb, std::int64_t extent);
  /// MPI-1's MPI_LB and MPI_UB: no data, only a bound; for structure().
  static LayoutRef lower_marker();
  static LayoutRef upper_marker();

  std::uint64_t size() const { return data_.size; }                           // data bytes of one element
  std::int64_t lb() const { return data_.lb; }                                // lower bound
  std::int64_t extent() const { return data_.ub - data_.lb; }                 // between consecutive elements
  std::int64_t true_lb() const { return data_.true_lb; }                      // first data byte; 0 without data
  std::int64_t true_extent() const { return data_.true_ub - data_.true_lb; }  // to the end of the last data byte
  std::uint32_t alignment() const { return data_.alignment; }                 // strictest of the members, bytes
  /// One block of data without gaps, elements side by side (size == extent): `count` elements are one run of bytes.
  bool is_dense() const { return is_one_block() && data_.size == static_cast<std::uint64_t>(extent()); }
  /// One block without gaps, whatever the extent (or no data at all).
  bool is_one_block() const { return data_.root == nullptr; }
  /// The one predefined type all data is made of, or Basic::none.
  Basic element() const;
  std::uint64_t element_size() const;    // packed bytes of that predefined type (12 for MPI_DOUBLE_INT), 0 when none
  std::uint64_t basic_elements() const;  // predefined elements in one element (MPI_Get_elements; a pair counts two)
  /// Predefined elements that the first `bytes` packed bytes of repeated elements consist of (MPI_Get_elements);
  /// nullopt when they end inside of one.
  std::optional<std::uint64_t> basic_elements_in(std::uint64_t bytes) const;
  /// Signature as runs of predefined types (type, how many), in type-map order, for one element; a pair type counts one
  /// here. As long as the element has runs, up to basic_elements() entries: ask element() first.
  std::vector<std::pair<Basic, std::uint64_t>> signature() const;

  /// View of `count` elements at `base`; contiguous (layout == nullptr) when the data is one run. The caller sees to it
  /// that count * size() fits 64 bits.
  DataView view(void* base, std::uint64_t count) const;

  /// Bytes that rebuild the same layout in another process (format: design/datatypes.md); fixed-width little-endian.
  std::vector<std::byte> serialise() const;
  /// Rebuilds; never trusts its input: errc protocol on any inconsistency (depth, sizes, counts, overflow). Memory used
  /// is linear in bytes.size().
  static Result<LayoutRef> deserialise(std::span<const std::byte> bytes);

  void retain() const;
  void release() const;

  /// What a layout knows; the members are explained in layout_node.hpp and layout_signature.hpp. For base/ only.
  struct Data {
    layout_detail::NodeRef root;            // null: one run of `size` bytes
    layout_detail::SignatureRef signature;  // null: no data
    std::int64_t origin = 0;                // of the first byte in packed order
    std::uint64_t size = 0;
    std::int64_t lb = 0;
    std::int64_t ub = 0;
    std::int64_t true_lb = 0;
    std::int64_t true_ub = 0;
    std::uint32_t alignment = 1;
    bool lb_marked = false;  // set explicitly, hence sticky
    bool ub_marked = false;
  };
  const Data& data() const { return data_; }

 private:
  explicit Layout(Data data) : data_(std::move(data)) {}
  ~Layout() = default;
  static LayoutRef make(Data data);

  const Data data_;
  mutable std::atomic<std::uint64_t> references_{1};
};

inline void Layout::retain() const {
  // relaxed: whoever retains already holds a reference, so the object cannot go away meanwhile.
  references_.fetch_add(1, std::memory_order_relaxed);
}

inline LayoutRef::LayoutRef(const LayoutRef& other) : layout_(other.layout_) {
  if (layout_ != nullptr) layout_->retain();
}

inline LayoutRef::~LayoutRef() {
  if (layout_ != nullptr) layout_->release();
}

}  // namespace rmq
