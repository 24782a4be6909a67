// SPDX-License-Identifier: BSD-3-Clause
// The cache of datatypes: a target's datatype that is not contiguous is sent once to each target, and then named by its
// number.
//
// The origin remembers whom it has told; the target keeps what it was told within bounds (RMQ_RMA_TYPES,
// RMQ_RMA_TYPE_BYTES), and may forget at any time: an operation that names what it does not know any more waits while
// the origin is asked to define it again. So an origin keeps a datatype until the operations that name it are known to
// be done, also when the program has freed it. What a target forgets is the least recently used of the origin that
// fills most: one that uses many does not drive out what others use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "adi/device.hpp"
#include "base/data/layout.hpp"
#include "rma/core/counters.hpp"

namespace rmq::rma {

/// A datatype of this rank that targets are told of.
struct TypeOut {
  LayoutRef layout;
  std::uint32_t id = 0;
  std::uint64_t bytes = 0;  // of its definition
  std::uint32_t users = 0;  // operations that are not known to be done
  bool doomed = false;      // to be forgotten with its last user
  std::vector<bool> told;   // by world rank
};

/// The origin's side.
class TypesOut {
 public:
  TypesOut(adi::Device& device, Counters& counters) : device_(device), counters_(counters) {}

  /// The entry of this layout, for one more operation.
  TypeOut* use(const Layout& layout);
  void release(TypeOut* type);
  /// Sees to it that `to` has been sent the definition.
  void tell(Rank to, TypeOut& type);
  bool knows(std::uint32_t id) const { return by_id_.contains(id); }
  /// `from` asks again.
  void tell_again(Rank from, std::uint32_t id);
  void forget(const Layout* layout);

 private:
  static constexpr std::size_t kMost = 4096;

  void define(Rank to, TypeOut& type);
  void drop(TypeOut* type);
  void make_room();

  adi::Device& device_;
  Counters& counters_;
  std::unordered_map<const Layout*, TypeOut*> by_layout_;
  std::unordered_map<std::uint32_t, std::unique_ptr<TypeOut>> by_id_;
  std::uint32_t next_ = 1;
};

/// The target's side.
class TypesIn {
 public:
  TypesIn(const Config& config, Trace& trace, Counters& counters)
      : trace_(trace), counters_(counters), most_(config.rma_types), most_bytes_(config.rma_type_bytes) {}

  /// The datatype that `from` calls so, or nullptr. Valid until the next call.
  const Layout* find(Rank from, std::uint32_t id);
  /// A piece of a definition; true when it is complete (`id` is known then). `sane` is false when it makes no sense, or
  /// is larger than all that may be kept.
  bool defined(Rank from, const wire::DATATYPE_DEFN& piece, std::span<const std::byte> bytes, bool& sane);
  void forget_rank(Rank from);
  /// Forgets everything, as it may at any time.
  void clear();

 private:
  struct Entry {
    std::uint64_t key;
    LayoutRef layout;
    std::uint64_t bytes;
    std::uint64_t used;  // when it was, by clock_
  };
  using Entries = std::list<Entry>;  // of one origin, the latest used first
  struct Partial {
    std::uint32_t id = 0;
    std::vector<std::byte> bytes;
  };
  struct Share {
    Entries entries;
    std::uint64_t bytes = 0;
  };

  static std::uint64_t key(Rank from, std::uint32_t id) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32) | id;
  }
  void note(Event event, std::uint64_t key, std::uint64_t bytes) {
    trace_.event(event, 0, static_cast<Rank>(key >> 32), static_cast<std::uint32_t>(key), bytes);
  }
  void erase(std::uint64_t key);
  void insert(std::uint64_t key, LayoutRef layout, std::uint64_t bytes);
  void evict(std::uint64_t keep);

  Trace& trace_;
  Counters& counters_;
  std::size_t most_;
  std::uint64_t most_bytes_;
  std::uint64_t bytes_ = 0;
  std::uint64_t clock_ = 0;
  std::unordered_map<Rank, Share> shares_;
  std::unordered_map<std::uint64_t, Entries::iterator> index_;
  std::unordered_map<Rank, Partial> partial_;
};

}  // namespace rmq::rma
