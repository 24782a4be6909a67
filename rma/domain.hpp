// What all windows of one device share: the packet handlers, the table of windows, the cache of datatypes, the agent.
//
// One a device, made before the first window and destroyed after the last, before the device's end.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "adi/device.hpp"
#include "base/layout.hpp"

namespace rmq::rma {

class Window;

/// Counted from the start; read at any time by the owner.
struct Counters {
  std::uint64_t direct = 0;            // operations by load and store
  std::uint64_t packets = 0;           // operations by packets
  std::uint64_t served = 0;            // operations of others, executed here
  std::uint64_t type_hits = 0;         // named datatypes found here
  std::uint64_t type_misses = 0;       // not found here: asked for again
  std::uint64_t type_definitions = 0;  // sent from here
  std::uint64_t type_bytes_saved = 0;  // of definitions that need not be sent again
  std::uint64_t locks_queued = 0;      // lock requests that had to wait here
  std::uint64_t protocol_errors = 0;   // packets that made no sense
};

class Domain {
 public:
  explicit Domain(adi::Device& device);
  ~Domain();
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  adi::Device& device() { return device_; }
  const Counters& counters() const { return counters_; }

  /// The program has freed a datatype: what targets remember of it is forgotten.
  void forget(const Layout* layout);

 private:
  friend class Window;

  adi::Device& device_;
  Counters counters_;
};

}  // namespace rmq::rma
