// The posted and unexpected queues, with MPI's matching order in constant time.
//
// A receive pattern belongs to one of four classes by its wildcards: exact, any tag, any source, any both. For each
// class there is a hash index over the fields that the class does not leave open. A posted receive stands in the index
// of its class; an arriving message looks into each class that is not empty and takes the receive with the lowest
// stamp. An unexpected message stands in the exact index and, from the first receive or probe that needs them, in the
// wildcard indexes too: programs without wildcards keep one index. Chains keep arrival order, so the first fit is the
// oldest.
//
// match_or_post and match_or_keep are the seeds' atomic step: the caller holds the device's lock.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/request.hpp"

namespace rmq::adi {

/// Wildcard class of a pattern.
enum class MatchClass : std::uint8_t { exact = 0, any_tag = 1, any_source = 2, any = 3 };

inline MatchClass class_of(const Match& m) {
  return static_cast<MatchClass>((m.tag == kAnyTag ? 1 : 0) | (m.source == kAnySource ? 2 : 0));
}

/// One hash index of requests, chained in arrival order. Grows by doubling; a look-up costs one bucket.
class MatchIndex {
 public:
  explicit MatchIndex(MatchClass c) : class_(c) {}
  std::size_t size() const { return size_; }
  void append(Request* r);
  void remove(Request* r);
  /// Oldest request whose fields, as far as this class looks at them, equal those of `m`; nullptr: none.
  Request* find(const Match& m) const;
  /// Calls f(request) for each that find() could return for `m`, oldest first. f must not change the index.
  template <class F>
  void for_each_fit(const Match& m, F&& f) const {
    if (size_ == 0) return;
    for (Request* r = buckets_[bucket_of(m)].head; r; r = links(r).next) {
      if (fits(r->match, m)) f(r);
    }
  }
  /// Calls f(request) for each, in no particular order. f must not change the index.
  template <class F>
  void for_each(F&& f) const {
    for (const Bucket& b : buckets_) {
      for (Request* r = b.head; r; r = links(r).next) f(r);
    }
  }

 private:
  struct Bucket {
    Request *head = nullptr, *tail = nullptr;
  };
  struct LinksRef {
    Request*& next;
    Request*& prev;
  };
  LinksRef links(Request* r) const;
  std::size_t bucket_of(const Match& m) const;
  bool fits(const Match& a, const Match& b) const;
  void grow();
  void link(Bucket& b, Request* r);

  MatchClass class_;
  std::size_t size_ = 0;
  std::size_t mask_ = 0;
  std::vector<Bucket> buckets_;
};

class Matcher {
 public:
  /// A message arrives: the posted receive that takes it, removed from the queue unless it takes more messages
  /// (Request::parts > 1); nullptr: none, the caller keeps the message with keep().
  Request* match_arrival(const Match& m);
  /// A receive starts: the unexpected message that it takes, removed; nullptr: it has been posted.
  Request* match_or_post(Request* recv);
  /// The oldest unexpected message for a pattern, not removed; nullptr: none.
  Request* find(const Match& pattern);

  void post(Request* recv);
  void keep(Request* message);
  /// Takes a posted receive out again.
  void withdraw(Request* recv);
  /// Takes an unexpected message out.
  void take(Request* message);

  std::size_t posted() const;
  std::size_t unexpected() const { return unexpected_[0].size(); }

  /// Calls f for every unexpected message with exactly these fields, oldest first; f must not change the queues.
  template <class F>
  void for_each_exact(const Match& m, F&& f) const {
    unexpected_[0].for_each_fit(m, f);
  }
  /// Calls f for every posted receive or unexpected message; f must not change the queues.
  template <class F>
  void for_each_posted(F&& f) const {
    for (const MatchIndex& i : posted_) i.for_each(f);
  }
  template <class F>
  void for_each_unexpected(F&& f) const {
    unexpected_[0].for_each(f);
  }

 private:
  void need(MatchClass c);  // builds a wildcard index of the unexpected messages on its first use

  std::array<MatchIndex, 4> posted_{MatchIndex(MatchClass::exact), MatchIndex(MatchClass::any_tag),
                                    MatchIndex(MatchClass::any_source), MatchIndex(MatchClass::any)};
  std::array<MatchIndex, 4> unexpected_{MatchIndex(MatchClass::exact), MatchIndex(MatchClass::any_tag),
                                        MatchIndex(MatchClass::any_source), MatchIndex(MatchClass::any)};
  std::array<bool, 4> indexed_{true, false, false, false};
  std::uint64_t stamp_ = 0;
};

}  // namespace rmq::adi
