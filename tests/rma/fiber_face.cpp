// SPDX-License-Identifier: BSD-3-Clause
#include "rma/fiber_face.hpp"

#include <fmt/format.h>

#include <cstring>

namespace rmq::testing {
namespace {

using What = RmaOp::What;
using rma::Window;

LayoutRef build(const RmaType& t) {
  const LayoutRef element = Layout::basic(t.element, t.size);
  switch (t.make) {
    case RmaType::Make::vector:
      return Layout::hvector(static_cast<std::uint64_t>(t.blocks), static_cast<std::uint64_t>(t.length), t.stride,
                             *element);
    case RmaType::Make::indexed: {
      const std::vector<std::uint64_t> lengths(t.lengths.begin(), t.lengths.end());
      return Layout::resized(*Layout::hindexed(lengths, t.places, *element), 0, t.extent);
    }
    default:
      return element;
  }
}

const Layout& layout_of(RmaType& t) {
  if (!t.built) t.built = std::make_shared<LayoutRef>(build(t));
  return **static_cast<const LayoutRef*>(t.built.get());
}

class FiberFace final : public RmaFace {
 public:
  FiberFace(Fibers& fibers, const RmaPlan& plan, int me)
      : fibers_(fibers), plan_(plan), me_(me), own_(static_cast<std::size_t>(plan.bytes())) {}

  /// Collective.
  Fault open() {
    rma::WindowOptions o;
    o.id = 9;
    o.flavor = plan_.flavor;
    o.base = own_.data();
    o.size = plan_.bytes();
    o.disp_unit = plan_.unit;
    window_ = fibers_.window(me_, o);
    std::uint64_t base = 0;
    if (plan_.flavor == rma::Flavor::dynamic) {
      if (Fault f = text(window_->attach(own_.data(), own_.size())); !f.empty()) return f;
      base = reinterpret_cast<std::uintptr_t>(own_.data());
    } else {
      std::memset(window_->base(), 0, own_.size());
    }
    bases_ = fibers_.gather(me_, {&base, 1});
    return {};
  }
  /// Collective.
  void close() { fibers_.close(me_, std::move(window_)); }
  bool is_real() const override { return true; }
  Fault fence(unsigned assertions) override { return text(window_->fence(assertions)); }
  Fault post(const std::vector<int>& group) override { return text(window_->post(group, 0)); }
  Fault start(const std::vector<int>& group) override { return text(window_->start(group, 0)); }
  Fault complete() override { return text(window_->complete()); }
  Fault wait() override { return text(window_->wait()); }
  Fault test(bool& done) override { return text(window_->test(done)); }
  Fault lock(rma::LockType type, int target, unsigned assertions) override {
    return text(window_->lock(type, target, assertions));
  }
  Fault unlock(int target) override { return text(window_->unlock(target)); }
  Fault lock_all(unsigned assertions) override { return text(window_->lock_all(assertions)); }
  Fault unlock_all() override { return text(window_->unlock_all()); }
  Fault flush(int target) override { return text(window_->flush(target)); }
  Fault flush_all() override { return text(window_->flush_all()); }
  Fault flush_local(int target) override { return text(window_->flush_local(target)); }
  Fault sync() override { return text(window_->sync()); }
  const std::byte* memory() const override {
    return plan_.flavor == rma::Flavor::dynamic ? own_.data() : static_cast<const std::byte*>(window_->base());
  }

