#include "rma/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace rmq::testing {
namespace {

constexpr int kCounters = 4;
const LayoutRef kLong = Layout::basic(Basic::i64, 8);

LayoutRef layout_of(Basic basic, std::uint32_t packed) {
  return Layout::basic(basic, packed);
}

}  // namespace

RmaProgram::RmaProgram(std::uint64_t seed)
    : seed_(seed), chance_(seed * 2 + 1), rules_(methods::InprocRules::drawn(seed)) {
  n_ = static_cast<int>(chance_.between(2, 5));
  rounds_ = static_cast<int>(chance_.between(2, 6));
  area_ = chance_.pick<std::int64_t>({512, 2048, 2048, 40000});
  unit_ = chance_.pick<std::int64_t>({1, 1, 4, 8});
  rules_.shared_memory = chance_.in(400);
  flavor_ = chance_.pick<rma::Flavor>({rma::Flavor::create, rma::Flavor::allocate, rma::Flavor::dynamic});
  if (flavor_ == rma::Flavor::dynamic) unit_ = 1;
  const std::uint64_t types = chance_.pick<std::uint64_t>({1, 2, 1000}),
                      queue = chance_.pick<std::uint64_t>({0, 200, 65536});
  fibers_ = std::make_unique<Fibers>(n_, rules_, [&](Config& c) {
    c.rma_types = types;
    c.rma_queue = queue;
  });
  const auto n = static_cast<std::size_t>(n_);
  ranks_ = std::vector<Rank>(n);
  bases_.resize(n);
  const auto bytes = static_cast<std::size_t>(area_ * n_ + kCounters * 8);
  model_.assign(n, std::vector<std::byte>(bytes));
  counts_.assign(n, std::vector<std::int64_t>(kCounters));
  for (std::size_t i = 0; i < n; ++i) {
    ranks_[i].chance = methods::Chance(seed * 1000 + i);
    ranks_[i].touched.resize(n);
  }
}

RmaProgram::~RmaProgram() = default;

std::string RmaProgram::describe() const {
  return fmt::format("seed {}: {} ranks, {} rounds, area {}, unit {}, flavor {}, shared {}", seed_, n_, rounds_, area_,
                     unit_, static_cast<int>(flavor_), rules_.shared_memory);
}

std::vector<std::string> RmaProgram::run() {
  if (!fibers_->run([this](int me) { program(me); })) faults_.push_back("stuck");
  if (!faults_.empty()) {
    for (Rank& r : ranks_) r.window.release();  // others may still refer to it
    return faults_;
  }
  for (int i = 0; i < n_; ++i) {
    if (fibers_->device(i).pool().alive() != 0) faults_.push_back(fmt::format("rank {} has requests left", i));
    if (fibers_->domain(i).counters().protocol_errors != 0)
      faults_.push_back(fmt::format("rank {}: protocol errors", i));
  }
  return faults_;
}

void RmaProgram::expect_none(int me, rma::Fault f, const char* what) {
  if (f != rma::Fault::none) faults_.push_back(fmt::format("rank {}: {}: {}", me, what, rma::fault_text(f)));
}

void RmaProgram::program(int me) {
  Rank& r = rank(me);
  const std::size_t bytes = model_[static_cast<std::size_t>(me)].size();
  r.memory.resize(bytes);
  rma::WindowOptions o;
  o.id = 9;
  o.flavor = flavor_;
  o.base = r.memory.data();
  o.size = bytes;
  o.disp_unit = static_cast<int>(unit_);
  r.window = fibers_->window(me, o);
  if (flavor_ == rma::Flavor::allocate) std::memset(r.window->base(), 0, bytes);
  if (flavor_ == rma::Flavor::dynamic) {
    expect_none(me, r.window->attach(r.memory.data(), bytes), "attach");
    bases_[static_cast<std::size_t>(me)] = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(r.memory.data()));
  }
  fibers_->barrier(me);
  for (int i = 0; i < rounds_ && faults_.empty(); ++i) round(me, i);
  fibers_->barrier(me);
  if (!faults_.empty()) return;
  fibers_->close(me, std::move(r.window));
}

