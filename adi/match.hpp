// SPDX-License-Identifier: BSD-3-Clause
// The posted and unexpected queues, with MPI's matching order in constant time.
//
// A receive pattern belongs to one of four classes by its wildcards: exact, any tag, any source, any both. For each
// class there is a hash index over the fields that the class does not leave open. A posted receive stands in the index
// of its class; an arriving message looks into each class that is not empty and takes the receive with the lowest
// stamp. An unexpected message stands in the exact index and, from the first receive or probe that needs them, in the
// wildcard indexes too: programs without wildcards keep one index. Chains keep arrival order, so the first fit is the
// oldest.
//
// The caller holds the device's lock: to look for a message and post the receive (match_or_post) is one step, and so is
// to look for a receive (match_arrival) and keep the message (keep).
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "base/packet/request.hpp"

namespace rmq::adi {

/// Wildcard class of a pattern.
enum class MatchClass : std::uint8_t { exact = 0, any_tag = 1, any_source = 2, any = 3 };

inline MatchClass class_of(const Match& m) {
  return static_cast<MatchClass>((m.tag == kAnyTag ? 1 : 0) | (m.source == kAnySource ? 2 : 0));
}

/// One hash index of requests, chained in arrival order. Grows by doubling; a look-up costs one bucket.
template <MatchClass C>
class MatchIndex {
 public:
  std::size_t size() const { return size_; }
  void append(Request* r) {
    if (size_ >= buckets_.size()) [[unlikely]]
      grow();
    link(buckets_[bucket_of(r->match)], r);
    ++size_;
  }
  void remove(Request* r) { unlink(buckets_[bucket_of(r->match)], r); }
  /// Oldest request whose fields, as far as this class looks at them, equal those of `m`; nullptr: none.
  Request* find(const Match& m) const { return size_ == 0 ? nullptr : find_in(buckets_[bucket_of(m)], m); }
  /// The same, and takes it out unless it is to take more messages (Request::parts > 1).
  Request* take(const Match& m) {
    if (size_ == 0) return nullptr;
    Bucket& b = buckets_[bucket_of(m)];
    Request* r = find_in(b, m);
    if (r && r->parts == 1) [[likely]]
      unlink(b, r);
    return r;
  }
  /// Calls f(request) for each that find() could return for `m`, oldest first. f must not change the index.
  template <class F>
  void for_each_fit(const Match& m, F&& f) const {
    if (size_ == 0) return;
    for (Request* r = buckets_[bucket_of(m)].head; r; r = next(r)) {
      if (fits(r->match, m)) f(r);
    }
  }
  /// Calls f(request) for each, in no particular order. f must not change the index.
  template <class F>
  void for_each(F&& f) const {
    for (const Bucket& b : buckets_) {
      for (Request* r = b.head; r; r = next(r)) f(r);
    }
  }

 private:
  // Fields that a class leaves open take no part in hash and comparison.
  static constexpr bool kSource = (static_cast<unsigned>(C) & 2u) == 0;
  static constexpr bool kTag = (static_cast<unsigned>(C) & 1u) == 0;
  static constexpr std::size_t kFirstBuckets = 256;

  struct Bucket {
    Request *head = nullptr, *tail = nullptr;
  };
  static Request*& next(Request* r) {
    if constexpr (C == MatchClass::exact) {
      return r->next;
    } else {
      return r->wild[static_cast<std::size_t>(C) - 1].next;
    }
  }
  static Request*& prev(Request* r) {
    if constexpr (C == MatchClass::exact) {
      return r->prev;
    } else {
      return r->wild[static_cast<std::size_t>(C) - 1].prev;
    }
  }
  static bool fits(const Match& a, const Match& b) {
    return a.context == b.context && (!kSource || a.source == b.source) && (!kTag || a.tag == b.tag);
  }
  std::size_t bucket_of(const Match& m) const {
    // Two multiplications side by side; their high bits, where every bit of the fields has arrived, choose the bucket.
    std::uint64_t h = m.context * std::uint64_t{0x9e3779b97f4a7c15};
    if constexpr (kSource) h += std::uint64_t{static_cast<std::uint32_t>(m.source)} << 40;
    if constexpr (kTag) h ^= static_cast<std::uint32_t>(m.tag) * std::uint64_t{0xc2b2ae3d27d4eb4f};
    h ^= h >> 32;
    return (h * std::uint64_t{0x9e3779b97f4a7c15}) >> shift_;
  }
  static Request* find_in(const Bucket& b, const Match& m) {
    for (Request* r = b.head; r; r = next(r)) {
      if (fits(r->match, m)) return r;
    }
    return nullptr;
  }
  static void link(Bucket& b, Request* r) {
    next(r) = nullptr;
    prev(r) = b.tail;
    (b.tail ? next(b.tail) : b.head) = r;
    b.tail = r;
  }
  void unlink(Bucket& b, Request* r) {
    Request *before = prev(r), *after = next(r);
    (before ? next(before) : b.head) = after;
    (after ? prev(after) : b.tail) = before;
    --size_;
  }
  [[gnu::noinline]] void grow() {
    // Requests with equal fields stay in one bucket, and each old chain is walked in order: arrival order is kept.
    std::vector<Bucket> old = std::move(buckets_);
    buckets_.assign(old.empty() ? kFirstBuckets : old.size() * 2, Bucket{});
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(buckets_.size()));
    for (const Bucket& b : old) {
      for (Request* r = b.head; r;) {
        Request* behind = next(r);
        link(buckets_[bucket_of(r->match)], r);
        r = behind;
      }
    }
  }

