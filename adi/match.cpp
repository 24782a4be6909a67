#include "adi/match.hpp"

#include <algorithm>

namespace rmq::adi {
namespace {

constexpr std::size_t kFirstBuckets = 256;

// Fields that a class leaves open take no part in hash and comparison.
bool looks_at_source(MatchClass c) {
  return (static_cast<unsigned>(c) & 2u) == 0;
}
bool looks_at_tag(MatchClass c) {
  return (static_cast<unsigned>(c) & 1u) == 0;
}

}  // namespace

MatchIndex::LinksRef MatchIndex::links(Request* r) const {
  if (class_ == MatchClass::exact) return {r->next, r->prev};
  Request::Links& l = r->wild[static_cast<std::size_t>(class_) - 1];
  return {l.next, l.prev};
}

bool MatchIndex::fits(const Match& a, const Match& b) const {
  return a.context == b.context && (!looks_at_source(class_) || a.source == b.source) &&
         (!looks_at_tag(class_) || a.tag == b.tag);
}

std::size_t MatchIndex::bucket_of(const Match& m) const {
  std::uint64_t h = m.context * std::uint64_t{0x9e3779b97f4a7c15};
  if (looks_at_source(class_)) h ^= static_cast<std::uint32_t>(m.source) * std::uint64_t{0xc2b2ae3d27d4eb4f};
  if (looks_at_tag(class_)) h ^= static_cast<std::uint32_t>(m.tag) * std::uint64_t{0x165667b19e3779f9};
  return (h ^ (h >> 32)) & mask_;
}

void MatchIndex::link(Bucket& b, Request* r) {
  links(r).next = nullptr;
  links(r).prev = b.tail;
  if (b.tail) {
    links(b.tail).next = r;
  } else {
    b.head = r;
  }
  b.tail = r;
}

void MatchIndex::append(Request* r) {
  if (size_ >= buckets_.size()) [[unlikely]]
    grow();
  link(buckets_[bucket_of(r->match)], r);
  ++size_;
}

void MatchIndex::remove(Request* r) {
  Bucket& b = buckets_[bucket_of(r->match)];
  const LinksRef l = links(r);
  (l.prev ? links(l.prev).next : b.head) = l.next;
  (l.next ? links(l.next).prev : b.tail) = l.prev;
  l.next = l.prev = nullptr;
  --size_;
}

Request* MatchIndex::find(const Match& m) const {
  if (size_ == 0) return nullptr;
  for (Request* r = buckets_[bucket_of(m)].head; r; r = links(r).next) {
    if (fits(r->match, m)) return r;
  }
  return nullptr;
}

void MatchIndex::grow() {
  // Requests with equal fields stay in one bucket, and each old chain is walked in order: arrival order is kept.
  std::vector<Bucket> old = std::move(buckets_);
  buckets_.assign(old.empty() ? kFirstBuckets : old.size() * 2, Bucket{});
  mask_ = buckets_.size() - 1;
  for (const Bucket& b : old) {
    for (Request* r = b.head; r;) {
      Request* next = links(r).next;
      link(buckets_[bucket_of(r->match)], r);
      r = next;
    }
  }
}

void Matcher::post(Request* recv) {
  recv->stamp = ++stamp_;
  posted_[static_cast<std::size_t>(class_of(recv->match))].append(recv);
}

void Matcher::withdraw(Request* recv) {
  posted_[static_cast<std::size_t>(class_of(recv->match))].remove(recv);
}

Request* Matcher::match_arrival(const Match& m) {
  Request* first = nullptr;
  for (const MatchIndex& index : posted_) {
    if (Request* r = index.find(m); r && (!first || r->stamp < first->stamp)) first = r;
  }
  if (!first) return nullptr;
  if (first->parts > 1) {
    --first->parts;
  } else {
    withdraw(first);
    first->flags |= request_flag::matched;
  }
  return first;
}

void Matcher::keep(Request* message) {
  message->stamp = ++stamp_;
  for (std::size_t i = 0; i < unexpected_.size(); ++i) {
    if (indexed_[i]) unexpected_[i].append(message);
  }
}

void Matcher::take(Request* message) {
  for (std::size_t i = 0; i < unexpected_.size(); ++i) {
    if (indexed_[i]) unexpected_[i].remove(message);
  }
}

void Matcher::need(MatchClass c) {
  const auto i = static_cast<std::size_t>(c);
  if (indexed_[i]) [[likely]]
    return;
  indexed_[i] = true;
  // The exact index keeps order within one envelope only, so the stamps decide the order of the new one.
  std::vector<Request*> all;
  all.reserve(unexpected_[0].size());
  unexpected_[0].for_each([&](Request* r) { all.push_back(r); });
  std::sort(all.begin(), all.end(), [](const Request* a, const Request* b) { return a->stamp < b->stamp; });
  for (Request* r : all) unexpected_[i].append(r);
}

Request* Matcher::find(const Match& pattern) {
  const MatchClass c = class_of(pattern);
  need(c);
  return unexpected_[static_cast<std::size_t>(c)].find(pattern);
}

Request* Matcher::match_or_post(Request* recv) {
  if (unexpected_[0].size() != 0) {
    if (Request* message = find(recv->match)) {
      take(message);
      if (recv->parts == 1) recv->flags |= request_flag::matched;
      return message;
    }
  }
  post(recv);
  return nullptr;
}

std::size_t Matcher::posted() const {
  std::size_t n = 0;
  for (const MatchIndex& i : posted_) n += i.size();
  return n;
}

}  // namespace rmq::adi
