// SPDX-License-Identifier: BSD-3-Clause
// Transfers between user memories that take longer than a moment: get() and put() of many bytes, moved piece by piece
// from poll(), by both ranks where both have time.
//
// The active rank (who called get or put) opens its slot (TransferSlot) and tells the other side, the helper. From then
// on both claim chunks by an atomic count and copy them with single copies of their own: the active one in its
// direction, the helper in the opposite one. Nobody waits for a helper that never comes: the active rank claims what is
// left, and waits only for chunks that the helper has claimed and is copying. (A helper that is declared lost while it
// still runs, because it has broken the protocol, may finish a chunk after on_moved has reported the failure. It counts
// for nothing then: `helped`, too, names its generation.)
//
// SYNC POINT D: the active rank's release of `claim` (new generation), the helper's acquire: the slot's fields. They
// change only while nothing is left to claim, and whether anything is left stands in the same word as the generation: a
// helper whose compare-exchange succeeds has read the fields of that generation, and one that sees nothing left does
// not try. SYNC POINT E: the helper's release of `helped`, the active rank's acquire: its chunks have been copied.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/data/data_view.hpp"
#include "base/packet/request.hpp"
#include "methods/method.hpp"
#include "shm/directory.hpp"

namespace rmq::shm {

/// Addresses that travel: a virtual address of the exposing process, or, with this bit, an offset in the segment.
inline constexpr std::uint64_t kInSegment = std::uint64_t{1} << 63;

/// From this size on both sides copy; below, setting it up takes longer than it saves. Bytes.
inline constexpr std::uint64_t kTogether = 128 * 1024;

struct Transfer {
  std::uint32_t peer = 0;     // host rank
  bool put = false;           // towards the peer
  bool together = false;      // holds the slot
  bool alone = false;         // must not (or not again) use the slot
  std::uint64_t address = 0;  // in the peer, or in the segment
  DataView view;              // here
  std::uint64_t bytes = 0;
  std::uint64_t moved = 0;
  Request* owner = nullptr;
};

class Transfers {
 public:
  /// Why a transfer stopped: errno of the system call that failed; 0 when none did.
  struct Failure {
    int error = 0;
    /// Whether the peer's process is gone. Else it is this memory that the kernel does not copy (EFAULT: of a device,
    /// say), or copying that it forbids.
    bool is_loss() const { return error == ESRCH; }
  };

  Transfers(const Directory& directory, const methods::Sink& sink) : directory_(directory), sink_(sink) {}

  /// Moves [moved, bytes) at once, alone.
  Failure run(Transfer& transfer);

  void start(const Transfer& transfer) { queue_.push_back(transfer); }
  bool empty() const { return queue_.empty(); }

  /// Moves up to kBudget bytes and calls on_moved for what has finished, with Errc::system for what cannot be copied
  /// here. Returns how many pieces moved. `lost` names a peer that is gone; the caller then drops its transfers.
  int advance(std::optional<std::uint32_t>& lost);

  /// Helps peers that asked for it: one chunk for each.
  int help();
  bool helping() const { return !helping_.empty(); }

  /// Ends all transfers with this peer with Errc::peer_lost.
  void drop(std::uint32_t peer);

 private:
  TransferSlot& slot() const { return directory_.mine().slot; }
  Failure copy_piece(Transfer& transfer, std::uint64_t at, std::uint64_t bytes);
  Failure step(Transfer& transfer, std::uint64_t& budget, int& pieces);
  Failure step_together(Transfer& transfer, std::uint64_t& budget, int& pieces);
  bool open_slot(Transfer& transfer);
  std::optional<std::uint64_t> claim_chunk();
  void take_helpers();
  bool help_one(std::uint32_t active, int& pieces);

  const Directory& directory_;
  const methods::Sink& sink_;
  std::vector<Transfer> queue_;
  std::vector<std::uint32_t> helping_;  // host ranks whose slots to look at
  // State of the generation that is open in my slot.
  std::uint32_t generation_ = 0;
  bool slot_open_ = false;
  std::uint64_t chunk_ = 0;
  std::uint64_t chunks_ = 0;       // that both copy; fewer than at first when copying failed here
  std::uint64_t copied_here_ = 0;  // of them
  bool all_claimed_ = false;
};

}  // namespace rmq::shm