  std::size_t size_ = 0;
  unsigned shift_ = 64 - static_cast<unsigned>(std::countr_zero(kFirstBuckets));
  std::vector<Bucket> buckets_;
};

class Matcher {
 public:
  /// A message arrives: the posted receive that takes it, removed from the queue unless it takes more messages
  /// (Request::parts > 1); nullptr: none, the caller keeps the message with keep().
  Request* match_arrival(const Match& m) {
    if (wild_posted_ != 0) [[unlikely]]
      return match_among_wild(m);
    return taken(std::get<0>(posted_).take(m));
  }
  /// A receive starts: the unexpected message that it takes, removed; nullptr: it has been posted.
  Request* match_or_post(Request* recv) {
    if (unexpected() != 0) [[unlikely]] {
      if (Request* message = find(recv->match)) {
        take(message);
        if (recv->parts == 1) recv->go(Step::landing);
        return message;
      }
    }
    post(recv);
    return nullptr;
  }
  /// The oldest unexpected message for a pattern, not removed; nullptr: none.
  Request* find(const Match& pattern);

  void post(Request* recv) {
    recv->stamp = ++stamp_;
    recv->go(Step::posted);
    if (recv->match.tag == kAnyTag || recv->match.source == kAnySource) [[unlikely]]
      return post_wild(recv);
    std::get<0>(posted_).append(recv);
  }
  void keep(Request* message);
  /// Takes a posted receive out again.
  void withdraw(Request* recv);
  /// Takes an unexpected message out.
  void take(Request* message);

  std::size_t posted() const { return std::get<0>(posted_).size() + wild_posted_; }
  std::size_t unexpected() const { return std::get<0>(unexpected_).size(); }

  /// Calls f for every unexpected message with exactly these fields, oldest first; f must not change the queues.
  template <class F>
  void for_each_exact(const Match& m, F&& f) const {
    std::get<0>(unexpected_).for_each_fit(m, f);
  }
  /// Calls f for every posted receive or unexpected message; f must not change the queues.
  template <class F>
  void for_each_posted(F&& f) const {
    std::apply([&](const auto&... index) { (index.for_each(f), ...); }, posted_);
  }
  template <class F>
  void for_each_unexpected(F&& f) const {
    std::get<0>(unexpected_).for_each(f);
  }

 private:
  using Indexes = std::tuple<MatchIndex<MatchClass::exact>, MatchIndex<MatchClass::any_tag>,
                             MatchIndex<MatchClass::any_source>, MatchIndex<MatchClass::any>>;

  static Request* taken(Request* recv) {
    if (recv) [[likely]] {
      if (recv->parts > 1) [[unlikely]]
        --recv->parts;
      else
        recv->go(Step::landing);
    }
    return recv;
  }
  Request* match_among_wild(const Match& m);
  void post_wild(Request* recv);
  void need(MatchClass c);  // builds a wildcard index of the unexpected messages on its first use

  Indexes posted_, unexpected_;
  std::size_t wild_posted_ = 0;  // receives with wildcards
  std::array<bool, 4> indexed_{true, false, false, false};
  std::uint64_t stamp_ = 0;
};

}  // namespace rmq::adi
