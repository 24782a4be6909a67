// SPDX-License-Identifier: BSD-3-Clause
#include "start/boot_ticket.hpp"

#include <sodium.h>

#include <span>

#include "start/bootstrap_env.hpp"

namespace rmq::boot {

namespace {

static_assert(ticket_bytes == crypto_auth_hmacsha256_KEYBYTES);

std::string fresh_nonce(std::size_t bytes) {
  std::string nonce(bytes, '\0');
  fill_random(std::as_writable_bytes(std::span(nonce)));
  return nonce;
}

std::string_view text_of(std::span<const unsigned char> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool same(std::string_view left, std::span<const unsigned char> right) {
  return left.size() == right.size() && ::sodium_memcmp(left.data(), right.data(), right.size()) == 0;
}

}  // namespace

Entry::Entry(FrameKind role, int rank, std::string_view ticket)
    : role_(role), rank_(static_cast<std::size_t>(rank)), ticket_(ticket), nonce_a_(fresh_nonce(kNonce)) {}

std::string Entry::opening() const {
  return encode_join(role_, static_cast<int>(rank_), nonce_a_, text_of(prove("mark", {})));
}

std::optional<std::string> Entry::answer(const Frame& challenge) {
  BodyReader body(challenge.body);
  nonce_b_ = body.bytes(kNonce);
  const std::string_view proof = body.rest();
  if (challenge.kind != FrameKind::challenge || !body.ok() || !same(proof, prove("server", nonce_b_)))
    return std::nullopt;
  return encode(FrameKind::proof, text_of(prove("rank", nonce_b_)));
}

std::optional<Entry> Entry::opened(const Frame& frame, std::string_view tickets) {
  if (frame.kind != FrameKind::join && frame.kind != FrameKind::mind) return std::nullopt;
  Entry entry;
  BodyReader body(frame.body);
  entry.role_ = frame.kind;
  entry.rank_ = body.u32();
  entry.nonce_a_ = body.bytes(kNonce);
  const std::string_view mark = body.rest();
  if (!body.ok() || entry.rank_ >= tickets.size() / ticket_bytes) return std::nullopt;
  entry.ticket_ = tickets.substr(entry.rank_ * ticket_bytes, ticket_bytes);
  if (!same(mark, entry.prove("mark", {}))) return std::nullopt;
  return entry;
}

std::string Entry::challenge() {
  nonce_b_ = fresh_nonce(kNonce);
  return encode(FrameKind::challenge, nonce_b_ + std::string(text_of(prove("server", nonce_b_))));
}

bool Entry::is_proven_by(const Frame& proof) const {
  return proof.kind == FrameKind::proof && !nonce_b_.empty() && same(proof.body, prove("rank", nonce_b_));
}

Entry::Proof Entry::prove(std::string_view what, std::string_view nonce_b) const {
  const auto rank = static_cast<std::uint32_t>(rank_);
  const auto add = [](crypto_auth_hmacsha256_state& hmac, std::string_view bytes) {
    ::crypto_auth_hmacsha256_update(&hmac, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  };
  crypto_auth_hmacsha256_state hmac;
  ::crypto_auth_hmacsha256_init(&hmac, reinterpret_cast<const unsigned char*>(ticket_.data()), ticket_.size());
  add(hmac, what);
  add(hmac, encode_join(role_, static_cast<int>(rank), nonce_a_, {}));
  add(hmac, nonce_b);
  Proof proof;
  ::crypto_auth_hmacsha256_final(&hmac, proof.data());
  ::sodium_memzero(&hmac, sizeof hmac);
  return proof;
}

}  // namespace rmq::boot