void RmaProgram::round(int me, int number) {
  methods::Chance common(seed_ * 7919 + static_cast<std::uint64_t>(number));  // the same in all ranks
  const std::uint64_t kind = common.below(4);
  const std::uint64_t draw = common.below(1u << 30);
  switch (kind) {
    case 0:
      fence_round(me);
      break;
    case 1:
      pscw_round(me, draw);
      break;
    case 2:
      lock_round(me);
      break;
    default:
      lock_all_round(me);
  }
  complete(me);
  fibers_->barrier(me);
  verify(me, number);
  fibers_->barrier(me);
}

void RmaProgram::fence_round(int me) {
  rma::Window& w = *rank(me).window;
  expect_none(me, w.fence(rma::assertion::noprecede), "fence");
  for (int times = 0; times < 2; ++times) {
    for (int t = 0; t < n_; ++t) operations(me, t, false);
    expect_none(me, w.fence(times == 1 ? rma::assertion::nosucceed : 0), "fence");
    complete(me);
  }
}

void RmaProgram::pscw_round(int me, std::uint64_t draw) {
  rma::Window& w = *rank(me).window;
  const auto accesses = [&](int origin, int target) {
    return methods::Chance(draw + static_cast<std::uint64_t>(origin * 64 + target)).in(600);
  };
  std::vector<int> targets, origins;
  for (int i = 0; i < n_; ++i) {
    if (accesses(me, i)) targets.push_back(i);
    if (accesses(i, me)) origins.push_back(i);
  }
  expect_none(me, w.post(origins, 0), "post");
  expect_none(me, w.start(targets, 0), "start");
  for (int t : targets) operations(me, t, false);
  expect_none(me, w.complete(), "complete");
  complete(me);
  if (rank(me).chance.in(500)) {
    expect_none(me, w.wait(), "wait");
  } else {
    for (bool done = false; !done && faults_.empty();) expect_none(me, w.test(done), "test");
  }
}

void RmaProgram::lock_round(int me) {
  Rank& r = rank(me);
  for (std::uint64_t epochs = r.chance.between(1, 5); epochs > 0; --epochs) {
    const int t = static_cast<int>(r.chance.below(static_cast<std::uint64_t>(n_)));
    const auto type = r.chance.in(400) ? rma::LockType::exclusive : rma::LockType::shared;
    const unsigned nocheck = type == rma::LockType::shared && r.chance.in(150) ? rma::assertion::nocheck : 0;
    expect_none(me, r.window->lock(type, t, nocheck), "lock");
    operations(me, t, true);
    expect_none(me, r.window->unlock(t), "unlock");
    complete(me);
  }
}

void RmaProgram::lock_all_round(int me) {
  Rank& r = rank(me);
  expect_none(me, r.window->lock_all(r.chance.in(200) ? rma::assertion::nocheck : 0), "lock_all");
  for (std::uint64_t times = r.chance.between(1, 4); times > 0; --times) {
    operations(me, static_cast<int>(r.chance.below(static_cast<std::uint64_t>(n_))), true);
    if (r.chance.in(300)) {
      expect_none(me, r.window->flush_all(), "flush_all");
      complete(me);
    }
  }
  expect_none(me, r.window->unlock_all(), "unlock_all");
}

void RmaProgram::operations(int me, int target, bool may_flush) {
  Rank& r = rank(me);
  for (std::uint64_t k = r.chance.below(6); k > 0 && faults_.empty(); --k) {
    if (r.chance.in(200))
      count(me, target);
    else
      one(me, target, may_flush);
    if (may_flush && r.chance.in(100)) expect_none(me, r.window->flush_local(target), "flush_local");
  }
}

