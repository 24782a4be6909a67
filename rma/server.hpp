// The target's side of a window: executes the packets of origins in their order, and takes the lock for those who ask
// for it by packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/data_view.hpp"
#include "base/packet.hpp"
#include "methods/method.hpp"
#include "rma/fault.hpp"
#include "rma/regions.hpp"
#include "rma/rw_lock.hpp"
#include "rma/window_state.hpp"

namespace rmq::rma {

class Active;
class WindowLock;

/// A packet that has to wait at the target, with its payload.
struct Held {
  Packet packet;
  std::unique_ptr<std::byte[]> payload;
};

/// An origin that sends packets to my memory.
struct Origin {
  enum class Lock : std::uint8_t { none, waiting, held };
  int rank = 0;
  Rank world = kNoRank;
  Lock lock = Lock::none;
  bool lost = false;
  bool running = false;       // what was kept is being executed
  bool behind = false;        // listed in Domain::behind_
  std::uint32_t missing = 0;  // datatype that was asked for again
  LockPlace place;
  std::deque<Held> held;  // in order; the first waits for the lock or for a datatype, the others for it
  std::uint64_t held_bytes = 0;
};

class Server {
 public:
  /// All outlive this.
  Server(WindowState& w, WindowLock& lock, Active& active) : w_(w), lock_(lock), active_(active), origins_(w.members) {}

  // ---- for the domain ----
  /// A packet for this window, of a member.
  void arrive(int from, const Packet& p, const std::byte* payload);
  /// Whether a put whose payload is still in the transport may land in the window at once; and that it has.
  bool land(int from, const Packet& p, methods::Landing& landing);
  void landed(int from, const Packet& p) { after(origin(from), p, Fault::none); }
  /// A datatype has been defined again.
  void retry_type(int from, std::uint32_t id);
  /// The member has taken its answers.
  void resume(int from);
  /// Looks at the lock in the name of those who wait for it; how many have it now.
  int serve_locks();
  /// The member of the window, for the domain.
  Rank world(int from) const { return w_.world(from); }

  // ---- for the window ----
  /// After a release by this rank's own calls: the program may compute from now on, and nobody wakes the agent for it.
  void serve_released() {
    if (!waiting_.empty()) serve_locks();
  }
  void peer_lost(int rank);
  /// nullptr: it has sent nothing.
  const Origin* find(int rank) const { return origins_[static_cast<std::size_t>(rank)].get(); }

 private:
  Origin& origin(int rank);
  bool process(Origin& o, const Packet& p, const std::byte* payload, bool locked);
  bool execute(Origin& o, const Packet& p, const std::byte* payload);
  Fault find_place(Origin& o, const Packet& p, DataView& view, bool& missing);
  Fault execute_get(Origin& o, const DataView& view, const Packet& p);
  Fault execute_combine(Origin& o, const DataView& view, const Packet& p, const std::byte* payload);
  Fault execute_one(Origin& o, const Packet& p, const std::byte* payload);
  Regions regions_for(const Origin& o) const;
  void after(Origin& o, const Packet& p, Fault fault);
  void reply(const Origin& o, std::uint32_t ticket, const Payload& data, std::uint64_t at, Request* owner);
  void acknowledge(const Origin& o, std::uint32_t ticket, Fault fault, Rank culprit = kNoRank);
  void hold(Origin& o, const Packet& p, const std::byte* payload);
  void run(Origin& o, bool locked);
  static void drop_first(Origin& o);
  static void drop_all(Origin& o);
  // ---- the lock, for origins that ask by packets: server_lock.cpp ----
  bool take_lock(Origin& o, LockType type);
  void release_lock(Origin& o);
  void refuse_lock(Origin& o, Rank culprit);

  WindowState& w_;
  WindowLock& lock_;
  Active& active_;
  std::vector<std::unique_ptr<Origin>> origins_;  // by place; made when needed
  std::vector<int> waiting_;                      // places that wait for my lock
};

}  // namespace rmq::rma
