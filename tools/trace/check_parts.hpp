// SPDX-License-Identifier: BSD-3-Clause
// The parts of rmqtrace check. Each looks at the events of a trace one by one, in the merged order, keeps what each
// rank knows by then, and says what is wrong with an event.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/packet/protocol.hpp"
#include "tools/trace/check.hpp"

namespace rmq::trace {

/// What a part found: empty when the event is as it should be.
struct Finding {
  std::string_view rule;
  std::string why;
  explicit operator bool() const { return !rule.empty(); }
};
Finding broken(ProtocolRule rule, std::string why);

/// A field of the packet by its name in packet.def; 0 when the kind has none of that name.
std::uint64_t field_of(const Packet& p, std::string_view name);

/// The state machines: each rank's view of each conversation.
class Machines {
 public:
  Machines();
  Finding look(const Entry& e, const Packet& p);

 private:
  struct Key {
    int machine, viewer, owner, other;
    std::uint32_t context, id;  // id: of a handle only the slot
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const;
  };
  struct Conversation {
    std::string_view state = "none";
    std::uint64_t size = 0, have = 0;  // bytes of what comes in pieces, or in `size` the ticket that brought the lock
    std::uint32_t generation = 0;      // of the handle that uses the slot, or has used it last
  };
  struct Step {  // what one packet does in one machine
    int machine;
    bool by_owner, by_context;
    const PacketField* key;  // nullptr: pair and scope name the conversation
    bool by_handle;          // the key is a Handle: each generation of a slot is a conversation, and the last is known
    std::vector<const ProtocolMove*> moves;
  };
  Finding take(const Step& step, const Entry& e, const Packet& p);
  static bool passes(Guard guard, const Packet& p, const Conversation& c);
  static void note(std::string_view to, const Packet& p, Conversation& c);

  std::vector<Step> steps_[256];  // by kind
  std::unordered_map<Key, Conversation, Hash> conversations_;
};

/// What is counted for each pair of ranks, as the rank that records it counts.
class Counts {
 public:
  Finding look(const Entry& e, const Packet& p);

 private:
  using Pair = std::pair<int, int>;  // who records, the other
  Finding credit(const Entry& e);
  Finding sent(const Entry& e, const Packet& p);
  void received(const Entry& e, const Packet& p);
  Finding both(const Entry& e, const Packet& p, Pair from_to);
  Finding matched(const Entry& e, const Packet& p);

  std::int64_t& credit_of(Pair pair) { return credit_.try_emplace(pair, full_[pair.first]).first->second; }

  std::map<int, std::int64_t> full_;     // by who records: what it starts with at each peer, bytes
  std::map<Pair, std::int64_t> credit_;  // what is left
  std::map<Pair, std::uint32_t> next_;   // least number of the next message
  std::map<std::tuple<int, int, int>, std::int64_t> envelopes_;                  // viewer, sender, receiver
  std::map<std::tuple<int, int, int, std::uint32_t>, std::int64_t> queued_;      // viewer, putter, owner, queue
  std::map<std::tuple<int, int, int, std::uint32_t>, std::uint64_t> requested_;  // viewer, origin, target, set
  std::map<std::tuple<int, int, int, std::uint32_t, std::uint64_t>, std::uint32_t> words_;  // … window, what and round
  std::map<Pair, std::set<std::uint32_t>> unmatched_;                                       // messages that have come
};

/// The lock of each window at each target, as the target serves those who ask by packets.
class Locks {
 public:
  Finding look(const Entry& e, const Packet& p);

 private:
  struct Waiting {
    int origin;
    bool exclusive, passes;  // passes: the operation that brings the request gives the lock back
    std::uint64_t ticket;    // of that operation, 0: RMA_LOCK
    int passed_by = 0;       // exclusive locks granted meanwhile
    // Its place among those that have begun to wait, from 1 on; 0: it has not. That may be long after its packet came:
    // behind its payload, or a datatype that was missing.
    std::uint64_t turn = 0;
    bool granted = false;  // its answer is still to come: behind a datatype that was missing, say
  };
  struct Table {
    std::map<int, bool> holders;  // origin, whether exclusive
    std::vector<Waiting> waiting;
    std::uint64_t turns = 0;
  };
  void asked(const Entry& e, const Packet& p, Table& t);
  static void queued(int origin, Table& t);
  static Finding granted(int origin, Table& t);
  Finding answered(const Entry& e, const Packet& p, Table& t);
  static Finding hold(Table& t, std::size_t place);
  static Finding in_order(const Waiting& w, Table& t);

  std::map<std::pair<int, std::uint32_t>, Table> tables_;  // target, window
};

/// Both ends of each link compared: the n-th packet that is received is the n-th that was sent.
class LinkOrder {
 public:
  explicit LinkOrder(const std::vector<Recording>& ranks);
  Finding look(const Entry& e, const Packet& p);

 private:
  struct Way {
    std::list<Packet> sent;  // and not received; empty for most pairs of ranks, and small then
    std::uint64_t received = 0;
    bool one_missing = false;  // of a rank that was killed
  };
  std::map<std::pair<int, int>, Way> links_;  // from, to
  std::set<int> finished_;                    // ranks that came to their end
};

}  // namespace rmq::trace
