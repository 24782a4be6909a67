// SPDX-License-Identifier: BSD-3-Clause
// The events of an OTF2 archive, and what its definitions must have for them.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/trace/reader.hpp"

namespace rmq::trace {

inline constexpr OTF2_CommRef kPackets = 0;  // the communicator of what is no message; others: contexts
inline constexpr OTF2_RegionRef kSleep = 0;  // others: MPI calls
inline constexpr OTF2_AttributeRef kKind = 0, kMessage = 1;

/// Numbers for names, from `first` on in the order in which they are asked for: the references of definitions.
class Numbers {
 public:
  explicit Numbers(std::uint32_t first) : first_(first) {}
  std::uint32_t operator()(std::uint32_t name) {
    const auto [at, fresh] = of_.try_emplace(name, first_ + static_cast<std::uint32_t>(names_.size()));
    if (fresh) names_.push_back(name);
    return at->second;
  }
  std::uint32_t first() const { return first_; }
  const std::vector<std::uint32_t>& names() const { return names_; }  // the first has the number first()

 private:
  std::uint32_t first_;
  std::unordered_map<std::uint32_t, std::uint32_t> of_;
  std::vector<std::uint32_t> names_;
};

/// The operation that a call takes part in; OTF2_COLLECTIVE_OP_BARRIER and `found` false when it is none of OTF2's.
struct Collective {
  OTF2_CollectiveOp op;
  bool found;
};
Collective collective_of(std::string_view call);

class Otf2Events {
 public:
  Otf2Events(OTF2_Archive* archive, const std::vector<Recording>& ranks);
  Otf2Events(const Otf2Events&) = delete;
  Otf2Events& operator=(const Otf2Events&) = delete;
  ~Otf2Events();

  void look(const Entry& e);
  /// Ends what is open, and all writers.
  void close();

  const Numbers& regions() const { return regions_; }    // of call_id()s
  const Numbers& contexts() const { return contexts_; }  // of even ones: collectives have an odd one beside it
  const Numbers& windows() const { return windows_; }
  /// Where events happened: a thread of a rank. The first of each rank has the rank's number.
  struct Location {
    OTF2_LocationRef number;
    int rank;
    std::uint64_t thread, events;
  };
  std::vector<Location> locations() const;
  std::uint64_t last_ns() const { return last_; }

 private:
  struct Call {
    std::uint32_t id = 0, context = 0;  // context: of the latest collective packet in it
    std::uint64_t sent = 0, received = 0;
  };
  struct Thread {
    OTF2_LocationRef location = 0;
    OTF2_EvtWriter* writer = nullptr;
    std::uint64_t events = 0;
    std::vector<Call> calls;  // that are open, one inside of the other
  };
  struct Rank : Thread {                      // its first one, with what is no call's
    std::map<std::uint64_t, Thread> threads;  // the others
    std::uint64_t latest = 0;                 // the thread that called last
    bool sleeps = false;
    std::set<OTF2_RmaWinRef> windows;
    std::map<std::pair<std::uint32_t, std::uint32_t>, OTF2_LockType> locks;  // window, peer: what was asked for last
  };
  Thread& thread(Rank& r, std::uint64_t number);
  void enter(Thread& t, std::uint32_t call);
  void leave(Thread& t);
  void sleep(Rank& r, bool begins);
  void packet(Rank& r, const Entry& e);
  void operation(Rank& r, const Entry& e, const Packet& p);
  void window(Rank& r, const Entry& e);
  OTF2_RmaWinRef use(Rank& r, std::uint32_t window);
  const Collective& collective(std::uint32_t call);

  OTF2_Archive* archive_;
  OTF2_AttributeList* attributes_;
  int size_;                        // of the job; not all may be here
  std::map<int, Rank> ranks_;       // all
  OTF2_LocationRef next_location_;  // of threads that are not the first of their rank
  Numbers regions_{kSleep + 1}, contexts_{kPackets + 1}, windows_{0};
  std::unordered_map<std::uint32_t, Collective> collectives_;  // by call_id()
  OTF2_TimeStamp now_ = 0, last_ = 0;
};

}  // namespace rmq::trace
