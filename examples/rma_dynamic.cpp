// SPDX-License-Identifier: BSD-3-Clause
// MPI-3 feature: dynamic windows. A linked list across all ranks: each rank attaches nodes to the window as it needs
// them, without anybody else, and hangs them into the list by swapping one pointer at its head on rank 0.
//   rmqrun -n 4 rma_dynamic [nodes per rank]
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

/// Where a node is: a rank and an address of its memory; rank -1: nowhere. One word, so that it can be swapped.
struct Link {
  std::uint64_t word = UINT64_MAX;
  static Link to(int rank, MPI_Aint address) {
    return {static_cast<std::uint64_t>(rank) << 48 | static_cast<std::uint64_t>(address)};
  }
  bool nowhere() const { return word == UINT64_MAX; }
  int rank() const { return static_cast<int>(word >> 48); }
  MPI_Aint address() const { return static_cast<MPI_Aint>(word & ((std::uint64_t{1} << 48) - 1)); }
};

struct Node {
  Link next;
  std::int64_t value;
};

MPI_Aint address_of(const void* memory) {
  MPI_Aint address;
  MPI_Get_address(memory, &address);
  return address;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int each = argc > 1 ? std::atoi(argv[1]) : 100;

  MPI_Win window;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  Link head_here;
  if (rank == 0) MPI_Win_attach(window, &head_here, sizeof head_here);
  MPI_Aint head = address_of(&head_here);
  MPI_Bcast(&head, 1, MPI_AINT, 0, MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);

  std::vector<std::unique_ptr<Node>> nodes;
  for (int i = 0; i < each; ++i) {
    nodes.push_back(std::make_unique<Node>());
    Node& node = *nodes.back();
    node.value = std::int64_t{rank} * each + i;
    MPI_Win_attach(window, &node, sizeof node);
    const Link link = Link::to(rank, address_of(&node));
    // Read the head, point to it, and make it point here, unless another rank was faster.
    Link seen;
    MPI_Get(&seen, 1, MPI_UINT64_T, 0, head, 1, MPI_UINT64_T, window);
    MPI_Win_flush(0, window);
    for (Link found;; seen = found) {
      node.next = seen;
      MPI_Win_sync(window);
      MPI_Compare_and_swap(&link, &seen, &found, MPI_UINT64_T, 0, head, window);
      MPI_Win_flush(0, window);
      if (found.word == seen.word) break;
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);

  // Every rank walks the whole list.
  std::vector<int> seen(static_cast<std::size_t>(each) * static_cast<std::size_t>(size), 0);
  Link at;
  MPI_Get(&at, 1, MPI_UINT64_T, 0, head, 1, MPI_UINT64_T, window);
  MPI_Win_flush(0, window);
  long length = 0;
  bool right = true;
  for (; !at.nowhere() && right; ++length) {
    Node node;
    MPI_Get(&node, sizeof node, MPI_BYTE, at.rank(), at.address(), sizeof node, MPI_BYTE, window);
    MPI_Win_flush(at.rank(), window);
    right = node.value >= 0 && node.value < static_cast<std::int64_t>(seen.size()) &&
            seen[static_cast<std::size_t>(node.value)]++ == 0;
    at = node.next;
  }
  right = right && length == static_cast<long>(seen.size());
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(window);
  for (const auto& node : nodes) MPI_Win_detach(window, node.get());
  if (rank == 0) MPI_Win_detach(window, &head_here);
  MPI_Win_free(&window);
  if (rank == 0) std::printf("a list of %ld nodes on %d ranks: %s\n", length, size, right ? "right" : "WRONG");
  MPI_Finalize();
  return right ? 0 : 1;
}
