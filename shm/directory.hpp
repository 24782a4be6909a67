// SPDX-License-Identifier: BSD-3-Clause
// A rank's way into its host's segment: creates or finds it, checks it, claims rings, and hands lists between ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "base/config.hpp"
#include "base/error.hpp"
#include "base/os/atomic.hpp"
#include "shm/inbox.hpp"
#include "shm/map.hpp"
#include "shm/segment.hpp"
#include "start/bootstrap.hpp"

namespace rmq::shm {

/// A ring as it lies in this process.
struct Ring {
  RingHeader* header = nullptr;
  Cell* cells = nullptr;
  std::byte* bytes = nullptr;
  std::uint32_t index = 0;
};

class Directory {
 public:
  /// Opens the segment of this rank's host, which must have 2 ranks or more. The rank with host_rank 0 makes it; the
  /// others wait for its ticket. Announces this rank (rank_state::here) with its pid and probe word.
  /// `probe` must live as long as the directory: peers read it to learn whether single copies work.
  static Result<Directory> open(const Config& config, Bootstrap& bootstrap, const std::uint64_t& probe);

  const Map& map() const { return map_; }
  const Segment& segment() const { return segment_; }
  std::uint32_t me() const { return me_; }
  bool asymmetric() const { return asymmetric_; }
  /// Whether this rank may sleep: false when the host uses the asymmetric fence but this process cannot.
  bool may_sleep() const { return may_sleep_; }

  RankControl& control(std::uint32_t rank) const { return at<RankControl>(map_.control_at(rank)); }
  RankControl& mine() const { return control(me_); }

  Inbox inbox(std::uint32_t rank) const;
  /// A ring that nobody else has.
  Result<Ring> claim_ring() const;
  /// Its memory, and that it is one from me to `to`, who has yet to be told. Errc::no_memory when the system has none
  /// left.
  Result<void> open_ring(const Ring& ring, std::uint32_t to) const;
  /// Before the ring that I have to `to` uses so many bytes of payload: the memory. Errc::no_memory as above.
  Result<void> widen(const Ring& ring, std::uint64_t payload_bytes, std::uint32_t to) const;

  /// Tells the receiver of an opened ring, whose packets come behind all that I have put into its inbox.
  void announce(const Ring& ring) const;
  /// The rings that have been announced to me since the last call, in no order. False, and no more of them, when one is
  /// no ring from another rank to this one.
  bool take_announced(std::vector<Ring>& into) const;

 private:
  Ring ring(std::uint32_t index) const;
  Directory() : map_(Shape{}) {}
  Result<void> create(const Config& config, Bootstrap& bootstrap);
  Result<void> attach(Bootstrap& bootstrap);
  void announce_me(const std::uint64_t& probe) const;
  SegmentHeader& header() const { return at<SegmentHeader>(0); }

  template <class T>
  T& at(std::uint64_t offset) const {
    return *reinterpret_cast<T*>(segment_.data() + offset);
  }

  Segment segment_;
  Map map_;
  std::uint32_t me_ = 0;
  bool asymmetric_ = false;
  bool may_sleep_ = true;
};

/// Pushes entry `id` (> 0), whose link word is `next`, on a list that its owner takes as a whole. No entry may be
/// pushed again before it was taken, hence there is no ABA. The release pairs with take_list's acquire.
inline void push_list(Atomic<std::uint32_t>& head, Atomic<std::uint32_t>& next, std::uint32_t id) {
  std::uint32_t first = head.load(std::memory_order_relaxed);  // relaxed: only compared
  do {
    next.store(first, std::memory_order_relaxed);  // relaxed: published by the exchange below
  } while (!head.compare_exchange_weak(first, id, std::memory_order_release, std::memory_order_relaxed));
}

/// The first entry of the list, which is empty from then on; 0 when there is none.
inline std::uint32_t take_list(Atomic<std::uint32_t>& head) {
  return head.exchange(0, std::memory_order_acquire);
}

}  // namespace rmq::shm
