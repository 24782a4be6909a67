// SPDX-License-Identifier: BSD-3-Clause
// ranks: 1
// Random derived types against a model that keeps the whole type map: size, bounds, true bounds, and what MPI_Pack and
// MPI_Unpack move. A seed may be given as the argument to run that one only.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {

/// A type as the standard describes it.
struct Model {
  std::vector<MPI_Aint> bytes;  // displacement of every data byte, in type-map order
  MPI_Aint lb = 0, ub = 0;
  bool marked = false;  // bounds come from MPI_Type_create_resized and win over natural ones
  int alignment = 1;
  int layout = 0;  // equal only in duplicates
  // Where MPICH departs from the standard or fills its gaps in another way: bounds of empty types, bounds that are set
  // beside natural ones, padding of structs whose members are not aligned.
  bool disputed = false;
  MPI_Aint extent() const { return ub - lb; }
};

/// Puts one element of `of` at `at` into the type under construction.
class Builder {
 public:
  void add(const Model& of, MPI_Aint at) {
    if (of.disputed || of.bytes.empty()) made_.disputed = true;
    if (of.bytes.empty() && !of.marked) return;
    for (const MPI_Aint b : of.bytes) made_.bytes.push_back(b + at);
    if (!of.bytes.empty()) made_.alignment = std::max(made_.alignment, of.alignment);
    if (!empty_ && made_.marked != of.marked) made_.disputed = true;
    if (made_.marked && !of.marked) return;
    const bool first = empty_ || (of.marked && !made_.marked);
    made_.lb = first ? of.lb + at : std::min(made_.lb, of.lb + at);
    made_.ub = first ? of.ub + at : std::max(made_.ub, of.ub + at);
    made_.marked = of.marked;
    empty_ = false;
  }
  Model take(bool pad) {
    static int layouts = 0;
    made_.layout = ++layouts;
    const MPI_Aint over = made_.extent() % made_.alignment;
    if (made_.bytes.empty() || (pad && over > 0)) made_.disputed = true;
    if (pad && over > 0 && !made_.marked) made_.ub += made_.alignment - over;
    return made_;
  }

 private:
  Model made_;
  bool empty_ = true;
};

struct Pair {
  MPI_Datatype type;
  Model model;
};

std::mt19937 random_source;
int number(int from, int to) {
  return from + static_cast<int>(random_source() % static_cast<unsigned>(to - from + 1));
}

Pair basic() {
  static const struct {
    MPI_Datatype type;
    int size;
  } kinds[] = {{MPI_CHAR, 1}, {MPI_SHORT, 2}, {MPI_INT, 4}, {MPI_DOUBLE, 8}};
  const auto& kind = kinds[number(0, 3)];
  Model m;
  m.layout = -kind.size;
  for (int i = 0; i < kind.size; ++i) m.bytes.push_back(i);
  m.ub = m.alignment = kind.size;
  return {kind.type, m};
}

Pair make_strided(const Pair& of) {
  const int count = number(0, 3), length = number(0, 3);
  const bool in_bytes = number(0, 1) == 1;
  const int stride = in_bytes ? number(-40, 80) : number(-4, 6);
  const MPI_Aint distance = in_bytes ? stride : stride * of.model.extent();
  Builder b;
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < length; ++j) b.add(of.model, i * distance + j * of.model.extent());
  }
  Pair made{MPI_DATATYPE_NULL, b.take(false)};
  if (in_bytes) {
    MPI_Type_create_hvector(count, length, stride, of.type, &made.type);
  } else {
    MPI_Type_vector(count, length, stride, of.type, &made.type);
  }
  return made;
}

Pair make_indexed(const Pair& of) {
  const int count = number(0, 4), kind = number(0, 3);
  const bool in_bytes = kind % 2 == 1, equal = kind >= 2;
  const int common = number(1, 2);
  std::vector<int> lengths, places;
  std::vector<MPI_Aint> distances;
  Builder b;
  for (int i = 0; i < count; ++i) {
    lengths.push_back(equal ? common : number(0, 3));
    places.push_back(in_bytes ? number(-60, 100) : number(-4, 8));
    distances.push_back(places.back());
    for (int j = 0; j < lengths.back(); ++j) {
      b.add(of.model, places.back() * (in_bytes ? 1 : of.model.extent()) + j * of.model.extent());
    }
  }
  Pair made{MPI_DATATYPE_NULL, b.take(false)};
  switch (kind) {
    case 0:
      MPI_Type_indexed(count, lengths.data(), places.data(), of.type, &made.type);
      break;
    case 1:
      MPI_Type_create_hindexed(count, lengths.data(), distances.data(), of.type, &made.type);
      break;
    case 2:
      MPI_Type_create_indexed_block(count, common, places.data(), of.type, &made.type);
      break;
    default:
      MPI_Type_create_hindexed_block(count, common, distances.data(), of.type, &made.type);
  }
  return made;
}

