// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/handshake.hpp"

#include <gtest/gtest.h>
#include <sodium.h>

#include <cstring>
#include <vector>

namespace rmq::tcp {
namespace {

using State = Handshake::State;
using Bytes = std::vector<std::byte>;

Identity identity(Rank self, unsigned char secret = 7) {
  Identity made{self, 4, {}, 1000u + static_cast<unsigned>(self)};
  made.secret.fill(std::byte{secret});
  return made;
}

// Takes all output of one side; gives it to the other `step` bytes at a time.
Bytes drain(Handshake& from) {
  const Bytes bytes(from.output().begin(), from.output().end());
  from.written(bytes.size());
  return bytes;
}

void feed(Handshake& to, const Bytes& bytes, std::size_t step = 1000) {
  for (std::size_t i = 0; i < bytes.size(); i += step) {
    to.take(std::span(bytes).subspan(i, std::min(step, bytes.size() - i)));
  }
}

struct Talk {
  Handshake caller, called;
  Bytes hello, challenge, proof;
};

Talk up_to_proof(std::size_t step = 1000) {
  Talk talk{Handshake::calling(identity(1), 2), Handshake::called(identity(2)), {}, {}, {}};
  feed(talk.called, talk.hello = drain(talk.caller), step);
  feed(talk.caller, talk.challenge = drain(talk.called), step);
  feed(talk.called, talk.proof = drain(talk.caller), step);
  return talk;
}

class HandshakeTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_GE(::sodium_init(), 0); }
};

TEST_F(HandshakeTest, OpensHoweverTheBytesAreCut) {
  for (const std::size_t step : {1u, 2u, 31u, 33u, 1000u}) {
    Talk talk = up_to_proof(step);
    ASSERT_EQ(talk.called.state(), State::proven);
    EXPECT_EQ(talk.called.peer(), 1);
    talk.called.accept();
    feed(talk.caller, drain(talk.called), step);
    EXPECT_EQ(talk.caller.state(), State::open);
    EXPECT_EQ(talk.called.state(), State::open);
  }
}

TEST_F(HandshakeTest, WantsNeverMoreThanItsOwnBytes) {
  Talk talk = up_to_proof();
  EXPECT_EQ(talk.called.wanted(), 0u);
  talk.called.accept();
  Bytes accept = drain(talk.called);
  EXPECT_EQ(talk.caller.wanted(), kHeaderBytes);
  feed(talk.caller, {accept.begin(), accept.begin() + kHeaderBytes});
  accept.erase(accept.begin(), accept.begin() + kHeaderBytes);
  EXPECT_EQ(talk.caller.wanted(), accept.size());
  accept.resize(accept.size() + 50, std::byte{0xee});
  feed(talk.caller, accept);
  EXPECT_EQ(talk.caller.state(), State::open);
  EXPECT_EQ(talk.caller.wanted(), 0u);
}

TEST_F(HandshakeTest, CarriesTheReasonOfARejection) {
  Talk talk = up_to_proof();
  talk.called.reject(Handshake::kGivesWay);
  feed(talk.caller, drain(talk.called), 1);
  EXPECT_EQ(talk.caller.state(), State::rejected);
  EXPECT_EQ(talk.caller.reason(), Handshake::kGivesWay);
}

TEST_F(HandshakeTest, TellsAStrangerNothing) {
  Handshake caller = Handshake::calling(identity(1, 8), 2);
  Handshake called = Handshake::called(identity(2));
  feed(called, drain(caller));
  EXPECT_EQ(called.state(), State::broken);
  EXPECT_STREQ(called.trouble(), "it does not know the job's secret");
  EXPECT_EQ(called.peer(), kNoRank);
  EXPECT_TRUE(called.output().empty());
}

TEST_F(HandshakeTest, BreaksOnTheWrongProofOnEitherSide) {
  Talk other = up_to_proof();
  Handshake caller = Handshake::calling(identity(1), 2);
  drain(caller);
  feed(caller, other.challenge);  // of another conversation
  EXPECT_EQ(caller.state(), State::broken);
  EXPECT_STREQ(caller.trouble(), "it does not know the job's secret");
  EXPECT_TRUE(caller.output().empty());
  Handshake called = Handshake::called(identity(2));
  feed(called, other.hello);
  EXPECT_EQ(called.peer(), 1);
  drain(called);
  feed(called, other.proof);
  EXPECT_EQ(called.state(), State::broken);
}

