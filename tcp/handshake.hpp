// SPDX-License-Identifier: BSD-3-Clause
// The keyed handshake that opens a connection, as pure protocol: bytes in, bytes out, no socket, no clock.
//
//   caller                                     called
//     | LINK_HELLO  ranks, session, past,        |    proof H = HMAC(secret, "hello" | HELLO up to nonce A)
//     |             nonce A, proof H             |
//     |----------------------------------------->|
//     | LINK_CHALLENGE session, nonce B, proof B |    proof B = HMAC(secret, "called" | HELLO | CHALLENGE up to nonce
//     B)
//     |<-----------------------------------------|
//     | LINK_PROOF  proof A                      |    proof A = HMAC(secret, "caller" | HELLO | all of CHALLENGE)
//     |----------------------------------------->|
//     | LINK_ACCEPT past, or LINK_REJECT reason  |
//     |<-----------------------------------------|
//
// HMAC-SHA-256 (libsodium) under the job's secret. Proofs A and B cover every byte said before and the role of the
// speaker, so neither a recorded handshake nor a reflected proof is worth anything. Proof H can be replayed and opens
// nothing: it tells callers that are worth waiting for from the crowd, and a stranger gets no answer to learn from. The
// secret itself never travels. Nothing is believed before the other side's proof, not even a rejection.
//
// A connection that takes the place of an earlier one opens in the same way: each side says what it has received so far
// (Past, a payload that was landing included), the caller in its first word, the called one in its last, so that from
// then on neither can receive more by an earlier connection; and the session says that it is the same process still.
//
// What comes from a stranger: every packet has one size, known before it is read; at most kLongest bytes are kept; a
// packet that differs in any fixed byte breaks the handshake.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/packet/packet.hpp"
#include "tcp/received.hpp"

namespace rmq::tcp {

/// Who this rank is in the job, as the handshake needs it.
struct Identity {
  Rank self = 0;
  int size = 1;
  std::array<std::byte, 32> secret{};
  std::uint64_t session = 0;  // random: this life of the rank
};

/// What one side says of the earlier connections of the pair.
struct Past {
  Received received;
  std::uint32_t connection = 1;  // the call's number, or the new connection's: see tcp/succession.hpp
};

class Handshake {
 public:
  enum class State : std::uint8_t {
    talking,   // output is to be sent, or wanted() bytes are to be read
    proven,    // called side: the caller has proved itself; accept() or reject() is due
    open,      // both agree (called side: once the output has been sent)
    rejected,  // caller: the other side does not want the connection; see reason()
    broken,    // the other side does not belong to the job, or speaks something else
  };
  /// Reasons of LINK_REJECT.
  static constexpr std::uint32_t kGivesWay = 1, kStale = 2, kNoDescriptor = 3, kLost = 4;

  static Handshake calling(const Identity& identity, Rank to, Past past = {});
  static Handshake called(const Identity& identity);

  State state() const { return state_; }
  /// The rank at the other end: a claim until the state is proven or open, though of somebody who has once heard a
  /// member of the job. kNoRank while unknown.
  Rank peer() const { return peer_; }
  std::uint32_t reason() const { return reason_; }
  /// The life of the other end, and what it knows of the past: called side, from the state proven on; caller: when
  /// open. The caller learns the number of the new connection as `connection`.
  std::uint64_t session() const { return session_; }
  Past theirs() const { return theirs_; }
  /// Caller, rejected as stale: the number of the connection that the call is older than; else 0.
  std::uint32_t later() const { return later_; }
  /// Why the handshake is broken, in a few words.
  const char* trouble() const { return trouble_; }

  /// What is still to be sent; written() says how much of it was.
  std::span<const std::byte> output() const { return std::span(out_).subspan(out_begin_, out_end_ - out_begin_); }
  void written(std::size_t bytes) { out_begin_ += bytes; }

  /// Exactly how many bytes to read next: never more than belong to the handshake, and 0 unless it is our turn to
  /// listen.
  std::size_t wanted() const;
  /// Any part of them.
  void take(std::span<const std::byte> bytes);

  /// Called side, state proven: the verdict. Opens, or ends as rejected, when the output has been sent. `past`: what
  /// has been received from the caller, and the number of the new connection.
  void accept(Past past = {});
  void reject(std::uint32_t reason, std::uint32_t connection = 0);

 private:
  static constexpr std::size_t kNonce = 32, kProof = 32;
  static constexpr std::size_t kHello = wire_bytes(Kind::LINK_HELLO) + kNonce + kProof;
  static constexpr std::size_t kChallenge = wire_bytes(Kind::LINK_CHALLENGE) + kNonce + kProof;
  static constexpr std::size_t kLongest = 128;
  static_assert(kHello <= kLongest && kChallenge <= kLongest);
  enum class Awaits : std::uint8_t { nothing, hello, challenge, proof, verdict };
  using Proof = std::array<std::byte, kProof>;

  explicit Handshake(const Identity& identity) : identity_(identity) {}
  Packet header() const;
  bool header_fits() const;
  void on_packet();
  void on_hello(const Packet& packet);
  void on_challenge();
  void on_proof();
  void say(const Packet& packet, std::span<const std::byte> payload);
  void expect(Awaits what);
  void fail(const char* why);
  Proof prove(std::string_view role, std::size_t hello_bytes, std::size_t challenge_bytes) const;

  Identity identity_;
  State state_ = State::talking;
  Awaits awaits_ = Awaits::nothing;
  Rank peer_ = kNoRank;
  std::uint32_t reason_ = 0;
  std::uint64_t session_ = 0;
  Past theirs_;
  std::uint32_t later_ = 0;
  const char* trouble_ = "";
  std::array<std::byte, kHello> hello_{};  // the transcript: as sent or received
  std::array<std::byte, kChallenge> challenge_{};
  std::array<std::byte, kLongest> in_{};
  std::size_t in_bytes_ = 0;
  std::array<std::byte, kLongest> out_{};
  std::size_t out_begin_ = 0, out_end_ = 0;
};

}  // namespace rmq::tcp
