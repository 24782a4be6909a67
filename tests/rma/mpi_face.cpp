// SPDX-License-Identifier: BSD-3-Clause
#include "rma/mpi_face.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace rmq::testing {
namespace {

using What = RmaOp::What;

MPI_Datatype element_of(Basic b) {
  switch (b) {
    case Basic::i32:
      return MPI_INT32_T;
    case Basic::i64:
      return MPI_INT64_T;
    case Basic::u8:
      return MPI_UINT8_T;
    case Basic::i16:
      return MPI_INT16_T;
    case Basic::u64:
      return MPI_UINT64_T;
    case Basic::f32:
      return MPI_FLOAT;
    case Basic::f64:
      return MPI_DOUBLE;
    case Basic::i32_i32:
      return MPI_2INT;
    default:
      return MPI_DATATYPE_NULL;
  }
}

MPI_Op op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return MPI_SUM;
    case ReduceOp::prod:
      return MPI_PROD;
    case ReduceOp::max:
      return MPI_MAX;
    case ReduceOp::min:
      return MPI_MIN;
    case ReduceOp::band:
      return MPI_BAND;
    case ReduceOp::bxor:
      return MPI_BXOR;
    case ReduceOp::maxloc:
      return MPI_MAXLOC;
    case ReduceOp::minloc:
      return MPI_MINLOC;
    case ReduceOp::replace:
      return MPI_REPLACE;
    case ReduceOp::no_op:
      return MPI_NO_OP;
    default:
      return MPI_OP_NULL;
  }
}

/// A derived datatype of the program's own, freed with the last one who uses it: perhaps while operations are under
/// way.
MPI_Datatype build(const RmaType& t) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (t.make == RmaType::Make::vector) {
    MPI_Type_create_hvector(t.blocks, t.length, static_cast<MPI_Aint>(t.stride), element_of(t.element), &type);
  } else {
    const std::vector<MPI_Aint> places(t.places.begin(), t.places.end());
    MPI_Datatype blocks = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(static_cast<int>(places.size()), t.lengths.data(), places.data(), element_of(t.element),
                             &blocks);
    MPI_Type_create_resized(blocks, 0, static_cast<MPI_Aint>(t.extent), &type);
    MPI_Type_free(&blocks);
  }
  MPI_Type_commit(&type);
  return type;
}

MPI_Datatype type_of(RmaType& t) {
  if (t.make == RmaType::Make::plain) return element_of(t.element);
  if (!t.built) {
    t.built = std::shared_ptr<MPI_Datatype>(new MPI_Datatype(build(t)), [](MPI_Datatype* type) {
      MPI_Type_free(type);
      delete type;
    });
  }
  return *static_cast<const MPI_Datatype*>(t.built.get());
}