TEST_F(HandshakeTest, BelievesNoRejectionBeforeAProof) {
  for (const std::uint32_t reason : {Handshake::kGivesWay, Handshake::kStale, Handshake::kNoDescriptor}) {
    Handshake caller = Handshake::calling(identity(1), 2);
    drain(caller);
    Packet packet(Kind::LINK_REJECT);
    packet.link_reject.reason = reason;
    Bytes bytes(wire_bytes(packet.kind));
    std::memcpy(bytes.data(), &packet, bytes.size());
    feed(caller, bytes);
    EXPECT_EQ(caller.state(), State::broken);
    EXPECT_EQ(caller.reason(), 0u);
  }
}

TEST_F(HandshakeTest, BreaksOnEveryFlippedBit) {
  const Talk model = up_to_proof();
  for (std::size_t i = 0; i < model.hello.size() * 8; ++i) {
    // A flip in a field that both sides merely copy shows in the proof, at the latest.
    Talk talk{Handshake::calling(identity(1), 2), Handshake::called(identity(2)), {}, {}, {}};
    Bytes hello = drain(talk.caller);
    hello[i / 8] ^= static_cast<std::byte>(1u << (i % 8));
    feed(talk.called, hello);
    feed(talk.caller, drain(talk.called));
    feed(talk.called, drain(talk.caller));
    EXPECT_NE(talk.called.state(), State::proven) << "bit " << i;
  }
  for (std::size_t i = 0; i < model.challenge.size() * 8; ++i) {
    Talk talk{Handshake::calling(identity(1), 2), Handshake::called(identity(2)), {}, {}, {}};
    feed(talk.called, drain(talk.caller));
    Bytes challenge = drain(talk.called);
    challenge[i / 8] ^= static_cast<std::byte>(1u << (i % 8));
    feed(talk.caller, challenge);
    EXPECT_TRUE(talk.caller.state() == State::broken || talk.caller.wanted() != 0) << "bit " << i;
    feed(talk.called, drain(talk.caller));
    EXPECT_NE(talk.called.state(), State::proven) << "bit " << i;
  }
}

TEST_F(HandshakeTest, IsNotOpenedByARecording) {
  Talk recorded = up_to_proof();
  Handshake called = Handshake::called(identity(2));
  feed(called, recorded.hello);
  drain(called);
  feed(called, recorded.proof);
  EXPECT_EQ(called.state(), State::broken);
}

TEST_F(HandshakeTest, IsNotOpenedByItsOwnReflectedProof) {
  Handshake called = Handshake::called(identity(2));
  Handshake caller = Handshake::calling(identity(1), 2);
  feed(called, drain(caller));
  const Bytes challenge = drain(called);
  Bytes reflected(96);
  Packet packet(Kind::LINK_PROOF);
  packet.length = 32;
  std::memcpy(reflected.data(), &packet, 32);
  // body of 0 bytes: the proof follows the header
  reflected.resize(64);
  std::copy(challenge.end() - 32, challenge.end(), reflected.begin() + 32);
  feed(called, reflected);
  EXPECT_EQ(called.state(), State::broken);
}

TEST_F(HandshakeTest, RefusesRanksThatDoNotFit) {
  const auto hello_of = [](Rank from, Rank to, int size) {
    Identity who = identity(from);
    who.size = size;
    Handshake caller = Handshake::calling(who, to);
    return drain(caller);
  };
  for (const auto& [from, to] : {std::pair{1, 3}, {2, 2}, {4, 2}, {-1, 2}, {1, -2}}) {
    Handshake called = Handshake::called(identity(2));
    feed(called, hello_of(from, to, 8));
    EXPECT_EQ(called.state(), State::broken) << from << " calls " << to;
  }
}

TEST_F(HandshakeTest, BreaksOnRandomBytesWithoutKeepingMany) {
  for (int round = 0; round < 2000; ++round) {
    Handshake called = Handshake::called(identity(2));
    Bytes noise(512);
    ::randombytes_buf(noise.data(), noise.size());
    feed(called, noise, 1 + static_cast<std::size_t>(round) % 200);
    EXPECT_EQ(called.state(), State::broken);
  }
}

}  // namespace
}  // namespace rmq::tcp
