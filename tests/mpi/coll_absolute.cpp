// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Collectives whose buffers are MPI_BOTTOM on both sides, and whose datatypes say where the data is: the same address
// is not the same memory.
#include <vector>

#include "check.hpp"

namespace {

/// `count` ints at `memory`.
class Absolute {
 public:
  Absolute(const std::vector<int>& memory, int count) {
    MPI_Aint at;
    MPI_Get_address(memory.data(), &at);
    MPI_Type_create_hindexed(1, &count, &at, MPI_INT, &type_);
    MPI_Type_commit(&type_);
  }
  ~Absolute() { MPI_Type_free(&type_); }
  Absolute(const Absolute&) = delete;
  Absolute& operator=(const Absolute&) = delete;
  operator MPI_Datatype() const { return type_; }

 private:
  MPI_Datatype type_;
};

constexpr int kEach = 3;

std::vector<int> numbers(int first, int count) {
  std::vector<int> all;
  for (int i = 0; i < count; ++i) all.push_back(first + i);
  return all;
}

void gather_and_scatter() {
  const int me = check::rank(), p = check::size();
  const std::vector<int> mine = numbers(me * kEach, kEach), everything = numbers(0, p * kEach);
  const std::vector<int> none(static_cast<std::size_t>(p * kEach), -1);
  const Absolute one(mine, kEach), from_all(everything, kEach);
  {
    std::vector<int> all = none;
    MPI_Allgather(MPI_BOTTOM, 1, one, MPI_BOTTOM, 1, Absolute(all, kEach), MPI_COMM_WORLD);
    CHECK(all == everything);
  }
  for (int root = 0; root < p; ++root) {
    std::vector<int> all = none, own(kEach, -1);
    MPI_Gather(MPI_BOTTOM, 1, one, MPI_BOTTOM, 1, Absolute(all, kEach), root, MPI_COMM_WORLD);
    CHECK(all == (me == root ? everything : none));
    MPI_Scatter(MPI_BOTTOM, 1, from_all, MPI_BOTTOM, 1, Absolute(own, kEach), root, MPI_COMM_WORLD);
    CHECK(own == mine);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  gather_and_scatter();
  return check::finish();
}
