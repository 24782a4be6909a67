// SPDX-License-Identifier: BSD-3-Clause
// A datatype as an object: how it comes to be, who keeps it, how it goes.
#include "engine/object/datatypes.hpp"

#include <utility>

#include "engine/object/attributes.hpp"
#include "engine/object/failure.hpp"
#include "rma/window/domain.hpp"

namespace rmq::mpi {

void forget_layout(const Layout* layout) {
  if (const auto& domain = runtime().domain) domain->forget(layout);
}

LayoutRef checked(LayoutRef layout) {
  if (!layout) [[unlikely]]
    fail_call(MPI_ERR_ARG, "the new datatype would not fit the 64-bit address space");
  return layout;
}

Datatype& make_type(LayoutRef layout, TypeContents contents) {
  layout = checked(std::move(layout));
  auto type = std::make_unique<Datatype>();
  type->basic = layout->element();
  type->size = layout->size();
  type->dense = layout->is_dense() && layout->true_lb() == 0;
  type->layout = std::move(layout);
  type->contents = std::move(contents);
  Datatype* made = runtime().datatypes.add(std::move(type));
  for (Datatype* part : made->contents.types) type_retain(*part);
  return *made;
}

void type_retain(Datatype& type) {
  if (!type.predefined) ++type.refs;
}

void type_release(Datatype& type) {
  std::vector<Datatype*> doomed{&type};  // not recursive: types may be nested a million deep
  while (!doomed.empty()) {
    Datatype* next = doomed.back();
    doomed.pop_back();
    if (next->predefined || --next->refs > 0) continue;
    delete_all_attributes(next->attributes, next->handle);  // too late for a callback to refuse
    doomed.insert(doomed.end(), next->contents.types.begin(), next->contents.types.end());
    forget_layout(next->layout.get());
    runtime().datatypes.remove(next);
  }
}

std::int64_t element_distance(MPI_Count elements, std::int64_t extent) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, extent, &bytes)) [[unlikely]] {
    fail_call(MPI_ERR_ARG, "a displacement of " + std::to_string(elements) + " elements does not fit 64 bits in bytes");
  }
  return bytes;
}

MPI_Count elements_in(const Datatype& type, MPI_Count bytes) {
  const auto elements = type.layout->basic_elements_in(static_cast<std::uint64_t>(bytes));
  return elements ? static_cast<MPI_Count>(*elements) : MPI_UNDEFINED;
}

}  // namespace rmq::mpi
