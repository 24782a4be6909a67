// SPDX-License-Identifier: BSD-3-Clause
// A pipeline through two trees: segments go from rank to rank, every other one by the second tree, while the next ones
// are under way.
#include <algorithm>
#include <array>
#include <bit>

#include "engine/coll/stages.hpp"
#include "engine/coll/two_trees.hpp"

namespace rmq::mpi::coll {
namespace {

// Receives of each tree that are posted ahead; segments after which all that has been sent is waited for, which bounds
// requests.
constexpr std::uint64_t kAhead = 4, kFlight = 128;
// Segments that a rank is through with while one goes a step down.
constexpr std::uint64_t kHop = 3;

/// Of n bytes to p ranks: with d steps to the last of them and a time of o for a segment beside b for each of its
/// bytes, (n/s + d)(o + s b) is least at s = sqrt(n o / (d b)). o/b: what bytes a message costs. The longest still
/// leaves at once, without asking the receiver.
std::uint64_t segment_of(std::uint64_t n, int p) {
  constexpr std::uint64_t kMessage = 16 * 1024, kLeast = 4 * 1024, kMost = 32 * 1024;
  const auto steps = 2 * static_cast<std::uint64_t>(std::bit_width(static_cast<unsigned>(p)));
  const std::uint64_t square = n / steps * kMessage;
  std::uint64_t segment = kLeast;
  while (segment < kMost && segment * segment < square) segment *= 2;
  return segment;
}

}  // namespace

// A rank takes what it gets in the order in which it is due, not from one tree and the other by turns: who stands far
// down in one would hold up those below it in the other, who hold up others again.
void bcast_trees(Steps& s, std::byte* data, std::uint64_t n, int root) {
  struct Tree {
    int parent = -1;
    TwoTrees::Children children;
    std::uint64_t next;  // segment to come: this, and every other one from there
    std::uint64_t depth = 0;
    std::array<Request*, kAhead> arriving;
    std::uint64_t due() const { return next + kHop * depth; }
    Request*& of(std::uint64_t segment) { return arriving[segment / 2 % kAhead]; }
  };
  const int p = s.size(), me = (s.rank() - root + p) % p;
  const auto at = [&](int i) { return (i + root) % p; };
  const std::uint64_t segment = segment_of(n, p), count = (n + segment - 1) / segment;
  const auto piece = [&](std::uint64_t i) { return raw(data + i * segment, std::min(segment, n - i * segment)); };
  const TwoTrees shape(p);
  std::array<Tree, 2> trees;
  for (int i = 0; i < 2; ++i) {
    Tree& t = trees[static_cast<std::size_t>(i)];
    t.next = static_cast<std::uint64_t>(i);
    t.children = shape.children(i, me);
    for (int above = me; above != 0; above = shape.parent(i, above)) ++t.depth;
    if (me > 0) t.parent = at(shape.parent(i, me));
  }
  // In the order of segments: two ranks alone have both trees in common.
  for (std::uint64_t k = 0; me > 0 && k < std::min(2 * kAhead, count); ++k)
    trees[k % 2].of(k) = s.start_recv(trees[k % 2].parent, piece(k));
  Batch out(s);
  for (std::uint64_t done = 0; done < count; ++done) {
    Tree& t =
        trees[1].next < count && (trees[0].next >= count || trees[1].due() < trees[0].due()) ? trees[1] : trees[0];
    const std::uint64_t i = t.next;
    t.next += 2;
    if (me > 0) {
      s.finish_recv(t.of(i));
      if (const std::uint64_t later = i + 2 * kAhead; later < count) t.of(later) = s.start_recv(t.parent, piece(later));
    }
    for (const int child : t.children)
      if (child != TwoTrees::kNone) out.send(at(child), piece(i));
    if ((done + 1) % kFlight == 0) out.finish();
  }
  out.finish();
}

}  // namespace rmq::mpi::coll
