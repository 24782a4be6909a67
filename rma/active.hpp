// The synchronisation of active target: fence, and post, start, complete, wait. All of it is counted: what travels, by
// a store or by RMA_SYNC, is how often something has happened.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/packet.hpp"
#include "rma/fault.hpp"
#include "rma/window_state.hpp"

namespace rmq::rma {

class Sender;

class Active {
 public:
  /// `sender` outlives this.
  Active(WindowState& w, Sender& sender) : w_(w), sender_(sender), posted_(w.members) {}
  /// The calls: rma/window.hpp says what they do.
  Fault fence(unsigned assertions);
  Fault post(std::span<const int> group, unsigned assertions);
  Fault start(std::span<const int> group, unsigned assertions);
  Fault complete();
  Fault wait();
  Fault test(bool& done);
  /// An RMA_SYNC has come. False: it signals nothing that there is.
  bool signalled(int from, const Packet& p);

  bool has_completed(int rank) const;
  /// Barriers of fences so far.
  std::uint32_t barriers() const { return barriers_; }

 private:
  enum What : std::uint32_t { kPost = 1, kComplete, kRound };  // RMA_SYNC: what
  void signal(int rank, What what, std::uint32_t round, std::uint32_t value);
  std::atomic<std::uint32_t>& word(Control& control, int of, std::uint32_t what, std::uint32_t round) const;
  Fault barrier(bool told);
  bool barrier_covers() const { return w_.size() == 2 && !w_.targets_find_out(); }
  bool all_completed() const;
  void end_exposure();

  WindowState& w_;
  Sender& sender_;
  std::vector<std::uint32_t> posted_;  // by place: exposure epochs so far
  std::uint32_t barriers_ = 0;
};

}  // namespace rmq::rma
