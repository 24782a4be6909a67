// SPDX-License-Identifier: BSD-3-Clause
#include "tools/sim/pattern.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <queue>

#include "engine/message/transfer.hpp"
#include "engine/object/failure.hpp"
#include "engine/object/runtime.hpp"
#include "methods/chance.hpp"

namespace rmq::sim {
namespace {

using methods::LinkCost;
using methods::SimCost;
using mpi::Buffer;
using mpi::coll::Blocks;
using mpi::coll::Reduction;
using Round = std::function<void(Rank)>;

// Memory that all ranks use as if it were their own: what is in it never matters, and long data is never moved.
class Shared {
 public:
  explicit Shared(std::uint64_t bytes) : bytes_(std::max<std::uint64_t>(bytes, 4096)) {
    void* const memory =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = memory;
  }
  ~Shared() { ::munmap(memory_, bytes_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  void* data() const { return memory_; }

 private:
  std::uint64_t bytes_;
  void* memory_;
};
using Memory = std::shared_ptr<const Shared>;
Memory share(std::uint64_t bytes) {
  return std::make_shared<const Shared>(bytes);
}

void check(int code) {
  if (code != MPI_SUCCESS) mpi::fail_call(code, "a collective has failed");
}

Reduction sum_of(Crew& crew, Rank r, std::uint64_t bytes) {
  const bool words = bytes % sizeof(double) == 0;
  return {*mpi::find_op(words ? MPI_SUM : MPI_BOR), *mpi::find_datatype(words ? MPI_DOUBLE : MPI_BYTE),
          static_cast<MPI_Count>(words ? bytes / sizeof(double) : bytes), crew.device(r)};
}

Buffer bytes_at(Crew& crew, const Memory& m, std::uint64_t n) {
  return {m->data(), static_cast<MPI_Count>(n), &crew.bytes_type()};
}
Blocks blocks_at(Crew& crew, const Memory& m, std::uint64_t n) {
  return Blocks::uniform(m->data(), static_cast<MPI_Count>(n), crew.bytes_type());
}

// ---- collectives ----

Round barrier(Crew& crew, std::uint64_t) {
  return [&crew](Rank r) { check(mpi::coll::barrier(crew.comm(r))); };
}

Round bcast(Crew& crew, std::uint64_t n) {
  return [&crew, n, m = share(n)](Rank r) { check(mpi::coll::bcast(crew.comm(r), bytes_at(crew, m, n), 0)); };
}

Round reduce(Crew& crew, std::uint64_t n) {
  return [&crew, n, in = share(n), out = share(n)](Rank r) {
    check(mpi::coll::reduce(crew.comm(r), in->data(), out->data(), sum_of(crew, r, n), 0));
  };
}

Round allreduce(Crew& crew, std::uint64_t n) {
  return [&crew, n, in = share(n), out = share(n)](Rank r) {
    check(mpi::coll::allreduce(crew.comm(r), in->data(), out->data(), sum_of(crew, r, n)));
  };
}

Round gather(Crew& crew, std::uint64_t n) {
  return [&crew, n, in = share(n), out = share(n * static_cast<std::uint64_t>(crew.size()))](Rank r) {
    check(mpi::coll::gather(crew.comm(r), bytes_at(crew, in, n), blocks_at(crew, out, n), 0));
  };
}

Round scatter(Crew& crew, std::uint64_t n) {
  return [&crew, n, in = share(n * static_cast<std::uint64_t>(crew.size())), out = share(n)](Rank r) {
    check(mpi::coll::scatter(crew.comm(r), blocks_at(crew, in, n), bytes_at(crew, out, n), 0));
  };
}

Round allgather(Crew& crew, std::uint64_t n) {
  return [&crew, n, in = share(n), out = share(n * static_cast<std::uint64_t>(crew.size()))](Rank r) {
    check(mpi::coll::allgather(crew.comm(r), bytes_at(crew, in, n), blocks_at(crew, out, n)));
  };
}

Round alltoall(Crew& crew, std::uint64_t n) {
  const std::uint64_t all = n * static_cast<std::uint64_t>(crew.size());
  return [&crew, n, in = share(all), out = share(all)](Rank r) {
    check(mpi::coll::alltoall(crew.comm(r), blocks_at(crew, in, n), blocks_at(crew, out, n)));
  };
}

Round reduce_scatter(Crew& crew, std::uint64_t n) {  // n bytes for each rank
  const std::uint64_t all = n * static_cast<std::uint64_t>(crew.size());
  return [&crew, n, all, in = share(all), out = share(n)](Rank r) {
    const MPI_Count each = sum_of(crew, r, n).count;
    const mpi::coll::Numbers counts(each, 0);
    check(mpi::coll::reduce_scatter(crew.comm(r), in->data(), out->data(), sum_of(crew, r, all), counts));
  };
}

Round scan(Crew& crew, std::uint64_t n) {
  return [&crew, n, in = share(n), out = share(n)](Rank r) {
    check(mpi::coll::scan(crew.comm(r), in->data(), out->data(), sum_of(crew, r, n)));
  };
}

// ---- neighbours ----

/// Sends `n` bytes to each of some ranks, and receives as many from each of others.
void exchange(Crew& crew, Rank r, const Memory& m, std::uint64_t n, std::span<const int> to,
              std::span<const int> from) {
  mpi::Comm& c = crew.comm(r);
  constexpr int kTag = 1 << 28;  // above those of collectives
  std::vector<Request*> all;
  for (const int f : from) all.push_back(mpi::start_recv(c, f, kTag, bytes_at(crew, m, n)));
  for (const int t : to) all.push_back(mpi::start_send(c, t, kTag, bytes_at(crew, m, n)));
  for (Request* request : all)
    if (request) check(mpi::wait(crew.device(r), request));
}

int side_of(int p) {
  int side = static_cast<int>(std::sqrt(p));
  while (p % side != 0) --side;
  return side;
}

Round halo(Crew& crew, std::uint64_t n) {
  return [&crew, n, m = share(n), side = side_of(crew.size())](Rank r) {
    const int p = crew.size();
    const int row = r / side * side;
    const int all[] = {(r + side) % p, (r - side + p) % p, row + (r + 1) % side, row + (r - row + side - 1) % side};
    std::vector<int> others;
    for (const int other : all)
      if (other != r && std::ranges::find(others, other) == others.end()) others.push_back(other);
    exchange(crew, r, m, n, others, others);
  };
}

Round flood(Crew& crew, std::uint64_t n) {
  return [&crew, n, m = share(n)](Rank r) {
    const int first[] = {0};
    std::vector<int> others;
    if (r == 0)
      for (int i = 1; i < crew.size(); ++i) others.push_back(i);
    exchange(crew, r, m, n, r == 0 ? std::span<const int>() : first, others);
  };
}

constexpr int kDegree = 8;  // of the random graph

Round random_graph(Crew& crew, std::uint64_t n) {
  return [&crew, n, m = share(n)](Rank r) {
    methods::Chance chance(0x5eed);  // the same on all ranks
    const int p = crew.size();
    std::vector<int> to, from;
    for (int i = 0; i < kDegree && p > 1; ++i) {
      const int shift = 1 + static_cast<int>(chance.below(static_cast<std::uint64_t>(p) - 1));
      to.push_back((r + shift) % p);
      from.push_back((r - shift + p) % p);
    }
    exchange(crew, r, m, n, to, from);
  };
}

// ---- one-sided ----

/// The windows of all ranks; made and ended outside of the time that is measured.
class Windows {
 public:
  Windows(Crew& crew, std::uint64_t bytes) {
    const int p = crew.size();
    rma::Told told;
    std::vector<std::uint64_t> words;  // to_host of all
    for (Rank r = 0; r < p; ++r) {
      rma::WindowOptions o;
      o.id = 4;
      o.flavor = rma::Flavor::allocate;
      o.ranks = Ranks::rule(0, p);
      o.me = r;
      o.size = bytes;
      windows_.push_back(rma::Window::prepare(crew.domain(r), std::move(o)));
      const rma::Brought mine = windows_.back()->brought();
      told.masks = mine.masks();  // all alike
      words.insert(words.end(), mine.to_host.begin(), mine.to_host.end());
    }
    for (const auto& w : windows_) {
      std::vector<std::uint64_t> of_host;
      for (const int r : w->host()) {
        const auto theirs = words.begin() + r * static_cast<std::ptrdiff_t>(rma::Brought::kHostWords);
        of_host.insert(of_host.end(), theirs, theirs + rma::Brought::kHostWords);
      }
      told.of_host = of_host;
      if (const auto opened = w->open(told); !opened) mpi::fail_call(MPI_ERR_WIN, opened.error().what);
    }
  }
  rma::Window& operator[](Rank r) { return *windows_[static_cast<std::size_t>(r)]; }

 private:
  std::vector<std::unique_ptr<rma::Window>> windows_;
};

void check(rma::Fault f) {
  if (f != rma::Fault::none) mpi::fail_call(MPI_ERR_OTHER, "a one-sided operation has failed");
}

/// All ranks add to one counter of rank 0, and then all meet.
Round hot_spot(Crew& crew, std::uint64_t) {
  return [&crew, windows = std::make_shared<Windows>(crew, 64)](Rank r) {
    rma::Window& w = (*windows)[r];
    const mpi::Datatype& word = *mpi::find_datatype(MPI_INT64_T);
    const std::int64_t one = 1;
    std::int64_t before = 0;
    check(w.lock_all(0));
    check(
        w.fetch_and_op(&one, &before, {.rank = 0, .disp = 0, .layout = word.layout.get(), .count = 1}, ReduceOp::sum));
    check(w.unlock_all());
    check(mpi::coll::barrier(crew.comm(r)));
  };
}

// ---- bounds ----

struct Shape {
  explicit Shape(const Hosts& h) : p(h.size()), hosts(static_cast<double>(h.runs().size())), a_host(p / hosts) {}
  double p, hosts, a_host;
};

/// Until so many ranks have heard from one: the fastest tree, in which each that has heard sends to more, one after the
/// other (R. Karp et al., "Optimal broadcast and summation in the LogP model", 1993).
double spread(double ranks, const LinkCost& l) {
  std::priority_queue<double, std::vector<double>, std::greater<>> sends;  // when ranks that know may send next
  sends.push(0);
  double last = 0;
  for (double know = 1; know < ranks; ++know) {
    const double at = sends.top() + l.send;
    sends.pop();
    last = std::max(last, at + l.latency + l.receive);
    sends.push(at);
    sends.push(at + l.latency + l.receive);
  }
  return last;
}
double packet(const LinkCost& l) {
  return l.latency + l.send + l.receive;
}
/// From host to host, and then inside of the last one.
double latency_of(const Hosts& h, const SimCost& c) {
  const Shape s(h);
  return spread(s.hosts, c.between) + spread(s.a_host, c.within);
}
/// So many bytes of a rank that come from (or go to) another host, or another rank of it where there is one host only.
double bytes_of(const Hosts& h, const SimCost& c, double between, double within) {
  const double at_least = std::min(c.copy_byte, c.within.send_byte + c.within.receive_byte);
  const Shape s(h);
  return s.p == 1 ? 0 : s.hosts > 1 ? between * c.between.wire_byte : within * at_least;
}

double bound_tree(const Hosts& h, const SimCost& c, double) {
  return latency_of(h, c);
}
double bound_bcast(const Hosts& h, const SimCost& c, double n) {
  return std::max(latency_of(h, c), bytes_of(h, c, n, n));
}
double bound_allreduce(const Hosts& h, const SimCost& c, double n) {
  const Shape s(h);
  return std::max(latency_of(h, c), bytes_of(h, c, 2 * n * (s.hosts - 1) / s.hosts, n));
}
double bound_gather(const Hosts& h, const SimCost& c, double n) {
  const Shape s(h);
  return std::max(latency_of(h, c), bytes_of(h, c, (s.p - s.a_host) * n, (s.p - 1) * n));
}
double bound_alltoall(const Hosts& h, const SimCost& c, double n) {
  const Shape s(h);
  return std::max(latency_of(h, c), bytes_of(h, c, s.a_host * (s.p - s.a_host) * n, (s.p - 1) * n));
}
double bound_neighbours(const Hosts& h, const SimCost& c, double n) {
  const Shape s(h);
  return s.p == 1 ? 0 : s.hosts > 1 ? packet(c.between) + n * c.between.wire_byte : packet(c.within);
}
double bound_flood(const Hosts& h, const SimCost& c, double n) {
  const Shape s(h);
  const double receives = (s.p - s.a_host) * c.between.receive + (s.a_host - 1) * c.within.receive;
  return std::max(receives, bytes_of(h, c, (s.p - s.a_host) * n, 0));
}

/// Ranks of one host reach the counter themselves, in a time that is not reckoned.
double bound_hot_spot(const Hosts& h, const SimCost& c, double n) {
  return Shape(h).hosts > 1 ? bound_flood(h, c, n) - (Shape(h).a_host - 1) * c.within.receive : latency_of(h, c);
}

constexpr Pattern kPatterns[] = {
    {"barrier", "MPI_Barrier", barrier, bound_tree},
    {"bcast", "MPI_Bcast of so many bytes from rank 0", bcast, bound_bcast},
    {"reduce", "MPI_Reduce of so many bytes to rank 0", reduce, bound_bcast},
    {"allreduce", "MPI_Allreduce of so many bytes", allreduce, bound_allreduce},
    {"gather", "MPI_Gather of so many bytes from each rank to rank 0", gather, bound_gather},
    {"scatter", "MPI_Scatter of so many bytes to each rank", scatter, bound_gather},
    {"allgather", "MPI_Allgather of so many bytes from each rank", allgather, bound_gather},
    {"alltoall", "MPI_Alltoall of so many bytes for each rank", alltoall, bound_alltoall},
    {"reduce_scatter", "MPI_Reduce_scatter_block of so many bytes for each rank", reduce_scatter, bound_gather},
    {"scan", "MPI_Scan of so many bytes", scan, bound_tree},
    {"halo", "so many bytes to and from each of four neighbours on a grid", halo, bound_neighbours},
    {"flood", "all ranks send so many bytes to rank 0", flood, bound_flood},
    {"hotspot", "all ranks MPI_Fetch_and_op one counter of rank 0, and meet", hot_spot, bound_hot_spot},
    {"random", "so many bytes to and from eight random ranks", random_graph, bound_neighbours},
};

}  // namespace

std::span<const Pattern> patterns() {
  return kPatterns;
}

const Pattern* find_pattern(std::string_view name) {
  const auto at = std::ranges::find(kPatterns, name, &Pattern::name);
  return at == std::end(kPatterns) ? nullptr : at;
}

}  // namespace rmq::sim