class MpiFace final : public RmaFace {
 public:
  /// Collective, as is the end.
  MpiFace(const RmaPlan& plan, MPI_Comm comm) : plan_(plan), displacements_(static_cast<std::size_t>(plan.ranks)) {
    const auto bytes = static_cast<MPI_Aint>(plan.bytes());
    const int unit = static_cast<int>(plan.unit);
    MPI_Aint base = 0;
    if (plan.flavor == rma::Flavor::allocate) {
      MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, comm, &memory_, &win_);
    } else if (plan.flavor == rma::Flavor::shared) {
      MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, comm, &memory_, &win_);
    } else {
      if (plan.heap_memory) {
        MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory_);
      } else {
        own_.resize(plan.bytes());
        memory_ = own_.data();
      }
      if (plan.flavor == rma::Flavor::create) {
        MPI_Win_create(memory_, bytes, unit, MPI_INFO_NULL, comm, &win_);
      } else {
        MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win_);
        MPI_Win_attach(win_, memory_, bytes);
        MPI_Get_address(memory_, &base);
      }
    }
    std::memset(memory_, 0, plan.bytes());
    MPI_Win_set_errhandler(win_, MPI_ERRORS_RETURN);
    MPI_Win_get_group(win_, &group_);
    MPI_Allgather(&base, 1, MPI_AINT, displacements_.data(), 1, MPI_AINT, comm);
  }
  ~MpiFace() override {
    MPI_Group_free(&group_);
    if (plan_.flavor == rma::Flavor::dynamic) MPI_Win_detach(win_, memory_);
    MPI_Win_free(&win_);
    if ((plan_.flavor == rma::Flavor::create || plan_.flavor == rma::Flavor::dynamic) && plan_.heap_memory)
      MPI_Free_mem(memory_);
  }

  bool is_real() const override { return true; }
  Fault fence(unsigned a) override { return text(MPI_Win_fence(assertions(a), win_)); }
  Fault post(const std::vector<int>& ranks) override {
    return with_group(ranks, [&](MPI_Group g) { return MPI_Win_post(g, 0, win_); });
  }
  Fault start(const std::vector<int>& ranks) override {
    return with_group(ranks, [&](MPI_Group g) { return MPI_Win_start(g, 0, win_); });
  }
  Fault complete() override { return text(MPI_Win_complete(win_)); }
  Fault wait() override { return text(MPI_Win_wait(win_)); }
  Fault test(bool& done) override {
    int flag = 0;
    const int code = MPI_Win_test(win_, &flag);
    done = flag != 0;
    return text(code);
  }
  Fault lock(rma::LockType type, int target, unsigned a) override {
    const int kind = type == rma::LockType::exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
    return text(MPI_Win_lock(kind, target, assertions(a), win_));
  }
  Fault unlock(int target) override { return text(MPI_Win_unlock(target, win_)); }
  Fault lock_all(unsigned a) override { return text(MPI_Win_lock_all(assertions(a), win_)); }
  Fault unlock_all() override { return text(MPI_Win_unlock_all(win_)); }
  Fault flush(int target) override { return text(MPI_Win_flush(target, win_)); }
  Fault flush_all() override { return text(MPI_Win_flush_all(win_)); }
  Fault flush_local(int target) override { return text(MPI_Win_flush_local(target, win_)); }
  Fault sync() override { return text(MPI_Win_sync(win_)); }
  const std::byte* memory() const override { return memory_; }

  Fault issue(RmaOp& op) override {
    if (op.what == What::store) return store(op);
    const MPI_Datatype there = type_of(*op.type), here = type_of(*op.origin_type);
    const int n = op.type->count, m = op.origin_type->count, t = op.target;
    const MPI_Aint at = (displacements_[static_cast<std::size_t>(t)] + static_cast<MPI_Aint>(op.offset)) / plan_.unit;
    const MPI_Op what = op_of(op.op);
    const void* const in = op.origin.data();
    void* const out = op.result.data();
    MPI_Request r = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    switch (op.what) {
      case What::put:
        code = op.asks ? MPI_Rput(in, m, here, t, at, n, there, win_, &r) : MPI_Put(in, m, here, t, at, n, there, win_);
        break;
      case What::get:
        code =
            op.asks ? MPI_Rget(out, m, here, t, at, n, there, win_, &r) : MPI_Get(out, m, here, t, at, n, there, win_);
        break;
      case What::accumulate:
        code = op.asks ? MPI_Raccumulate(in, m, here, t, at, n, there, what, win_, &r)
                       : MPI_Accumulate(in, m, here, t, at, n, there, what, win_);
        break;
      case What::get_accumulate:
        code = op.asks ? MPI_Rget_accumulate(in, m, here, out, m, here, t, at, n, there, what, win_, &r)
                       : MPI_Get_accumulate(in, m, here, out, m, here, t, at, n, there, what, win_);
        break;
      case What::fetch_and_op:
        code = MPI_Fetch_and_op(in, out, there, t, at, what, win_);
        break;
      default:
        code = MPI_Compare_and_swap(in, op.compare.data(), out, there, t, at, win_);
    }
    if (op.asks) op.state = std::make_shared<MPI_Request>(r);
    return text(code);
  }
  Fault finish(RmaOp& op) override {
    if (!op.state) return "there is no request";
    const int code = MPI_Wait(static_cast<MPI_Request*>(op.state.get()), MPI_STATUS_IGNORE);
    op.state.reset();
    return text(code);
  }

 private:
  static Fault text(int code) {
    if (code == MPI_SUCCESS) return {};
    char words[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, words, &length);
    return {words, static_cast<std::size_t>(length)};
  }
  static int assertions(unsigned a) {
    return (a & rma::assertion::nocheck ? MPI_MODE_NOCHECK : 0) |
           (a & rma::assertion::noprecede ? MPI_MODE_NOPRECEDE : 0) |
           (a & rma::assertion::nosucceed ? MPI_MODE_NOSUCCEED : 0);
  }
  template <class Call>
  Fault with_group(const std::vector<int>& ranks, Call call) {
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Group_incl(group_, static_cast<int>(ranks.size()), ranks.data(), &some);
    const int code = call(some);
    if (some != MPI_GROUP_EMPTY) MPI_Group_free(&some);
    return text(code);
  }
  Fault store(const RmaOp& op) {
    MPI_Aint size = 0;
    int unit = 0;
    std::byte* theirs = nullptr;
    const int code = MPI_Win_shared_query(win_, op.target, &size, &unit, &theirs);
    if (code != MPI_SUCCESS) return text(code);
    if (static_cast<std::uint64_t>(size) < plan_.bytes()) return "the target's memory is not shared";
    for (std::size_t i = 0; i < op.type->elements.size(); ++i) {
      std::memcpy(theirs + op.offset + op.type->elements[i], op.origin.data() + op.origin_type->elements[i],
                  op.type->size);
    }
    return {};
  }

  const RmaPlan& plan_;
  std::vector<MPI_Aint> displacements_;  // of dynamic windows; else 0
  std::vector<std::byte> own_;
  std::byte* memory_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
  MPI_Group group_ = MPI_GROUP_NULL;
};

}  // namespace

void run_on_mpi(const RmaPlan& plan, MPI_Comm comm) {
  int me = 0;
  MPI_Comm_rank(comm, &me);
  std::vector<std::string> faults;
  RmaModel model(plan);
  MpiFace mine(plan, comm);
  RmaFace elsewhere;
  std::vector<std::unique_ptr<RmaPart>> parts;
  for (int i = 0; i < plan.ranks; ++i) {
    parts.push_back(
        std::make_unique<RmaPart>(plan, model, i == me ? static_cast<RmaFace&>(mine) : elsewhere, i, faults));
  }
  const auto end_if_wrong = [&] {
    if (faults.empty()) return;
    for (const std::string& f : faults) fmt::print(stderr, "FAILED {}\n  {}\n", plan.describe(), f);
    MPI_Abort(comm, 1);
  };
  for (int i = 0; i < plan.rounds; ++i) {
    for (auto& part : parts) {
      if (part != parts[static_cast<std::size_t>(me)]) part->round(i);
    }
    parts[static_cast<std::size_t>(me)]->round(i);
    end_if_wrong();
    MPI_Barrier(comm);
    parts[static_cast<std::size_t>(me)]->check(i);
    end_if_wrong();
    MPI_Barrier(comm);
  }
}

}  // namespace rmq::testing
