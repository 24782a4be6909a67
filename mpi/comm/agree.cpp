// What members tell each other before a communicator is made.
#include <algorithm>

#include "mpi/dynamic/introduce.hpp"
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

/// How many members there are in the subtree of `m`.
int subtree(const Party& p, int m) {
  return std::min(p.reach(m), p.size() - m);
}

void broadcast_words(const Party& p, std::span<std::uint64_t> words) {
  if (p.me != 0) recv_words(p, p.parent(), words);
  p.for_each_child([&](int child) { send_words(p, child, words); });
}

void swap_words(const Bridge& b, std::span<std::uint64_t> mine, std::span<std::uint64_t> theirs) {
  check(send_recv(*b.comm, b.remote_leader, buffer_of(mine), b.remote_leader, buffer_of(theirs), b.tag));
}

Words swap(const Bridge& b, const Words& ours) {
  if (b.line) return swap_by_line(*b.line, ours);
  Words mine = ours, my_size{ours.size()}, their_size(1);
  swap_words(b, my_size, their_size);
  Words theirs(their_size[0]);
  swap_words(b, mine, theirs);
  return theirs;
}

constexpr std::uint64_t kFailed = ~std::uint64_t{0};  // in place of how many words there are

}  // namespace

Party party_behind(Comm& c, int leader) {
  Party p{c, {}, (c.rank - leader + c.size()) % c.size(), next_collective_tag(c)};
  for (int i = 0; i < c.size(); ++i) p.ranks.push_back((leader + i) % c.size());
  return p;
}

Party whole_party(Comm& c) {
  Comm& local = c.is_inter() ? *c.local : c;
  // The tag is the whole communicator's, as in its collectives, which use the local group's context, too.
  return {local, {}, local.rank, next_collective_tag(c)};
}

Bridge bridge_of(Comm& c) {
  if (!c.is_inter()) return {};
  return {true, &c, 0, next_collective_tag(c)};
}

std::vector<std::uint64_t> gather_all(const Party& p, std::span<const std::uint64_t> mine) {
  const std::size_t n = mine.size();
  Words all(n * static_cast<std::size_t>(p.size()));
  const auto part = [&](int from, int count) {
    return std::span(all).subspan(n * static_cast<std::size_t>(from), n * static_cast<std::size_t>(count));
  };
  std::copy(mine.begin(), mine.end(), part(p.me, 1).begin());
  p.for_each_child([&](int child) { recv_words(p, child, part(child, subtree(p, child))); });
  if (p.me != 0) send_words(p, p.parent(), part(p.me, subtree(p, p.me)));
  broadcast_words(p, all);
  return all;
}

void and_all(const Party& p, std::span<std::uint64_t> words) {
  p.for_each_child([&](int child) {
    Words theirs(words.size());
    recv_words(p, child, theirs);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] &= theirs[i];
  });
  if (p.me != 0) send_words(p, p.parent(), words);
  broadcast_words(p, words);
}

void broadcast(const Party& p, std::vector<std::uint64_t>& words) {
  Words size{words.size()};
  broadcast_words(p, size);
  if (size[0] == kFailed) fail_call(MPI_ERR_OTHER, "the two sides could not come together; the root says why");
  words.resize(size[0]);
  broadcast_words(p, words);
}

std::vector<std::uint64_t> exchange(const Party& p, const Bridge& b, const std::vector<std::uint64_t>& ours) {
  Words theirs;
  if (p.me == 0) {
    try {
      theirs = swap(b, ours);
    } catch (const Failure&) {
      Words failed{kFailed};
      broadcast_words(p, failed);
      throw;
    }
  }
  broadcast(p, theirs);
  return theirs;
}

}  // namespace rmq::mpi