void RmaProgram::count(int me, int target) {
  Rank& r = rank(me);
  const auto c = r.chance.below(kCounters);
  auto p = std::make_unique<Pending>();
  const auto by = static_cast<std::int64_t>(r.chance.between(1, 9));
  p->origin.resize(8);
  std::memcpy(p->origin.data(), &by, 8);
  p->result.resize(8);
  const rma::Target t{target, disp(target, area_ * n_ + static_cast<std::int64_t>(c) * 8), kLong.get(), 1};
  if (unit_ > 1 && (area_ * n_) % unit_ != 0) return;
  counts_[static_cast<std::size_t>(target)][c] += by;
  const DataView in = DataView::contiguous(p->origin.data(), 8), out = DataView::contiguous(p->result.data(), 8);
  switch (r.chance.below(3)) {
    case 0:
      expect_none(me, r.window->accumulate(in, t, ReduceOp::sum), "accumulate");
      break;
    case 1:
      expect_none(me, r.window->get_accumulate(in, out, t, ReduceOp::sum), "get_accumulate");
      break;
    default:
      expect_none(me, r.window->fetch_and_op(p->origin.data(), p->result.data(), t, ReduceOp::sum), "fetch_and_op");
  }
  r.pending.push_back(std::move(p));
}

RmaProgram::Shape RmaProgram::shape(Rank& r, const Kind& kind, std::uint64_t room) {
  Shape s;
  const LayoutRef one = kind.extent == kind.packed ? layout_of(kind.basic, kind.packed)
                                                   : Layout::basic(kind.basic, kind.packed, kind.extent);
  const std::uint64_t most = std::max<std::uint64_t>(room / kind.extent, 1);
  const auto e = static_cast<std::int64_t>(kind.extent);
  const auto many =
      r.chance.in(200) ? r.chance.between(1, most) : r.chance.between(1, std::min<std::uint64_t>(most, 20));
  std::vector<std::int64_t> at;  // of one element of the layout
  switch (r.chance.below(4)) {
    case 0: {  // a vector, repeated
      const std::uint64_t blocks = r.chance.between(1, 5), length = r.chance.between(1, 4);
      const auto stride = static_cast<std::int64_t>(length + r.chance.below(4)) * e;
      s.layout = Layout::hvector(blocks, length, stride, *one);
      for (std::uint64_t b = 0; b < blocks; ++b)
        for (std::uint64_t i = 0; i < length; ++i)
          at.push_back(static_cast<std::int64_t>(b) * stride + static_cast<std::int64_t>(i) * e);
      s.count = r.chance.between(1, 3);
      break;
    }
    case 1: {  // blocks wherever
      std::vector<std::uint64_t> lengths;
      std::vector<std::int64_t> places;
      std::int64_t next = 0;
      for (std::uint64_t b = r.chance.between(1, 6); b > 0; --b) {
        next += static_cast<std::int64_t>(r.chance.below(3)) * e;
        lengths.push_back(r.chance.between(1, 3));
        places.push_back(next);
        for (std::uint64_t i = 0; i < lengths.back(); ++i) at.push_back(next + static_cast<std::int64_t>(i) * e);
        next += static_cast<std::int64_t>(lengths.back()) * e;
      }
      s.layout = Layout::hindexed(lengths, places, *one);
      s.layout = Layout::resized(*s.layout, 0, next + static_cast<std::int64_t>(r.chance.below(2)) * e);
      s.count = r.chance.between(1, 3);
      break;
    }
    default:
      s.layout = one;
      s.count = many;
      at.push_back(0);
  }
  for (std::uint64_t i = 0; i < s.count; ++i)
    for (const std::int64_t a : at) s.elements.push_back(static_cast<std::int64_t>(i) * s.layout->extent() + a);
  s.end = s.elements.back() + e;
  return s;
}

