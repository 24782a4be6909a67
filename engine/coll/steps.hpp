// SPDX-License-Identifier: BSD-3-Clause
// How the algorithm of a collective talks to the other ranks. Only these classes send, receive and wait. In a
// non-blocking collective (later.hpp) a wait pauses the algorithm's fiber; the algorithm does not see the difference.
//
// An error does not end a collective: the first one is kept, and from then on this rank's messages leave empty, as does
// what it brings in shared memory (shared.hpp). So no rank waits in vain, and whoever depends on the lost data finds it
// too short and reports MPI_ERR_TRUNCATE. Data that is longer or shorter than expected is such an error; in a job that
// goes on when ranks die empty data tells of the failure that has made it so.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "engine/coll/blocks.hpp"
#include "engine/coll/choice.hpp"
#include "engine/message/task.hpp"
#include "engine/message/transfer.hpp"
#include "engine/object/deaths.hpp"

namespace rmq::mpi::coll {

/// The terms of its job, once they are known, and what else its collectives need of them.
inline const Terms& terms_of(const Comm& c) {
  if (!c.terms->known(!c.traits)) [[unlikely]]
    c.terms->await(*c.device, !c.traits);
  return *c.terms;
}
/// Once those are known.
inline Traits traits_of(const Comm& c) {
  return c.traits ? *c.traits : c.terms->traits();
}

/// Some ranks of a communicator, in order. One of them may stand in for another.
struct Part {
  const Ranks& ranks;
  int place = -1;  // of the one that does not take part …
  int by = -1;     // … and the rank that does in its stead
  int at(int i) const { return i == place ? by : ranks[i]; }
};

class Steps {
 public:
  /// Begins a collective: every member must, in the same order.
  explicit Steps(Comm& comm)
      : comm_(comm), device_(*comm.device), tag_(next_collective_tag(comm)), rank_(comm.rank), size_(comm.size()) {}
  /// Begins the part of a collective on an inter-communicator that runs in the local group. Under the same tag: all
  /// members agree on that one, but come here at any time.
  Steps(const Steps& whole, Comm& local)
      : comm_(local),
        device_(*local.device),
        tag_(whole.tag_),
        error_(whole.error_),
        rank_(local.rank),
        size_(local.size()),
        borrows_tag_(true) {}
  /// Begins the part of a collective that runs among some of its ranks, of which this one is the `me`-th: from here on
  /// ranks are places in `part`, which outlives this. Under the same tag; no two parts have the same two ranks.
  Steps(const Steps& whole, const Part& part, int me)
      : comm_(whole.comm_),
        device_(whole.device_),
        tag_(whole.tag_),
        error_(whole.error_),
        rank_(me),
        size_(part.ranks.size()),
        part_(&part) {}
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  Comm& comm() const { return comm_; }
  adi::Device& device() { return device_; }
  const Terms& terms() const { return terms_of(comm_); }
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Whether only some of the communicator's ranks take part.
  bool is_part() const { return part_ != nullptr; }
  /// Whether those are these ranks, each for itself.
  bool is_part(const Ranks& ranks) const { return part_ && &part_->ranks == &ranks && part_->place < 0; }
  /// Whether the tag is another communicator's: then none may be taken of the one that this runs on.
  bool borrows_tag() const { return borrows_tag_; }
  /// World rank of a rank.
  Rank world_of(int rank) const { return comm_.world_of(at(rank)); }
  /// The first error so far: what the collective returns.
  int error() const { return error_; }
  /// Whether one receive from any source may take messages of several ranks (*join*). Not where messages of a later
  /// collective, or of another part of this one, may come under this tag before those of all ranks of this one. Nor
  /// where ranks may die: it would end with the first of them, and the others would wait to be received from.
  bool may_join_any() const {
    return !is_part() && static_cast<std::uint32_t>(tag_) < kRepeatedTags && !ft::may_fail();
  }
  void note(int error) {
    if (error != MPI_SUCCESS && error_ == MPI_SUCCESS) [[unlikely]]
      error_ = error;
  }

  void send(int to, const Buffer& data) {
    if (Request* r = start_send(to, data)) finish_send(r);
  }
  void recv(int from, const Buffer& data) { finish_recv(start_recv(from, data)); }
  /// Sends and receives at the same time; the buffers must not overlap. The message leaves before the receive is
  /// posted: that shortens the way of what the other rank waits for, and nothing arrives in between, because nobody
  /// polls.
  void exchange(int to, const Buffer& out, int from, const Buffer& in) {
    Request* s = start_send(to, out);
    recv(from, in);
    if (s) finish_send(s);
  }

