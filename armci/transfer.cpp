// SPDX-License-Identifier: BSD-3-Clause
#include "armci/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "armci/call.hpp"
#include "armci/shapes.hpp"
#include "base/data/reduction.hpp"
#include "rma/memory/regions.hpp"
#include "rma/packet/put_list.hpp"
#include "rma/window/short_way.hpp"

namespace rmq::armci {
namespace {

constexpr std::uint64_t kCopied = 16;  // bytes of one piece that rma/ copies when they are issued

const Layout& layout_of(MPI_Datatype type) {
  return *mpi::find_datatype(type)->layout;
}

// What one call has issued, and what it does about it in the end. The device held.
class Issued {
 public:
  explicit Issued(const mpi::Function& f) : f_(f) {}

  /// `done_here`: this process's memory is free already.
  void add(const Part& part, rma::Fault fault, bool done_here = false) {
    check(f_, *part.of->window, fault);
    note_busy(*part.of, part.place);
    if (!done_here && std::find(open_.begin(), open_.end(), &part) == open_.end()) open_.push_back(&part);
  }
  /// *Waits*, but for what the handle takes: one place.
  void settle(const Finish& finish) {
    if (open_.empty() || (!finish.waits && !finish.handle)) return;
    armci_hdl_t* const h = finish.waits ? nullptr : finish.handle;
    const Part* const last = open_.back();
    for (const Part* part : open_)
      if (!h || part != last) wait(*part);
    if (!h) return;
    if (h->memory != 0 && (h->memory != last->of->number || h->place != last->place)) end_handle(f_, *h);
    h->memory = last->of->number;
    h->operation = last->of->window->completion(last->place, rma::Until::remote).number;
    h->place = last->place;
  }

 private:
  void wait(const Part& part) {
    rma::Window& window = *part.of->window;
    rma::Completion here = window.completion(part.place, rma::Until::local);
    check(f_, window, window.finish({&here, 1}));
  }

