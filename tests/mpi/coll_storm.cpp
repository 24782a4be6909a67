// SPDX-License-Identifier: BSD-3-Clause
// ranks: 5
// Collectives of all kinds, non-blocking and persistent, on several communicators at once: each rank starts them in an
// order of its own (on one communicator, non-blocking ones in the order of all) and completes them in another;
// communicators are freed meanwhile. Counts lie around where algorithms change; data lies before the address that is
// given; one operation does not commute. COLL_SEED, COLL_STEPS: another storm, a longer one.
#include <functional>
#include <memory>

#include "coll_test.hpp"

namespace {

using coll_test::check;
using coll_test::Random;

/// 2 x 2 matrices; each lies 24 bytes before its address, of which the type says so.
struct Matrix {
  unsigned a, b, c, d;
};
constexpr int kBefore = 24, kStride = 20;
MPI_Datatype matrix_type, int_type;  // int_type: 8 bytes before its address, 12 from one to the next
MPI_Op product;

Matrix* matrix_at(void* base, int i) {
  return reinterpret_cast<Matrix*>(static_cast<char*>(base) + i * kStride - kBefore);
}
Matrix times(const Matrix& x, const Matrix& y) {
  return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
}
void multiply(void* in, void* inout, int* n, MPI_Datatype*) {
  for (int i = 0; i < *n; ++i) *matrix_at(inout, i) = times(*matrix_at(in, i), *matrix_at(inout, i));
}

void make_types() {
  const int one = 1, four = 4;
  const MPI_Aint before = -kBefore, int_before = -8;
  MPI_Datatype bare;
  MPI_Type_create_hindexed(1, &four, &before, MPI_UNSIGNED, &bare);
  MPI_Type_create_resized(bare, -kBefore, kStride, &matrix_type);
  MPI_Type_commit(&matrix_type);
  MPI_Type_free(&bare);
  MPI_Type_create_hindexed(1, &one, &int_before, MPI_INT, &bare);
  MPI_Type_create_resized(bare, -8, 12, &int_type);
  MPI_Type_commit(&int_type);
  MPI_Type_free(&bare);
  MPI_Op_create(multiply, 0, &product);
}

/// Numbers in memory, one behind the other or of int_type, or matrices.
class Data {
 public:
  enum Form { plain, spread, matrix };
  Data(Form form, int n) : form_(form), memory_(static_cast<std::size_t>(n) * kStride + 64, kUntouched) {}
  MPI_Datatype type() const { return form_ == plain ? MPI_INT : form_ == spread ? int_type : matrix_type; }
  void* base() { return memory_.data() + 32; }
  void* at(int i) { return static_cast<char*>(base()) + i * (form_ == plain ? 4 : form_ == spread ? 12 : kStride); }
  void set(int i, int value) {
    if (form_ == matrix) {
      const Matrix m{static_cast<unsigned>(value), 1, 1, static_cast<unsigned>(value + 3)};
      std::memcpy(matrix_at(base(), i), &m, sizeof m);
    } else {
      std::memcpy(int_at(i), &value, sizeof value);
    }
  }
  int get(int i) {
    int value;
    std::memcpy(&value, int_at(i), sizeof value);
    return value;
  }
  Matrix get_matrix(int i) {
    Matrix m;
    std::memcpy(&m, matrix_at(base(), i), sizeof m);
    return m;
  }