bool RmaProgram::clear_of(int me, int target, Touched t, bool may_flush) {
  Rank& r = rank(me);
  auto& list = r.touched[static_cast<std::size_t>(target)];
  const bool conflict = std::any_of(list.begin(), list.end(), [&](const Touched& o) {
    return o.from < t.to && t.from < o.to && (o.what != t.what || t.what == 1);
  });
  if (conflict) {
    if (!may_flush) return false;
    expect_none(me, r.window->flush(target), "flush");
    list.clear();
  }
  list.push_back(t);
  return true;
}

void RmaProgram::one(int me, int target, bool may_flush) {
  static constexpr std::array<Kind, 9> kinds = {{{Basic::i32, 4, 4},
                                                 {Basic::i64, 8, 8},
                                                 {Basic::u8, 1, 1},
                                                 {Basic::i16, 2, 2},
                                                 {Basic::f64, 8, 8},
                                                 {Basic::u64, 8, 8},
                                                 {Basic::f32, 4, 4},
                                                 {Basic::i32_i32, 8, 8},
                                                 {Basic::f64, 8, 8}}};
  Rank& r = rank(me);
  const Kind kind = kinds[r.chance.below(kinds.size())];
  const Shape s = shape(r, kind, static_cast<std::uint64_t>(area_));
  if (s.end > area_) return;
  const auto room = static_cast<std::uint64_t>((area_ - s.end) / 8);
  const std::int64_t offset = area_ * me + static_cast<std::int64_t>(r.chance.below(room + 1)) * 8;
  if (offset % unit_ != 0) return;
  const std::uint64_t what = r.chance.below(6);  // put, get, accumulate, get_accumulate, fetch_and_op, compare_and_swap
  const bool single = what >= 4,
             integer = kind.basic != Basic::f64 && kind.basic != Basic::f32 && kind.basic != Basic::i32_i32;
  if (single && (s.elements.size() != 1 || !s.layout->is_dense() || (what == 5 && !integer))) return;
  if (!clear_of(me, target,
                {offset, offset + s.end,
                 what == 0   ? 1
                 : what == 1 ? 0
                             : 2 + static_cast<int>(kind.basic)},
                may_flush))
    return;
  // The origin's data: packed, perhaps spread over every second element.
  auto p = std::make_unique<Pending>();
  const std::size_t n = s.elements.size(), size = kind.packed;
  const std::size_t spread = !single && r.chance.in(300) ? 2 : 1;
  const LayoutRef element = layout_of(kind.basic, kind.packed);
  p->origin_layout = Layout::hvector(n, 1, static_cast<std::int64_t>(spread * size), *element);
  p->origin.resize(n * spread * size);
  p->result.resize(n * spread * size);
  for (std::size_t i = 0; i < n * spread; ++i) {
    const auto x = static_cast<int>(r.chance.below(100));
    std::byte* to = p->origin.data() + i * size;
    const auto store = [&](auto value) { std::memcpy(to, &value, std::min(sizeof value, size)); };
    if (kind.basic == Basic::f64)
      store(static_cast<double>(x));
    else if (kind.basic == Basic::f32)
      store(static_cast<float>(x));
    else if (kind.basic == Basic::i32_i32)
      store(std::array<int, 2>{x, static_cast<int>(r.chance.below(5))});
    else
      store(static_cast<std::int64_t>(x));
  }
  ReduceOp op = ReduceOp::replace;
  if (what >= 2) {
    op = kind.basic == Basic::i32_i32
             ? r.chance.pick<ReduceOp>({ReduceOp::maxloc, ReduceOp::minloc, ReduceOp::replace, ReduceOp::no_op})
         : integer ? r.chance.pick<ReduceOp>({ReduceOp::sum, ReduceOp::max, ReduceOp::bxor, ReduceOp::band,
                                              ReduceOp::replace, ReduceOp::no_op})
                   : r.chance.pick<ReduceOp>(
                         {ReduceOp::sum, ReduceOp::min, ReduceOp::prod, ReduceOp::replace, ReduceOp::no_op});
  }
  // The oracle.
  std::vector<std::byte>& model = model_[static_cast<std::size_t>(target)];
  p->expected = p->result;
  std::vector<std::byte> compare(size);
  std::memcpy(compare.data(), model.data() + offset + s.elements[0], size);
  if (what == 5 && r.chance.in(300)) compare[0] ^= std::byte{1};
  for (std::size_t i = 0; i < n; ++i) {
    std::byte* at = model.data() + offset + s.elements[i];
    const std::byte* mine = p->origin.data() + i * spread * size;
    if (what == 1 || what >= 3) std::memcpy(p->expected.data() + i * spread * size, at, size);
    if (what == 0) std::memcpy(at, mine, size);
    if (what == 5 && std::memcmp(at, compare.data(), size) == 0) std::memcpy(at, mine, size);
    if (what >= 2 && what <= 4) reduce(op, kind.basic, mine, at, 1);
  }
  // The real thing.
  rma::Window& w = *r.window;
  const rma::Target t{target, disp(target, offset), s.layout.get(), s.count};
  const DataView in = p->origin_layout->view(p->origin.data(), 1), out = p->origin_layout->view(p->result.data(), 1);
  const bool asks = may_flush && r.chance.in(250);
  switch (what) {
    case 0:
      expect_none(me, asks ? w.rput(in, t, p->request) : w.put(in, t), "put");
      break;
    case 1:
      expect_none(me, asks ? w.rget(out, t, p->request) : w.get(out, t), "get");
      break;
    case 2:
      expect_none(me, asks ? w.raccumulate(in, t, op, p->request) : w.accumulate(in, t, op), "accumulate");
      break;
    case 3:
      expect_none(me, asks ? w.rget_accumulate(in, out, t, op, p->request) : w.get_accumulate(in, out, t, op),
                  "get_accumulate");
      break;
    case 4:
      expect_none(me, w.fetch_and_op(p->origin.data(), p->result.data(), t, op), "fetch_and_op");
      break;
    default:
      expect_none(me, w.compare_and_swap(p->origin.data(), compare.data(), p->result.data(), t), "compare_and_swap");
  }
  r.pending.push_back(std::move(p));
  if (Request* q = r.pending.back()->request; q && r.chance.in(500)) fibers_->device(me).MPID_Wait(q);
}