Pair make_struct(const std::vector<Pair>& of) {
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  std::vector<MPI_Datatype> types;
  Builder b;
  for (const Pair& p : of) {
    lengths.push_back(number(0, 2));
    places.push_back(number(-50, 120));
    types.push_back(p.type);
    for (int j = 0; j < lengths.back(); ++j) b.add(p.model, places.back() + j * p.model.extent());
  }
  const bool one_layout =
      std::all_of(of.begin(), of.end(), [&](const Pair& p) { return p.model.layout == of[0].model.layout; });
  Pair made{MPI_DATATYPE_NULL, b.take(!one_layout)};  // as in MPICH, a struct of one type is like MPI_Type_indexed
  MPI_Type_create_struct(static_cast<int>(of.size()), lengths.data(), places.data(), types.data(), &made.type);
  return made;
}

Pair make_simple(const Pair& of) {
  Pair made{MPI_DATATYPE_NULL, of.model};
  switch (number(0, 2)) {
    case 0:
      MPI_Type_dup(of.type, &made.type);
      break;
    case 1: {
      const int count = number(0, 4);
      Builder b;
      for (int i = 0; i < count; ++i) b.add(of.model, i * of.model.extent());
      made.model = b.take(false);
      MPI_Type_contiguous(count, of.type, &made.type);
      break;
    }
    default:
      made.model.layout = Builder().take(false).layout;
      made.model.lb = number(-20, 20);
      made.model.ub = made.model.lb + number(0, 100);
      made.model.marked = true;
      MPI_Type_create_resized(of.type, made.model.lb, made.model.extent(), &made.type);
  }
  return made;
}

Pair random_type(int depth) {
  if (depth == 0) return basic();
  std::vector<Pair> of;
  const int kind = number(0, 3);
  for (int i = kind == 3 ? number(0, 3) : 1; i > 0; --i) of.push_back(random_type(depth - 1));
  const Pair made = kind == 0   ? make_strided(of[0])
                    : kind == 1 ? make_indexed(of[0])
                    : kind == 2 ? make_simple(of[0])
                                : make_struct(of);
  for (Pair& p : of) {
    if (depth > 1) MPI_Type_free(&p.type);  // the new type keeps what it needs
  }
  return made;
}

bool distinct(std::vector<MPI_Aint> places) {
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) == places.end();
}

const char* wrong(const Pair& p) {
#ifndef RMQ
  if (p.model.disputed) return nullptr;
#endif
  int size;
  MPI_Aint lb, extent, true_lb, true_extent;
  MPI_Type_size(p.type, &size);
  MPI_Type_get_extent(p.type, &lb, &extent);
  MPI_Type_get_true_extent(p.type, &true_lb, &true_extent);
  if (size != static_cast<int>(p.model.bytes.size())) return "size";
  if (lb != p.model.lb || extent != p.model.extent()) return "bounds";
  if (size == 0) return nullptr;

  const int count = number(1, 3);
  std::vector<MPI_Aint> places;
  for (int i = 0; i < count; ++i) {
    for (const MPI_Aint b : p.model.bytes) places.push_back(b + i * extent);
  }
  const auto [low, high] = std::minmax_element(p.model.bytes.begin(), p.model.bytes.end());
  if (true_lb != *low || true_extent != *high + 1 - *low) return "true bounds";

  const auto [first, last] = std::minmax_element(places.begin(), places.end());
  std::vector<char> memory(static_cast<std::size_t>(*last - *first + 1));
  for (char& c : memory) c = static_cast<char>(random_source());
  char* const origin = memory.data() - *first;
  std::vector<char> packed(places.size());
  int position = 0;
  MPI_Pack(origin, count, p.type, packed.data(), static_cast<int>(packed.size()), &position, MPI_COMM_WORLD);
  if (position != static_cast<int>(packed.size())) return "position";
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (packed[i] != origin[places[i]]) return "packed data";
  }
  if (!distinct(places)) return nullptr;

  std::vector<char> copy(memory.size(), 'x'), expected(memory.size(), 'x');
  for (std::size_t i = 0; i < places.size(); ++i) expected[static_cast<std::size_t>(places[i] - *first)] = packed[i];
  position = 0;
  MPI_Unpack(packed.data(), static_cast<int>(packed.size()), &position, copy.data() - *first, count, p.type,
             MPI_COMM_WORLD);
  return copy == expected ? nullptr : "unpacked data";
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const unsigned first = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1;
  const unsigned last = argc > 1 ? first : 1000;
  int errors = 0;
  for (unsigned seed = first; seed <= last; ++seed) {
    random_source.seed(seed);
    Pair p = random_type(number(1, 4));
    MPI_Type_commit(&p.type);
    if (const char* what = wrong(p)) {
      std::printf("seed %u: wrong %s\n", seed, what);
      ++errors;
    }
    MPI_Type_free(&p.type);
  }
  MPI_Finalize();
  return errors != 0;
}
