// SPDX-License-Identifier: BSD-3-Clause
#include "armci/shapes.hpp"

#include "armci/call.hpp"
#include "engine/window/windows.hpp"

namespace rmq::armci {
namespace {

LayoutRef make(MPI_Datatype type, const Shape& shape) {
  const mpi::Datatype& element = *mpi::find_datatype(type);
  LayoutRef made = Layout::contiguous(static_cast<std::uint64_t>(shape.count[0]) / element.size, *element.layout);
  for (int i = 0; i < shape.levels && made; ++i)
    made = Layout::hvector(static_cast<std::uint64_t>(shape.count[i + 1]), 1, shape.stride[i], *made);
  if (!made) mpi::fail_call(MPI_ERR_TYPE, "the strides go beyond what can be addressed");
  return made;
}

}  // namespace

LayoutRef Shapes::get(MPI_Datatype type, const Shape& shape) {
  Key key{type, shape.count[0]};
  for (int i = 0; i < shape.levels; ++i) {
    key.push_back(shape.count[i + 1]);
    key.push_back(shape.stride[i]);
  }
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    all_.splice(all_.begin(), all_, found->second);
    return found->second->layout;
  }
  LayoutRef made = make(type, shape);
  if (all_.size() == kMost) {
    mpi::forget_layout(all_.back().layout.get());
    by_key_.erase(all_.back().key);
    all_.pop_back();
  }
  all_.push_front({key, made});
  by_key_.emplace(std::move(key), all_.begin());
  return made;
}

void Shapes::clear() {
  for (const Kept& one : all_) mpi::forget_layout(one.layout.get());
  all_.clear();
  by_key_.clear();
}

Shapes& shapes() {
  static auto* const all = new Shapes;  // never destroyed
  return *all;
}

}  // namespace rmq::armci
