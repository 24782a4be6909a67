// Agreement among members, over a binomial tree with the first member as its root: member m's parent is m with its lowest
// bit cleared, and its subtree are the members m … m + lowbit(m) - 1, so that gathered words arrive in order.
#include <algorithm>
#include <bit>

#include "mpi/internal/comms.hpp"
#include "mpi/internal/p2p.hpp"

namespace rmq::mpi {
namespace {

using Words = std::vector<std::uint64_t>;

Buffer buffer_of(std::span<std::uint64_t> words) {
  return {words.data(), static_cast<MPI_Count>(words.size_bytes()), find_datatype(MPI_BYTE)};
}

void check(int error) {
  if (error != MPI_SUCCESS) fail_call(error, "a member could not be reached");
}

void send_words(const Party& p, int member, std::span<std::uint64_t> words) {
  check(send(p.comm, p.rank_of(member), p.tag, buffer_of(words)));
}
void recv_words(const Party& p, int member, std::span<std::uint64_t> words) {
  check(recv(p.comm, p.rank_of(member), p.tag, buffer_of(words)));
}

int lowest_bit(int m) { return m & -m; }
int parent_of(int m) { return m & (m - 1); }
/// One past the largest step from `m` to a child.
int reach(const Party& p, int m) { return m == 0 ? static_cast<int>(std::bit_ceil(unsigned(p.size()))) : lowest_bit(m); }

template <class F>
void for_each_child(const Party& p, F&& f) {
  for (int step = 1; step < reach(p, p.me) && p.me + step < p.size(); step *= 2) f(p.me + step);
}

void broadcast_words(const Party& p, std::span<std::uint64_t> words) {
  if (p.me != 0) recv_words(p, parent_of(p.me), words);
  for_each_child(p, [&](int child) { send_words(p, child, words); });
}

/// Both first members give and take `words`, which both sides have as many of, or, for `resize`, as many as the other says.
Words swap_with_other_party(const Bridge& b, Words& ours, bool resize) {
  const auto swap = [&](Words& mine, Words& theirs) {
    check(send_recv(*b.comm, b.remote_leader, buffer_of(mine), b.remote_leader, buffer_of(theirs), b.tag));
  };
  Words theirs(ours.size());
  if (resize) {
    Words my_size{ours.size()}, their_size(1);
    swap(my_size, their_size);
    theirs.resize(their_size[0]);
  }
  swap(ours, theirs);
  return theirs;
}

}  // namespace

Party whole_party(Comm& c) {
  Comm& local = c.is_inter() ? *c.local : c;
  return {local, {}, local.rank, next_collective_tag(local)};
}

Bridge bridge_of(Comm& c) {
  if (!c.is_inter()) return {};
  return {true, &c, 0, next_collective_tag(c)};
}

void agree_and(const Party& p, const Bridge& b, std::span<std::uint64_t> words) {
  Words other(words.size());
  const auto combine = [&] {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] &= other[i];
  };
  for_each_child(p, [&](int child) {
    recv_words(p, child, other);
    combine();
  });
  if (p.me != 0) send_words(p, parent_of(p.me), words);
  if (b.present && p.me == 0) {
    Words mine(words.begin(), words.end());
    other = swap_with_other_party(b, mine, false);
    combine();
  }
  broadcast_words(p, words);
}

std::vector<std::uint64_t> gather_all(const Party& p, std::span<const std::uint64_t> mine) {
  const std::size_t n = mine.size();
  Words all(n * static_cast<std::size_t>(p.size()));
  const auto part = [&](int from, int count) {
    return std::span(all).subspan(n * static_cast<std::size_t>(from), n * static_cast<std::size_t>(count));
  };
  std::copy(mine.begin(), mine.end(), part(p.me, 1).begin());
  for_each_child(p, [&](int child) { recv_words(p, child, part(child, std::min(reach(p, child), p.size() - child))); });
  if (p.me != 0) send_words(p, parent_of(p.me), part(p.me, std::min(reach(p, p.me), p.size() - p.me)));
  broadcast_words(p, all);
  return all;
}

void broadcast(const Party& p, std::vector<std::uint64_t>& words) {
  Words size{words.size()};
  broadcast_words(p, size);
  words.resize(size[0]);
  broadcast_words(p, words);
}

std::vector<std::uint64_t> exchange(const Party& p, const Bridge& b, const std::vector<std::uint64_t>& ours) {
  Words theirs;
  if (p.me == 0) {
    Words mine = ours;
    theirs = swap_with_other_party(b, mine, true);
  }
  broadcast(p, theirs);
  return theirs;
}

}  // namespace rmq::mpi
