// SPDX-License-Identifier: BSD-3-Clause
// How a rank, or its minder, comes in at the connection server of another launcher's job: each shows the other that it
// knows the rank's ticket, and the ticket itself never travels. Pure protocol: frames in, frames out.
//
//   rank, minder                                server
//     | join or mind  rank, nonce A, mark         |
//     |------------------------------------------>|
//     | challenge     nonce B, the server's proof |
//     |<------------------------------------------|
//     | proof         the rank's                  |
//     |------------------------------------------>|
//     | joined                                    |
//     |<------------------------------------------|
//
//   mark  = HMAC(ticket, "mark" | role, rank, A)
//   proof = HMAC(ticket, "server" or "rank" | role, rank, A, B)
//
// A mark can be replayed and lets nobody in: it tells the server at once who is worth waiting for.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "start/boot_wire.hpp"

namespace rmq::boot {

/// What both sides know of one entry. Copyable.
class Entry {
 public:
  /// The rank's side, with a nonce of its own. `ticket`: ticket_bytes.
  Entry(FrameKind role, int rank, std::string_view ticket);
  /// Its first frame.
  std::string opening() const;
  static constexpr std::size_t challenge_bytes = 64;  // body of the server's frame
  static constexpr std::size_t most_bytes = 68;       // of any body that the rank's side sends
  /// Its answer to the server's frame; nothing when that server does not know the ticket.
  std::optional<std::string> answer(const Frame& challenge);

  /// The server's side: what a first frame claims, and nothing when the frame is no such thing, the rank is not below
  /// `tickets.size() / ticket_bytes`, or the mark is wrong.
  static std::optional<Entry> opened(const Frame& frame, std::string_view tickets);
  FrameKind role() const { return role_; }
  std::size_t rank() const { return rank_; }
  /// The server's frame, with a nonce of its own.
  std::string challenge();
  /// Whether this is the right answer to it.
  bool is_proven_by(const Frame& proof) const;

 private:
  static constexpr std::size_t kNonce = 32;
  using Proof = std::array<unsigned char, 32>;
  static_assert(challenge_bytes == kNonce + sizeof(Proof));

  Entry() = default;
  Proof prove(std::string_view what, std::string_view nonce_b) const;

  FrameKind role_ = FrameKind::join;
  std::size_t rank_ = 0;
  std::string ticket_, nonce_a_, nonce_b_;
};

}  // namespace rmq::boot
