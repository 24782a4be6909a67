// SPDX-License-Identifier: BSD-3-Clause
// A table of keys and values that is spread over all ranks, by active messages: add and look-up are messages that run a
// function where the key lives; the owner takes no part.
//   rmqrun -n 4 am_table [keys for each rank]
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <rmq/active_messages.hpp>
#include <unordered_map>
#include <vector>

namespace {

struct Add {
  long key, value;
};
struct LookUp {
  long key;
  long* into;  // of who asks: it travels there and back
};
struct Found {
  long value;
  long* into;
};

class Table {
 public:
  explicit Table(MPI_Comm comm)
      : am_(comm, {[this](rmq::Message& m) { mine_[m.args<Add>().key] += m.args<Add>().value; },
                   [this](rmq::Message& m) {
                     const auto asked = m.args<LookUp>();
                     m.reply(2, Found{mine_[asked.key], asked.into});
                   },
                   [](rmq::Message& m) { *m.args<Found>().into = m.args<Found>().value; }}) {
    MPI_Comm_size(comm, &ranks_);
  }
  void add(long key, long value) { am_.request(owner(key), 0, Add{key, value}); }
  /// The value is there behind finish().
  void look_up(long key, long& into) { am_.request(owner(key), 1, LookUp{key, &into}); }
  void finish() { am_.flush(); }

 private:
  int owner(long key) const { return int(key * 2654435761 % 4294967296 % ranks_); }

  std::unordered_map<long, long> mine_;
  rmq::ActiveMessages am_;  // last: handlers use the rest
  int ranks_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long keys = argc > 1 ? std::atol(argv[1]) : 10000;
  long wrong = 0;
  {
    Table table(MPI_COMM_WORLD);
    for (long key = 0; key < keys; ++key) table.add(key, rank + 1);
    table.finish();
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<long> found(std::size_t(keys), 0);
    for (long key = 0; key < keys; ++key) table.look_up(key, found[std::size_t(key)]);
    table.finish();
    for (const long value : found) wrong += value != long(ranks) * (ranks + 1) / 2;
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("a table of %ld keys on %d ranks: %s\n", keys, ranks, wrong ? "WRONG" : "right");
  MPI_Finalize();
  return wrong != 0;
}
