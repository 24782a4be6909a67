// SPDX-License-Identifier: BSD-3-Clause
#include "rma/origin/sender.hpp"

#include <algorithm>
#include <cstring>

#include "rma/packet/fields.hpp"
#include "rma/packet/put_list.hpp"

namespace rmq::rma {
namespace {

// From this size on data may be copied at once, bytes. What is shorter gains more by leaving together with others: a
// copy between processes costs 1.5 us before its first byte, a short operation among others 0.1 to 0.2 us in all.
constexpr std::uint64_t kAtOnceLeast = 8 * 1024;

LayoutRef keep(const Layout* layout) {
  if (!layout) return {};
  layout->retain();
  return LayoutRef(layout);
}

bool is_empty(const Target& target) {
  return target.layout->size() * target.count == 0;
}

}  // namespace

// ---- operations ----

Op* Sender::make_op(Kind kind, const Target& target, std::uint64_t offset, const DataView* data,
                    const DataView* result) {
  Op* op = core_.domain.ops().take();
  op->channel = &channel(target.rank);
  op->bytes = target.layout->size() * target.count;
  op->packet = core_.packet(kind);
  const DataView there = target.layout->view(nullptr, target.count);
  const bool plain = there.is_contiguous();
  if (plain) offset += reinterpret_cast<std::uintptr_t>(there.base);
  if (is_single(kind)) {
    op->packet.rma_fetch_op = {offset, 0};
  } else {
    if (!plain) op->type = core_.domain.types_out().use(*target.layout);
    op->packet.rma_put = {offset, plain ? op->bytes : target.count, 0, op->type ? op->type->id : 0, 0};
  }
  if (data) {
    op->data = *data;
    op->layouts[0] = keep(data->layout);
    if (data->is_contiguous() && data->bytes <= op->words.size()) {  // the caller's memory is free at once
      std::memcpy(op->words.data(), data->base, data->bytes);
      op->data.base = op->words.data();
    }
  }
  if (result) {
    op->result = *result;
    op->layouts[1] = keep(result->layout);
    op->replies = true;
  }
  return op;
}

// A put or get: long data in one piece on both sides may be copied at once, where the target's process can be reached.
Fault Sender::transfer(Kind kind, const Target& target, std::uint64_t offset, const DataView& here, Request** request) {
  if (is_empty(target)) return Fault::none;
  const bool put = kind == Kind::RMA_PUT;
  Op* op = make_op(kind, target, offset, put ? &here : nullptr, put ? nullptr : &here);
  const std::byte* const base = core_.at(target.rank).base;
  if (base && op->bytes >= kAtOnceLeast && !op->type && here.is_contiguous())
    op->there = reinterpret_cast<std::uintptr_t>(base) + op->packet.rma_put.offset;
  return issue(op, request);
}

Op* Sender::make_combining(Kind kind, const Target& target, std::uint64_t offset, ReduceOp reduction,
                           const Element& element, const DataView* data, const DataView* result) {
  Op* op = make_op(kind, target, offset, data, result);
  op->packet.tag = static_cast<std::int32_t>(static_cast<std::uint32_t>(reduction) |
                                             static_cast<std::uint32_t>(element.basic) << 8 | element.packed << 16);
  op->unit = element.packed;
  return op;
}

Fault Sender::put(const Target& target, std::uint64_t offset, const DataView& origin, Request** request) {
  return transfer(Kind::RMA_PUT, target, offset, origin, request);
}

Fault Sender::put_gathered(const Target& target, std::uint64_t offset, const DataView& origin) {
  const bool plain = origin.is_contiguous() && target.layout->is_dense() && target.layout->true_lb() == 0;
  if (!plain || origin.bytes == 0 || origin.bytes > kListedMost) return put(target, offset, origin);
  Channel* c = in_use(target.rank);
  if (c && c->stream().append(offset, origin.base, origin.bytes)) [[likely]]
    return Fault::none;
  c = &channel(target.rank);
  const std::uint64_t room = std::min<std::uint64_t>(kListMost, core_.device().fragment_max(c->to()));
  if (room < kPutHead + origin.bytes) return put(target, offset, origin);
  Op* op = core_.domain.ops().take();
  op->channel = c;
  op->packet = core_.packet(Kind::RMA_PUT_LIST);
  op->list = core_.domain.ops().take_list();
  op->list_room = static_cast<std::uint32_t>(room);
  op->data = DataView::contiguous(op->list.get(), 0);
  OpStream::add_to_list(*op, offset, origin.base, static_cast<std::uint32_t>(origin.bytes));
  return issue(op, nullptr);
}

Fault Sender::get(const Target& target, std::uint64_t offset, const DataView& result, Request** request) {
  return transfer(Kind::RMA_GET, target, offset, result, request);
}

Fault Sender::combine(Kind kind, const Target& target, std::uint64_t offset, ReduceOp reduction, const Element& element,
                      const DataView* origin, const DataView* result, Request** request) {
  if (is_empty(target)) return Fault::none;
  return issue(make_combining(kind, target, offset, reduction, element, origin, result), request);
}

Fault Sender::compare_and_swap(const Target& target, std::uint64_t offset, const Element& element, const void* origin,
                               const void* compare, const DataView& result) {
  Op* op = make_combining(Kind::RMA_CAS, target, offset, ReduceOp::replace, element, nullptr, &result);
  // Both words travel, so they are kept here; the comparand first.
  std::memcpy(op->words.data(), compare, element.packed);
  std::memcpy(op->words.data() + element.packed, origin, element.packed);
  op->data = DataView::contiguous(op->words.data(), 2 * std::uint64_t{element.packed});
  return issue(op, nullptr);
}

// ---- completion ----

Completion Sender::completion(int rank, Until until) {
  Channel* c = find(rank);
  return c ? c->completion(until) : Completion{nullptr, 0, until};
}

std::vector<Completion> Sender::completions(Until until) {
  std::vector<Completion> all;
  for (Channel* c : busy_) all.push_back(c->completion(until));
  return all;
}

// Flush, unlock, complete.
Fault Sender::finish(std::span<Completion> all) {
  const auto is_open = [](const Completion& c) { return c.channel && !c.channel->is_closed(); };
  for (Completion& c : all) {
    if (is_open(c)) c.channel->begin(c);
  }
  for (const Completion& c : all) {
    if (is_open(c)) c.channel->lead_out(c);
  }
  // What needs no lock or post any more leaves, whatever the others wait for.
  const auto drain = [&](Completion& c) {
    if (c.draining || !is_open(c) || !c.channel->may_drain(c)) return;
    const adi::Device::Together together(core_.device(), c.channel->to());
    c.channel->drain(c, c.until != Until::local);
    c.channel->begin_drain(c);
  };
  for (Completion& c : all) drain(c);
  for (const Completion& c : all) {
    if (c.draining || !is_open(c)) continue;
    core_.wait_until({WaitFor::What::operations, c.channel->rank()}, [&] {
      for (Completion& one : all) drain(one);
      return c.draining || !is_open(c);
    });
  }
  Fault first = Fault::none;
  for (const Completion& c : all) {
    if (!c.channel) continue;
    if (c.draining) {
      core_.wait_until({WaitFor::What::operations, c.channel->rank()},
                       [&] { return c.channel->drain(c, c.until != Until::local); });
    }
    c.channel->end(c);
    const Fault f = c.channel->take_fault();
    if (first == Fault::none) first = f;
    if (c.until == Until::unlock) close(*c.channel);
  }
  return first;
}

Fault Sender::finish(int rank, Until until) {
  Completion one = completion(rank, until);
  return finish({&one, 1});
}

Fault Sender::finish_all(Until until) {
  if (busy_.empty()) return Fault::none;
  std::vector<Completion> all = completions(until);
  return finish(all);
}

void Sender::wait_idle() {
  for (const auto& c : channels_) {
    core_.wait_until({WaitFor::What::operations, c->rank()}, [&] { return c->stream().is_idle(); });
  }
}

// ---- epochs ----

// For an operation, or the epoch that it belongs to.
Channel& Sender::channel(int rank) {
  Channel*& slot = channel_of_[rank];
  if (!slot) slot = channels_.emplace_back(std::make_unique<Channel>(core_, rank)).get();
  if (slot->begin_epoch()) {
    busy_.push_back(slot);
    if (core_.lock_all && slot->state() == Channel::State::unlocked) hold_locks();
  }
  return *slot;
}

Fault Sender::begin_lock(int rank, LockType type, bool nocheck, bool several) {
  Channel& c = channel(rank);
  c.begin_lock(type, nocheck);
  if (!several && !nocheck) core_.domain.set_lone_lock(c);
  const Fault fault = c.stand_in_line(several);
  if (fault != Fault::none) close(c);
  return fault;
}

// One that this thread has to have before it asks for another one; it is asked for. Each call looks anew: another
// thread may end that epoch meanwhile, and its window.
Channel* Sender::awaited_lock(DomainCore::Opener me) const {
  const auto is_awaited = [](Channel& c) {
    c.want_lock();
    return c.state() == Channel::State::asked;
  };
  if (Channel* const lone = core_.domain.lone_lock(me)) {
    if (is_awaited(*lone)) return lone;
    core_.domain.forget_lone_lock(*lone);
  }
  for (const Sender* s : core_.domain.senders())
    if (s->core_.lock_all && !s->core_.nocheck_all && s->core_.all_by == me)
      for (Channel* const c : s->busy_)
        if (!c->stream().is_empty() && is_awaited(*c)) return c;
  return nullptr;
}

void Sender::hold_locks() {
  const DomainCore::Opener me = DomainCore::this_thread();  // another thread may look whether the wait is over
  if (const Channel* const first = awaited_lock(me))
    core_.wait_until({WaitFor::What::lock, first->rank(), &first->core()}, [&] { return !awaited_lock(me); });
}

void Sender::close(Channel& channel) {
  channel.close();
  std::erase(busy_, &channel);
}

}  // namespace rmq::rma