  const mpi::Function& f_;
  std::vector<const Part*> open_;
};

// ---- strided data ----

struct Extent {
  std::uint64_t data;   // bytes
  std::uint64_t below;  // of the lowest, before the first
  std::uint64_t span;   // from the lowest to the end of the highest
  std::uint64_t rows;
};

Extent extent_of(const mpi::Function& f, const Shape& shape) {
  if (shape.levels < 0) die(f, fmt::format("{} levels of strides", shape.levels));
  Extent e{static_cast<std::uint64_t>(std::max(shape.count[0], 0)), 0, 0, 1};
  e.span = e.data;
  for (int i = 0; i < shape.levels; ++i) {
    const auto n = static_cast<std::uint64_t>(std::max(shape.count[i + 1], 0));
    const std::int64_t stride = shape.stride[i];
    const std::uint64_t reach = n == 0 ? 0 : (n - 1) * static_cast<std::uint64_t>(std::abs(stride));
    e.rows *= n;
    e.span += reach;
    if (stride < 0) e.below += reach;
  }
  e.data *= e.rows;
  return e;
}

// The memory that strided data of that process, the first of it at `first`, is part of.
const Part& find_strided(const mpi::Function& f, void* first, const Extent& e, int proc, std::uint64_t& offset) {
  const Part& part = find(f, static_cast<std::byte*>(first) - e.below, e.span, proc, offset);
  offset += e.below;
  return part;
}

// Rows of one size, each a copy of constant length where it is short.
template <class Fn>
void with_row_size(std::uint64_t bytes, Fn&& copy) {
  switch (bytes) {
    case 4:
      return copy(std::integral_constant<std::size_t, 4>{});
    case 8:
      return copy(std::integral_constant<std::size_t, 8>{});
    case 16:
      return copy(std::integral_constant<std::size_t, 16>{});
    default:
      return copy(bytes);
  }
}

void move_near(Way way, std::byte* mine, const Shape& here, std::byte* theirs, const int* their_stride) {
  with_row_size(static_cast<std::uint64_t>(here.count[0]), [&](auto bytes) {
    for_each_row(
        mine, here.stride, theirs, their_stride, here.count,
        here.levels, [&](std::byte * a, std::byte * b) __attribute__((always_inline)) {
          if constexpr (!std::is_same_v<decltype(bytes), std::uint64_t>)
            std::memcpy(way == Way::put ? b : a, way == Way::put ? a : b, bytes);
          else if (way == Way::put)
            rma::store_once(b, a, bytes);
          else
            copy_bytes(a, b, bytes);
        });
  });
}

// Few short rows travel as puts of one list: they are copied, and no target has to know of their shape.
bool fits_list(const Extent& e, const Shape& shape) {
  return shape.count[0] <= static_cast<int>(rma::kListedMost) &&
         e.rows * (static_cast<std::uint64_t>(shape.count[0]) + rma::kPutHead) <= rma::kListMost;
}

void put_rows(Issued& issued, const Part& part, std::uint64_t offset, std::byte* mine, const Shape& here,
              const int* their_stride) {
  // An address of no meaning: rows there are told by their distance from it.
  auto* const origin = reinterpret_cast<std::byte*>(offset);
  const auto bytes = static_cast<std::uint64_t>(here.count[0]);
  const Layout& layout = layout_of(MPI_BYTE);
  for_each_row(mine, here.stride, origin, their_stride, here.count, here.levels, [&](std::byte* a, std::byte* b) {
    const rma::Target to{part.place, static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(b)), &layout, bytes};
    issued.add(part, part.of->window->put_gathered(DataView::contiguous(a, bytes), to), true);
  });
}

void strided_far(Issued& issued, Way way, const Part& part, std::uint64_t offset, std::byte* mine, const Shape& here,
                 const int* their_stride, const Extent& e) {
  if (way == Way::put && fits_list(e, here)) return put_rows(issued, part, offset, mine, here, their_stride);
  const LayoutRef there = shapes().get(MPI_BYTE, {their_stride, here.count, here.levels});
  const LayoutRef view = shapes().get(MPI_BYTE, here);
  const rma::Target to{part.place, static_cast<std::int64_t>(offset), there.get(), 1};
  rma::Window& window = *part.of->window;
  issued.add(part, way == Way::put ? window.put(view->view(mine, 1), to) : window.get(view->view(mine, 1), to));
}

rma::Fault move(const Part& part, Way way, std::uint64_t offset, void* mine, std::uint64_t bytes, bool& copied) {
  rma::Window& window = *part.of->window;
  const DataView data = DataView::contiguous(mine, bytes);
  const rma::Target there{part.place, static_cast<std::int64_t>(offset), &layout_of(MPI_BYTE), bytes};
  copied = way == Way::put && bytes <= rma::kListedMost;
  return way == Way::get ? window.get(data, there)
         : copied        ? window.put_gathered(data, there)
                         : window.put(data, there);
}

// ---- accumulates ----

class Adder {
 public:
  Adder(const Scaled& what, const rma::Regions& regions) : what_(what), guard_(regions) {}
  void add(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    for (std::uint64_t left = bytes / what_.size; left > 0;) {
      const std::uint64_t n = guard_.cover(to, what_.size, left);
      if (what_.scale)
        reduce_scaled(what_.basic, what_.scale, from, to, n);
      else
        reduce(ReduceOp::sum, what_.basic, from, to, n);
      to += n * what_.size;
      from += n * what_.size;
      left -= n;
    }
  }

 private:
  const Scaled& what_;
  rma::RegionGuard guard_;
};

rma::Regions regions_of(const Part& part) {
  return part.of ? part.of->window->regions(part.place) : rma::Regions{};
}

// A single number: the short way of rma/.
bool add_one(const Part& part, std::uint64_t offset, const Scaled& what, const void* mine) {
  return part.of && !mpi::runtime().device->threads() &&
         part.of->window->combine_now(ReduceOp::sum, what.basic, mine, nullptr, part.place,
                                      static_cast<std::int64_t>(offset));
}

// The data of this process, as it is to be added there: multiplied in a copy, unless that is as good as itself.
class Product {
 public:
  explicit Product(const Scaled& what) : what_(what) {}
  /// The products of `bytes` bytes are going to be wanted, at the most.
  void reserve(std::uint64_t bytes) {
    if (what_.scale) memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  }
  DataView of(const DataView& data) {
    if (!what_.scale) return data;
    std::byte* const to = memory_.get() + used_;
    used_ += data.bytes;
    pack(to, data, 0, data.bytes);
    multiply(to, data.bytes);
    return DataView::contiguous(to, data.bytes);
  }
  bool has_copies() const { return used_ > 0; }