// The epoch is over: all results must be there.
void RmaProgram::complete(int me) {
  Rank& r = rank(me);
  for (auto& p : r.pending) {
    if (p->request) {
      fibers_->device(me).MPID_Wait(p->request);
      fibers_->device(me).MPID_Request_free(p->request);
    }
    if (!p->expected.empty() && p->expected != p->result)
      faults_.push_back(fmt::format("rank {}: a result is wrong", me));
  }
  r.pending.clear();
  for (auto& list : r.touched) list.clear();
}

void RmaProgram::verify(int me, int number) {
  const auto* mine =
      flavor_ == rma::Flavor::dynamic ? rank(me).memory.data() : static_cast<std::byte*>(rank(me).window->base());
  std::vector<std::byte>& model = model_[static_cast<std::size_t>(me)];
  const auto bytes = static_cast<std::size_t>(area_ * n_);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (mine[i] == model[i]) continue;
    faults_.push_back(fmt::format("rank {}, round {}: byte {} of the area of rank {} is wrong", me, number,
                                  i % static_cast<std::size_t>(area_), i / static_cast<std::size_t>(area_)));
    break;
  }
  for (std::size_t c = 0; c < kCounters; ++c) {
    std::int64_t x = 0;
    std::memcpy(&x, mine + bytes + c * 8, 8);
    if (x != counts_[static_cast<std::size_t>(me)][c])
      faults_.push_back(fmt::format("rank {}, round {}: counter {} is {}, not {}", me, number, c, x,
                                    counts_[static_cast<std::size_t>(me)][c]));
  }
}

}  // namespace rmq::testing
