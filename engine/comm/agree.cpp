// SPDX-License-Identifier: BSD-3-Clause
// What members tell each other before a communicator is made.
#include <algorithm>

#include "engine/call/error_codes.hpp"
#include "engine/comm/by_line.hpp"
#include "engine/comm/comms.hpp"
#include "engine/message/p2p.hpp"
#include "engine/message/task.hpp"
#include "engine/object/deaths.hpp"

namespace rmq::mpi {
namespace {

using Words = std::vector<std::uint64_t>;

Buffer buffer_of(std::span<std::uint64_t> words) {
  return {words.data(), static_cast<MPI_Count>(words.size_bytes()), find_datatype(MPI_BYTE)};
}

/// Messages of one agreement. An error does not end it: from then on this member's messages leave empty, so that nobody
/// waits in vain, and whoever gets such a one fails as well.
class Talk {
 public:
  void send(Comm& c, int to, int tag, std::span<std::uint64_t> words) {
    note(mpi::send(c, to, tag, buffer_of(error_ == MPI_SUCCESS ? words : words.first(0))));
  }
  void recv(Comm& c, int from, int tag, std::span<std::uint64_t> words) {
    take(*c.device, start_recv(c, from, tag, buffer_of(words)));
  }
  /// `failed` is called often while nothing comes, and ends it when it throws: then nothing has come.
  void swap(Comm& c, int peer, int tag, std::span<std::uint64_t> mine, std::span<std::uint64_t> theirs,
            const std::function<void()>& failed) {
    Request* const r = start_recv(c, peer, tag, buffer_of(theirs));
    send(c, peer, tag, mine);
    while (failed && !r->complete()) {
      try {
        failed();
      } catch (const Failure& f) {
        if (!c.device->give_up_receive(r, Errc::revoked)) break;  // it comes
        wait(*c.device, r);
        note(class_of_code(f.code));
        throw;
      }
      c.device->MPID_Poll(true, adi::awaited(r));
    }
    take(*c.device, r);
  }
  bool has_failed() const { return error_ != MPI_SUCCESS; }
  bool is_revoked() const { return error_ == MPIX_ERR_REVOKED; }
  void end() const {
    if (error_ != MPI_SUCCESS) fail_call(error_, "a member could not be reached");
  }

