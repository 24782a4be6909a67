// SPDX-License-Identifier: BSD-3-Clause
// N devices in one process, joined by one method, polled in turn by one thread.
//
// Nothing here waits by blocking: a scenario starts operations on any rank and lets the world run until what it expects
// has come true. In-process worlds count turns and give up when nothing can happen any more; worlds of real methods
// have the watchdog of the test program only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "adi/device.hpp"
#include "conformance/buffer.hpp"
#include "cuts/cutter.hpp"
#include "methods/inproc.hpp"

namespace rmq::testing {

/// What joins the devices of a world.
struct Setup {
  std::string name;                            // of the variant, for test names
  std::optional<methods::InprocRules> inproc;  // in-process with these rules, or else …
  std::string method;                          // … "shm" or "tcp"
  std::function<void(Config&)> adjust = {};    // applied to each device's configuration
  bool sleep_for_ever = false;                 // of the ranks: a wake-up that is lost hangs
  int turns_to_a_cut = 0;  // about so many turns lie between two connections that break; 0: none does

  /// Whether this build has the method.
  bool available() const;
  friend void PrintTo(const Setup& s, std::ostream* out) { *out << s.name; }
};

/// All variants of the conformance suite.
const std::vector<Setup>& all_setups();

class World {
 public:
  /// Opens `n` devices; a failure to open one is a fatal failure of the test, and ok() is false.
  World(int n, const Setup& setup, const std::function<void(Config&)>& adjust = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  bool ok() const { return ok_; }
  int size() const { return static_cast<int>(devices_.size()); }
  adi::Device& operator[](int rank) { return *devices_[static_cast<std::size_t>(rank)]; }
  methods::InprocWorld* inproc() { return inproc_.get(); }

  /// One poll of each rank that is alive.
  void turn();
  /// Turns until `done`; false, with a failure that says `what`, when an in-process world cannot get there.
  bool run_until(const std::function<bool()>& done, std::string_view what);
  bool wait(Request* r, std::string_view what);
  bool wait_all(const std::vector<Request*>& requests, std::string_view what);
  /// Turns long enough for everything to arrive that can (in-process: until nothing is under way; else a fixed number).
  void settle();
  /// The rank's device is gone at once, without good-bye. In-process worlds only.
  void kill(int rank);
  /// An orderly end of all ranks. Also done by the destructor, unless the test has failed: the end might not come.
  void finalize();
  /// Lets the destructor drop the devices as they are.
  void abandon() { finalized_ = true; }

  // ---- shorthands; all in world ranks, context 1 unless said otherwise ----
  Request* isend(int from, int to, int tag, const Buffer& data, SendMode mode = SendMode::standard);
  Request* irecv(int at, int from, int tag, Buffer& into);  // kAnySource, kAnyTag allowed
  /// The same, not started yet: for fields that are rare.
  Request* make_send(int from, int to, int tag, const Buffer& data, SendMode mode = SendMode::standard);
  Request* make_recv(int at, int from, int tag, Buffer& into);
  Match pattern(int from, int tag) const { return {1, from, tag}; }
  /// Gives a request of `rank` back.
  void free(int rank, Request* r) { (*this)[rank].MPID_Request_free(r); }

  /// Why those that the world's ranks missed were lost, one for each message that failed for it
  /// (DeviceOptions::on_lost).
  static inline std::vector<std::string> failures;

 private:
  void open(int n, const Setup& setup, const std::function<void(Config&)>& adjust);

  bool ok_ = false;
  bool finalized_ = false;
  int turns_to_a_cut_ = 0;
  std::mt19937_64 random_{1};
  test::Cutter cutter_{2};
  std::unique_ptr<methods::InprocWorld> inproc_;
  std::vector<std::unique_ptr<Bootstrap>> bootstraps_;
  std::vector<std::unique_ptr<adi::Device>> devices_;
  std::vector<bool> dead_;
};

}  // namespace rmq::testing
