// Which contexts are free, and how all members come to the same one.
//
// Every process keeps a mask of the contexts that it does not use. The members AND their masks and take the lowest bits
// that are left. With threads, several agreements may go on in a process at once; if each took its own bits from the same
// mask, two could take the same. So one at a time owns the mask; the others put in a mask of zeros, find that not all
// members owned theirs, and try again. The owner is always the waiting agreement in the lowest parent context: that order
// is the same in all processes, so that somewhere all members own their masks, and nobody waits for ever.
#include <sched.h>

#include <algorithm>
#include <bit>
#include <set>

#include "mpi/internal/comms.hpp"

namespace rmq::mpi {
namespace {

struct Masks {
  std::uint64_t free[kContextWords];
  bool owned = false;
  std::multiset<std::uint64_t> waiting;  // (parent context, tag) of the agreements under way
  Masks() {
    std::fill(std::begin(free), std::end(free), ~std::uint64_t{0});
    free[0] &= ~std::uint64_t{3};  // MPI_COMM_WORLD and MPI_COMM_SELF
  }
};
/// Touched with the device held.
Masks& masks() {
  static Masks* const all = new Masks;
  return *all;
}

/// An agreement's place among those under way, and its ownership of the mask.
class Turn {
 public:
  explicit Turn(std::uint64_t order) : place_(masks().waiting.insert(order)) {}
  ~Turn() {
    leave();
    masks().waiting.erase(place_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  bool take() {
    Masks& m = masks();
    if (!m.owned && m.waiting.begin() == place_) m.owned = owner_ = true;
    return owner_;
  }
  void leave() {
    if (owner_) masks().owned = owner_ = false;
  }

 private:
  std::multiset<std::uint64_t>::iterator place_;
  bool owner_ = false;
};

std::uint32_t context_of(std::size_t bit) { return static_cast<std::uint32_t>(2 * bit); }

std::vector<std::uint32_t> take_lowest(std::span<const std::uint64_t> agreed, int n) {
  Masks& m = masks();
  std::vector<std::uint32_t> taken;
  for (std::size_t word = 0; word < kContextWords && std::ssize(taken) < n; ++word) {
    for (std::uint64_t left = agreed[word]; left && std::ssize(taken) < n; left &= left - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(left));
      taken.push_back(context_of(word * 64 + bit));
    }
  }
  if (std::ssize(taken) < n) fail_call(MPI_ERR_OTHER, "no context is left: too many communicators are alive");
  for (const std::uint32_t c : taken) m.free[c / 2 / 64] &= ~(std::uint64_t{1} << (c / 2 % 64));
  return taken;
}

}  // namespace

std::vector<std::uint32_t> agree_on_contexts(const Party& p, const Bridge& b, int n) {
  Turn turn((std::uint64_t{p.comm.context} << 32) | static_cast<std::uint32_t>(p.tag));
  for (;;) {
    std::uint64_t words[kContextWords + 1] = {};
    if (turn.take()) {
      std::copy(std::begin(masks().free), std::end(masks().free), words);
      words[kContextWords] = 1;  // "I own my mask"
    }
    agree_and(p, b, words);
    if (words[kContextWords]) return take_lowest(words, n);
    turn.leave();
    const Released released;
    ::sched_yield();
  }
}

void free_context(std::uint32_t context) { masks().free[context / 2 / 64] |= std::uint64_t{1} << (context / 2 % 64); }

}  // namespace rmq::mpi