  Fault issue(RmaOp& op) override {
    Window& w = *window_;
    if (op.what == What::store) return store(op);
    const auto base = static_cast<std::int64_t>(bases_[static_cast<std::size_t>(op.target)]);
    const rma::Target t{op.target, (base + op.offset) / plan_.unit, &layout_of(*op.type),
                        static_cast<std::uint64_t>(op.type->count)};
    const auto count = static_cast<std::uint64_t>(op.origin_type->count);
    const DataView in = layout_of(*op.origin_type).view(op.origin.data(), count);
    const DataView out = layout_of(*op.origin_type).view(op.result.data(), count);
    Request* request = nullptr;
    rma::Fault f = rma::Fault::none;
    switch (op.what) {
      case What::put:
        f = op.asks ? w.rput(in, t, request) : w.put(in, t);
        break;
      case What::get:
        f = op.asks ? w.rget(out, t, request) : w.get(out, t);
        break;
      case What::accumulate:
        f = op.asks ? w.raccumulate(in, t, op.op, request) : w.accumulate(in, t, op.op);
        break;
      case What::get_accumulate:
        f = op.asks ? w.rget_accumulate(in, out, t, op.op, request) : w.get_accumulate(in, out, t, op.op);
        break;
      case What::fetch_and_op:
        f = w.fetch_and_op(op.origin.data(), op.result.data(), t, op.op);
        break;
      default:
        f = w.compare_and_swap(op.origin.data(), op.compare.data(), op.result.data(), t);
    }
    if (request) op.state = std::make_shared<Request*>(request);
    return text(f);
  }
  Fault finish(RmaOp& op) override {
    if (!op.state) return "there is no request";
    Request* const r = *static_cast<Request**>(op.state.get());
    op.state.reset();
    fibers_.device(me_).MPID_Wait(r);
    const rma::Fault f = r->status.error == Errc::ok ? rma::Fault::none : Window::request_fault(*r);
    fibers_.device(me_).MPID_Request_free(r);
    return text(f);
  }

 private:
  static Fault text(rma::Fault f) { return f == rma::Fault::none ? Fault{} : Fault{rma::fault_text(f)}; }
  Fault store(const RmaOp& op) {
    rma::SharedMemory theirs;
    const rma::Fault f = window_->shared_query(op.target, theirs);
    for (std::size_t i = 0; f == rma::Fault::none && i < op.type->elements.size(); ++i) {
      std::memcpy(static_cast<std::byte*>(theirs.base) + op.offset + op.type->elements[i],
                  op.origin.data() + op.origin_type->elements[i], op.type->size);
    }
    return text(f);
  }

  Fibers& fibers_;
  const RmaPlan& plan_;
  int me_;
  std::vector<std::byte> own_;
  std::unique_ptr<Window> window_;
  std::vector<std::uint64_t> bases_;  // of dynamic windows; else 0
};

/// One host, or some ranks on each of a few, in any order.
Hosts hosts_of(const RmaPlan& plan) {
  methods::Chance chance(plan.seed * 3 + 2);
  std::vector<int> host_of_rank(static_cast<std::size_t>(plan.ranks));
  const std::uint64_t most = plan.flavor == rma::Flavor::shared ? 1 : chance.between(1, 3);
  for (int& host : host_of_rank) host = static_cast<int>(chance.below(most));
  return Hosts(host_of_rank);
}

}  // namespace

std::vector<std::string> run_on_fibers(const RmaPlan& plan) {
  methods::InprocRules rules = methods::InprocRules::drawn(plan.seed);
  rules.shared_memory = plan.heap_memory;
  Fibers fibers(hosts_of(plan), rules, [&](Config& c) {
    c.rma_types = plan.types;
    c.rma_queue = plan.queue;
  });
  std::vector<std::string> faults;
  RmaModel model(plan);
  std::vector<std::unique_ptr<FiberFace>> faces;
  for (int i = 0; i < plan.ranks; ++i) faces.push_back(std::make_unique<FiberFace>(fibers, plan, i));
  const bool ended = fibers.run([&](int me) {
    FiberFace& face = *faces[static_cast<std::size_t>(me)];
    if (std::string f = face.open(); !f.empty()) faults.push_back(f);
    RmaPart part(plan, model, face, me, faults);
    for (int i = 0; i < plan.rounds && faults.empty(); ++i) {
      part.round(i);
      fibers.barrier(me);
      part.check(i);
      fibers.barrier(me);
    }
    if (faults.empty()) face.close();
  });
  if (!ended) faults.emplace_back("stuck");
  if (!faults.empty()) return faults;
  for (int i = 0; i < plan.ranks; ++i) {
    if (fibers.device(i).pool().alive() != 0) faults.push_back(fmt::format("rank {} has requests left", i));
    if (fibers.domain(i).counters().protocol_errors != 0) faults.push_back(fmt::format("rank {}: protocol errors", i));
  }
  return faults;
}

}  // namespace rmq::testing