  /// nullptr: the data has left already, without a request.
  Request* start_send(int to, const Buffer& data) {
    // A device that knows of a revocation lets nothing more leave with a request: what is missing has no reason that
    // could be told, and whoever waits for it hears of the revocation itself.
    if (error_ != MPI_SUCCESS) [[unlikely]]
      return mpi::start_send(comm_, at(to), tag_, in_place_of(data));
    const std::uint64_t bytes = bytes_of(data);
    if (data.type->dense && bytes <= kNowMax) {
      const Match match{comm_.context + 1, comm_.rank, tag_};
      if (device_.send_now(comm_.world_of(at(to)), match, data.data, bytes)) [[likely]]
        return nullptr;
    }
    return mpi::start_send(comm_, at(to), tag_, data);
  }
  Request* start_recv(int from, const Buffer& data) { return mpi::start_recv(comm_, at(from), tag_, data); }
  /// Combines what arrives into `data`: data = arriving op data, for a dense predefined type. With MPI_ANY_SOURCE and
  /// several parts, in the order of arrival.
  Request* start_join(int from, const Buffer& data, ReduceOp op, int parts = 1) {
    return mpi::start_recv_join(comm_, at(from), tag_, data, op, parts);
  }
  void finish_send(Request* r) { note(mpi::wait(device_, r)); }
  void finish_recv(Request* r) {
    await(device_, r);
    const std::uint64_t came = r->status.bytes, wanted = r->view.bytes;
    const int error = mpi::wait(device_, r);
    if (error != MPI_SUCCESS && error != MPI_ERR_TRUNCATE) [[unlikely]]
      return note(error);
    if (error != MPI_SUCCESS || came != wanted) [[unlikely]]
      note_length(came);
  }

  /// How many bytes leave where so many were to: after an error none, or, where none were to leave anyway, as in a
  /// barrier, one too many, by which a failure is told.
  std::uint64_t leaving(std::uint64_t bytes) const {
    if (error_ == MPI_SUCCESS) [[likely]]
      return bytes;
    return bytes == 0 && ft::may_fail() ? 1 : 0;
  }
  /// Notes that so many bytes have come from another rank, by a message or in shared memory, and not as many as were
  /// wanted. `came`: at most what there was room for, so none where none was wanted. Where ranks may die, nothing tells
  /// of a failed process: also where the one that has sent it has met a mistake of the program.
  [[gnu::cold]] void note_length(std::uint64_t came) {
    note(ft::may_fail() && came == 0 ? MPIX_ERR_PROC_FAILED : MPI_ERR_TRUNCATE);
  }

 private:
  // Larger messages need a request in most methods; asking in vain costs little, but not nothing.
  static constexpr std::uint64_t kNowMax = 16 * 1024;

  // What leaves after an error.
  [[gnu::cold]] Buffer in_place_of(const Buffer& data) const {
    static constexpr char kByte = '!';
    return raw(&kByte, leaving(bytes_of(data)));
  }
  int at(int place) const { return part_ && place >= 0 ? part_->at(place) : place; }

  Comm& comm_;
  adi::Device& device_;
  int tag_;
  int error_ = MPI_SUCCESS;
  int rank_;
  int size_;
  const Part* part_ = nullptr;
  const bool borrows_tag_ = false;
};

/// Any number of sends and receives at once. Must be finished before it dies.
class Batch {
 public:
  explicit Batch(Steps& steps) : steps_(steps) {}
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void send(int to, const Buffer& data) {
    if (Request* r = steps_.start_send(to, data)) add(r);
  }
  void recv(int from, const Buffer& data) { add(steps_.start_recv(from, data)); }
  void join(int from, const Buffer& data, ReduceOp op) { add(steps_.start_join(from, data, op)); }
  bool empty() const { return count_ == 0; }
  void finish() {
    for (std::size_t i = 0; i < count_; ++i) {
      Request* r = i < kNear ? near_[i] : far_[i - kNear];
      if (r->kind == RequestKind::recv) {
        steps_.finish_recv(r);
      } else {
        steps_.finish_send(r);
      }
    }
    count_ = 0;
    far_.clear();
  }

 private:
  static constexpr std::size_t kNear = 64;
  void add(Request* r) {
    if (count_ < kNear) {
      near_[count_] = r;
    } else {
      far_.push_back(r);
    }
    ++count_;
  }

  Steps& steps_;
  std::size_t count_ = 0;
  std::array<Request*, kNear> near_;
  std::vector<Request*> far_;
};

}  // namespace rmq::mpi::coll
