// SPDX-License-Identifier: BSD-3-Clause
// Memory that a collective needs for itself, and copies within this rank. Small pieces come from the stack, so that
// short collectives never allocate. Allocation may throw std::bad_alloc: get memory before the first message leaves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "engine/coll/blocks.hpp"
#include "engine/object/deaths.hpp"

namespace rmq::mpi::coll {

/// `bytes` bytes, not initialised, aligned for any type.
class Scratch {
 public:
  explicit Scratch(std::uint64_t bytes) {
    if (bytes <= sizeof near_) return;
    far_.reset(static_cast<std::byte*>(std::malloc(bytes)));
    if (!far_) throw std::bad_alloc();
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::byte* data() { return far_ ? far_.get() : near_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> far_;
  alignas(std::max_align_t) std::byte near_[512];  // enough for the messages where nanoseconds count
};

/// An array of `n` trivial values, not initialised.
template <class T>
class ScratchArray {
 public:
  explicit ScratchArray(std::size_t n) : memory_(n * sizeof(T)) {}
  T& operator[](std::size_t i) { return reinterpret_cast<T*>(memory_.data())[i]; }
  T* data() { return reinterpret_cast<T*>(memory_.data()); }

 private:
  Scratch memory_;
};

/// Room for vectors of `count` elements of a type, each as it would lie in a user's buffer, gaps and odd bounds
/// included.
class Vectors {
 public:
  Vectors(MPI_Count count, const Datatype& type, int vectors = 1) : Vectors(place(count, type), count, type, vectors) {}
  /// The address that MPI would be given: of the first element's origin.
  void* origin(int i = 0) { return moved(memory_.data(), i * stride_ - low_); }
  Buffer buffer(int i = 0) { return {origin(i), count_, type_}; }

 private:
  struct Place {
    std::int64_t low;    // first byte, relative to the origin
    std::int64_t bytes;  // to the last; may exceed count * extent, so vectors do not lie element behind element
  };
  /// From bound to bound, though data may begin later and end earlier: a user's operation may copy whole structures.
  static Place place(MPI_Count count, const Datatype& type) {
    if (type.dense) return {0, count * static_cast<std::int64_t>(type.size)};
    if (count == 0) return {0, 0};
    const Layout& l = *type.layout;
    const std::int64_t low = std::min({l.lb(), l.lb() + l.extent(), l.true_lb()});
    const std::int64_t high = std::max({l.lb(), l.lb() + l.extent(), l.true_lb() + l.true_extent()});
    const std::int64_t reach = (count - 1) * l.extent();  // negative where elements grow downwards
    return {low + std::min<std::int64_t>(reach, 0), high - low + std::abs(reach)};
  }
  static constexpr std::int64_t kAlign = alignof(std::max_align_t);
  Vectors(const Place& at, MPI_Count count, const Datatype& type, int vectors)
      : stride_((at.bytes + kAlign - 1) / kAlign * kAlign),
        low_(at.low),
        memory_(static_cast<std::uint64_t>(stride_ * vectors)),
        count_(count),
        type_(&type) {
    // What comes empty, as a member has died, is combined all the same.
    if (ft::may_fail()) [[unlikely]]
      std::memset(memory_.data(), 0, static_cast<std::size_t>(stride_ * vectors));
  }

  std::int64_t stride_;  // bytes from vector to vector
  std::int64_t low_;
  Scratch memory_;
  MPI_Count count_;
  const Datatype* type_;
};

/// Copies within this rank, as a message from itself would: MPI_ERR_TRUNCATE unless both hold the same number of bytes.
/// The two must not overlap, but may be the same.
inline int copy_local(const Buffer& to, const Buffer& from) {
  if (to.data == from.data && to.type == from.type && to.count == from.count) return MPI_SUCCESS;
  const DataView target = view_of(to), source = view_of(from);
  const std::uint64_t n = std::min(target.bytes, source.bytes);
  if (target.is_contiguous() && source.is_contiguous()) {
    copy_bytes(target.base, source.base, n);
  } else {
    rmq::copy(target, 0, source, 0, n);
  }
  return target.bytes == source.bytes ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
}

/// Packs a whole buffer to `to`; returns how many bytes that were.
inline std::uint64_t pack_at(std::byte* to, const Buffer& from) {
  const DataView view = view_of(from);
  rmq::pack(to, view, 0, view.bytes);
  return view.bytes;
}

/// Fills a whole buffer from packed bytes; returns how many those were.
inline std::uint64_t unpack_at(const Buffer& to, const std::byte* from) {
  const DataView view = view_of(to);
  rmq::unpack(view, 0, from, view.bytes);
  return view.bytes;
}

}  // namespace rmq::mpi::coll