 private:
  static constexpr char kUntouched = 0x5b;
  void* int_at(int i) { return static_cast<char*>(at(i)) - (form_ == spread ? 8 : 0); }
  Form form_;
  std::vector<char> memory_;
};

int value_of(int seed, int rank, int i) {
  return (seed * 31 + rank * 1009 + i * 7) % 99991;
}

/// A collective that is under way, or is going to be started.
struct Under {
  MPI_Request request = MPI_REQUEST_NULL;
  bool persistent = false;
  std::size_t comm = 0;
  std::string what;
  std::function<void(MPI_Request*)> begin;  // Ixxx or Xxx_init
  std::function<bool()> good;
};

enum Kind {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  alltoallw,
  reduce_scatter,
  scan,
  exscan,
  kKinds
};

struct Place {
  MPI_Comm comm;
  int me, p;
};

/// Reductions of `n` elements: what rank `me` ends up with for element i, of ranks [0, last].
bool sum_is(Data& data, Data::Form form, int at, int seed, int i, int last) {
  if (form == Data::matrix) {
    const auto of = [&](int rank) {
      const int v = value_of(seed, rank, i);
      return Matrix{static_cast<unsigned>(v), 1, 1, static_cast<unsigned>(v + 3)};
    };
    Matrix want = of(0);
    for (int r = 1; r <= last; ++r) want = times(want, of(r));
    const Matrix got = data.get_matrix(at);
    return std::memcmp(&want, &got, sizeof want) == 0;
  }
  int want = 0;
  for (int r = 0; r <= last; ++r) want += value_of(seed, r, i);
  return data.get(at) == want;
}

Under draw(Random& random, const std::vector<Place>& places, int seed) {
  constexpr int kCounts[] = {0, 1, 2, 12, 13, 255, 256, 257, 512, 513, 1024, 2049, 4096, 8193};
  Under u;
  u.comm = random.next() % places.size();
  const Place c = places[u.comm];
  const auto kind = static_cast<Kind>(random.next() % kKinds);
  u.persistent = random.next() % 3 == 0;
  const int n = kCounts[random.next() % std::size(kCounts)],
            root = static_cast<int>(random.next() % static_cast<unsigned>(c.p));
  const bool in_place = random.next() % 3 == 0;
  const bool reduces = kind == reduce || kind == allreduce || kind == reduce_scatter || kind == scan || kind == exscan;
  const auto form = static_cast<Data::Form>(reduces ? (random.next() % 2) * 2 : random.next() % 2);
  const MPI_Op op = form == Data::matrix ? product : MPI_SUM;
  const int many = n * c.p, me = c.me, p = c.p;
  const auto out = std::make_shared<Data>(form, many), in = std::make_shared<Data>(form, many);
  const MPI_Datatype t = out->type();
  const bool again = u.persistent;
  u.what = "kind " + std::to_string(kind) + (again ? " persistent" : "") + (in_place ? " in place" : "") + ", " +
           std::to_string(n) + " of form " + std::to_string(form) + ", root " + std::to_string(root) + ", comm " +
           std::to_string(u.comm);
  const auto fill = [&](Data& d, int count) {
    for (int i = 0; i < count; ++i) d.set(i, value_of(seed, me, i));
  };
  u.good = [] { return true; };
  const auto blocks_good = [=](int first_rank, int ranks, auto index) {  // block j of `in` is rank j's
    return [=] {
      for (int r = first_rank; r < first_rank + ranks; ++r)
        for (int i = 0; i < n; ++i)
          if (in->get((r - first_rank) * n + i) != value_of(seed, r, index(i))) return false;
      return true;
    };
  };
  const auto own = [=](int i) { return i; };
  switch (kind) {
    case bcast:
      if (me == root) fill(*in, n);
      u.begin = [=](MPI_Request* r) {
        again ? MPI_Bcast_init(in->base(), n, t, root, c.comm, MPI_INFO_NULL, r)
              : MPI_Ibcast(in->base(), n, t, root, c.comm, r);
      };
      u.good = blocks_good(root, 1, own);
      break;
    case reduce:
    case allreduce: {
      const bool gets = kind == allreduce || me == root, inside = in_place && gets;
      fill(inside ? *in : *out, n);
      const void* from = inside ? MPI_IN_PLACE : out->base();
      u.begin = [=](MPI_Request* r) {
        if (kind == reduce)
          again ? MPI_Reduce_init(from, in->base(), n, t, op, root, c.comm, MPI_INFO_NULL, r)
                : MPI_Ireduce(from, in->base(), n, t, op, root, c.comm, r);
        else
          again ? MPI_Allreduce_init(from, in->base(), n, t, op, c.comm, MPI_INFO_NULL, r)
                : MPI_Iallreduce(from, in->base(), n, t, op, c.comm, r);
        static_cast<void>(out);
      };
      u.good = [=] {
        for (int i = 0; gets && i < n; ++i)
          if (!sum_is(*in, form, i, seed, i, p - 1)) return false;
        return true;
      };
      break;
    }
    case scan:
    case exscan: {
      fill(in_place ? *in : *out, n);
      const void* from = in_place ? MPI_IN_PLACE : out->base();
      u.begin = [=](MPI_Request* r) {
        if (kind == scan)
          again ? MPI_Scan_init(from, in->base(), n, t, op, c.comm, MPI_INFO_NULL, r)
                : MPI_Iscan(from, in->base(), n, t, op, c.comm, r);
        else
          again ? MPI_Exscan_init(from, in->base(), n, t, op, c.comm, MPI_INFO_NULL, r)
                : MPI_Iexscan(from, in->base(), n, t, op, c.comm, r);
        static_cast<void>(out);
      };
      u.good = [=] {
        const int last = kind == scan ? me : me - 1;
        for (int i = 0; last >= 0 && i < n; ++i)
          if (!sum_is(*in, form, i, seed, i, last)) return false;
        return true;
      };
      break;
    }
    case reduce_scatter: {  // ranks' counts differ: 0, n, 0, n …
      const auto counts = std::make_shared<std::vector<int>>();
      int total = 0, first = 0;
      for (int r = 0; r < p; ++r) {
        counts->push_back(r % 2 ? n : n / 3);
        if (r < me) first += counts->back();
        total += counts->back();
      }
      const int mine = (*counts)[static_cast<std::size_t>(me)];
      fill(in_place ? *in : *out, total);
      const void* from = in_place ? MPI_IN_PLACE : out->base();
      u.begin = [=](MPI_Request* r) {
        again ? MPI_Reduce_scatter_init(from, in->base(), counts->data(), t, op, c.comm, MPI_INFO_NULL, r)
              : MPI_Ireduce_scatter(from, in->base(), counts->data(), t, op, c.comm, r);
        static_cast<void>(out);
      };
      u.good = [=] {
        for (int i = 0; i < mine; ++i)
          if (!sum_is(*in, form, i, seed, first + i, p - 1)) return false;
        return true;
      };
      break;
    }
    case gather:
    case allgather: {
      const bool gets = kind == allgather || me == root, inside = in_place && gets;
      for (int i = 0; i < n; ++i)
        inside ? in->set(me * n + i, value_of(seed, me, i)) : out->set(i, value_of(seed, me, i));
      const void* from = inside ? MPI_IN_PLACE : out->base();
      u.begin = [=](MPI_Request* r) {
        if (kind == gather)
          again ? MPI_Gather_init(from, n, t, in->base(), n, t, root, c.comm, MPI_INFO_NULL, r)
                : MPI_Igather(from, n, t, in->base(), n, t, root, c.comm, r);
        else
          again ? MPI_Allgather_init(from, n, t, in->base(), n, t, c.comm, MPI_INFO_NULL, r)
                : MPI_Iallgather(from, n, t, in->base(), n, t, c.comm, r);
        static_cast<void>(out);
      };
      if (gets) u.good = blocks_good(0, p, own);
      break;
    }
    case scatter: {
      const bool inside = in_place && me == root;
      if (me == root) fill(*out, many);
      u.begin = [=](MPI_Request* r) {
        void* to = inside ? MPI_IN_PLACE : in->base();
        again ? MPI_Scatter_init(out->base(), n, t, to, n, t, root, c.comm, MPI_INFO_NULL, r)
              : MPI_Iscatter(out->base(), n, t, to, n, t, root, c.comm, r);
      };
      if (!inside) u.good = blocks_good(root, 1, [=](int i) { return me * n + i; });
      break;
    }
    case alltoall:
      fill(in_place ? *in : *out, many);
      u.begin = [=](MPI_Request* r) {
        const void* from = in_place ? MPI_IN_PLACE : out->base();
        again ? MPI_Alltoall_init(from, n, t, in->base(), n, t, c.comm, MPI_INFO_NULL, r)
              : MPI_Ialltoall(from, n, t, in->base(), n, t, c.comm, r);
      };
      u.good = blocks_good(0, p, [=](int i) { return me * n + i; });
      break;
    case alltoallw: {
      fill(*out, many);
      const auto counts = std::make_shared<std::vector<int>>(static_cast<std::size_t>(p), n);
      const auto starts = std::make_shared<std::vector<int>>();
      const auto types = std::make_shared<std::vector<MPI_Datatype>>(static_cast<std::size_t>(p), t);
      for (int r = 0; r < p; ++r)
        starts->push_back(static_cast<int>(static_cast<char*>(in->at(r * n)) - static_cast<char*>(in->base())));
      u.begin = [=](MPI_Request* r) {
        const int *k = counts->data(), *d = starts->data();
        again ? MPI_Alltoallw_init(out->base(), k, d, types->data(), in->base(), k, d, types->data(), c.comm,
                                   MPI_INFO_NULL, r)
              : MPI_Ialltoallw(out->base(), k, d, types->data(), in->base(), k, d, types->data(), c.comm, r);
      };
      u.good = blocks_good(0, p, [=](int i) { return me * n + i; });
      break;
    }
    default:
      u.begin = [=](MPI_Request* r) { again ? MPI_Barrier_init(c.comm, MPI_INFO_NULL, r) : MPI_Ibarrier(c.comm, r); };
  }
  return u;
}

void one_step(Random& all, Random& own, int step) {
  int me, p;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  std::vector<MPI_Comm> comms(4);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, p - me, &comms[1]);      // backwards
  MPI_Comm_split(MPI_COMM_WORLD, me * 2 / p, 0, &comms[2]);  // two halves
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, static_cast<int>(all.next() % 3) * me, &comms[3]);
  std::vector<Place> places;
  for (MPI_Comm c : comms) {
    Place place{c, 0, 0};
    MPI_Comm_rank(c, &place.me);
    MPI_Comm_size(c, &place.p);
    places.push_back(place);
  }
  // Halves differ in size, and draw by the same numbers: what depends on the size is a root only.
  std::vector<Under> under;
  for (int i = 0; i < 14; ++i) under.push_back(draw(all, places, step * 100 + i));
  for (Under& u : under)
    if (u.persistent) u.begin(&u.request);
  for (int again = 0; again < 2; ++again) {
    // Any order that keeps that of the non-blocking ones of a communicator.
    std::vector<std::size_t> waiting(under.size());
    for (std::size_t i = 0; i < waiting.size(); ++i) waiting[i] = i;
    std::vector<std::size_t> started;
    while (!waiting.empty()) {
      const auto at = waiting.begin() + static_cast<std::ptrdiff_t>(own.next() % waiting.size());
      Under& u = under[*at];
      const bool first = std::none_of(waiting.begin(), at,
                                      [&](std::size_t i) { return !under[i].persistent && under[i].comm == u.comm; });
      if (!u.persistent && !first) continue;
      if (u.persistent) {
        MPI_Start(&u.request);
      } else if (again == 0) {
        u.begin(&u.request);
      }
      started.push_back(*at);
      waiting.erase(at);
    }
    const bool frees =
        again == 1 || std::none_of(under.begin(), under.end(), [](const Under& u) { return u.persistent; });
    if (frees && comms[0] != MPI_COMM_NULL)
      for (MPI_Comm& c : comms) MPI_Comm_free(&c);
    for (std::size_t i = started.size(); i > 1; --i) std::swap(started[i - 1], started[own.next() % i]);
    for (const std::size_t i : started) {
      Under& u = under[i];
      MPI_Wait(&u.request, MPI_STATUS_IGNORE);
      coll_test::context = "step " + std::to_string(step) + ", " + u.what;
      // In place and started again, a persistent one would go on from its results.
      check(again == 1 || u.good(), "wrong data");
    }
  }
  for (Under& u : under)
    if (u.persistent) MPI_Request_free(&u.request);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  make_types();
  int me;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  Random all, own;
  for (int i = 0; i <= me; ++i) own.next();
  for (int i = 0; i < 7 * me; ++i) own.next();
  const char* steps = std::getenv("COLL_STEPS");
  for (int step = 0; step < (steps ? std::atoi(steps) : 25); ++step) one_step(all, own, step);
  MPI_Type_free(&matrix_type);
  MPI_Type_free(&int_type);
  MPI_Op_free(&product);
  return coll_test::finish();
}