 private:
  void multiply(std::byte* at, std::uint64_t bytes) const {
    alignas(16) std::array<std::byte, 1024> factors;
    for (std::uint64_t i = 0; i < factors.size(); i += what_.size) std::memcpy(&factors[i], what_.scale, what_.size);
    for (std::uint64_t done = 0; done < bytes; done += factors.size())
      reduce(ReduceOp::prod, what_.basic, factors.data(), at + done,
             std::min<std::uint64_t>(factors.size(), bytes - done) / what_.size);
  }

  const Scaled& what_;
  std::unique_ptr<std::byte[]> memory_;
  std::uint64_t used_ = 0;
};

template <class T>
bool is_one(const void* scale) {
  T value;
  std::memcpy(&value, scale, sizeof value);
  return value == T{1};
}

void add_far(Issued& issued, const Part& part, std::uint64_t offset, const Scaled& what, const DataView& data,
             const Layout& layout, std::uint64_t count) {
  const rma::Target to{part.place, static_cast<std::int64_t>(offset), &layout, count};
  const rma::Fault fault = part.of->window->accumulate(data, to, ReduceOp::sum);
  const bool copied = data.is_contiguous() && data.bytes <= kCopied && what.size == data.bytes;
  issued.add(part, fault, copied);
}

// A copy of data does not outlive the call.
Finish finish_of(const Product& product, const Finish& finish) {
  return product.has_copies() ? Finish{} : finish;
}

}  // namespace

Scaled scaled(const char* function, int type, const void* scale) {
  switch (type) {
    case ARMCI_ACC_INT:
      return {MPI_INT, Basic::i32, 4, is_one<int>(scale) ? nullptr : scale};
    case ARMCI_ACC_LNG:
      return {MPI_LONG, Basic::i64, 8, is_one<long>(scale) ? nullptr : scale};
    case ARMCI_ACC_FLT:
      return {MPI_FLOAT, Basic::f32, 4, is_one<float>(scale) ? nullptr : scale};
    case ARMCI_ACC_DBL:
      return {MPI_DOUBLE, Basic::f64, 8, is_one<double>(scale) ? nullptr : scale};
    case ARMCI_ACC_CPL:
      return {MPI_C_FLOAT_COMPLEX, Basic::c32, 8, is_one<std::complex<float>>(scale) ? nullptr : scale};
    case ARMCI_ACC_DCP:
      return {MPI_C_DOUBLE_COMPLEX, Basic::c64, 16, is_one<std::complex<double>>(scale) ? nullptr : scale};
    default:
      die(function, fmt::format("{} is no type of accumulates", type));
  }
}

void move_far(const mpi::Function& f, Way way, const Part& part, std::uint64_t offset, void* mine, std::uint64_t bytes,
              Finish finish) {
  if (bytes == 0) return;
  enter(f, [&] {
    Issued issued(f);
    bool copied = false;
    const rma::Fault fault = move(part, way, offset, mine, bytes, copied);
    issued.add(part, fault, copied);
    issued.settle(finish);
  });
}

void strided(const mpi::Function& f, Way way, void* mine, const Shape& here, void* theirs, const int* their_stride,
             int proc, Finish finish) {
  begin_handle(finish);
  const Extent e = extent_of(f, {their_stride, here.count, here.levels});
  if (e.data == 0) return;
  std::uint64_t offset;
  const Part& part = find_strided(f, theirs, e, proc, offset);
  auto* const own = static_cast<std::byte*>(mine);
  if (part.here) [[likely]] {
    move_near(way, own, here, part.here + offset, their_stride);
    if (way == Way::get) looked();
    return;
  }
  enter(f, [&] {
    Issued issued(f);
    strided_far(issued, way, part, offset, own, here, their_stride, e);
    issued.settle(finish);
  });
}

