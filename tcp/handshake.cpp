// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/handshake.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace rmq::tcp {
namespace {

constexpr std::uint32_t kName = 0x00ffffff;  // of kLinkMagic, what every version has

const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* raw(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

// What a LINK_HELLO or a LINK_ACCEPT says of it.
template <class Fields>
Past past(const Fields& fields) {
  return {{fields.received, fields.landed}, fields.connection};
}

}  // namespace

Handshake Handshake::calling(const Identity& identity, Rank to, Past past) {
  Handshake made(identity);
  made.peer_ = to;
  Packet packet(Kind::LINK_HELLO);
  packet.link_hello = {kLinkMagic,
                       static_cast<std::uint32_t>(identity.self),
                       static_cast<std::uint32_t>(to),
                       past.connection,
                       identity.session,
                       past.received.number,
                       past.received.landed};
  packet.length = kNonce + kProof;
  constexpr std::size_t head = wire_bytes(Kind::LINK_HELLO);
  std::memcpy(made.hello_.data(), &packet, head);
  ::randombytes_buf(made.hello_.data() + head, kNonce);
  const Proof proof = made.prove("hello", head + kNonce, 0);
  std::copy(proof.begin(), proof.end(), made.hello_.begin() + head + kNonce);
  made.say(packet, std::span(made.hello_).subspan(head));
  made.expect(Awaits::challenge);
  return made;
}

Handshake Handshake::called(const Identity& identity) {
  Handshake made(identity);
  made.expect(Awaits::hello);
  return made;
}

// The header first: it tells a stranger at once, and a LINK_REJECT from the verdict that was hoped for.
std::size_t Handshake::wanted() const {
  if (!output().empty() || awaits_ == Awaits::nothing) return 0;
  if (in_bytes_ < kHeaderBytes) return kHeaderBytes - in_bytes_;
  return wire_bytes(header().kind) + header().length - in_bytes_;
}

void Handshake::take(std::span<const std::byte> bytes) {
  while (!bytes.empty() && wanted() != 0) {
    const std::size_t part = std::min(bytes.size(), wanted());
    std::copy_n(bytes.begin(), part, in_.begin() + static_cast<std::ptrdiff_t>(in_bytes_));
    in_bytes_ += part;
    bytes = bytes.subspan(part);
    if (in_bytes_ == kHeaderBytes && !header_fits()) return fail("it does not speak RMQ's handshake");
    if (wanted() == 0) on_packet();
  }
}

// Of the packet that is coming in: header and fields, as far as they are there.
Packet Handshake::header() const {
  Packet packet;
  std::memcpy(&packet, in_.data(), sizeof packet);
  return packet;
}

// From here on every byte of the header is what we would have said, and the whole packet fits in_.
bool Handshake::header_fits() const {
  const auto is = [&](Kind kind, std::size_t payload) {
    Packet fixed(kind);
    fixed.length = static_cast<std::uint32_t>(payload);
    return std::memcmp(&fixed, in_.data(), kHeaderBytes) == 0;
  };
  switch (awaits_) {
    case Awaits::nothing:
      return false;
    case Awaits::hello:
      return is(Kind::LINK_HELLO, kNonce + kProof);
    case Awaits::challenge:
      return is(Kind::LINK_CHALLENGE, kNonce + kProof);
    case Awaits::proof:
      return is(Kind::LINK_PROOF, kProof);
    case Awaits::verdict:
      return is(Kind::LINK_ACCEPT, 0) || is(Kind::LINK_REJECT, 0);
  }
  return false;
}

void Handshake::on_packet() {
  const Packet packet = header();
  switch (packet.kind) {
    case Kind::LINK_HELLO:
      return on_hello(packet);
    case Kind::LINK_CHALLENGE:
      return on_challenge();
    case Kind::LINK_PROOF:
      return on_proof();
    case Kind::LINK_REJECT:
      reason_ = packet.link_reject.reason;
      later_ = packet.link_reject.connection;
      break;
    default:
      break;
  }
  if (packet.kind == Kind::LINK_ACCEPT) theirs_ = past(packet.link_accept);
  state_ = packet.kind == Kind::LINK_ACCEPT ? State::open : State::rejected;
  expect(Awaits::nothing);
}

void Handshake::on_hello(const Packet& packet) {
  const wire::LINK_HELLO& hello = packet.link_hello;
  if ((hello.magic & kName) != (kLinkMagic & kName)) return fail("it does not speak RMQ's handshake");
  if (hello.magic != kLinkMagic) return fail("it speaks another version of RMQ");
  const auto self = static_cast<std::uint32_t>(identity_.self);
  if (hello.to != self || hello.from == self || hello.from >= static_cast<std::uint32_t>(identity_.size)) {
    return fail("it has ranks of another job");
  }
  std::copy_n(in_.begin(), kHello, hello_.begin());
  const Proof theirs = prove("hello", kHello - kProof, 0);
  if (::sodium_memcmp(theirs.data(), hello_.data() + kHello - kProof, kProof) != 0) {
    return fail("it does not know the job's secret");
  }
  peer_ = static_cast<Rank>(hello.from);
  session_ = hello.session;
  theirs_ = past(hello);

  Packet answer(Kind::LINK_CHALLENGE);
  answer.link_challenge = {identity_.session};
  answer.length = kNonce + kProof;
  constexpr std::size_t head = wire_bytes(Kind::LINK_CHALLENGE);
  std::memcpy(challenge_.data(), &answer, head);
  ::randombytes_buf(challenge_.data() + head, kNonce);
  const Proof proof = prove("called", kHello, head + kNonce);
  std::copy(proof.begin(), proof.end(), challenge_.begin() + head + kNonce);
  say(answer, std::span(challenge_).subspan(head));
  expect(Awaits::proof);
}

void Handshake::on_challenge() {
  std::copy_n(in_.begin(), kChallenge, challenge_.begin());
  const Proof proof = prove("called", kHello, kChallenge - kProof);
  if (::sodium_memcmp(proof.data(), challenge_.data() + kChallenge - kProof, kProof) != 0) {
    return fail("it does not know the job's secret");
  }
  session_ = header().link_challenge.session;
  say(Packet(Kind::LINK_PROOF), prove("caller", kHello, kChallenge));
  expect(Awaits::verdict);
}

void Handshake::on_proof() {
  const Proof proof = prove("caller", kHello, kChallenge);
  if (::sodium_memcmp(proof.data(), in_.data() + wire_bytes(Kind::LINK_PROOF), kProof) != 0) {
    return fail("it does not know the job's secret");
  }
  state_ = State::proven;
  expect(Awaits::nothing);
}

void Handshake::accept(Past past) {
  Packet packet(Kind::LINK_ACCEPT);
  packet.link_accept = {past.received.number, past.connection, past.received.landed};
  say(packet, {});
  state_ = State::open;
}

void Handshake::reject(std::uint32_t reason, std::uint32_t connection) {
  Packet packet(Kind::LINK_REJECT);
  packet.link_reject = {reason, connection};
  say(packet, {});
  reason_ = reason;
  state_ = State::rejected;
}

void Handshake::say(const Packet& packet, std::span<const std::byte> payload) {
  Packet out = packet;
  out.length = static_cast<std::uint32_t>(payload.size());
  const std::size_t head = wire_bytes(packet.kind);
  std::memcpy(out_.data(), &out, head);
  std::copy(payload.begin(), payload.end(), out_.begin() + static_cast<std::ptrdiff_t>(head));
  out_begin_ = 0;
  out_end_ = head + payload.size();
}

void Handshake::expect(Awaits what) {
  awaits_ = what;
  in_bytes_ = 0;
}

void Handshake::fail(const char* why) {
  trouble_ = why;
  state_ = State::broken;
  expect(Awaits::nothing);
}

Handshake::Proof Handshake::prove(std::string_view role, std::size_t hello_bytes, std::size_t challenge_bytes) const {
  crypto_auth_hmacsha256_state hmac;
  ::crypto_auth_hmacsha256_init(&hmac, raw(identity_.secret.data()), identity_.secret.size());
  ::crypto_auth_hmacsha256_update(&hmac, reinterpret_cast<const unsigned char*>(role.data()), role.size());
  ::crypto_auth_hmacsha256_update(&hmac, raw(hello_.data()), hello_bytes);
  ::crypto_auth_hmacsha256_update(&hmac, raw(challenge_.data()), challenge_bytes);
  static_assert(crypto_auth_hmacsha256_BYTES == kProof);
  Proof proof;
  ::crypto_auth_hmacsha256_final(&hmac, raw(proof.data()));
  ::sodium_memzero(&hmac, sizeof hmac);
  return proof;
}

}  // namespace rmq::tcp