 private:
  void take(adi::Device& device, Request* r) {
    await(device, r);
    const bool whole = r->status.bytes == r->view.bytes;
    note(wait(device, r));
    if (!whole) note(MPIX_ERR_PROC_FAILED);
  }
  void note(int error) {
    if (error_ == MPI_SUCCESS) error_ = error;
  }
  int error_ = MPI_SUCCESS;
};

void send_words(Talk& t, const Party& p, int member, std::span<std::uint64_t> words) {
  t.send(p.comm, p.rank_of(member), p.tag, words);
}
void recv_words(Talk& t, const Party& p, int member, std::span<std::uint64_t> words) {
  t.recv(p.comm, p.rank_of(member), p.tag, words);
}

/// How many members there are in the subtree of `m`.
int subtree(const Party& p, int m) {
  return std::min(p.reach(m), p.size() - m);
}

void broadcast_words(Talk& t, const Party& p, std::span<std::uint64_t> words) {
  if (p.me != 0) recv_words(t, p, p.parent(), words);
  p.for_each_child([&](int child) { send_words(t, p, child, words); });
}

/// In place of how many words there are, or of the words: an error class.
constexpr std::uint64_t kFailed = ~std::uint64_t{0xffff};
std::uint64_t word_of(int error_class) {
  return kFailed | static_cast<std::uint64_t>(error_class);
}
[[noreturn]] void fail_as(std::uint64_t word) {
  fail_call(static_cast<int>(word & ~kFailed), "the two sides could not come together; the root says why");
}

void broadcast(Talk& t, const Party& p, Words& words) {
  Words size{words.size()};
  broadcast_words(t, p, size);
  if (size[0] >= kFailed) fail_as(size[0]);
  words.resize(size[0]);
  broadcast_words(t, p, words);
}

/// This leader waits no more for what the other one says, who may not have come yet: so many messages are its next.
void let_come(const Bridge& b, int messages) {
  for (; messages > 0; --messages)
    b.comm->device->MPID_Request_free(
        start_recv(*b.comm, b.remote_leader, b.tag, {nullptr, 0, find_datatype(MPI_BYTE)}));
}

/// In place of a swap: tells the other leader of a failure, and waits for nothing.
void tell_failure(const Bridge& b, int error_class) {
  Talk t;
  Words size{1}, word{word_of(error_class)};
  t.send(*b.comm, b.remote_leader, b.tag, size);
  t.send(*b.comm, b.remote_leader, b.tag, word);
  let_come(b, 2);
}

Words swap_by_messages(Talk& t, const Bridge& b, const Words& ours, const std::function<void()>& failed) {
  Words mine = ours, my_size{ours.size()}, their_size(1);
  try {
    t.swap(*b.comm, b.remote_leader, b.tag, my_size, their_size, failed);
  } catch (const Failure&) {
    t.send(*b.comm, b.remote_leader, b.tag, mine);  // empty
    let_come(b, 2);
    throw;
  }
  Words theirs(their_size[0]);
  try {
    t.swap(*b.comm, b.remote_leader, b.tag, mine, theirs, failed);
  } catch (const Failure&) {
    let_come(b, 1);
    tell_failure(b, MPI_ERR_OTHER);
    throw;
  }
  return theirs;
}

/// `own`: the leader's group, who may come to have no use for it.
Words swap(Talk& t, const Bridge& b, Comm* own, const Words& ours) {
  const auto note_end = [&] {
    if (b.over) *b.over = true;
  };
  Words theirs;
  try {
    const std::function<void()> failed = [&] {
      if (own) ft::check_whole(*own);
    };
    theirs = b.line ? swap_by_line(*b.line, ours, failed)
                    : swap_by_messages(t, b, ours, own && ft::may_fail() && !Task::current() ? failed : nullptr);
    // Not the group's own communicator, nor the copy of that: what says so has to be told apart (Together::conclude).
    if (b.comm && t.is_revoked()) ft::fail_revoked(*b.comm);
  } catch (const Failure&) {
    note_end();
    throw;
  }
  if (t.has_failed()) note_end();
  if (theirs.size() == 1 && theirs[0] >= kFailed) {
    note_end();
    fail_as(theirs[0]);
  }
  return theirs;
}

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

Everyone everyone_of(Comm& c) {
  Party party = whole_party(c);
  if (!c.is_inter()) return {std::move(party), {}};
  return {std::move(party), {true, &c, 0, next_collective_tag(c)}};
}

std::vector<std::uint64_t> gather_all(const Party& p, std::span<const std::uint64_t> mine) {
  const std::size_t n = mine.size();
  Words all(n * static_cast<std::size_t>(p.size()));
  const auto part = [&](int from, int count) {
    return std::span(all).subspan(n * static_cast<std::size_t>(from), n * static_cast<std::size_t>(count));
  };
  std::copy(mine.begin(), mine.end(), part(p.me, 1).begin());
  Talk t;
  p.for_each_child([&](int child) { recv_words(t, p, child, part(child, subtree(p, child))); });
  if (p.me != 0) send_words(t, p, p.parent(), part(p.me, subtree(p, p.me)));
  broadcast_words(t, p, all);
  t.end();
  return all;
}

void and_all(const Party& p, std::span<std::uint64_t> words) {
  Talk t;
  p.for_each_child([&](int child) {
    Words theirs(words.size());
    recv_words(t, p, child, theirs);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] &= theirs[i];
  });
  if (p.me != 0) send_words(t, p, p.parent(), words);
  broadcast_words(t, p, words);
  t.end();
}

void broadcast(const Party& p, std::vector<std::uint64_t>& words) {
  Talk t;
  broadcast(t, p, words);
  t.end();
}

int settle(const Bridge& b, const Failure* ours) {
  const int our_class = ours ? class_of_code(ours->code) : MPI_SUCCESS;
  if (b.over && *b.over) return ours ? our_class : MPIX_ERR_PROC_FAILED;
  // That ours is revoked is no business of the other side.
  const int told = our_class == MPIX_ERR_REVOKED ? MPI_ERR_OTHER : our_class;
  if (ours && !b.line) {
    tell_failure(b, told);
    return our_class;
  }
  try {
    Talk t;
    const Words theirs = swap(t, b, nullptr, {ours ? word_of(told) : 1});
    t.end();
    return ours ? our_class : theirs == Words{1} ? MPI_SUCCESS : MPI_ERR_INTERN;
  } catch (const Failure& f) {
    return ours ? our_class : class_of_code(f.code);
  }
}

std::vector<std::uint64_t> exchange(const Party& p, const Bridge& b, const std::vector<std::uint64_t>& ours) {
  Words theirs;
  Talk t;
  if (p.me == 0) {
    const bool made_already = b.comm && b.comm->local == &p.comm;  // the two are an inter-communicator
    try {
      theirs = swap(t, b, made_already ? nullptr : &p.comm, ours);
    } catch (const Failure& f) {
      Words failed{word_of(class_of_code(f.code))};
      Talk within;  // what has failed is between the leaders
      broadcast_words(within, p, failed);
      throw;
    }
  }
  broadcast(t, p, theirs);
  t.end();
  return theirs;
}

std::vector<std::uint64_t> exchange_with_remote(Comm& inter, const std::vector<std::uint64_t>& ours) {
  const Everyone all = everyone_of(inter);
  return exchange(all.party, all.bridge, ours);
}

}  // namespace rmq::mpi