void vectors(const mpi::Function& f, Way way, std::span<const armci_giov_t> all, int proc, Finish finish) {
  begin_handle(finish);
  Issued issued(f);
  bool far = false;
  for (const armci_giov_t& v : all) {
    const auto bytes = static_cast<std::uint64_t>(std::max(v.bytes, 0));
    for (int i = 0; i < v.ptr_array_len; ++i) {
      void* const theirs = way == Way::put ? v.dst_ptr_array[i] : v.src_ptr_array[i];
      void* const mine = way == Way::put ? v.src_ptr_array[i] : v.dst_ptr_array[i];
      std::uint64_t offset;
      const Part& part = find(f, theirs, bytes, proc, offset);
      if (part.here) {
        std::byte* const there = part.here + offset;
        way == Way::put ? rma::store_once(there, mine, bytes) : copy_bytes(mine, there, bytes);
      } else {
        far = true;
        enter(f, [&] {
          bool copied = false;
          const rma::Fault fault = move(part, way, offset, mine, bytes, copied);
          issued.add(part, fault, copied);
        });
      }
    }
  }
  if (far) enter(f, [&] { issued.settle(finish); });
  if (way == Way::get) looked();
}

void add(const mpi::Function& f, const Scaled& what, void* mine, const Shape& here, void* theirs,
         const int* their_stride, int proc, Finish finish) {
  begin_handle(finish);
  const Extent e = extent_of(f, {their_stride, here.count, here.levels});
  if (e.data == 0) return;
  if (static_cast<std::uint64_t>(here.count[0]) % what.size != 0) die(f, "a row is no whole number of elements");
  std::uint64_t offset;
  const Part& part = find_strided(f, theirs, e, proc, offset);
  auto* const own = static_cast<std::byte*>(mine);
  if (part.here) [[likely]] {
    if (e.data == what.size && !what.scale && add_one(part, offset, what, own)) return;
    const adi::Device::Entry entry(*mpi::runtime().device, f);
    const rma::Regions regions = regions_of(part);
    Adder adder(what, regions);
    for_each_row(
        part.here + offset, their_stride, own, here.stride, here.count, here.levels,
        [&](std::byte* to, std::byte* from) { adder.add(to, from, static_cast<std::uint64_t>(here.count[0])); });
    return;
  }
  enter(f, [&] {
    Issued issued(f);
    Product product(what);
    product.reserve(e.data);
    if (here.levels == 0) {
      const DataView data = product.of(DataView::contiguous(own, e.data));
      add_far(issued, part, offset, what, data, layout_of(what.type), e.data / what.size);
    } else {
      const LayoutRef view = shapes().get(what.type, here);
      const LayoutRef there = shapes().get(what.type, {their_stride, here.count, here.levels});
      add_far(issued, part, offset, what, product.of(view->view(own, 1)), *there, 1);
    }
    issued.settle(finish_of(product, finish));
  });
}

void add_vectors(const mpi::Function& f, const Scaled& what, std::span<const armci_giov_t> all, int proc,
                 Finish finish) {
  begin_handle(finish);
  std::uint64_t data = 0;
  for (const armci_giov_t& v : all) {
    data += static_cast<std::uint64_t>(std::max(v.bytes, 0)) * static_cast<std::uint64_t>(std::max(v.ptr_array_len, 0));
    if (static_cast<std::uint64_t>(std::max(v.bytes, 0)) % what.size != 0)
      die(f, "a piece is no whole number of elements");
  }
  Issued issued(f);
  Product product(what);
  bool far = false;
  for (const armci_giov_t& v : all) {
    const auto bytes = static_cast<std::uint64_t>(std::max(v.bytes, 0));
    for (int i = 0; i < v.ptr_array_len; ++i) {
      std::uint64_t offset;
      const Part& part = find(f, v.dst_ptr_array[i], bytes, proc, offset);
      auto* const own = static_cast<std::byte*>(v.src_ptr_array[i]);
      if (part.here) {
        const adi::Device::Entry entry(*mpi::runtime().device, f);
        const rma::Regions regions = regions_of(part);
        Adder(what, regions).add(part.here + offset, own, bytes);
        continue;
      }
      enter(f, [&] {
        if (!far) product.reserve(data);
        far = true;
        add_far(issued, part, offset, what, product.of(DataView::contiguous(own, bytes)), layout_of(what.type),
                bytes / what.size);
      });
    }
  }
  if (far) enter(f, [&] { issued.settle(finish_of(product, finish)); });
}

}  // namespace rmq::armci
