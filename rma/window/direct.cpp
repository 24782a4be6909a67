// SPDX-License-Identifier: BSD-3-Clause
// Operations: what all have in common, and those on memory that is mapped here. The others go on in Sender.
#include "base/error.hpp"
#include "rma/memory/apply.hpp"
#include "rma/memory/store.hpp"
#include "rma/window/window.hpp"

namespace rmq::rma {
namespace {

/// `count` elements of `layout` at `at`; the dense case, which is nearly all, without a call.
DataView view_at(std::byte* at, const Layout& layout, std::uint64_t count) {
  if (layout.is_dense()) [[likely]]
    return DataView::contiguous(moved(at, layout.true_lb()), layout.size() * count);
  return layout.view(at, count);
}

}  // namespace

Fault Window::locate(const Reach& t, const Target& target, std::uint64_t& offset) const {
  std::uint64_t bytes = 0;
  const Layout& layout = *target.layout;
  const bool beyond = __builtin_mul_overflow(static_cast<std::uint64_t>(target.disp), t.unit, &offset);
  if (target.disp < 0 || beyond) [[unlikely]]
    return target.disp < 0 || (layout.size() != 0 && target.count != 0) ? Fault::disp : Fault::none;
  if (__builtin_mul_overflow(layout.size(), target.count, &bytes)) [[unlikely]]
    return Fault::range;
  if (core_.is_dynamic()) [[unlikely]] {
    if (!t.direct) return Fault::none;
    if (!core_.attached.covers(layout, target.count, offset, 0, bytes)) return Fault::range;
    offset = reinterpret_cast<std::uintptr_t>(core_.attached.at(offset));
    return Fault::none;
  }
  if (layout.is_dense() && layout.true_lb() == 0) [[likely]] {
    return bytes == 0 || (offset <= t.size && bytes <= t.size - offset) ? Fault::none : Fault::range;
  }
  return lies_within(layout, target.count, offset, t.size) ? Fault::none : Fault::range;
}

inline Fault Window::begin(const Target& target, std::uint64_t& offset) {
  const Reach& t = core_.at(target.rank);
  if ((t.access | core_.all) == 0) [[unlikely]] {
    const Fault f = core_.lock_all ? passive_.admit(target.rank) : active_.admit(target.rank);
    if (f != Fault::none) return f;
  }
  if (t.unit == 0) [[unlikely]]
    core_.look_up(target.rank);
  core_.fence_used = true;  // means something only while a fence's epoch is open
  return locate(t, target, offset);
}

Fault Window::begin_combining(const Target& target, ReduceOp op, std::uint64_t& offset, Element& element) {
  if (const Fault f = begin(target, offset); f != Fault::none) return f;
  if (target.layout->size() == 0 || target.count == 0)
    return Fault::none;  // nothing is combined, whatever the operation
  const auto found = element_of(*target.layout);
  if (!found) return Fault::type;
  element = *found;
  return reduce_defined(op, element.basic) ? Fault::none : Fault::op;
}

Fault Window::put(const DataView& origin, const Target& target) {
  std::uint64_t offset = 0;
  if (const Fault f = begin(target, offset); f != Fault::none) [[unlikely]]
    return f;
  if (origin.bytes != target.layout->size() * target.count) [[unlikely]]
    return Fault::type;
  Reach& t = core_.at(target.rank);
  if (!t.direct) return sender_.put(target, offset, origin);
  core_.domain.stores();
  const DataView to = view_at(moved(t.base, static_cast<std::int64_t>(offset)), *target.layout, target.count);
  if (origin.is_contiguous() && to.is_contiguous()) [[likely]]
    store_once(to.base, origin.base, to.bytes);
  else
    copy(to, 0, origin, 0, to.bytes);
  return Fault::none;
}

Fault Window::put_gathered(const DataView& origin, const Target& target) {
  if (core_.at(target.rank).direct) return put(origin, target);
  std::uint64_t offset = 0;
  if (const Fault f = begin(target, offset); f != Fault::none) [[unlikely]]
    return f;
  if (origin.bytes != target.layout->size() * target.count) [[unlikely]]
    return Fault::type;
  return sender_.put_gathered(target, offset, origin);
}

Fault Window::get(const DataView& origin, const Target& target) {
  std::uint64_t offset = 0;
  if (const Fault f = begin(target, offset); f != Fault::none) [[unlikely]]
    return f;
  if (origin.bytes != target.layout->size() * target.count) [[unlikely]]
    return Fault::type;
  Reach& t = core_.at(target.rank);
  if (!t.direct) return sender_.get(target, offset, origin);
  core_.domain.order_loads();
  const DataView from = view_at(moved(t.base, static_cast<std::int64_t>(offset)), *target.layout, target.count);
  if (origin.is_contiguous() && from.is_contiguous()) [[likely]]
    copy_bytes(origin.base, from.base, from.bytes);
  else
    copy(origin, 0, from, 0, from.bytes);
  return Fault::none;
}

Fault Window::accumulate(const DataView& origin, const Target& target, ReduceOp op) {
  std::uint64_t offset = 0;
  Element e;
  if (const Fault f = begin_combining(target, op, offset, e); f != Fault::none) return f;
  const std::uint64_t bytes = target.layout->size() * target.count;
  if (op != ReduceOp::no_op && origin.bytes != bytes) return Fault::type;
  if (bytes == 0 || op == ReduceOp::no_op) return Fault::none;
  Reach& t = core_.at(target.rank);
  if (!t.direct) {
    return sender_.combine(Kind::RMA_ACCUMULATE, target, offset, op, e, &origin, nullptr);
  }
  core_.domain.stores();
  const DataView to = view_at(moved(t.base, static_cast<std::int64_t>(offset)), *target.layout, target.count);
  combine_views(op, e, to, origin, DataView{}, core_.regions(t, t.exclusive));
  return Fault::none;
}

Fault Window::get_accumulate(const DataView& origin, const DataView& result, const Target& target, ReduceOp op) {
  std::uint64_t offset = 0;
  Element e;
  if (const Fault f = begin_combining(target, op, offset, e); f != Fault::none) return f;
  const std::uint64_t bytes = target.layout->size() * target.count;
  if ((op != ReduceOp::no_op && origin.bytes != bytes) || result.bytes != bytes) return Fault::type;
  if (bytes == 0) return Fault::none;
  Reach& t = core_.at(target.rank);
  if (!t.direct) {
    const DataView* data = op == ReduceOp::no_op ? nullptr : &origin;
    return sender_.combine(Kind::RMA_GET_ACCUMULATE, target, offset, op, e, data, &result);
  }
  core_.domain.order_loads();
  core_.domain.stores();
  const DataView to = view_at(moved(t.base, static_cast<std::int64_t>(offset)), *target.layout, target.count);
  combine_views(op, e, to, origin, result, core_.regions(t, t.exclusive));
  return Fault::none;
}

Fault Window::fetch_and_op(const void* origin, void* result, const Target& target, ReduceOp op) {
  std::uint64_t offset = 0;
  Element e;
  if (const Fault f = begin_combining(target, op, offset, e); f != Fault::none) [[unlikely]]
    return f;
  if (e.packed == 0 || target.count != 1) return Fault::type;
  if (e.has_gap()) {
    const DataView in = target.layout->view(const_cast<void*>(origin), 1);
    return get_accumulate(op == ReduceOp::no_op ? DataView{} : in, target.layout->view(result, 1), target, op);
  }
  Reach& t = core_.at(target.rank);
  if (!t.direct) {
    const DataView in = DataView::contiguous(origin, e.packed), out = DataView::contiguous(result, e.packed);
    return sender_.combine(Kind::RMA_FETCH_OP, target, offset, op, e, op == ReduceOp::no_op ? nullptr : &in, &out);
  }
  core_.domain.order_loads();
  core_.domain.stores();
  combine_one(op, e, moved(t.base, static_cast<std::int64_t>(offset)), origin, result, core_.regions(t, t.exclusive));
  return Fault::none;
}

Fault Window::compare_and_swap(const void* origin, const void* compare, void* result, const Target& target) {
  std::uint64_t offset = 0;
  Element e;
  if (const Fault f = begin_combining(target, ReduceOp::replace, offset, e); f != Fault::none) [[unlikely]]
    return f;
  if (!can_compare(e) || target.count != 1) return Fault::type;
  Reach& t = core_.at(target.rank);
  if (!t.direct) {
    const DataView out = DataView::contiguous(result, e.packed);
    return sender_.compare_and_swap(target, offset, e, origin, compare, out);
  }
  core_.domain.order_loads();
  core_.domain.stores();
  rma::compare_and_swap(e, moved(t.base, static_cast<std::int64_t>(offset)), compare, origin, result,
                        core_.regions(t, t.exclusive));
  return Fault::none;
}

// ---- request-based forms ----

// A direct operation is complete when the call returns.
Fault Window::finish_request(Fault fault, Request*& request) {
  if (fault == Fault::none) request = core_.device().MPID_Request_create(RequestKind::other);
  return fault;
}

Fault Window::rput(const DataView& origin, const Target& target, Request*& request) {
  if (core_.at(target.rank).direct || origin.bytes == 0) return finish_request(put(origin, target), request);
  std::uint64_t offset = 0;
  if (const Fault f = begin(target, offset); f != Fault::none) return f;
  if (origin.bytes != target.layout->size() * target.count) return Fault::type;
  return sender_.put(target, offset, origin, &request);
}

Fault Window::rget(const DataView& origin, const Target& target, Request*& request) {
  if (core_.at(target.rank).direct || origin.bytes == 0) return finish_request(get(origin, target), request);
  std::uint64_t offset = 0;
  if (const Fault f = begin(target, offset); f != Fault::none) return f;
  if (origin.bytes != target.layout->size() * target.count) return Fault::type;
  return sender_.get(target, offset, origin, &request);
}

Fault Window::raccumulate(const DataView& origin, const Target& target, ReduceOp op, Request*& request) {
  if (core_.at(target.rank).direct || origin.bytes == 0 || op == ReduceOp::no_op) {
    return finish_request(accumulate(origin, target, op), request);
  }
  std::uint64_t offset = 0;
  Element e;
  if (const Fault f = begin_combining(target, op, offset, e); f != Fault::none) return f;
  if (origin.bytes != target.layout->size() * target.count) return Fault::type;
  return sender_.combine(Kind::RMA_ACCUMULATE, target, offset, op, e, &origin, nullptr, &request);
}

Fault Window::rget_accumulate(const DataView& origin, const DataView& result, const Target& target, ReduceOp op,
                              Request*& request) {
  if (core_.at(target.rank).direct || result.bytes == 0) {
    return finish_request(get_accumulate(origin, result, target, op), request);
  }
  std::uint64_t offset = 0;
  Element e;
  if (const Fault f = begin_combining(target, op, offset, e); f != Fault::none) return f;
  const std::uint64_t bytes = target.layout->size() * target.count;
  if ((op != ReduceOp::no_op && origin.bytes != bytes) || result.bytes != bytes) return Fault::type;
  const DataView* data = op == ReduceOp::no_op ? nullptr : &origin;
  return sender_.combine(Kind::RMA_GET_ACCUMULATE, target, offset, op, e, data, &result, &request);
}

Fault Window::request_fault(const Request& request) {
  return request.kind == RequestKind::other ? static_cast<Fault>(request.stamp) : Fault::none;
}

}  // namespace rmq::rma
